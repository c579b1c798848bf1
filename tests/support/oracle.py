"""Compares the site's rows with the emulator's record of what happened. Imports nothing of the site.

The emulator records the time of every state of every resource, and how many complete responses showed it. The site's
history must contain a state shown `SURELY` times. It may miss a state shown less often, because the worker that
received it may have been killed. Everything that the site recorded must have happened, in that order and at that time.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

LOCAL = {"awaiting_approval", "approved", "rejected", "withdrawn", "submitting", "submit_failed"}
KNOWN = {"queued", "pending", "running", "updating", "succeeded", "partially_succeeded", "failed", "cancelling",
         "cancelled", "paused", "expired"}  # fmt: skip
SURELY = 5
CLOSE = timedelta(seconds=1)
CAUSES = {"preempted": "preemptions", "internal": "breakdowns", "job_retry": "retries", "stockout": "stockouts"}
"""{reason of a restart at the site: count in the emulator's record}"""

Life = dict[str, Any]
Row = dict[str, Any]


@dataclass(frozen=True)
class Moment:
    """A state and its start. `told` is the number of responses that showed it.

    `machines_at` is the settled start of the first trial's machines, which precedes the RUNNING of its tuning job. It
    is the start of a run that no response showed.
    """

    state: str
    at: datetime
    told: int = 0
    machines_at: datetime | None = None

    def __str__(self) -> str:
        return f"{self.state} {self.at:%H:%M:%S.%f}" + (f" ×{self.told}" if self.told else "")


def lived(life: Life) -> list[Moment]:
    """Return the states that the resource really had, from the times that its answers say: startTime and endTime."""
    found = [Moment(named(m["state"]), datetime.fromisoformat(m["at"]), m["answers"]) for m in life["history"]]
    if first := life.get("firstStart"):
        position = next(index for index, moment in enumerate(found) if moment.state == "running")
        found[position] = replace(found[position], at=datetime.fromisoformat(first))
    starts = [datetime.fromisoformat(start) for start in life.get("trialStarts", ()) if start]
    position = next((index for index, moment in enumerate(found) if moment.state == "running"), None)
    if starts and position is not None:  # a tuning job that is being cancelled runs no more when its trials start
        found[position] = replace(found[position], machines_at=min(starts))
    if "endTime" in life["document"]:
        found[-1] = replace(found[-1], at=datetime.fromisoformat(life["document"]["endTime"]))
    return found


def named(raw: str) -> str:
    """Return the site's name of a state: lower case, or unchanged if it is unknown."""
    name = raw.partition("_STATE_")[2].lower()
    return name if name in KNOWN else raw


def seen(row: Row) -> list[Moment]:
    """Return the states of Vertex AI that the site recorded."""
    told = [event for event in row["events"] if event["kind"] == "state" and event["to"] not in LOCAL]
    return [Moment(event["to"], datetime.fromisoformat(event["at"])) for event in told]


def unseen(part: Sequence[Moment], whole: Sequence[Moment]) -> list[Moment] | None:
    """Return what `part` misses of `whole`; None if `part` has other states or another order.

    If a state occurred twice and nothing in between was observed, its second occurrence is not missing.
    """
    rest, missing, last = list(part), [], ""
    for moment in whole:
        starts = [moment.at] + ([moment.machines_at] if moment.machines_at else [])
        if rest and rest[0].state == moment.state and any(abs(rest[0].at - at) < CLOSE for at in starts):
            last = rest.pop(0).state
        elif moment.state != last:
            missing.append(moment)
    return None if rest else missing


def restarts(life: Life) -> int:
    """Return how often the whole job restarted. A tuning job never does, only its trials do."""
    if "studySpec" in life["document"]:
        return 0
    return int(life.get("child", life)["attempt"]) - 1


def reasons(row: Row) -> Counter[str]:
    """Return the causes of restarts of the whole job of which the site is certain at the end."""
    told = [event for event in row["events"] if event["kind"] in ("restarted", "explained") and event["is_certain"]]
    return Counter(event["reason"] for event in told if not event["replica"])


def replicas(row: Row) -> Counter[str]:
    """Return how often single replicas were restarted on their host."""
    return Counter(event["replica"] for event in row["events"] if event["kind"] == "restarted" and event["replica"])


# ---------------------------------------------------------------- what must be equal
def assert_each_exists_once(rows: list[Row], lives: dict[str, Life]) -> None:
    """Check that each job has one remote job, unless it was withdrawn unsent, and that no others exist."""
    sent = [row for row in rows if row["remote_name"]]
    unsent = [row for row in rows if not row["remote_name"]]

    assert {row["state"] for row in unsent} <= {"withdrawn"}, unsent
    assert sorted(lives) == sorted(row["remote_name"] for row in sent)
    for row in sent:
        assert lives[row["remote_name"]]["labels"]["trainboard_job"] == row["pk"]


def assert_attempts_follow(rows: list[Row], lives: dict[str, Life]) -> int:
    """Check that no further attempt was created before its predecessor ended. Return the number of further attempts."""
    plans: dict[str, list[tuple[int, Life]]] = {}
    for row in rows:
        if row["attempt"] and row["remote_name"]:
            plan, number = row["attempt"]
            plans.setdefault(plan, []).append((number, lives[row["remote_name"]]["document"]))
    further = 0
    for attempts in plans.values():
        ordered = [document for _, document in sorted(attempts, key=lambda each: each[0])]
        for before, after in pairwise(ordered):
            assert datetime.fromisoformat(after["createTime"]) >= datetime.fromisoformat(before["endTime"]), (
                before,
                after,
            )
            further += 1
    return further


def assert_same(row: Row, life: Life) -> Counter[str]:
    """Check a row against the record. Return how many of the states shown at least once were recorded."""
    true, ours = lived(life), seen(row)
    missing = unseen(ours, true)
    where = f"{row['kind']} {row['name']}: recorded {[*map(str, ours)]}, true is {[*map(str, true)]}"

    assert row["state"] == true[-1].state, where
    assert missing is not None, where
    assert all(moment.told < SURELY for moment in missing), where
    document = life["document"]
    assert _moment(row["ended_at"]) == _moment(document.get("endTime")), f"ended_at, {where}"
    assert_started(row, true, where)
    assert (row["error"] or None) == document.get("error"), where
    assert_restarts(row, life, where)
    told = sum(moment.told > 0 for moment in true)
    return Counter(told=told, recorded=told - sum(moment.told > 0 for moment in missing))


def assert_started(row: Row, true: list[Moment], where: str) -> None:
    """Check when the site believes that machines began to work: at the first run, to the second.

    A run that ended before any answer showed it may be missing; then the first one that was shown counts at the latest.
    """
    started = _moment(row["started_at"])
    runs = [moment for moment in true if moment.state == "running"]
    shown = [moment.at.replace(microsecond=0) for moment in runs if moment.told]
    if started is None:
        assert shown == [], f"started_at is empty, {where}"
        return
    assert runs != [], f"started_at {started}, {where}"
    assert started >= (runs[0].machines_at or runs[0].at).replace(microsecond=0), f"started_at {started}, {where}"
    if shown and row["kind"] == "custom_job":
        assert started <= shown[0], f"started_at {started}, {where}"


def assert_restarts(row: Row, life: Life, where: str) -> None:
    """Check that each restart is recorded once, and that each cause recorded as certain occurred."""
    found = [event for event in row["events"] if event["kind"] in ("restarted", "explained")]
    where = f"{where}, restarts {found}"
    assert row["restarts"] == restarts(life), where
    assert sum(event["kind"] == "restarted" and not event["replica"] for event in found) == row["restarts"], where
    if "studySpec" in life["document"]:
        return
    truth = life.get("child", life)
    for reason, count in reasons(row).items():
        assert count <= truth[CAUSES[reason]], f"{reason}, {where}"
    if truth["attempt"] == 1:
        moved = truth["hosts"] - 1
        assert replicas(row).total() == sum(truth["workerRestarts"].values()) + moved, where


def _moment(stamp: str | None) -> datetime | None:
    """Return a time without its fraction of a second, because fractions are rounded on the way."""
    return None if stamp is None else datetime.fromisoformat(stamp).replace(microsecond=0)
