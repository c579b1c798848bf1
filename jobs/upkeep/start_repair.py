"""Take back starts that were never starts: the provisional `startTime` of jobs that still waited.

Versions before this one recorded it as the first run of a job, 0.12 to 0.17 s after its creation, and the wait that
followed as a restart. The sweep revokes those events in portions with a correction, so that cost and figures are
computed again. Rows written from the emulator may have true starts that early: if the service's log shows the run, the
start stays. If there is no log, only a start as early as the recorded ones is taken back. What stays undecided is
recorded on the job and logged.
"""

import logging
from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID

from django.db import transaction
from django.db.models import Exists, F, OuterRef, Q

from jobs import observation, timeline, transitions
from jobs.isolation import take_each
from jobs.models import Job, JobEvent, LogLine, Trial
from jobs.models.job import JobQuerySet
from jobs.states import SUCCESSFUL, WAITING_AT_VERTEX, JobState
from jobs.timeline.attempts import ATTEMPT_RUNS
from jobs.vertex.logs import SERVICE

logger = logging.getLogger(__name__)

AT_ONCE = 200
"""Jobs of one run, and trials. The next run finds the rest."""
EARLY = timedelta(seconds=1)
"""A start this soon after the creation is suspected. No machine of Vertex AI starts within a second."""
RECORDED = (timedelta(seconds=0.1), timedelta(seconds=0.3))
"""Between these, a provisional start lies after the creation (recorded in July 2026: 0.12 to 0.17 s)."""
LOG_LAG = timedelta(seconds=2)
"""How far the service's line may be from the start it announces."""
CHECKED = "start_checked"
"""The key of the event that a suspected start stayed."""
IS_UNDECIDED = "start_undecided"
"""The reason of that event if nothing shows whether the start is one."""
REVOKED = "It did not run then: the recorded start was Vertex AI's provisional time of a job that still waited."
UNDECIDED = (
    "The job is recorded as running within a second after its creation. That may be Vertex AI's provisional start time"
    " of a job that still waited. No log shows whether it ran, so the run stays as recorded."
)


def repair_starts(now: datetime) -> int:
    """Take back false starts of up to AT_ONCE jobs and trials. Return how many were taken back."""
    of_job = JobEvent.objects.filter(job=OuterRef("pk"))
    backfilled = of_job.filter(reason="backfilled")
    own = Q(Exists(backfilled), started_at__lte=F("submitted_at") + EARLY)
    own &= Q(kind__in=(Job.Kind.CUSTOM_JOB, Job.Kind.TUNING_JOB))
    back = of_job.filter(
        kind=JobEvent.Kind.CUSTOM_JOB_STATE, from_state=JobState.RUNNING, to_state__in=WAITING_AT_VERTEX
    )
    suspects = Job.objects.filter(own | Q(Exists(back), kind=Job.Kind.PIPELINE))
    suspects = suspects.exclude(Exists(of_job.filter(once_key=CHECKED))).order_by("submitted_at", "pk")
    keys = list(suspects.values_list("pk", flat=True)[:AT_ONCE])
    undecided = list[UUID]()

    def step(pk: UUID) -> bool:
        found = _repair_job(pk, now)
        if found is None:
            undecided.append(pk)
        return bool(found)

    repaired = take_each(keys, step, what="false starts of jobs")
    if undecided:
        logger.warning("starts of jobs that may be provisional times and could not be checked: %d", len(undecided))
    return repaired + _repair_trials(now)


def undecided_starts() -> JobQuerySet:
    """Return the jobs whose recorded start may be a provisional time, because nothing shows whether they ran."""
    checked = JobEvent.objects.filter(job=OuterRef("pk"), once_key=CHECKED, reason=IS_UNDECIDED)
    return Job.objects.filter(Exists(checked)).order_by("submitted_at", "pk")


