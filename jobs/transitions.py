"""The only functions that change the state of a job; each records an event."""

from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q

from jobs import outbox, states, storable, timeline
from jobs.models import Job, JobEvent
from jobs.states import FINISHED, JobState


def transition(
    job: Job,
    to: str,
    *,
    now: datetime,
    message: str,
    actor: User | None = None,
    reason: str = "",
    occurred_at: datetime | None = None,
    detail: dict[str, Any] | None = None,
    once_key: str = "",
    **columns: Any,
) -> bool:
    """Move `job` from the state of its instance to `to`; return False if that is no longer possible.

    Write the state, its event, the derived columns and any further `columns` in one transaction. False means that
    another worker moved the job first, that `once_key` was recorded before, or that `states.may_follow` does not allow
    the move; nothing was written. On True the instance holds the new row.

    `now` is when the step began. If `occurred_at` is later, `recorded_at` is `occurred_at`, not `now`.
    """
    if not states.may_follow(job.state, to, is_adopted=job.is_adopted):
        return False
    occurred_at = occurred_at or now
    event = JobEvent(
        job=job,
        kind=JobEvent.Kind.STATE,
        from_state=job.state,
        to_state=to,
        actor=actor,
        occurred_at=occurred_at,
        recorded_at=max(now, occurred_at),
        reason=reason,
        message=message,
        detail=detail or {},
        once_key=once_key or f"state:{to}:{occurred_at.isoformat()}",
    )
    rest: dict[str, Any] = {"due_at": None} if to in FINISHED and not job.may_have_duplicates else {}
    if to in {JobState.WITHDRAWN, JobState.REJECTED} and (job.attempted_at is not None or job.submit_attempts):
        rest = {"due_at": now}  # it is looked up: a job of this request may still run
    return _write(job, event, columns | rest | {"state": to}, only_from=job.state)


def record_event(
    job: Job,
    kind: str,
    *,
    now: datetime,
    message: str,
    once_key: str,
    actor: User | None = None,
    reason: str = "",
    occurred_at: datetime | None = None,
    detail: dict[str, Any] | None = None,
    to_state: str = "",
    **columns: Any,
) -> bool:
    """Record an event without a change of state; return False if `once_key` was recorded before.

    `to_state` is the state that a correction adds to the past (`timeline.holding`).
    """
    event = JobEvent(
        job=job,
        kind=kind,
        to_state=to_state,
        actor=actor,
        occurred_at=occurred_at or now,
        recorded_at=max(now, occurred_at or now),
        reason=reason,
        message=message,
        detail=detail or {},
        once_key=once_key,
    )
    return _write(job, event, columns)


def record_custom_job_state(
    job: Job, before: str, to: str, *, now: datetime, occurred_at: datetime, message: str
) -> bool:
    """Record a state of a pipeline's custom job that the pipeline's own state does not show.

    Return False if it was recorded before.
    """
    event = JobEvent(
        job=job,
        kind=JobEvent.Kind.CUSTOM_JOB_STATE,
        from_state=before,
        to_state=to,
        occurred_at=occurred_at,
        recorded_at=max(now, occurred_at),
        reason="observed",
        message=message,
        once_key=f"custom_job:{to}:{occurred_at.isoformat()}",
    )
    return _write(job, event, {})


def request_end(
    job: Job, *, now: datetime, message: str, reason: str = "policy", detail: dict[str, Any] | None = None
) -> bool:
    """Request the end of a job at Vertex AI without a person.

    Return False if it has ended or somebody has requested that before.
    """
    if job.is_finished or not job.remote_name or job.cancel_requested_at is not None:
        return False
    return record_event(
        job,
        JobEvent.Kind.CANCEL_REQUESTED,
        now=now,
        reason=reason,
        message=message,
        detail=detail,
        once_key="cancel:requested",
        cancel_requested_at=now,
        due_at=now,
    )


def supersede(job: Job, *, by: Job, now: datetime) -> None:
    """End the row of an adopted job that `by`, the request that made it, now follows.

    Its price becomes zero, because the whole cost counts with the request.
    """
    message = (
        f"The request “{by.display_name}” created this job and follows it from now on, with its whole cost."
        " This entry ends here."
    )
    fields: dict[str, Any] = {"reason": "superseded", "detail": {"job": str(by.pk)}, "hourly_usd": Decimal(0)}
    if not transition(job, JobState.LOST, now=now, message=message, remote_name="", **fields):
        key = f"superseded:{by.pk}"
        record_event(job, JobEvent.Kind.REPAIRED, now=now, message=message, once_key=key, remote_name="", **fields)


def _write(job: Job, event: JobEvent, columns: dict[str, Any], *, only_from: str | None = None) -> bool:
    """Write an event, its message, `columns` and the derived columns; update the instance.

    Values are fitted to their columns first; the event's detail lists which of its own were changed.
    """
    if cuts := storable.fit(event):
        event.detail |= {"cut": cuts}
    columns = storable.fit_columns(Job, columns)
    with transaction.atomic(savepoint=False):  # a savepoint would cost two more statements per event
        # An observer reads the row without a lock. If another worker has changed the state since, no row is found.
        rows = Job.objects.select_for_update().filter(pk=job.pk)
        rows = rows if only_from is None else rows.filter(state=only_from)
        revision = rows.values_list("revision", flat=True).first()
        before = _events(job, event.once_key) if revision is not None else []
        if revision is None or any(each.once_key == event.once_key for each in before):
            return False
        event.save()
        outbox.record_event(event, job)
        columns = columns | _derived([*before, event]) | {"is_counted": False, "revision": revision + 1}
        return storable.update_row(job, columns)


def _events(job: Job, once_key: str) -> list[JobEvent]:
    """Return the events of a job that its columns derive from, and the event with this key if there is one."""
    counts = ~Q(kind__in=JobEvent.PASSING) | Q(once_key=once_key)
    return list(JobEvent.objects.filter(counts, job=job).defer("message").order_by("id"))


def _derived(events: Sequence[JobEvent]) -> dict[str, Any]:
    """Return the columns derived from a job's events; passing events do not count."""
    facts = timeline.facts(event for event in events if event.kind not in JobEvent.PASSING)
    return {
        "state_since": facts.state_since,
        "approved_at": facts.approved_at,
        "started_at": facts.started_at,
        "ended_at": facts.ended_at,
        "running_seconds": facts.running.total_seconds(),
        "running_since": facts.running_since,
        "waited_again_seconds": facts.waited_again.total_seconds(),
        "waiting_again_since": facts.waiting_again_since,
        "restarts": facts.restarts,
        "custom_job_state": facts.custom_job_state,
        "wait_error": facts.wait_error,
    }
