"""Record each restart of a job once, with its cause and how certain the cause is.

Vertex AI has no field for attempts (vertex-facts 6.2), so two sources are combined. *States*: a job that goes back from
RUNNING to PENDING or QUEUED was restarted. *The service's log*: the line with which every attempt begins is repeated,
and the end of a replica is logged. A poll can miss a state, and a log can be late or unreadable, so a restart is
recorded if either source shows it. A restart in both sources is recorded once: two times within `SAME` of each other
are one restart.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Q

from jobs import transitions
from jobs.diagnosis import read_exits
from jobs.diagnosis.exits import NOT_PERMANENT
from jobs.models import Job, JobEvent, LogLine
from jobs.observation.last_loss import last_restart_words, record_last_loss
from jobs.observation.restart_causes import cause_of, is_spot
from jobs.states import WAITING_AT_VERTEX
from jobs.timeline import BILLABLE, state_spans
from jobs.timeline.attempts import ATTEMPT_BEGINS, SAME
from jobs.vertex.logs import SERVICE, TAKEN_AWAY

PATIENCE = timedelta(seconds=30)
"""How long a restart that only the state shows waits for its cause in the log, while the job waits for machines."""
STOP_GRACE = timedelta(seconds=30)
"""A replica whose machine is taken away writes for at most this long."""
GRACE = timedelta(seconds=45)
"""After this time, which includes late lines, it is clear what happened to a replica that lost its machine."""
SHORTLY = timedelta(seconds=5)
"""Lines that belong to an end may carry a slightly later time."""
OF_REPLICA = {
    "worker_restart": "Vertex AI stopped {}, as in an eviction, and restarted it on the same machine.",
    "maintenance": "Maintenance moved {} to another machine, where it restarted.",
    "replica_unknown": "Vertex AI stopped {} and restarted it. The log does not name the machine.",
    "preempted": "Compute Engine preempted the Spot VM of {}, so Vertex AI restarts the trial.",
}


@dataclass(frozen=True, slots=True)
class Restart:
    """One restart, of the whole job if `replica` is empty, else of that replica.

    `learned_at` is the time the restart was observed in the job's state, if it was.
    """

    at: datetime
    reason: str
    message: str
    replica: str = ""
    exit_code: int | None = None
    is_certain: bool = True
    learned_at: datetime | None = None


def record_restarts(job: Job, *, now: datetime) -> None:
    """Record the restarts that states and log show and that have no event yet, and causes found since.

    The observer and the log reader may both call this, even at the same time. The job's row is locked and read again,
    and a repeated call is harmless. `job` itself is not changed.
    """
    with transaction.atomic():
        locked = Job.objects.select_for_update().get(pk=job.pk)
        events = list(locked.events.without_passing().order_by("id"))
        is_of_service = Q(replica=SERVICE) | Q(message__startswith=TAKEN_AWAY)
        lines = list(LogLine.objects.filter(is_of_service, job=locked).order_by("timestamp", "pk"))
        whole = _whole_restarts(locked, events, lines)
        parts = _replica_restarts(locked, lines, [restart.at for restart in whole], now)
        unmatched = [event for event in events if event.kind == JobEvent.Kind.RESTARTED]
        waits = any(span.state in WAITING_AT_VERTEX for span in state_spans(events)[-1:])
        for restart in [*whole, *parts]:
            level = [event for event in unmatched if event.detail.get("replica", "") == restart.replica]
            same = _nearest(restart.at, level)
            may_be_recorded = restart.is_certain or not waits or now - (restart.learned_at or restart.at) > PATIENCE
            if same is None and may_be_recorded:
                _record(locked, restart, now)
            elif same is not None:
                unmatched.remove(same)
                _explain(locked, same, restart, now)
        record_last_loss(locked, list(locked.events.without_passing().order_by("id")), lines, now)


def _whole_restarts(job: Job, events: Sequence[JobEvent], lines: Sequence[LogLine]) -> list[Restart]:
    """Return the restarts of the whole job: the state went back, or an attempt began again in the service's log."""
    back = [event for event in events if event.from_state in BILLABLE and event.to_state in WAITING_AT_VERTEX]
    moments: list[tuple[datetime, datetime | None, bool]] = []
    for line in _later_attempts(job, lines):
        same = _nearest(line.timestamp, back)
        if same is not None:
            back.remove(same)
        at, learned_at = (same.occurred_at, same.recorded_at) if same is not None else (line.timestamp, None)
        moments.append((at, learned_at, True))
    moments += [(event.occurred_at, event.recorded_at, False) for event in back]
    since = job.submitted_at or job.requested_at
    found = []
    for moment, learned_at, is_logged in sorted(moments, key=lambda each: each[0]):
        nearby = [line for line in lines if since < line.timestamp <= moment + SHORTLY]
        nearby = [
            line for line in nearby if not line.message.startswith(TAKEN_AWAY) or moment - line.timestamp <= GRACE
        ]
        cause = cause_of(job, nearby, has_run=learned_at is not None, is_logged=is_logged)
        found.append(
            Restart(
                moment,
                cause.reason,
                cause.message,
                exit_code=cause.exit_code,
                is_certain=cause.is_certain,
                learned_at=learned_at,
            )
        )
        since = moment
    return found