def _repair_job(pk: UUID, now: datetime) -> bool | None:
    """Return whether a false start was taken back, or None if nothing shows whether it is false."""
    with transaction.atomic():
        locked = Job.objects.select_for_update().get(pk=pk)
        events = list(locked.events.without_passing().order_by("id"))
        false, is_false = _false_start(locked, events)
        if not is_false:
            key, kind = CHECKED, JobEvent.Kind.REPAIRED
            words, reason = "The early start of the job was checked and stays.", CHECKED
            if is_false is None:
                words, reason = UNDECIDED, IS_UNDECIDED
            transitions.record_event(locked, kind, now=now, message=words, once_key=key, reason=reason)
            return is_false
        revoked: dict[str, object] = {"revokes": [event.once_key for event in false]}
        if locked.kind == Job.Kind.PIPELINE:  # its own RUNNING means no machines either
            revoked[timeline.HAS_MACHINES] = False
        wait = next((event for event in false if event.kind == JobEvent.Kind.STATE and event is not false[0]), None)
        transitions.record_event(
            locked,
            JobEvent.Kind.CORRECTED,
            now=now,
            occurred_at=(wait or false[0]).occurred_at,
            to_state=wait.to_state if wait is not None else "",
            reason="provisional",
            message=REVOKED,
            detail=revoked,
            once_key=CHECKED,
        )
    observation.record_logged_runs(locked, now=now)
    observation.record_restarts(locked, now=now)
    return True


def _false_start(job: Job, events: Sequence[JobEvent]) -> tuple[list[JobEvent], bool | None]:
    """Return the events of a suspected start, and whether it is false; None if nothing shows that.

    The events are the start itself, the wait that followed it, and the restart that was made of the two.
    """
    kind = JobEvent.Kind.CUSTOM_JOB_STATE if job.kind == Job.Kind.PIPELINE else JobEvent.Kind.STATE
    changes = [event for event in events if event.kind == kind]
    place = next(i for i, event in enumerate(changes) if event.to_state == JobState.RUNNING)
    start, then = changes[place], next(iter(changes[place + 1 :]), None)
    created = changes[0].occurred_at if kind == JobEvent.Kind.CUSTOM_JOB_STATE else job.submitted_at
    is_backfilled = start.reason == "backfilled" or kind == JobEvent.Kind.CUSTOM_JOB_STATE
    early = start.occurred_at - created if created is not None else None
    is_suspect = is_backfilled and early is not None and timedelta() < early <= EARLY
    # A job whose start was backfilled was seen waiting at that moment, or ended without a run.
    if not is_suspect or then is None or then.to_state in SUCCESSFUL:
        return [], False
    found, restarts = [start], []
    if then.to_state in WAITING_AT_VERTEX:
        found.append(then)
        first = _first_restart(events, None if place + 2 >= len(changes) else changes[place + 2])
        restarts = [first] if first is not None else []
        explained = {f"explained:{each.once_key}"[:120] for each in restarts}
        restarts += [event for event in events if event.once_key in explained]
    lines = LogLine.objects.filter(job=job, replica__endswith=SERVICE)
    ran = lines.filter(message=ATTEMPT_RUNS, timestamp__lte=start.occurred_at + LOG_LAG).exists()
    is_as_recorded = early is not None and RECORDED[0] <= early <= RECORDED[1] and start.occurred_at.microsecond != 0
    is_false = False if ran else True if lines.exists() or is_as_recorded else None
    return found + restarts, is_false


def _first_restart(events: Sequence[JobEvent], run: JobEvent | None) -> JobEvent | None:
    """Return the restart of the whole job that was recorded for the wait after a false start, before the next run."""
    whole = [event for event in events if event.kind == JobEvent.Kind.RESTARTED and not event.detail.get("replica")]
    return next((event for event in whole if run is None or event.occurred_at <= run.occurred_at), None)


def _repair_trials(now: datetime) -> int:
    """Take false starts out of the states of trials' custom jobs, and count the machine time of their jobs again."""
    waits = [str(state) for state in WAITING_AT_VERTEX]
    suspects = Trial.objects.filter(job_states__1__0=str(JobState.RUNNING), job_states__2__0__in=waits)
    trials = [trial for trial in suspects.order_by("pk").iterator() if _is_false(trial.job_states or ())][:AT_ONCE]
    for trial in trials:
        with transaction.atomic():
            job = Job.objects.select_for_update().get(pk=trial.job_id)
            row = Trial.objects.get(pk=trial.pk)
            states = row.job_states or []
            if _is_false(states):
                row.job_states = states[:1] + states[2:]
                row.save(update_fields=["job_states"])
                observation.count_trials(job, now=now)
    return len(trials)


def _is_false(states: Sequence[Sequence[str]]) -> bool:
    if len(states) < 3:
        return False
    created, start = datetime.fromisoformat(states[0][1]), datetime.fromisoformat(states[1][1])
    return RECORDED[0] <= start - created <= RECORDED[1] and start.microsecond != 0
