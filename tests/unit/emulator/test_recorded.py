"""Replay what the real Vertex AI was recorded to answer, and compare order, fields and shapes with the emulator's.

The recordings are in recorded/ (README.md there). Times are compared as differences, in seconds.
"""

import json
import re
from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from itertools import groupby, pairwise
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

from tests.support.running_emulator import Running, running
from tests.unit.emulator.conftest import JOBS, entries, job_body
from tests.unit.emulator.test_studies import STUDIES, study_body

Row = dict[str, Any]
FOLDER = Path(__file__).with_name("recorded")
TIMES = ("createTime", "startTime", "endTime", "updateTime")
COLLECTIONS = {"customJobs": JOBS, "hyperparameterTuningJobs": STUDIES}
POLL_SECONDS = 31
FIRST = {"create": 0, "list": 1, "get": 2, "cancel": 3, "delete": 5}


def rows(name: str) -> list[Row]:
    """The rows of a file."""
    return [json.loads(line) for line in (FOLDER / name).read_text().splitlines()]


def category(name: str) -> list[Row]:
    """The recorded facts of a category."""
    return [row for row in rows("jobs.jsonl") if row["category"] == name]


def seconds(text: str) -> float:
    """A time of the API, in seconds since 1970."""
    return datetime.fromisoformat(re.sub(r"(\.\d{6})\d+", r"\1", text)).timestamp()


def digits(text: str) -> int:
    """How many digits a time has after its point."""
    return len(text.partition(".")[2].rstrip("Z"))


def shape(document: Row) -> Row:
    """What can be compared of an answer: state, error, and for each time, whether it is there and how exact it is."""
    times = {name: digits(document[name]) for name in TIMES if name in document}
    return times | {name: document[name] for name in ("state", "error") if name in document}


@pytest.fixture
def at(tmp_path: Path) -> Iterator[Any]:
    """`at(moment)` is an emulator whose clock starts then."""
    managers = []

    def start(moment: float) -> Running:
        manager = running(tmp_path / str(len(managers)), scripted=True, start=moment, is_waited_for=False)
        managers.append(manager)
        return manager.__enter__()

    yield start
    for manager in managers:
        manager.__exit__(None, None, None)


# ---------------------------------------------------------------- HTTP answers
def sequences() -> dict[str, list[Row]]:
    """The answers of each job in their order."""
    found: dict[str, list[Row]] = defaultdict(list)
    for row in rows("answers.jsonl"):
        found[PurePosixPath(row["source"]["path"]).parent.name].append(row)
    return {name: sorted(answers, key=moment_and_order) for name, answers in sorted(found.items())}


def body_of(answer: Row) -> Row:
    """The job in an answer; of a list, its only one."""
    body: Row = answer["body"]
    return next((body[name][0] for name in COLLECTIONS if name in body), body)


def moment(answer: Row) -> float:
    """When an answer was sent: not before the second in its header, nor before the last change that it shows."""
    update = body_of(answer).get("updateTime")
    return max(parsedate_to_datetime(answer["date"]).timestamp(), seconds(update) if update else 0)


def moment_and_order(answer: Row) -> tuple[int, int, float]:
    """Sort by second; within it, by what a client does first."""
    verb = answer["method"].partition(".")[2]
    is_end = body_of(answer).get("state") == "JOB_STATE_CANCELLED"
    return int(parsedate_to_datetime(answer["date"]).timestamp()), 4 if is_end else FIRST[verb], moment(answer)


@pytest.mark.parametrize("name", sequences())
def test_answers_have_the_recorded_order_and_shape(at: Any, name: str) -> None:
    created, *others = sequences()[name]
    collection = created["method"].partition(".")[0]
    start = seconds(created["body"]["createTime"])
    emulator = at(start)
    body = study_body(maxTrialCount=1, parallelTrialCount=1) if collection != "customJobs" else job_body()
    made = emulator.call("POST", COLLECTIONS[collection], body)
    assert shape(made) == shape(created["body"])
    for answer in others:
        emulator.set_clock(moment(answer))
        match answer["method"].partition(".")[2]:
            case "cancel":
                assert emulator.call("POST", f"/v1/{made['name']}:cancel", {}) == answer["body"]
            case "delete":
                operation = emulator.call("DELETE", f"/v1/{made['name']}")
                assert {key: operation[key] for key in ("done", "response")} == {
                    key: answer["body"][key] for key in ("done", "response")
                }
            case "list":
                (listed,) = emulator.call("GET", COLLECTIONS[collection])[collection]
                compare(listed, body_of(answer))
            case _:
                compare(emulator.call("GET", f"/v1/{made['name']}"), body_of(answer))


