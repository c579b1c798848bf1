"""Which restarts a job had, each recorded once, with its cause and what it was learned from.

Vertex AI has no field for attempts (vertex-facts 6.2), so two sources are joined. *States*: a job that goes back from
RUNNING to PENDING or QUEUED was restarted. *The service's log*: the line with which every attempt begins repeats, and
the end of a replica is told. A poll can miss the first, a log can be late or unreadable, so each restart is taken from
whichever tells it, and what both tell counts once: two moments within `SAME` of each other are one restart.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Q

from jobs import strategies
from jobs.diagnosis import diagnose, read_exits
from jobs.lifecycle import door
from jobs.models import Job, JobEvent, LogLine
from jobs.states import WAITING_AT_VERTEX
from jobs.timeline import BILLABLE
from jobs.timeline.attempts import ATTEMPT_BEGINS, SAME
from jobs.vertex.logs import TAKEN_AWAY

PATIENCE = timedelta(seconds=30)
"""How long a restart that only the state tells waits for the log to say why, while the job waits for machines."""
GRACE = timedelta(seconds=45)
"""A replica that is taken away goes on writing for up to thirty seconds; only then is it clear what became of it."""
SHORTLY = timedelta(seconds=5)
"""Lines that belong to an end may carry a time a little after it."""

WORDS = {
    "preempted": "Compute Engine took the Spot machine back; Vertex AI restarts the job.",
    "stockout": "There were no machines; Vertex AI tries the job again.",
    "internal": "An internal error of Vertex AI ended the attempt; it restarts the job.",
    "job_retry": "A replica kept failing; Vertex AI restarts the whole job.",
    "unknown": "The job went back to preparing; Vertex AI restarts it and does not say why.",
}


@dataclass(frozen=True, slots=True)
class Restart:
    """One restart: of the whole job where `replica` is empty, else of that replica on its host."""

    at: datetime
    reason: str
    sentence: str
    replica: str = ""
    exit_code: int | None = None
    is_certain: bool = True


def reconcile(job: Job, *, now: datetime) -> None:
    """Record the restarts that states and log tell and that no event holds yet, and causes learned since.

    Observer and log reader may both call it, also at once: the job's row is locked and read again, and repeating it is
    harmless. `job` itself stays as it is.
    """
    with transaction.atomic():
        _reconcile(Job.objects.select_for_update().get(pk=job.pk), now)


def _reconcile(job: Job, now: datetime) -> None:
    events = list(job.events.order_by("id"))
    telling = Q(replica="service") | Q(message__startswith=TAKEN_AWAY)
    lines = list(LogLine.objects.filter(telling, job=job).order_by("timestamp", "pk"))
    whole = _whole_restarts(job, events, lines)
    parts = _replica_restarts(job, lines, [restart.at for restart in whole], now)
    unmatched = [event for event in events if event.kind == JobEvent.Kind.RESTARTED]
    waits = job.state in WAITING_AT_VERTEX
    for restart in [*whole, *parts]:
        level = [event for event in unmatched if event.detail.get("replica", "") == restart.replica]
        same = _nearest(restart.at, level)
        if same is None and (restart.is_certain or not waits or now - restart.at > PATIENCE):
            _record(job, restart, now)
        elif same is not None:
            unmatched.remove(same)
            _explain(job, same, restart, now)


def _whole_restarts(job: Job, events: Sequence[JobEvent], lines: Sequence[LogLine]) -> list[Restart]:
    """Restarts of the whole job: the state went back, or an attempt began again in the service's log."""
    back = [event for event in events if event.from_state in BILLABLE and event.to_state in WAITING_AT_VERTEX]
    moments = []
    for line in [line for line in lines if line.message == ATTEMPT_BEGINS][1:]:
        same = _nearest(line.timestamp, back)
        if same is not None:
            back.remove(same)
        moments.append(same.occurred_at if same is not None else line.timestamp)
    moments = sorted([*moments, *(event.occurred_at for event in back)])
    since = job.submitted_at or job.requested_at
    found = []
    for moment in moments:
        found.append(_why(job, moment, [line for line in lines if since < line.timestamp <= moment + SHORTLY]))
        since = moment
    return found


