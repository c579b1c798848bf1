"""Answer a question about a job: approve, approve up to a cost, or reject with a reason.

Each answer is a `Vote`, which never changes. Nobody votes about their own job. The job continues once each group of
approvers has as many approvals as policy asks for. One rejection ends it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet
from django.utils.translation import gettext as _

from jobs import budgets, transitions
from jobs.cost import format_usd
from jobs.models import Approval, Job, JobEvent, Vote
from jobs.permissions import check_is_ours
from jobs.requests.approver_groups import Roster, describe_missing, groups_of
from jobs.requests.deciders import Decider, approved_by
from jobs.states import JobState

MAX_CAP = Decimal(10) ** 12


class Changed(Exception):
    """The question is not the one that the person answered: the spec's cost or the policy has changed."""


def approve(
    job: Job, *, by: User, comment: str, now: datetime, digest: str | None = None, cap_usd: Decimal | None = None
) -> bool:
    """Vote for a job that awaits approval. Return False if it was answered or withdrawn before, or `by` has voted.

    The vote is for all jobs of a sweep that wait and cost the same. The job becomes due once enough people of each
    group have voted. `digest` identifies the question that the person has seen. `cap_usd` becomes the cap of the job
    unless its cap is lower; the job is cancelled when its cost reaches the cap.

    Raise NotPermitted if `by` owns the job or may not decide about it, and for an adopted job. Raise Changed if
    `digest` is not that of the question. Raise NotAllowed and write nothing if the jobs would exceed a budget that
    stops them. Raise ValueError for a cap that is not an amount.
    """
    check_cap(cap_usd)
    return _answer(job, Approval.Decision.APPROVED, by=by, comment=comment, now=now, digest=digest, cap_usd=cap_usd)


def check_cap(cap_usd: Decimal | None) -> None:
    """Raise ValueError for a cap that is not an amount."""
    if cap_usd is not None and not 0 < cap_usd < MAX_CAP:
        raise ValueError(_("A cap is an amount over $0."))


def reject(job: Job, *, by: User, comment: str, now: datetime, digest: str | None = None) -> bool:
    """Reject a job that awaits approval. `comment` is the required reason. Otherwise the same as `approve`."""
    if not comment.strip():
        raise ValueError(_("A rejection needs a reason: the requester reads it."))
    return _answer(job, Approval.Decision.REJECTED, by=by, comment=comment, now=now, digest=digest)


def _answer(
    job: Job,
    decision: Approval.Decision,
    *,
    by: User,
    comment: str,
    now: datetime,
    digest: str | None,
    cap_usd: Decimal | None = None,
) -> bool:
    check_is_ours(job)
    with transaction.atomic():
        # Everything is locked in one order (teams, jobs, sums) to prevent deadlocks.
        budgets.lock_teams([job.team_id])
        found = lock_question(job, by=by, digest=digest, now=now)
        if found is None:
            return False
        record_votes(found, decision, by=by, comment=comment, now=now, cap_usd=cap_usd)
        copy_columns(job, found.waiting)
    return True


@dataclass(frozen=True, slots=True)
class OpenQuestion:
    """Jobs that wait for one answer, with their rows locked; their questions by job; and for whom a vote counts.

    The `roster` contains everybody who may decide.
    """

    waiting: list[Job]
    questions: dict[UUID, Approval]
    counts_for: User
    roster: Roster


def lock_question(job: Job, *, by: User, digest: str | None, now: datetime) -> OpenQuestion | None:
    """Lock what waits for the same answer as `job`. Return None if nothing does, or `by` has already voted.

    Raise NotPermitted and Changed as `approve`. The caller has locked the budgets.
    """
    waiting = lock_waiting(job)
    questions = {question.job_id: question for question in Approval.objects.filter(job__in=waiting)}
    decider, question = Decider.load(by, [job], now=now), questions.get(job.pk)
    if question is None:
        decider.voter_for(job, Approval.objects.filter(job=job).first() or Approval(job_id=job.pk, asked_at=now))
        return None
    counts_for = decider.voter_for(job, question)
    check_digest(question, digest)
    if any(vote.voter_id == by.pk for vote in decider.votes_for(question)):
        return None
    return OpenQuestion(waiting, questions, counts_for, decider.roster)


def check_digest(question: Approval, digest: str | None) -> None:
    """Raise Changed if the question is not the one that the person has seen."""
    if digest is not None and digest != question.digest:
        raise Changed(_("The request has changed since you opened it. Check the amount and the reasons again."))


def record_votes(
    found: OpenQuestion, decision: Approval.Decision, *, by: User, comment: str, now: datetime, cap_usd: Decimal | None
) -> None:
    """Write a vote for each job, and reserve the cost of the jobs that are now approved in the budgets."""
    for job in found.waiting:
        _vote(job, found, decision, by, comment.strip(), now, cap_usd)
    reserve_approved(found.waiting, now)


def reserve_approved(jobs: Sequence[Job], now: datetime) -> None:
    """Reserve the maximum cost of the approved jobs in the budgets. Raise NotAllowed as `approve`."""
    if approved := [job for job in jobs if job.state == JobState.APPROVED]:
        budgets.check_approved(approved, now)


