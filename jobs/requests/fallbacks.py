"""After an attempt has ended, make the next one or record why none follows.

Each attempt is a separate job. It is requested in the name of the first one's owner as if the form had been submitted
again, so current policy, budgets and allowed resources apply. What approvers have approved with the first attempt is
not asked again. Locks are taken in one order: the fallback's row, the team, the job. So if two workers run the same
step, the second one finds it done.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal
from uuid import UUID

from django.contrib.auth.models import User
from django.db import transaction

from jobs import budgets, fallback, transitions
from jobs.assessment import assess
from jobs.cost import format_usd
from jobs.errors import NotAllowed, NotPermitted
from jobs.fallback import REASON_WORDS, Plan, Reason
from jobs.models import Fallback, FallbackAttempt, Job, JobEvent
from jobs.models.kept_message import message_columns
from jobs.permissions import check_may_request
from jobs.requests.approval_coverage import AttemptApproval, find_shared_approval
from jobs.requests.attempt_endings import AttemptEnding, find_ending
from jobs.requests.context import RequestOptions, load_context, submission_of
from jobs.requests.fallback_attempts import list_attempts, sum_costs
from jobs.requests.request import request_jobs
from jobs.requests.request_keys import attempt_key, requested_cap
from jobs.strategies import STRATEGIES
from jobs.texts import translatable as _

Outcome = Fallback.Outcome


def make_next_attempt(pk: UUID, *, now: datetime) -> bool:
    """Make the next attempt, or end the fallback. Return False if there is nothing to do yet.

    Everything is one transaction, so a worker that is killed leaves either nothing or all of it.
    """
    with transaction.atomic():
        row = Fallback.objects.select_for_update().get(pk=pk)
        if row.ended_at is not None:
            return False
        attempts = list_attempts(row)
        budgets.lock_teams([attempts[0].job.team_id])
        last = attempts[-1].job = _lock(attempts[-1].job_id)
        plan = fallback.plan_of(row.plan)
        ending = find_ending(last, now)
        if ending is None:
            return False
        if ending.reason is None or ending.reason not in plan.reasons:
            message = _("No further attempt follows: %(why)s.", why=ending.words)
            if ending.reason is not None:
                why = REASON_WORDS[ending.reason]
                message = _("No further attempt follows, because none was asked for where %(why)s.", why=why)
            _end(row, last, ending.outcome, message, now, is_announced=len(attempts) < plan.size)
        elif len(attempts) >= plan.size:
            message = _("All %(n)s attempts were made; %(why)s.", n=plan.size, why=ending.words)
            _end(row, last, Outcome.EXHAUSTED, message, now)
        else:
            _make_next(row, plan, attempts, ending, now)
    return True


def _make_next(
    row: Fallback, plan: Plan, attempts: Sequence[FallbackAttempt], ending: AttemptEnding, now: datetime
) -> None:
    """Request the next attempt. If it is refused, end the fallback and record why."""
    last, first, number = attempts[-1].job, attempts[0].job, len(attempts) + 1
    spent, approval = sum_costs(attempts, now), find_shared_approval(row.pk)
    if approval is not None and approval.cap_usd is not None:  # an approver's cap is for all attempts together
        plan = replace(plan, max_usd=plan.cap(approval.cap_usd))
    if plan.max_usd is not None and (spent is None or spent >= plan.max_usd):
        words = _(
            "No further attempt follows. All attempts together may cost %(most)s, and the cost so far is %(cost)s.",
            most=format_usd(plan.max_usd),
            cost=_("not known") if spent is None else format_usd(spent),
        )
        _end(row, last, Outcome.TOO_EXPENSIVE, words, now)
        return
    options = _options(first, plan, spent, now, last)
    submission = fallback.apply(submission_of(first), plan.steps[number - 2])
    try:
        with transaction.atomic():
            shared = AttemptApproval(approval, number) if approval is not None else None
            options = replace(options, approval=shared)
            (job,) = request_jobs([submission], options, request_key=attempt_key(row.pk, number))
            kept = {"reason": str(ending.reason), **message_columns(_because(number, plan, ending))}
            FallbackAttempt.objects.create(fallback=row, number=number, job=job, **kept)
    except (NotAllowed, NotPermitted) as refusal:
        outcome = Outcome.OWNER_LEFT if isinstance(refusal, NotPermitted) else Outcome.REFUSED
        _end(row, last, outcome, _refused(refusal, last, number), now)
        return
    label = STRATEGIES[job.strategy].label
    transitions.record_event(
        last,
        JobEvent.Kind.FALLBACK,
        now=now,
        reason=str(ending.reason),
        message=f"Attempt {number} of {plan.size} ({label} in {job.region}) follows because {ending.words}.",
        once_key=f"fallback:{number}",
        detail={"job": str(job.pk), "attempt": number},
    )


def _because(number: int, plan: Plan, ending: AttemptEnding) -> str:
    return _(
        "Attempt %(number)s of %(all)s, because %(why)s in attempt %(before)s.",
        number=number,
        all=plan.size,
        why=ending.words,
        before=number - 1,
    )


def _options(first: Job, plan: Plan, spent: Decimal | None, now: datetime, last: Job | None) -> RequestOptions:
    """Return the options of an attempt: the first one's requester, and the rest of the amount for all attempts."""
    spent = spent or Decimal(0)
    return RequestOptions(
        first.team,
        first.owner,
        timedelta(seconds=first.expected_seconds),
        now,
        last,
        plan.cap(first.cap_usd, spent),
        timeout_cap_usd=requested_cap(first),
        author=first.author,
        left_usd=None if plan.max_usd is None else plan.max_usd - spent,
    )