def _why(job: Job, at: datetime, lines: Sequence[LogLine]) -> Restart:
    """Say why the job was restarted from what was logged since the attempt began; the last word counts."""
    is_spot = _is_spot(job)
    for line in reversed(lines):
        if line.message.startswith(TAKEN_AWAY):
            return _whole(at, "preempted" if is_spot else "unknown")
        if line.replica == "service" and line.severity == "ERROR":
            known = diagnose(None, line.message)
            cause = known.cause if known is not None else "unknown"
            if cause in {"stockout", "preempted"}:
                return _whole(at, "preempted" if is_spot else "stockout")
            if cause == "internal":
                return _whole(at, "internal")
            if read_exits(line.message)[1]:
                return _whole(at, "job_retry")
    return _whole(at, "preempted" if is_spot else "unknown", is_certain=False)


def _is_spot(job: Job) -> bool:
    strategy = strategies.STRATEGIES.get(job.strategy)
    return strategy is not None and strategy.preemptible


def _whole(at: datetime, reason: str, *, is_certain: bool = True) -> Restart:
    words = WORDS[reason]
    if reason == "preempted" and not is_certain:
        words = words.replace("took", "most likely took")
    return Restart(at, reason, words, is_certain=is_certain)


def _replica_restarts(job: Job, lines: Sequence[LogLine], whole: Sequence[datetime], now: datetime) -> list[Restart]:
    """Restarts of single replicas: one ended or was moved, and wrote again before the job was restarted or ended.

    A replica that is taken away together with the whole job still writes in its grace, so what becomes of it is decided
    when that is over.
    """
    found = []
    for line in lines:
        later = [moment for moment in whole if moment >= line.timestamp - SHORTLY]
        until = min([*later, job.ended_at or datetime.max.replace(tzinfo=line.timestamp.tzinfo)])
        is_moved = line.message.startswith(TAKEN_AWAY)
        if is_moved and min(until, now) - line.timestamp <= GRACE:
            continue
        found += [
            restart
            for restart in _ends_of_replicas(job, line)
            if line.timestamp < until and _wrote(job, restart.replica, after=line.timestamp, before=until)
        ]
    return found


def _ends_of_replicas(job: Job, line: LogLine) -> Iterable[Restart]:
    """What one line tells of replicas that would be started again: on their host, or with the trial that they run."""
    trial = line.replica.rpartition(" ")[0]
    if line.message.startswith(TAKEN_AWAY) and trial in job.log_sources.values() and trial and _is_spot(job):
        words = f"Compute Engine took the Spot machine of {line.replica} back; Vertex AI restarts the trial."
        yield Restart(line.timestamp, "preempted", words, replica=line.replica)
    elif line.message.startswith(TAKEN_AWAY):
        words = f"{line.replica} was moved to another machine by maintenance and started again there."
        yield Restart(line.timestamp, "maintenance", words, replica=line.replica)
    elif line.severity == "ERROR":
        for end in read_exits(line.message)[1]:
            words = f"{end.words.removesuffix('.')}; Vertex AI started it again on its host."
            yield Restart(line.timestamp, "worker_exit", words, replica=end.replica, exit_code=end.code)


def _wrote(job: Job, replica: str, *, after: datetime, before: datetime) -> bool:
    lines = LogLine.objects.filter(job=job, replica=replica, timestamp__gt=after, timestamp__lt=before)
    return lines.exclude(message__startswith=TAKEN_AWAY).exists()


def _nearest(moment: datetime, events: Sequence[JobEvent]) -> JobEvent | None:
    """The event closest to a moment, if it is close enough to be the same thing."""
    near = [event for event in events if abs(event.occurred_at - moment) <= SAME]
    return min(near, key=lambda event: abs(event.occurred_at - moment), default=None)


def _record(job: Job, restart: Restart, now: datetime) -> None:
    door.note(
        job,
        JobEvent.Kind.RESTARTED,
        now=now,
        occurred_at=restart.at,
        reason=restart.reason,
        sentence=restart.sentence,
        detail={"replica": restart.replica, "exit_code": restart.exit_code, "is_certain": restart.is_certain},
        once_key=f"restart:{restart.replica}:{restart.at.isoformat()}",
    )


def _explain(job: Job, event: JobEvent, restart: Restart, now: datetime) -> None:
    """A cause that the log told after the restart was recorded is an event of its own; history stays as it was."""
    if event.detail.get("is_certain", True) or not restart.is_certain:
        return
    door.note(
        job,
        JobEvent.Kind.EXPLAINED,
        now=now,
        occurred_at=event.occurred_at,
        reason=restart.reason,
        sentence=f"The log tells the cause of a restart. {restart.sentence}",
        detail={"restart": event.once_key},
        once_key=f"explained:{event.once_key}"[:120],
    )
