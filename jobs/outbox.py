"""Write a message in the same transaction as its event, so that it is never lost, nor sent after a rollback.

A cursor over the events would save one INSERT, but events get their numbers before their transactions commit. A reader
that has passed number 12 would never see number 11 if that commits later, and only PostgreSQL could know how long to
wait. Here the event and its message commit together, and `routed_at` marks what is done, in whatever order rows appear.
The cost is one INSERT for about three events of a job: 15 a second at 300 submissions a minute. `jobs.messages.route`
decides the recipients later, outside the job's transaction.
"""

from datetime import datetime
from typing import Any

from django.contrib.auth.models import User

from jobs import timeline
from jobs.models import Job, JobEvent, Message, Team
from jobs.states import JobState
from jobs.texts import as_json

Kind = Message.Kind
ENDS = {
    JobState.SUCCEEDED: Kind.DONE,
    JobState.PARTIALLY_SUCCEEDED: Kind.DONE,
    JobState.FAILED: Kind.FAILED,
    JobState.EXPIRED: Kind.FAILED,
    JobState.SUBMIT_FAILED: Kind.FAILED,
    JobState.LOST: Kind.FAILED,
    JobState.CANCELLED: Kind.CANCELLED,
    JobState.REJECTED: Kind.REJECTED,
}
EVENTS = {
    JobEvent.Kind.RESTARTED: Kind.RESTARTED,
    JobEvent.Kind.OVER_APPROVED: Kind.OVER_APPROVED,
    JobEvent.Kind.REMINDED: Kind.APPROVAL_REMINDER,
    JobEvent.Kind.CAP_NEAR: Kind.CAP,
    JobEvent.Kind.CAP_REACHED: Kind.CAP,
    JobEvent.Kind.CHANGED: Kind.CHANGE_PROPOSED,
    JobEvent.Kind.FALLBACK: Kind.FALLBACK,
}
"""Events that make a message without a change of state. To add a kind of message, add a line here."""
APPROVAL_EXPIRED = "approval_expired"
"""Reason of the event that ends a request nobody answered (`jobs.upkeep.approvals`)."""
FOR_ALL_OF_A_SWEEP = frozenset(
    {
        Kind.APPROVAL_NEEDED,
        Kind.APPROVAL_REMINDER,
        Kind.APPROVAL_EXPIRED,
        Kind.APPROVED,
        Kind.CHANGE_PROPOSED,
        Kind.REJECTED,
    }
)
"""Sent once for jobs that are requested and decided on together."""


def record_event(event: JobEvent, job: Job) -> None:
    """Write the message of an event that was just saved, if it has one; `job` is the row before the event."""
    kind = kind_of(event, job)
    if kind is None:
        return
    together = job.sweep is not None and kind in FOR_ALL_OF_A_SWEEP
    key = f"{kind}:sweep:{job.sweep}:{event.occurred_at.isoformat()}" if together else f"event:{event.pk}"
    message = _message(kind, job.team_id, key, event.occurred_at, event.recorded_at)
    message.job, message.event, message.actor_id = job, event, event.actor_id
    if kind == Kind.CANCELLED:  # the person who requested the cancellation needs no message
        asked = JobEvent.objects.filter(job=event.job_id, kind=JobEvent.Kind.CANCEL_REQUESTED).order_by("-id")
        message.actor_id = asked.values_list("actor", flat=True).first()
    Message.objects.bulk_create([message], ignore_conflicts=True)


def announce(
    kind: str,
    *,
    team: Team,
    once_key: str,
    now: datetime,
    job: Job | None = None,
    actor: User | None = None,
    detail: dict[str, Any] | None = None,
) -> bool:
    """Write a message without an event; return False if `once_key` was announced before.

    `actor`, whose act it is about, gets none. `detail` is JSON: {"text": one sentence, "next": what to do}; a kind may
    define more. The field "words" keeps the message ids and values of these two, so that they can be translated for
    each reader (`Message.words`).
    """
    if Message.objects.filter(once_key=once_key).exists():
        return False
    message = _message(kind, team.pk, once_key, now, now)
    message.job, message.actor, message.detail = job, actor, detail or {}
    if words := {name: as_json(message.detail[name]) for name in ("text", "next") if name in message.detail}:
        message.detail = message.detail | {"words": words}
    Message.objects.bulk_create([message], ignore_conflicts=True)
    return True


def kind_of(event: JobEvent, job: Job) -> Message.Kind | None:
    """Return the kind of message for an event, or None; `job` is the row before the event.

    A job that was allowed without approval, or adopted, makes no message.
    """
    is_start = event.to_state == JobState.RUNNING and event.detail.get(timeline.HAS_MACHINES, True)
    if event.kind == JobEvent.Kind.CUSTOM_JOB_STATE:
        return Kind.STARTED if is_start and job.started_at is None else None
    if event.kind != JobEvent.Kind.STATE:
        of_one_replica = event.kind == JobEvent.Kind.RESTARTED and event.detail.get("replica")
        is_settled = event.kind == JobEvent.Kind.CHANGED and not event.detail.get("asks_requester")
        return None if of_one_replica or is_settled else EVENTS.get(JobEvent.Kind(event.kind))
    if event.to_state == JobState.AWAITING_APPROVAL:
        return Kind.APPROVAL_NEEDED
    if event.from_state == "" or event.reason == "superseded":
        return None
    if event.to_state == JobState.APPROVED:
        return Kind.APPROVED if event.from_state == JobState.AWAITING_APPROVAL else None
    if event.reason == APPROVAL_EXPIRED:
        return Kind.APPROVAL_EXPIRED
    if event.to_state == JobState.RUNNING:
        return Kind.STARTED if is_start and job.started_at is None else None
    return ENDS.get(JobState(event.to_state)) if event.to_state in set(JobState) else None


def _message(kind: str, team: int, once_key: str, occurred_at: datetime, created_at: datetime) -> Message:
    return Message(kind=kind, team_id=team, once_key=once_key, occurred_at=occurred_at, created_at=created_at)