def compare(ours: Row, recorded: Row) -> None:
    """Compare shapes, and the time from creation to start, which is the same to a twentieth of a second."""
    assert shape(ours) == shape(recorded)
    assert ("trials" in ours) == ("trials" in recorded)
    starts = [seconds(each["startTime"]) - seconds(each["createTime"]) for each in (ours, recorded)]
    assert starts[0] == pytest.approx(starts[1], abs=0.05)


# ---------------------------------------------------------------- jobs that ran
def script_for(row: Row) -> tuple[str, str]:
    """The script whose end is the recorded one, and the name of its run time."""
    code = (row["error"] or {}).get("code", 0)
    return {8: ("oom", "exit_seconds"), 3: ("fails", "exit_seconds")}.get(code, ("happy", "run_seconds"))


def ran(row: Row) -> bool:
    """Whether a recorded custom job got machines."""
    return row["kind"] == "CustomJob" and row["startTime_precision"] == "whole-second"


@pytest.mark.parametrize("row", [*filter(ran, category("resource"))], ids=lambda row: str(row["job"]))
def test_a_job_that_ran_has_the_recorded_times(at: Any, row: Row) -> None:
    created, began = seconds(row["createTime"]), seconds(row["startTime"])
    script, run_time = script_for(row)
    emulator = at(created)
    run = seconds(row["endTime"]) - began if row["endTime"] else 3_600
    times = {run_time: max(run - 60, 6), "provisioning_seconds": began - created + 11.5 - 2 - 5}
    emulator.script(script, "*", **times)
    made = emulator.call("POST", JOBS, job_body())
    path = f"/v1/{made['name']}"

    emulator.set_clock(began - 3)
    waits = emulator.call("GET", path)
    assert shape(waits) == {"state": "JOB_STATE_PENDING", "createTime": 6, "startTime": 6, "updateTime": 6}
    emulator.set_clock(began + 15)
    runs = emulator.call("GET", path)
    assert shape(runs) == {"state": "JOB_STATE_RUNNING", "createTime": 6, "startTime": 0, "updateTime": 6}
    assert seconds(runs["startTime"]) == pytest.approx(began, abs=2)
    assert 10 <= seconds(runs["updateTime"]) - seconds(runs["startTime"]) <= 14
    if row["state"] == "JOB_STATE_CANCELLED":
        emulator.call("POST", f"{path}:cancel", {})
    emulator.advance(0 if row["state"] == "JOB_STATE_RUNNING" else run + 600)
    ended = emulator.call("GET", path)

    if "error" in ended:
        assert row["error"]["message"][:60] in ended["error"]["message"]
    assert shape(ended | {"error": None}) == shape(
        {name: row[name] for name in TIMES if row[name]} | {"state": row["state"], "error": None}
    )
    assert ended["startTime"] == runs["startTime"]
    if row["endTime"]:
        assert seconds(ended["startTime"]) <= seconds(ended["endTime"])
        assert 0 <= seconds(ended["updateTime"]) - seconds(ended["endTime"]) < 30


# ---------------------------------------------------------------- polls
def complete(row: Row) -> bool:
    """Whether a trace of polls shows a job from its beginning to its end."""
    return bool(re.fullmatch(r"(QUEUED|PENDING)@\d .*(FAILED|SUCCEEDED)@\d+", row["sequence"]))


@pytest.mark.parametrize("row", [*filter(complete, category("poll-trace"))], ids=lambda row: str(row["sequence"]))
def test_polls_see_the_recorded_states(at: Any, row: Row) -> None:
    steps = [(state, int(after)) for state, after in re.findall(r"([A-Z]+)@(\d+)", row["sequence"])]
    wanted, moments = [state for state, _ in steps], dict(steps)
    started = datetime.fromisoformat(row["trace_start"]).astimezone(UTC).timestamp()
    first = steps[0][1]
    created = started + first - (1 if wanted[0] == "QUEUED" else 3)
    emulator = at(created)
    script, run_time = ("oom", "exit_seconds") if wanted[-1] == "FAILED" else ("happy", "run_seconds")
    visible, ended = started + moments["RUNNING"] - 5, started + moments[wanted[-1]] - 5
    times = {"provisioning_seconds": max(visible - created - 2 - 5, 0), run_time: max(ended - visible - 65, 1)}
    emulator.script(script, "*", **times)
    made = emulator.call("POST", JOBS, job_body())

    seen = []
    while not seen or seen[-1] not in ("FAILED", "SUCCEEDED"):
        emulator.set_clock(started + first + POLL_SECONDS * len(seen))
        seen.append(emulator.call("GET", f"/v1/{made['name']}")["state"].removeprefix("JOB_STATE_"))
    assert [state for state, _ in groupby(seen)] == wanted


