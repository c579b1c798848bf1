"""The page at `/_emulator/`: jobs, capacity and faults to look at, and buttons for them. Works without JavaScript."""

import html
import json
import urllib.parse
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from emulator.lifecycle.clock import SetClock
from emulator.protocol.calls import Call, Reply
from emulator.protocol.errors import ApiError, invalid
from emulator.protocol.timestamps import stamp
from emulator.rehearsal.faults import KINDS
from emulator.rehearsal.stories import STORIES
from emulator.state.records import Job, Phase, Pool
from emulator.web import control
from emulator.world import World

SHOWN_JOBS = 50
STYLE = """body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:72rem;padding:0 1rem;color:#1c1b19}
table{border-collapse:collapse;width:100%}th,td{text-align:left;padding:.3rem .6rem;border-bottom:1px solid #d8d5cc}
form{display:inline}button,select,input,textarea{font:inherit}pre{background:#f4f2ec;padding:.6rem;overflow:auto}
.note{background:#fff3d6;padding:.6rem}"""
POLICY = "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"


def show(world: World, call: Call) -> Reply:
    """Return the page; `?note=` is what the last button said."""
    parts = [
        "<h1>Vertex AI training, emulated</h1>",
        "<p class=note>This server runs the commands of the jobs it is given, on this computer.</p>",
        _note(call),
        _clock(world),
        _jobs(world),
        _pools(world),
        _capacity(world),
        _faults(world),
    ]
    content = "".join(parts)
    text = (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>Emulator</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{STYLE}</style></head><body><main>{content}</main></body></html>"
    )
    headers = {"Content-Security-Policy": POLICY, "Cache-Control": "no-store", "Referrer-Policy": "same-origin"}
    return Reply(text.encode(), 200, "text/html; charset=utf-8", headers)


def press(world: World, call: Call) -> Reply:
    """Do what a button says, then lead back to the page."""
    given = dict(urllib.parse.parse_qsl(call.body.decode(errors="replace")))
    action = ACTIONS.get(given.pop("do", ""))
    try:
        if action is None:
            raise invalid("There is no such button.")
        method, body = action(given)
        method(world, replace(call, body=json.dumps(body).encode(), query={}))
        note = "Done."
    except ApiError as problem:
        note = problem.message
    return Reply(b"", 303, headers={"Location": f"{call.address}/_emulator/?note={urllib.parse.quote(note)}"})


Action = tuple[Callable[[World, Call], Any], dict[str, Any]]


def _plan(given: dict[str, str]) -> Action:
    try:
        plan = json.loads(given.get("plan", ""))
    except ValueError:
        raise invalid("The plan is no JSON.") from None
    return control.change_capacity, plan


def _fault(given: dict[str, str]) -> Action:
    times = given.get("times", "1")
    body: dict[str, Any] = {"kind": given.get("kind", ""), "method": given.get("method") or "*"}
    return control.plan_fault, body | ({"times": int(times)} if times.isdigit() else {})


def _advance(given: dict[str, str]) -> Action:
    return control.set_clock, {"advance": given.get("seconds", "")}


ACTIONS: dict[str, Callable[[dict[str, str]], Action]] = {
    "preempt": lambda given: (control.preempt, {"job": given.get("job", "")}),
    "maintenance": lambda given: (control.maintenance, {"job": given.get("job", "")}),
    "capacity": _plan,
    "clear capacity": lambda given: (control.clear_capacity, {}),  # noqa: ARG005
    "fault": _fault,
    "forget faults": lambda given: (control.forget_faults, {}),  # noqa: ARG005
    "advance": _advance,
    "script": lambda given: (control.script, {"match": given.get("match") or "*", "story": given.get("story", "")}),
}


def _e(value: object) -> str:
    return html.escape(str(value))


def _button(action: str, label: str, **hidden: str) -> str:
    fields = "".join(f'<input type=hidden name="{_e(name)}" value="{_e(value)}">' for name, value in hidden.items())
    return f'<form method=post>{fields}<button name=do value="{_e(action)}">{_e(label)}</button></form> '


def _note(call: Call) -> str:
    note = call.query.get("note", "")
    return f"<p role=status class=note>{_e(note)}</p>" if note else ""


def _clock(world: World) -> str:
    shown = f"<p>Now <b>{_e(stamp(world.clock.now()))}</b>, speed {_e(world.options.speed)}.</p>"
    if not isinstance(world.clock, SetClock):
        return shown
    field = "<label>Seconds <input name=seconds value=60 inputmode=numeric size=8></label>"
    return shown + f"<form method=post>{field} <button name=do value=advance>Advance the clock</button></form>"


def _jobs(world: World) -> str:
    jobs = world.store.all(Job)
    rows = []
    for job in reversed(jobs[-SHOWN_JOBS:]):
        buttons = ""
        if job.phase in (Phase.STARTING, Phase.RUNNING):
            buttons = _button("maintenance", "Move the worker", job=job.name)
            if job.strategy == "SPOT":
                buttons += _button("preempt", "Preempt now", job=job.name)
        cells = (job.document.get("displayName", ""), job.location, job.state.removeprefix("JOB_STATE_"), job.phase)
        more = (job.strategy, job.attempt, job.preemptions, job.story or "real")
        row = "".join(f"<td>{_e(cell)}</td>" for cell in (*cells, *more))
        rows.append(f"<tr>{row}<td>{buttons}</td></tr>")
    names = ("Job", "Region", "State", "Phase", "Strategy", "Attempt", "Preempted", "Plays", "")
    head = "".join(f"<th scope=col>{name}</th>" for name in names)
    title = f"<h2>Jobs</h2><p>{len(jobs)} in all, the newest {min(len(jobs), SHOWN_JOBS)} here.</p>"
    options = "".join(f"<option>{_e(name)}</option>" for name in STORIES)
    script = (
        "<form method=post><label>New jobs named <input name=match value='*'></label> "
        f"<label>play <select name=story>{options}</select></label> <button name=do value=script>Set</button></form>"
    )
    return f"{title}<table><tr>{head}</tr>{''.join(rows)}</table>{script}"


def _pools(world: World) -> str:
    pools = world.store.all(Pool)
    rows = "".join(f"<li>{_e(pool.id)}: {_e(pool.state)}</li>" for pool in pools)
    return f"<h2>Persistent resources</h2><ul>{rows}</ul>" if pools else ""


def _capacity(world: World) -> str:
    shown = _e(json.dumps(world.plans.shown(), indent=1))
    example = _e('{"machines": {"us-central1": {"NVIDIA_L4": 0}}}')
    field = f"<p><label>Change <textarea name=plan rows=3 cols=80>{example}</textarea></label></p>"
    change = f"<form method=post>{field}<button name=do value=capacity>Change the capacity</button></form> "
    return f"<h2>Capacity</h2><pre>{shown}</pre>{change}{_button('clear capacity', 'Take all limits away')}"


def _faults(world: World) -> str:
    rows = "".join(f"<li>{_e(json.dumps(plan.as_dict()))}</li>" for plan in world.faults.plans)
    kinds = "".join(f"<option>{_e(kind)}</option>" for kind in sorted(KINDS))
    form = (
        f"<form method=post><label>Kind <select name=kind>{kinds}</select></label> "
        "<label>method <input name=method value='*'></label> "
        "<label>times <input name=times value=1 size=4 inputmode=numeric></label> "
        "<button name=do value=fault>Plan the fault</button></form> "
    )
    return f"<h2>Faults</h2><ul>{rows}</ul>{form}{_button('forget faults', 'Forget all faults')}"
