"""Record each restart of a job once, with its cause and how certain the cause is.

Vertex AI has no field for attempts (vertex-facts 6.2), so two sources are combined. *States*: a job that goes back from
RUNNING to PENDING or QUEUED was restarted. *The service's log*: the line with which every attempt begins is repeated,
and the end of a replica is logged. A poll can miss a state, and a log can be late or unreadable, so a restart is
recorded if either source shows it. A restart in both sources is recorded once: `timeline.attempts` pairs them by their
order.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import zip_longest

from django.db import transaction
from django.db.models import Q

from jobs import explain, transitions
from jobs.diagnosis import read_exits
from jobs.diagnosis.exits import NOT_PERMANENT
from jobs.models import Job, JobEvent, LogLine
from jobs.observation.last_loss import last_restart_words, record_last_loss
from jobs.observation.restart_causes import cause_of, is_spot
from jobs.states import WAITING_AT_VERTEX
from jobs.timeline import holding, state_spans
from jobs.timeline.attempts import ATTEMPT_BEGINS, match_in_order, restart_evidence, running_since
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

    `learned_at` is the time the restart was observed in the job's state, if it was. `begins_at` is when the new attempt
    began, by its first line if that was read; `is_logged` is whether it was.
    """

    at: datetime
    reason: str
    message: str
    replica: str = ""
    exit_code: int | None = None
    is_certain: bool = True
    learned_at: datetime | None = None
    begins_at: datetime | None = None
    is_logged: bool = False


def record_restarts(job: Job, *, now: datetime) -> None:
    """Record the restarts that states and log show and that have no event yet, and causes found since.

    The observer and the log reader may both call this, even at the same time. The job's row is locked and read again,
    and a repeated call is harmless. `job` itself is not changed.
    """
    with transaction.atomic():
        locked = Job.objects.select_for_update().get(pk=job.pk)
        events = holding(locked.events.without_passing().order_by("id"))
        is_of_service = Q(replica=SERVICE) | Q(message__startswith=TAKEN_AWAY)
        lines = list(LogLine.objects.filter(is_of_service, job=locked).order_by("timestamp", "pk"))
        whole = _whole_restarts(locked, events, lines)
        parts = _replica_restarts(locked, lines, whole, now)
        waits = any(span.state in WAITING_AT_VERTEX for span in state_spans(events)[-1:])
        for restart, same in _with_recorded([*whole, *parts], events):
            may_be_recorded = restart.is_certain or not waits or now - (restart.learned_at or restart.at) > PATIENCE
            if same is None and may_be_recorded:
                _record(locked, restart, now)
            elif same is not None:
                _explain(locked, same, restart, now)
        last = max((restart.begins_at or restart.at for restart in whole), default=None)
        record_last_loss(locked, holding(locked.events.without_passing().order_by("id")), lines, now, after=last)
    explain.refresh(locked)


def _with_recorded(
    restarts: Sequence[Restart], events: Sequence[JobEvent]
) -> Iterable[tuple[Restart, JobEvent | None]]:
    """Yield each restart with the event that records it already, or None.

    An event has the time of the state or that of the line, whichever was known first. One whose line was deleted since
    is found by its order.
    """
    running = running_since(state_spans(events))
    for replica in dict.fromkeys(restart.replica for restart in restarts):
        own = [restart for restart in restarts if restart.replica == replica]
        recorded = {
            event.occurred_at: event
            for event in sorted(events, key=lambda event: event.occurred_at)
            if event.kind == JobEvent.Kind.RESTARTED and event.detail.get("replica", "") == replica
        }
        same = [recorded.pop(each.at, None) or recorded.pop(each.begins_at or each.at, None) for each in own]
        rest = [restart for restart, event in zip(own, same, strict=True) if event is None]
        others = match_in_order([restart.at for restart in rest], list(recorded), running) if not replica else []
        by_order = {id(restart): recorded[at] for restart, at in zip(rest, others, strict=False) if at is not None}
        yield from ((each, event or by_order.get(id(each))) for each, event in zip(own, same, strict=True))


