"""A person answers what policy asked: yes or no, with a comment, never about their own job."""

from datetime import datetime

from django.contrib.auth.models import User
from django.db import transaction

from jobs.lifecycle import door
from jobs.lifecycle.asking.ours import check_is_ours
from jobs.lifecycle.asking.roles import role_of
from jobs.lifecycle.errors import NotPermitted
from jobs.models import Approval, Job, Role
from jobs.states import JobState


def approve(job: Job, *, by: User, comment: str, now: datetime) -> bool:
    """Allow a job that awaits approval and make its submission due; False when it was answered or withdrawn before.

    Raises NotPermitted when `by` owns the job or is no approver of its team, and for an adopted job.
    """
    return _answer(job, Approval.Decision.APPROVED, JobState.APPROVED, by=by, comment=comment, now=now)


def reject(job: Job, *, by: User, comment: str, now: datetime) -> bool:
    """Refuse a job that awaits approval; False and NotPermitted as for `approve`."""
    return _answer(job, Approval.Decision.REJECTED, JobState.REJECTED, by=by, comment=comment, now=now)


def _answer(job: Job, decision: Approval.Decision, to: JobState, *, by: User, comment: str, now: datetime) -> bool:
    _check_may_answer(job, by)
    comment = comment.strip()
    sentence = f"{by.get_username()} {decision.value} it" + (f": {comment}" if comment else ".")
    allowed = {"approved_usd": job.judged_usd, "due_at": now} if to == JobState.APPROVED else {"due_at": None}
    if job.state != JobState.AWAITING_APPROVAL:
        return False
    with transaction.atomic():
        if not door.move(job, to, now=now, actor=by, reason=decision.value, sentence=sentence, **allowed):
            return False
        Approval.objects.filter(job=job).update(decision=decision, decided_by=by, decided_at=now, comment=comment)
    return True


def _check_may_answer(job: Job, by: User) -> None:
    check_is_ours(job)
    if job.owner_id == by.pk:
        raise NotPermitted("You requested this job, so another approver of the team has to decide.")
    if role_of(by, team_id=job.team_id) not in {Role.APPROVER, Role.LEAD}:
        raise NotPermitted(f"Only approvers and leads of {job.team} decide about its jobs.")
