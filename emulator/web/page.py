"""The page at `/_emulator/`: jobs, capacity and faults, with buttons to change them. Works without JavaScript."""

import html
import json
import urllib.parse
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from emulator.emulator import Emulator
from emulator.lifecycle.clock import SetClock
from emulator.lifecycle.scripts import SCRIPTS
from emulator.protocol.calls import Call, Reply
from emulator.protocol.errors import ApiError, invalid
from emulator.scenarios.faults import KINDS
from emulator.state.records import Job, PersistentResource
from emulator.web import control

MAX_SHOWN_JOBS = 50
STYLE = """body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:72rem;padding:0 1rem;color:#1c1b19}
table{border-collapse:collapse;width:100%}th,td{text-align:left;padding:.3rem .6rem;border-bottom:1px solid #d8d5cc}
form{display:inline}button,select,input,textarea{font:inherit}pre{background:#f4f2ec;padding:.6rem;overflow:auto}
.note{background:#fff3d6;padding:.6rem}"""
POLICY = "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"


def show(emulator: Emulator, call: Call) -> Reply:
    """Return the page. `?note=` is the result of the last button."""
    note = call.query.get("note", "")
    parts = [
        "<h1>Vertex AI training, emulated</h1>",
        "<p class=note>This server runs the commands of the jobs it is given, on this computer.</p>",
        f"<p role=status class=note>{_e(note)}</p>" if note else "",
        _clock(emulator),
        _jobs(emulator),
        _persistent_resources(emulator),
        _capacity(emulator),
        _faults(emulator),
    ]
    content = "".join(parts)
    text = (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>Emulator</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{STYLE}</style></head><body><main>{content}</main></body></html>"
    )
    headers = {"Content-Security-Policy": POLICY, "Cache-Control": "no-store", "Referrer-Policy": "same-origin"}
    return Reply(text.encode(), 200, "text/html; charset=utf-8", headers)


BUTTONS: dict[str, Callable[[Emulator, Call], Any]] = {
    "preempt": control.preempt,
    "evict": control.evict,
    "maintenance": control.maintenance,
    "capacity": control.change_capacity,
    "clear capacity": control.clear_capacity,
    "fault": control.plan_fault,
    "forget faults": control.forget_faults,
    "advance": control.set_clock,
    "script": control.script,
}
"""The control call of each button. The other fields of its form become the body of the call; see `_body`."""


def submit(emulator: Emulator, call: Call) -> Reply:
    """Execute a button's action, then redirect to the page."""
    form = dict(urllib.parse.parse_qsl(call.body.decode(errors="replace")))
    action = form.pop("do", "")
    try:
        if action not in BUTTONS:
            raise invalid("There is no such button.")
        body = json.dumps(_body(action, form)).encode()
        BUTTONS[action](emulator, replace(call, body=body, query={}))
        note = "Done."
    except ApiError as problem:
        note = problem.message
    return Reply(b"", 303, headers={"Location": f"{call.address}/_emulator/?note={urllib.parse.quote(note)}"})


def _body(action: str, form: dict[str, str]) -> Any:
    if action == "capacity":
        try:
            return json.loads(form.get("plan", ""))
        except ValueError:
            raise invalid("The plan is no JSON.") from None
    if action == "fault":
        times = form.pop("times", "1")
        return form | ({"times": int(times)} if times.isdigit() else {})
    return {"advance": form.get("seconds", "")} if action == "advance" else form


def _e(value: object) -> str:
    return html.escape(str(value))


def _button(action: str, label: str, **hidden: str) -> str:
    fields = "".join(f'<input type=hidden name="{_e(name)}" value="{_e(value)}">' for name, value in hidden.items())
    return f'<form method=post>{fields}<button name=do value="{_e(action)}">{_e(label)}</button></form> '


def _clock(emulator: Emulator) -> str:
    shown = f"<p>Now <b>{_e(emulator.runtime.timestamp())}</b>, speed {_e(emulator.options.speed)}.</p>"
    if not isinstance(emulator.clock, SetClock):
        return shown
    field = "<label>Seconds <input name=seconds value=60 inputmode=numeric size=8></label>"
    return shown + f"<form method=post>{field} <button name=do value=advance>Advance the clock</button></form>"


def _jobs(emulator: Emulator) -> str:
    jobs = emulator.store.all(Job)
    rows = []
    for job in reversed(jobs[-MAX_SHOWN_JOBS:]):
        buttons = ""
        if job.has_started:
            buttons = _button("maintenance", "Move the worker", job=job.name)
            buttons += _button("evict", "Evict the worker", job=job.name)
            if job.strategy == "SPOT":
                buttons += _button("preempt", "Preempt now", job=job.name)
        cells = (job.document.get("displayName", ""), job.location, job.state.removeprefix("JOB_STATE_"), job.phase)
        more = (job.strategy, job.attempt, job.preemptions, job.script or "real")
        row = "".join(f"<td>{_e(cell)}</td>" for cell in (*cells, *more))
        rows.append(f"<tr>{row}<td>{buttons}</td></tr>")
    names = ("Job", "Region", "State", "Phase", "Strategy", "Attempt", "Preempted", "Script", "")
    head = "".join(f"<th scope=col>{name}</th>" for name in names)
    title = f"<h2>Jobs</h2><p>{len(jobs)} in all, the newest {min(len(jobs), MAX_SHOWN_JOBS)} here.</p>"
    options = "".join(f"<option>{_e(name)}</option>" for name in SCRIPTS)
    script = (
        "<form method=post><label>New jobs named <input name=match value='*'></label> "
        f"<label>script <select name=script>{options}</select></label> <button name=do value=script>Set</button></form>"
    )
    return f"{title}<table><tr>{head}</tr>{''.join(rows)}</table>{script}"


def _persistent_resources(emulator: Emulator) -> str:
    resources = emulator.store.all(PersistentResource)
    rows = "".join(f"<li>{_e(resource.id)}: {_e(resource.state)}</li>" for resource in resources)
    return f"<h2>Persistent resources</h2><ul>{rows}</ul>" if resources else ""


def _capacity(emulator: Emulator) -> str:
    shown = _e(json.dumps(emulator.capacity_plans.show(), indent=1))
    example = _e('{"machines": {"us-central1": {"NVIDIA_L4": 0}}}')
    field = f"<p><label>Change <textarea name=plan rows=3 cols=80>{example}</textarea></label></p>"
    change = f"<form method=post>{field}<button name=do value=capacity>Change the capacity</button></form> "
    return f"<h2>Capacity</h2><pre>{shown}</pre>{change}{_button('clear capacity', 'Take all limits away')}"


def _faults(emulator: Emulator) -> str:
    rows = "".join(f"<li>{_e(json.dumps(fault.as_dict()))}</li>" for fault in emulator.faults.planned)
    kinds = "".join(f"<option>{_e(kind)}</option>" for kind in sorted(KINDS))
    form = (
        f"<form method=post><label>Kind <select name=kind>{kinds}</select></label> "
        "<label>method <input name=method value='*'></label> "
        "<label>times <input name=times value=1 size=4 inputmode=numeric></label> "
        "<button name=do value=fault>Plan the fault</button></form> "
    )
    return f"<h2>Faults</h2><ul>{rows}</ul>{form}{_button('forget faults', 'Forget all faults')}"