def _whole_restarts(job: Job, events: Sequence[JobEvent], lines: Sequence[LogLine]) -> list[Restart]:
    """Return the restarts of the whole job: the state went back, or an attempt began again in the service's log."""
    evidence = restart_evidence(events, [line.timestamp for line in _later_attempts(job, lines)])
    ends = [each.begins_at for each in evidence]
    since = job.submitted_at or job.requested_at
    found = []
    for each, following in zip_longest(evidence, ends[1:]):
        # The lines about an end are before the next attempt's first line. If that is not known, or none of them names a
        # cause, they may be a little later.
        until, late = each.begins_at, min(each.begins_at + SHORTLY, following or each.begins_at + SHORTLY)
        options = {"has_run": each.state is not None, "is_logged": each.line_at is not None}
        cause = cause_of(job, _lines_between(lines, since, until), **options)
        if not cause.is_certain:
            cause = cause_of(job, _lines_between(lines, since, late), **options)
        restart = Restart(each.at, cause.reason, cause.message, exit_code=cause.exit_code, is_certain=cause.is_certain)
        learned_at = each.state.recorded_at if each.state is not None else None
        found.append(
            replace(restart, learned_at=learned_at, begins_at=each.begins_at, is_logged=each.line_at is not None)
        )
        since = until
    return found


def _lines_between(lines: Sequence[LogLine], since: datetime, until: datetime) -> list[LogLine]:
    """Return the lines about an attempt that ended at `until`. A machine lost long before that is not its end."""
    nearby = [line for line in lines if since < line.timestamp <= until]
    return [line for line in nearby if not line.message.startswith(TAKEN_AWAY) or until - line.timestamp <= GRACE]


def _later_attempts(job: Job, lines: Sequence[LogLine]) -> list[LogLine]:
    """Return the lines with which the second and every later attempt begin.

    If the log was not read from its beginning, the first line kept may belong to a later attempt. It then comes after
    the job ran for the first time.
    """
    begins = [line for line in lines if line.message == ATTEMPT_BEGINS]
    is_first_kept = not begins or job.started_at is None or begins[0].timestamp <= job.started_at
    return begins[1:] if is_first_kept else begins


def _replica_restarts(job: Job, lines: Sequence[LogLine], whole: Sequence[Restart], now: datetime) -> list[Restart]:
    """Return the restarts of single replicas that lost their machine and wrote again before the job restarted or ended.

    A replica that is stopped together with the whole job still writes in its grace period, so the decision is made
    after that, unless the replica loses its machine once more in the same attempt. An exit code is an error of the
    program, which is final for the job. Lines its container writes when it starts once more are not a restart.
    """
    never = datetime.max.replace(tzinfo=UTC)
    # A state has the time of a poll, so a line about the end of its attempt may be a little later.
    ends = [restart.begins_at or restart.at for restart in whole]
    slack = [timedelta() if restart.is_logged else SHORTLY for restart in whole]
    found: list[Restart] = []
    for place, line in enumerate(lines):
        later = [end for end, late in zip(ends, slack, strict=True) if end >= line.timestamp - late]
        until = min([*later, job.ended_at or never])
        if line.message.startswith(TAKEN_AWAY):
            others = (other for other in lines[place + 1 :] if other.replica == line.replica)
            taken = (other.timestamp for other in others if other.message.startswith(TAKEN_AWAY))
            again = next((at for at in taken if line.timestamp < at < until), None)
            if again is not None or (now - line.timestamp > GRACE and until - line.timestamp > STOP_GRACE + SHORTLY):
                found += _taken_away(job, line, again or until, is_taken_again=again is not None)
        elif line.severity == "ERROR":
            found += _evicted(job, line, until)
    return found


def _taken_away(job: Job, line: LogLine, until: datetime, *, is_taken_again: bool) -> Iterable[Restart]:
    """Yield the restart of a replica that lost its machine: there, on another machine, or with its trial."""
    again = _lines_after(job, line.replica, line.timestamp, until)
    moved = next((each for each in again if line.machine and each.machine not in {"", line.machine}), None)
    goes_on = again if is_taken_again else [each for each in again if each.timestamp - line.timestamp > STOP_GRACE]
    if moved is None and not goes_on:
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


def _record(job: Job, restart: Restart, now: datetime) -> None:
    detail = {"replica": restart.replica, "exit_code": restart.exit_code, "is_certain": restart.is_certain}
    last = (
        ""
        if restart.replica
        else last_restart_words(job, holding(job.events.without_passing().order_by("id")), restart.reason)
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
