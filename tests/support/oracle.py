"""What is true, from the emulator's own record, and whether the site's rows say the same. Imports nothing of the site.

The emulator keeps every state of every resource with its moment, and how many whole answers have shown it. A state that
was shown `SURELY` times must be in the site's history; one that was shown less often may be missing, since the worker
that heard of it may have been killed. What the site recorded must have been so, in that order and at that moment.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

LOCAL = {"awaiting_approval", "approved", "rejected", "withdrawn", "submitting", "submit_failed"}
KNOWN = {"queued", "pending", "running", "updating", "succeeded", "partially_succeeded", "failed", "cancelling",
         "cancelled", "paused", "expired"}  # fmt: skip
SURELY = 5
CLOSE = timedelta(seconds=1)
CAUSES = {"preempted": "preemptions", "internal": "breakdowns", "job_retry": "retries", "stockout": "stockouts"}
"""Reason of a restart at the site: what the emulator counted."""

Life = dict[str, Any]
Row = dict[str, Any]


@dataclass(frozen=True)
class Moment:
    """A state and when it began; `told`: how many answers showed it."""

    state: str
    at: datetime
    told: int = 0

    def __str__(self) -> str:
        return f"{self.state} {self.at:%H:%M:%S.%f}" + (f" ×{self.told}" if self.told else "")


def lived(life: Life) -> list[Moment]:
    """What truly happened."""
    return [Moment(named(m["state"]), datetime.fromisoformat(m["at"]), m["answers"]) for m in life["history"]]


def named(raw: str) -> str:
    """What the site should call a state: lower case, or as it is where nobody knows it."""
    name = raw.partition("_STATE_")[2].lower()
    return name if name in KNOWN else raw


def seen(row: Row) -> list[Moment]:
    """What the site recorded of Vertex AI's states."""
    told = [event for event in row["events"] if event["kind"] == "state" and event["to"] not in LOCAL]
    return [Moment(event["to"], datetime.fromisoformat(event["at"])) for event in told]


def unseen(part: Sequence[Moment], whole: Sequence[Moment]) -> list[Moment] | None:
    """What of `whole` is missing in `part`; None where `part` holds something else, or in another order.

    Where a state came twice and nobody heard of what lay between, its second time is no news and not missing.
    """
    rest, missing, last = list(part), [], ""
    for moment in whole:
        if rest and rest[0].state == moment.state and abs(rest[0].at - moment.at) < CLOSE:
            last = rest.pop(0).state
        elif moment.state != last:
            missing.append(moment)
    return None if rest else missing


def restarts(life: Life) -> int:
    """How often the whole job was truly restarted. A tuning job never is, only its trials."""
    if "studySpec" in life["document"]:
        return 0
    return int(life.get("child", life)["attempt"]) - 1


def reasons(row: Row) -> Counter[str]:
    """The causes of the restarts of the whole job of which the site is certain in the end."""
    told = [event for event in row["events"] if event["kind"] in ("restarted", "explained") and event["is_certain"]]
    return Counter(event["reason"] for event in told if not event["replica"])


def replicas(row: Row) -> Counter[str]:
    """How often single replicas were started again on their host."""
    return Counter(event["replica"] for event in row["events"] if event["kind"] == "restarted" and event["replica"])


# ---------------------------------------------------------------- what must be equal
def assert_each_exists_once(rows: list[Row], lives: dict[str, Life]) -> None:
    """One remote job for each job that was not withdrawn before it was sent; none that nobody knows."""
    sent = [row for row in rows if row["remote_name"]]
    unsent = [row for row in rows if not row["remote_name"]]

    assert {row["state"] for row in unsent} <= {"withdrawn"}, unsent
    assert sorted(lives) == sorted(row["remote_name"] for row in sent)
    for row in sent:
        assert lives[row["remote_name"]]["labels"]["trainboard_job"] == row["pk"]


def assert_same(row: Row, life: Life) -> Counter[str]:
    """Hold a row against the truth; return how many of the states that were told at all were recorded."""
    true, ours = lived(life), seen(row)
    missing = unseen(ours, true)
    where = f"{row['kind']} {row['name']}: recorded {[*map(str, ours)]}, true is {[*map(str, true)]}"

    assert row["state"] == true[-1].state, where
    assert missing is not None, where
    assert all(moment.told < SURELY for moment in missing), where
    document = life["document"]
    for ours_name, theirs in (("started_at", "startTime"), ("ended_at", "endTime")):
        assert _moment(row[ours_name]) == _moment(document.get(theirs)), f"{ours_name}, {where}"
    assert (row["error"] or None) == document.get("error"), where
    assert_restarts(row, life, where)
    told = sum(moment.told > 0 for moment in true)
    return Counter(told=told, recorded=told - sum(moment.told > 0 for moment in missing))


def assert_restarts(row: Row, life: Life, where: str) -> None:
    """Each restart is told once; a cause of which the site is certain truly occurred."""
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
    """A moment without its fraction of a millisecond: what was rounded on the way is the same."""
    return None if stamp is None else datetime.fromisoformat(stamp).replace(microsecond=0)