def _later_attempts(job: Job, lines: Sequence[LogLine]) -> list[LogLine]:
    """Return the lines with which the second and every later attempt begin.

    If the log was not read from its beginning, the first line kept may belong to a later attempt. It then comes after
    the job ran for the first time.
    """
    begins = [line for line in lines if line.message == ATTEMPT_BEGINS]
    is_first_kept = not begins or job.started_at is None or begins[0].timestamp <= job.started_at
    return begins[1:] if is_first_kept else begins


def _replica_restarts(job: Job, lines: Sequence[LogLine], whole: Sequence[datetime], now: datetime) -> list[Restart]:
    """Return the restarts of single replicas that lost their machine and wrote again before the job restarted or ended.

    A replica that is stopped together with the whole job still writes in its grace period, so the decision is made
    after that. An exit code is an error of the program, which is final for the job. Lines its container writes when it
    starts once more are not a restart.
    """
    found: list[Restart] = []
    for line in lines:
        later = [moment for moment in whole if moment >= line.timestamp - SHORTLY]
        until = min([*later, job.ended_at or datetime.max.replace(tzinfo=line.timestamp.tzinfo)])
        if line.message.startswith(TAKEN_AWAY):
            if now - line.timestamp > GRACE and until - line.timestamp > STOP_GRACE + SHORTLY:
                found += _taken_away(job, line, until)
        elif line.severity == "ERROR":
            found += _evicted(job, line, until)
    return found


def _taken_away(job: Job, line: LogLine, until: datetime) -> Iterable[Restart]:
    """Yield the restart of a replica that lost its machine: there, on another machine, or with its trial."""
    again = _lines_after(job, line.replica, line.timestamp, until)
    moved = next((each for each in again if line.machine and each.machine not in {"", line.machine}), None)
    if moved is None and not any(each.timestamp - line.timestamp > STOP_GRACE for each in again):
        return
    reason = "maintenance" if moved is not None else "worker_restart" if line.machine else "replica_unknown"
    trial = line.replica.rpartition(" ")[0]
    if trial and trial in job.log_sources.values() and is_spot(job):
        reason = "preempted"
    words = OF_REPLICA[reason].format(line.replica)
    yield Restart(line.timestamp, reason, words, replica=line.replica)


def _evicted(job: Job, line: LogLine, until: datetime) -> Iterable[Restart]:
    """Yield the restarts of replicas that, according to the service's log, ended for a reason that is not permanent."""
    for end in read_exits(line.message)[1]:
        again = _lines_after(job, end.replica, line.timestamp, until) if end.reason.lower() in NOT_PERMANENT else []
        if again:
            words = f"{end.replica} ended ({end.reason}), and Vertex AI restarted it."
            yield Restart(line.timestamp, "worker_restart", words, end.replica, end.code)


def _lines_after(job: Job, replica: str, after: datetime, before: datetime) -> list[LogLine]:
    """Return the first lines that show whether and where a replica continues.

    These are the first line, the first one on another machine, and the first one after the grace period.
    """
    lines = LogLine.objects.filter(job=job, replica=replica, timestamp__gt=after, timestamp__lt=before)
    lines = lines.order_by("timestamp", "pk")
    first = lines.exclude(message__startswith=TAKEN_AWAY).first()
    later = lines.filter(timestamp__gt=after + STOP_GRACE).first()
    elsewhere = lines.exclude(machine="").exclude(machine=first.machine).first() if first is not None else None
    return sorted({line for line in (first, later, elsewhere) if line is not None}, key=lambda line: line.timestamp)


def _nearest(moment: datetime, events: Sequence[JobEvent]) -> JobEvent | None:
    """Return the event closest to a time if it is close enough to be the same restart, else None."""
    near = [event for event in events if abs(event.occurred_at - moment) <= SAME]
    return min(near, key=lambda event: abs(event.occurred_at - moment), default=None)


def _record(job: Job, restart: Restart, now: datetime) -> None:
    detail = {"replica": restart.replica, "exit_code": restart.exit_code, "is_certain": restart.is_certain}
    last = (
        ""
        if restart.replica
        else last_restart_words(job, list(job.events.without_passing().order_by("id")), restart.reason)
    )
    transitions.record_event(
        job,
        JobEvent.Kind.RESTARTED,
        now=now,
        occurred_at=restart.at,
        reason=restart.reason,
        message=f"{restart.message} {last}".rstrip(),
        detail=detail,
        once_key=f"restart:{restart.replica}:{restart.at.isoformat()}",
    )


def _explain(job: Job, event: JobEvent, restart: Restart, now: datetime) -> None:
    """Record a cause found in the log after the restart as an event of its own. The first event is not changed."""
    if event.detail.get("is_certain", True) or not restart.is_certain:
        return
    transitions.record_event(
        job,
        JobEvent.Kind.EXPLAINED,
        now=now,
        occurred_at=event.occurred_at,
        reason=restart.reason,
        message=f"The log shows the cause of a restart. {restart.message}",
        detail={"restart": event.once_key},
        once_key=f"explained:{event.once_key}"[:120],
    )