# ---------------------------------------------------------------- trials
def test_trials_have_the_recorded_digits_and_begin_with_their_machines(at: Any) -> None:
    (row,) = category("trial-times")
    recorded = [[digits(each) for each in trial] for trial in row["trials"]]
    emulator = at(seconds(row["createTime"]))
    made = emulator.call("POST", STUDIES, study_body(maxTrialCount=6, parallelTrialCount=1))
    emulator.advance(20_000)
    study = emulator.call("GET", f"/v1/{made['name']}")
    times = [(trial["startTime"], trial["endTime"]) for trial in study["trials"]]

    assert [[digits(each) for each in trial] for trial in times] == recorded
    assert seconds(times[0][0]) - seconds(study["createTime"]) > 120, "the first trial waits for its machines"
    assert all(seconds(before[1]) + 120 < seconds(after[0]) for before, after in pairwise(times))
    assert digits(study["startTime"]) == 0
    assert seconds(study["startTime"]) - seconds(study["createTime"]) < 3
    assert digits(study["endTime"]) == 6


# ---------------------------------------------------------------- the service's log
def clock_time(text: str) -> int:
    """`18:11:28` in seconds."""
    found = re.search(r"(\d\d):(\d\d):(\d\d)", text)
    assert found is not None
    hours, minutes, rest = map(int, found.groups())
    return hours * 3_600 + minutes * 60 + rest


def recorded_spans(before: str, after: str) -> tuple[float, float]:
    """The shortest and the longest recorded time between two lines; each may be a second off, as they are rounded."""
    spans = [
        clock_time(row[after]) - clock_time(row[before])
        for row in category("service-log")
        if re.match(r"\d", row.get(before) or "") and re.match(r"\d", row.get(after) or "")
    ]
    return min(spans) - 1, max(spans) + 1


@pytest.mark.parametrize(
    ("before", "after", "lines"),
    [
        ("provision_lines", "preparing", ("Waiting for job to be provisioned.", "Job is preparing.")),
        ("provision_lines", "job_is_running", ("Waiting for job to be provisioned.", "Job is running.")),
        ("replica_exit_line", "tearing_down", ("Training has ended.", "Tearing down training program.")),
        (
            "tearing_down",
            "finished_teardown_and_completed",
            ("Tearing down training program.", "Finished tearing down training program."),
        ),
    ],
)
def test_the_service_writes_its_lines_when_it_was_recorded_to(
    scripted: Running, before: str, after: str, lines: tuple[str, str]
) -> None:
    made = scripted.call("POST", JOBS, job_body())
    scripted.advance(5_000)
    written = {
        entry.get("textPayload") or entry["jsonPayload"]["message"]: seconds(entry["timestamp"])
        for entry in entries(scripted, made)
    }
    shortest, longest = recorded_spans(before, after)

    assert shortest <= written[lines[1]] - written[lines[0]] <= longest
    provisioning = [moment for text, moment in written.items() if "provision" in text or "setting up" in text]
    assert len({*provisioning, written["Waiting for training program to start."]}) == 1
    assert written["Finished tearing down training program."] == written["Job completed successfully."]


def test_a_restart_inside_the_machine_announces_itself_by_no_line(scripted: Running) -> None:
    """Recorded 2026-02-23: start-up lines again 17 s after the exit, the service's error 26 s after it."""
    made = scripted.call("POST", JOBS, job_body(labels={"emulator_script": "fails"}))
    scripted.advance(5_000)
    written = entries(scripted, made)
    begun = [entry for entry in written if entry.get("jsonPayload", {}).get("message") == "Training has started."]
    exited = seconds(begun[0]["timestamp"]) + 30
    between = [entry for entry in written if exited < seconds(entry["timestamp"]) < exited + 26]

    assert [seconds(entry["timestamp"]) - exited for entry in begun] == [-30, 17]
    assert between == begun[1:]
    (error,) = [entry for entry in written if entry["severity"] == "ERROR" and "textPayload" in entry]
    assert seconds(error["timestamp"]) - exited == 26
