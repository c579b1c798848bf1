"""Handle requests that nobody answers: approvers are reminded, and finally the request expires."""

from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import F, Q, QuerySet, Value

from jobs import transitions
from jobs.isolation import take_each
from jobs.models import Approval, Job, JobEvent
from jobs.outbox import APPROVAL_EXPIRED
from jobs.requests.approver_groups import describe_missing, groups_of
from jobs.requests.deciders import load_missing
from jobs.requests.policy_versions import current_version, terms_of
from jobs.states import JobState

AT_ONCE = 100
"""Requests handled by one sweep, the oldest first. The next one finds the rest."""


def watch_approvals(now: datetime) -> int:
    """Send reminders of open requests and end those that have expired. Return how many events were written."""

    def step(question: Approval) -> bool:
        is_over = question.expires_at is not None and question.expires_at <= now
        return (_expire if is_over else _remind)(question, now)

    return take_each(list(due_approvals(now).order_by("asked_at", "pk")[:AT_ONCE]), step, what="open approvals")


def due_approvals(now: datetime) -> QuerySet[Approval]:
    """Select the open requests that have expired, and those whose approvers are due to be reminded."""
    return Approval.objects.filter(Q(expires_at__lte=now) | Q(remind_at__lte=now), decision="")


def extend_open_approvals(since: datetime, now: datetime) -> int:
    """Postpone the end of every open approval by the part of `since` to `now` in which it was open. Return how many."""
    open_before = Approval.objects.filter(decision="", expires_at__isnull=False)
    asked_before = open_before.filter(asked_at__lte=since).update(expires_at=F("expires_at") + (now - since))
    asked_meanwhile = open_before.filter(asked_at__gt=since, asked_at__lt=now)
    return asked_before + asked_meanwhile.update(expires_at=F("expires_at") + (Value(now) - F("asked_at")))


def _expire(question: Approval, now: datetime) -> bool:
    """Expire one request unless it was answered, withdrawn or asked again meanwhile."""
    with transaction.atomic():
        job = Job.objects.select_for_update().get(pk=question.job_id)
        fresh = Approval.objects.get(pk=question.pk)
        if fresh.decision or fresh.expires_at is None or fresh.expires_at > now:
            return False
        Approval.objects.filter(pk=question.pk).update(expires_at=None, remind_at=None)
        if job.state != JobState.AWAITING_APPROVAL:
            return False
        hours = _hours(fresh.expires_at - fresh.asked_at)
        message = f"Nobody decided within {hours}, so the request expired. Request the job again if you still need it."
        return transitions.transition(
            job, JobState.WITHDRAWN, now=now, reason=APPROVAL_EXPIRED, message=message, due_at=None
        )


def _remind(question: Approval, now: datetime) -> bool:
    """Record the event that causes a reminder to approvers, and schedule the next reminder."""
    with transaction.atomic():
        job = Job.objects.select_for_update(of=("self",)).select_related("team").get(pk=question.job_id)
        fresh = Approval.objects.get(pk=question.pk)
        if fresh.decision or fresh.remind_at is None or fresh.remind_at > now:
            return False
        hours = terms_of(current_version(job.team)).remind_hours
        is_open = job.state == JobState.AWAITING_APPROVAL
        again = now + timedelta(hours=hours) if hours and is_open else None
        Approval.objects.filter(pk=question.pk).update(remind_at=again)
        if not is_open:
            return False
        message = f"The job has waited {_hours(now - fresh.asked_at)} for an approval."
        if len(groups_of(fresh)) > 1 and (missing := load_missing(job, fresh)):
            message = f"{message[:-1]}: {describe_missing(fresh, missing)}."
        once_key = f"approval_due:{fresh.remind_at.isoformat()}"
        return transitions.record_event(job, JobEvent.Kind.REMINDED, now=now, message=message, once_key=once_key)


def _hours(span: timedelta) -> str:
    hours = round(span / timedelta(hours=1))
    return f"{hours // 24} days" if hours >= 48 and hours % 24 == 0 else f"{hours} hours"