def _refused(refusal: NotAllowed | NotPermitted, last: Job, number: int) -> str:
    if isinstance(refusal, NotPermitted):
        return _(
            "No further attempt follows: %(person)s may request no more jobs for %(team)s.",
            person=last.owner.get_username(),
            team=last.team,
        )
    return _("No further attempt follows: attempt %(number)s is refused. %(why)s", number=number, why=refusal.errors)


def can_follow(pk: UUID, *, now: datetime) -> bool:
    """Return whether another attempt can follow now. Only then is a waiting attempt cancelled."""
    row = Fallback.objects.get(pk=pk)
    plan, attempts = fallback.plan_of(row.plan), list_attempts(row)
    first, number = attempts[0].job, len(attempts) + 1
    if number > plan.size or Reason.CAPACITY not in plan.reasons:
        return False
    try:
        check_may_request(first.owner, first.team)
    except NotPermitted:
        return False
    submission = fallback.apply(submission_of(first), plan.steps[number - 2])
    cap = plan.cap(first.cap_usd)
    context = load_context(
        first.team, submission, now=now, by=first.owner, cap_usd=cap, timeout_cap_usd=requested_cap(first)
    )
    return not assess(submission, context, expected=timedelta(seconds=first.expected_seconds)).errors


def stop_attempts(job: Job, *, by: User, now: datetime) -> bool:
    """End the attempts of a request because a person cancels `job`. Return False if no attempt would follow.

    The caller cancels the job itself, in the same transaction.
    """
    with transaction.atomic():
        row = Fallback.objects.select_for_update().filter(attempts__job=job, ended_at=None).first()
        if row is None or list_attempts(row)[-1].job_id != job.pk:
            return False
        message = _("%(person)s cancelled it, so no further attempt follows.", person=by.get_username())
        _end(row, _lock(job.pk), Outcome.CANCELLED, message, now, actor=by)
    return True


def _lock(pk: UUID) -> Job:
    return Job.objects.select_for_update(of=("self",)).select_related("team", "owner").get(pk=pk)


def _end(
    row: Fallback,
    job: Job,
    outcome: Fallback.Outcome,
    message: str,
    now: datetime,
    *,
    actor: User | None = None,
    is_announced: bool = True,
) -> None:
    """Record why no further attempt follows, also as an event of the last job unless nobody expected one."""
    Fallback.objects.filter(pk=row.pk).update(ended_at=now, outcome=outcome, **message_columns(message))
    if is_announced and outcome is not Outcome.SUCCEEDED:
        key, kind = "fallback:ended", JobEvent.Kind.FALLBACK
        transitions.record_event(job, kind, now=now, reason=outcome, message=message, once_key=key, actor=actor)
