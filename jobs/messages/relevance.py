"""Check whether a message is still relevant when it is sent, and whether its receiver may still read it."""

from collections.abc import Iterable

from jobs.messages import kinds
from jobs.models import Delivery, JobHealth, Membership, Message, MessagePreference
from jobs.states import WAITING, JobState

Kind = Message.Kind
UNTIL_THE_END = frozenset({Kind.APPROVED, Kind.STARTED, Kind.RESTARTED, Kind.WASTE})
"""Kinds that are outdated once the job has ended, because a message about the end follows."""
WHILE_ASKING = frozenset({Kind.APPROVAL_NEEDED, Kind.APPROVAL_REMINDER})


def drop_reason(delivery: Delivery) -> str:
    """Return why a delivery must not be sent, "" if it may."""
    return _receiver_reason(delivery) or outdated_reason(delivery.message) or _superseded_reason(delivery)


def _receiver_reason(delivery: Delivery) -> str:
    person = delivery.person
    if person is None:
        return ""
    if not person.is_active:
        return "The account is deactivated."
    member = Membership.objects.filter(team=delivery.team_id, user=person).first()
    if member is None:
        return "The person has left the team."
    job, kind = delivery.message.job, delivery.message.kind
    is_owner = job is not None and job.owner_id == person.pk
    if kinds.concerns(kind, role=member.role, is_owner=is_owner):
        return ""
    wants = MessagePreference.objects.filter(user=person, about_others=True).exists()
    return "" if wants and not is_owner else "The person has another role now."


def outdated_reason(message: Message) -> str:
    """Return why a message is outdated, "" if it is not."""
    job = message.job
    if job is None:
        return ""
    if message.kind in WHILE_ASKING and job.state != JobState.AWAITING_APPROVAL:
        return "The job no longer waits for an approval."
    if message.detail.get("cancelled"):
        return ""
    if message.kind in UNTIL_THE_END and job.is_finished:
        return "The job has ended."
    if message.kind == Kind.WASTE and not JobHealth.objects.filter(job=job.pk).exclude(code="").exists():
        return "The job works again."
    if message.detail.get("asks") and not JobHealth.objects.filter(job=job.pk).exclude(asked_at=None).exists():
        return "The question was answered."
    if message.kind == Kind.WAITING_LONG and job.state not in WAITING:
        return "The job is no longer waiting."
    return ""


def _superseded_reason(delivery: Delivery) -> str:
    """Return a reason if a newer restart message waits, as after an outage only the newest one is sent."""
    if delivery.message.kind != Kind.RESTARTED:
        return ""
    later = Delivery.objects.filter(
        state=Delivery.State.WAITING,
        job=delivery.job_id,
        person=delivery.person_id,
        channel=delivery.channel_id,
        message__kind=Kind.RESTARTED,
        message__gt=delivery.message_id,
    )
    return "A newer message reports the job's next restart." if later.exists() else ""


def split_relevant(deliveries: Iterable[Delivery]) -> tuple[list[Delivery], list[tuple[Delivery, str]]]:
    """Return the deliveries to send, and those to drop with the reason."""
    kept, dropped = [], []
    for delivery in deliveries:
        if words := drop_reason(delivery):
            dropped.append((delivery, words))
        else:
            kept.append(delivery)
    return kept, dropped
