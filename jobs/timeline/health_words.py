"""The health of a running job as pages, messages and the API show it: if it still holds, its words and cost.

Also what the cancellation of a job that nobody answered for has saved.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal

from jobs.cost.actual import HOUR, accrued
from jobs.cost.notes import in_words
from jobs.models import Job, JobEvent, JobHealth
from jobs.states import JobState
from jobs.texts import Text, from_json
from jobs.texts import translatable as _
from jobs.timeline.health import DIVERGED, FAULTS, HOPELESS, IDLE, LOST_PEER, STUCK

MAX_AGE = timedelta(hours=1)
"""A fault that was not confirmed for so long does not hold, whatever stopped the readings, as after a restore."""
CANCELLED_FOR = "waste"
"""Reason of the event that cancels a job for a fault about which nobody answered."""
TITLES = {
    IDLE: _("Idle"),
    STUCK: _("Stuck"),
    DIVERGED: _("Diverged"),
    HOPELESS: _("Will not finish in time"),
    LOST_PEER: _("Waiting for a lost replica"),
}
EVIDENCE = {
    IDLE: _("The accelerators have been %(share)s busy for %(length)s."),
    STUCK: _("No log line and no step for %(length)s; the usual time between steps is %(usual)s."),
    DIVERGED: _("The loss has been NaN or infinite for %(length)s, in %(lines)s lines in a row."),
    HOPELESS: _(
        "At the pace of its last steps, %(reached)s of the training is done and the rest takes %(needed)s, but its"
        " timeout ends the job after %(left)s."
    ),
    LOST_PEER: _("No step for %(length)s, and only %(talking)s still writes to the log."),
}
CPU_IDLE = _("The CPUs have been %(share)s busy for %(length)s.")
ONE_SILENT = _("No step for %(length)s, and %(silent)s does not write to the log any more.")


@dataclass(frozen=True, slots=True)
class WasteWarning:
    """A fault that holds now. `words` are one sentence of evidence; `usd` the cost since, None without a price.

    `asked_at` is when its owner was asked about it, and `cancels_at` when it is cancelled unless somebody answers; that
    is later if the site is down meanwhile. Either may be None.
    """

    code: str
    title: Text
    words: Text
    since: datetime
    is_certain: bool
    usd: Decimal | None
    asked_at: datetime | None = None
    cancels_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Saved:
    """A job that was cancelled because nobody answered for it: why, and the most that it could still have cost."""

    evidence: str
    usd: Decimal | None


def saved_by(job: Job, events: Iterable[JobEvent]) -> Saved | None:
    """Return what the cancellation of a job saved; None unless it was cancelled for waste and ended by that."""
    asked = (event for event in events if event.kind == JobEvent.Kind.CANCEL_REQUESTED)
    found = next((event for event in asked if event.reason == CANCELLED_FOR), None)
    if found is None or job.state != JobState.CANCELLED or job.ended_at is None:
        return None
    until = datetime.fromisoformat(found.detail["times_out_at"]) if found.detail.get("times_out_at") else job.ended_at
    usd = accrued(job.hourly_usd, max(until - job.ended_at, timedelta()))
    return Saved(from_json(found.detail["evidence"]), usd or None)


def warning_of(job: Job, now: datetime) -> WasteWarning | None:
    """Return the warning about a running job, or None. No query if `health` was loaded with the job.

    A fault ends with its attempt, with the job, and when its evidence is old; a job that is declared fine has none.
    """
    row: JobHealth | None = getattr(job, "health", None)
    if row is None or row.code not in FAULTS or row.since is None or row.assessed_at is None:
        return None
    is_of_attempt = job.running_since is not None and (row.restarts, row.running_since) == (
        job.restarts,
        job.running_since,
    )
    is_quiet = row.fine_until is not None and row.fine_until > now
    is_over = job.ended_at is not None or job.is_finished or job.cancel_requested_at is not None
    if not is_of_attempt or is_quiet or is_over or not now - MAX_AGE <= row.assessed_at <= now + MAX_AGE:
        return None
    length = max(now - row.since, timedelta())
    usd = accrued(job.hourly_usd, length)
    words = _words(row.code, row.facts, length)
    is_timed = row.asked_at is not None and row.answer_hours
    cancels_at = row.asked_at + row.answer_hours * HOUR if row.asked_at is not None and is_timed else None
    return WasteWarning(row.code, TITLES[row.code], words, row.since, row.is_certain, usd, row.asked_at, cancels_at)


def fault_title(code: str) -> Text | str:
    """Return the name of a fault."""
    return TITLES.get(code, code)


def _words(code: str, facts: Mapping[str, float | str], length: timedelta) -> Text:
    values: dict[str, object] = {**facts, "length": in_words(length / HOUR)}
    values |= {name: _seconds(facts[name]) for name in ("usual", "needed", "left") if name in facts}
    values |= {name: f"{100 * float(facts[name]):.0f} %" for name in ("share", "reached") if name in facts}
    words = EVIDENCE[code]
    if code == IDLE and facts.get("of") == "cpu":
        words = CPU_IDLE
    if code == LOST_PEER and "silent" in facts:
        words = ONE_SILENT
    return _(words.msgid, **values)


def _seconds(length: float | str) -> str:
    return in_words(float(length) / 3600)