def copy_columns(job: Job, rows: Sequence[Job]) -> None:
    """Update the caller's instance of a job from its row, which is one of `rows`."""
    changed = next(row for row in rows if row.pk == job.pk)
    for name in ("state", "due_at", "approved_usd", "max_usd", "state_since", "approved_at", "ended_at", "strategy"):
        setattr(job, name, getattr(changed, name))


def lock_waiting(job: Job) -> list[Job]:
    """Return the job and the others of its sweep that wait for the same answer, or [] if the job does not wait.

    All jobs of the sweep are locked in one order.
    """
    return find_waiting(job, Job.objects.select_for_update(of=("self",)))


def find_waiting(job: Job, rows: QuerySet[Job]) -> list[Job]:
    """Return, of `rows`, what `lock_waiting` returns."""
    rows = rows.select_related("team").order_by("pk")
    sweep = list(rows.filter(sweep=job.sweep) if job.sweep is not None else rows.filter(pk=job.pk))
    own = next((each for each in sweep if each.pk == job.pk), None)
    if own is None or own.state != JobState.AWAITING_APPROVAL:
        return []
    return [each for each in sweep if each.state == JobState.AWAITING_APPROVAL and each.max_usd == own.max_usd]


def _vote(
    job: Job,
    found: OpenQuestion,
    decision: Approval.Decision,
    by: User,
    comment: str,
    now: datetime,
    cap_usd: Decimal | None,
) -> None:
    """Write one person's vote for one job, and the decision if this vote completes it."""
    question, counts_for, roster = found.questions[job.pk], found.counts_for, found.roster
    asked = enumerate(groups_of(question))
    Vote.objects.create(
        job=job,
        asked_at=question.asked_at,
        voter=by,
        counts_for=counts_for,
        decision=decision,
        comment=comment,
        cap_usd=cap_usd,
        max_usd=job.max_usd,
        digest=question.digest,
        voted_at=now,
        groups=[position for position, group in asked if roster.is_in(group, counts_for.pk, job.team_id)],
    )
    message = _message(decision, (by, counts_for), comment, cap_usd)
    is_rejection = decision is Approval.Decision.REJECTED
    votes = Vote.objects.filter(job=job, asked_at=question.asked_at)
    missing = [] if is_rejection else roster.missing(question, job, approved_by(votes))
    if is_rejection or not (missing or question.requested_spec is not None):
        decide(job, question, decision, by=by, actor=by, comment=comment, message=message, now=now)
        return
    rest = describe_missing(question, missing) if missing else "the requester has to accept the new strategy"
    key = f"voted:{question.asked_at.isoformat()}:{by.pk}"
    message = f"{message.removesuffix('.')}; {rest}."
    detail = {"votes_needed": question.votes_needed, "missing": sum(each.approvals for each in missing)}
    kind, reason = JobEvent.Kind.VOTED, decision.value
    transitions.record_event(job, kind, now=now, actor=by, reason=reason, message=message, once_key=key, detail=detail)


def _message(decision: Approval.Decision, people: Sequence[User], comment: str, cap_usd: Decimal | None) -> str:
    by, counts_for = people
    instead = f" for {counts_for.get_username()}" if counts_for != by else ""
    up_to = f" up to {format_usd(cap_usd)}" if cap_usd is not None else ""
    return f"{by.get_username()}{instead} {decision.value} it{up_to}" + (f": {comment}" if comment else ".")


def decide(
    job: Job,
    question: Approval,
    decision: Approval.Decision,
    *,
    by: User,
    actor: User,
    comment: str,
    message: str,
    now: datetime,
) -> None:
    """Apply the decision to the job as an action of `actor`, and close its question with the answer of `by`."""
    votes = Vote.objects.filter(job=job, asked_at=question.asked_at)
    cap = min((vote.cap_usd for vote in votes if vote.cap_usd is not None), default=None)
    is_allowed = decision is Approval.Decision.APPROVED
    amounts = [usd for usd in (job.max_usd, cap) if usd is not None]
    allowed: dict[str, Any] = {"approved_usd": min(amounts, default=None), "due_at": now}
    if cap is not None:  # a job has one cap, the lower one; a cap set by an approver always cancels
        least = min(usd for usd in (job.cap_usd, cap) if usd is not None)
        allowed |= {"cap_usd": least, "cap_cancels": True}
    most = job.max_usd
    to = JobState.APPROVED if is_allowed else JobState.REJECTED
    columns = allowed if is_allowed else {"due_at": None}
    if not transitions.transition(job, to, now=now, actor=actor, reason=decision.value, message=message, **columns):
        raise RuntimeError(f"job {job.pk} is locked and cannot go from {job.state} to {to}")
    Approval.objects.filter(pk=question.pk).update(
        decision=decision,
        decided_by=by,
        decided_at=now,
        comment=comment,
        decided_usd=most if is_allowed else None,
        cap_usd=cap,
        remind_at=None,
        expires_at=None,
    )
