"""Approve a job under another strategy, which its requester then accepts or declines.

The job is assessed under that strategy and approval is requested again. Votes for the original request no longer count,
and the approver's vote is for the digest of the changed job. Unless the team's policy lets approvers choose the
strategy, the job continues only after its requester has accepted the change.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.utils.translation import gettext as _

from jobs import budgets, spec, transitions
from jobs.assessment import Assessment, assess
from jobs.cost import CENT, format_usd
from jobs.errors import NotPermitted
from jobs.models import Approval, Job, JobEvent, Vote
from jobs.permissions import check_is_ours, check_may_request
from jobs.requests.approval import (
    Changed,
    check_cap,
    check_digest,
    copy_columns,
    decide,
    find_waiting,
    lock_question,
    lock_waiting,
    record_votes,
    reserve_approved,
)
from jobs.requests.checks import check_may_be_written
from jobs.requests.context import load_context, submission_of, sweep_size
from jobs.requests.deciders import load_missing
from jobs.requests.policy_versions import current_version, terms_of
from jobs.requests.questions import Question, save_question
from jobs.requests.request import assessed_columns
from jobs.strategies import STRATEGIES, strategy_label, strategy_of


def approve_as(
    job: Job,
    strategy: str,
    *,
    by: User,
    comment: str,
    now: datetime,
    digest: str | None = None,
    expected_usd: Decimal | None = None,
    cap_usd: Decimal | None = None,
) -> bool:
    """Vote for a job that awaits approval, under another strategy.

    Return False if it was answered before, as `approve`. The vote is for all jobs of a sweep that wait for the same
    answer. `expected_usd` is the expected cost of a job under the strategy that the person has seen. Raise as
    `approve`. Raise Changed if the expected cost is different now. Raise NotAllowed and write nothing if the job may
    not run under the strategy. Raise ValueError for an unknown strategy.
    """
    if strategy not in STRATEGIES:
        raise ValueError(_("Choose one of the strategies."))
    check_cap(cap_usd)
    check_is_ours(job)
    with transaction.atomic():
        budgets.lock_teams([job.team_id])  # before the jobs, as everywhere
        found = lock_question(job, by=by, digest=digest, now=now)
        if found is None:
            return False
        assessments = _assess(found.waiting, _bodies(found.waiting, strategy), now)
        if expected_usd is not None and _expected(assessments[0]) != expected_usd:
            raise Changed(_("The cost under that strategy has changed since you opened it. Check it again."))
        requested = {each.pk: found.questions[each.pk].requested_spec or each.spec for each in found.waiting}
        asks_requester = not terms_of(current_version(job.team)).approvers_choose_strategy
        _ask_again(found.waiting, assessments, by, found.questions, now, asks_requester=asks_requester)
        for pk, body in requested.items() if asks_requester else ():
            Approval.objects.filter(job=pk).update(requested_spec=body)
        changed = lock_question(found.waiting[0], by=by, digest=None, now=now)  # other people may have to decide now
        assert changed is not None
        record_votes(changed, Approval.Decision.APPROVED, by=by, comment=comment, now=now, cap_usd=cap_usd)
        copy_columns(job, changed.waiting)
    return True


def most_under(job: Job, strategy: str, now: datetime) -> Decimal | None:
    """Return the most that all jobs may cost about which `approve_as` votes; None if it is not known. Raise as it."""
    waiting = find_waiting(job, Job.objects.all())
    amounts = [each.max_usd for each in _assess(waiting, _bodies(waiting, strategy), now)]
    return None if None in amounts else sum(filter(None, amounts), Decimal(0))


def _bodies(jobs: Sequence[Job], strategy: str) -> list[spec.Submission]:
    """Return the jobs as they would be sent under another strategy. Raise Changed and ValueError as `approve_as`."""
    if any(job.strategy == strategy for job in jobs):
        raise Changed(_("The job already has that strategy. Check it again, then decide."))
    bodies = [STRATEGIES[strategy].apply(submission_of(job)) for job in jobs]
    if any(strategy_of(body).key != strategy for body in bodies):
        raise ValueError(_("That strategy needs a value from the requester, such as the name of a resource."))
    return bodies


def accept_change(job: Job, *, by: User, now: datetime, digest: str | None = None) -> bool:
    """Accept, as the requester, the strategy that an approver chose. Return False if no change waits for that.

    The job continues if enough people have approved it. Raise NotPermitted for anybody else. Raise Changed and
    NotAllowed as `approve`.
    """
    with transaction.atomic():
        waiting, questions = _proposed(job, by, digest)
        for each in waiting:
            question = questions[each.pk]
            Approval.objects.filter(pk=question.pk).update(requested_spec=None)
            label = strategy_label(each.strategy)
            words = f"{by.get_username()} accepted the strategy {label}."
            _record_answer(each, question, by, "accepted", words, now)
            votes = Vote.objects.filter(job=each, asked_at=question.asked_at).select_related("voter").order_by("pk")
            last = votes.last()
            if last is None or load_missing(each, question):
                continue
            words, approved = f"{words[:-1]}; {last.voter.get_username()} approved it.", Approval.Decision.APPROVED
            decide(each, question, approved, by=last.voter, actor=by, comment=last.comment, message=words, now=now)
        if waiting:
            reserve_approved(waiting, now)
            copy_columns(job, waiting)
    return bool(waiting)


def keep_request(job: Job, *, by: User, now: datetime, digest: str | None = None) -> bool:
    """Decline, as the requester, the strategy that an approver chose. The original request is assessed and asked again.

    Returns and raises as `accept_change`.
    """
    with transaction.atomic():
        waiting, questions = _proposed(job, by, digest)
        bodies = [submission_of(each, questions[each.pk].requested_spec) for each in waiting]
        for each in waiting:
            words = f"{by.get_username()} kept the original request."
            _record_answer(each, questions[each.pk], by, "kept", words, now)
        _ask_again(waiting, _assess(waiting, bodies, now), by, questions, now, asks_requester=False)
        if waiting:
            copy_columns(job, waiting)
    return bool(waiting)


def _proposed(job: Job, by: User, digest: str | None) -> tuple[list[Job], Mapping[Any, Approval]]:
    """Lock the jobs whose changed strategy waits for the requester, and return them with their questions."""
    if job.owner_id != by.pk:
        raise NotPermitted(_("Only the requester can accept another strategy."))
    check_may_request(by, job.team)
    budgets.lock_teams([job.team_id])
    waiting = lock_waiting(job)
    questions = {each.job_id: each for each in Approval.objects.filter(job__in=waiting, requested_spec__isnull=False)}
    if job.pk in questions:
        check_digest(questions[job.pk], digest)
        return [each for each in waiting if each.pk in questions], questions
    return [], {}


def _assess(jobs: Sequence[Job], bodies: Sequence[spec.Submission], now: datetime) -> list[Assessment]:
    """Assess the jobs again, together, as they were requested. Raise NotAllowed if one is refused."""
    if not jobs:
        return []
    first, size = jobs[0], sweep_size(jobs[0])
    expected = timedelta(seconds=first.expected_seconds)
    context = load_context(
        first.team,
        bodies[0],
        now=now,
        sweep_size=size,
        by=first.owner,
        expected=expected,
        cap_usd=first.cap_usd,
    )
    found = [
        assess(body, context, expected=timedelta(seconds=each.expected_seconds))
        for each, body in zip(jobs, bodies, strict=True)
    ]
    for assessment in found:
        check_may_be_written(assessment)
    return found


def _ask_again(
    jobs: Sequence[Job],
    assessments: Sequence[Assessment],
    by: User,
    questions: Mapping[Any, Approval],
    now: datetime,
    *,
    asks_requester: bool,
) -> None:
    """Write the changed jobs and new questions about them, which invalidate the earlier ones."""
    asks = [finding for each in assessments for finding in each.asks]
    for job, assessment in zip(jobs, assessments, strict=True):
        assert assessment.decision is not None
        at = max(now, questions[job.pk].asked_at + timedelta(microseconds=1))  # votes belong to the question of a time
        _record_change(job, assessment, by, now, at, asks_requester=asks_requester)
        save_question(job, Question(assessment.asks or asks, assessment.decision.as_dict()), now=at)


def _record_change(
    job: Job, assessment: Assessment, by: User, now: datetime, at: datetime, *, asks_requester: bool
) -> None:
    """Write the columns of the changed job with events about the change and the assessment."""
    before = (job.strategy, job.estimate_usd, job.spec_digest)
    columns = assessed_columns(assessment, sweep_size(job))
    transitions.record_event(
        job,
        JobEvent.Kind.CHANGED,
        now=now,
        actor=by,
        reason=str(columns["strategy"]),
        message=f"{by.get_username()} changed the strategy from {_cost(*before[:2])} to "
        f"{_cost(columns['strategy'], columns['estimate_usd'])}.",
        once_key=f"changed:{at.isoformat()}",
        detail={"asks_requester": asks_requester, "digest_before": before[2], "digest": columns["spec_digest"]},
        **columns,
    )
    transitions.record_event(
        job,
        JobEvent.Kind.ASSESSED,
        now=now,
        message="Trainboard checked the job with the new strategy against rules and policy.",
        reason=str(assessment.outcome),
        once_key=f"judged:{at.isoformat()}",
        detail=assessment.as_dict(),
    )


def _cost(strategy: str, usd: Decimal | None) -> str:
    label = strategy_label(strategy)
    return f"{label} (about {format_usd(usd)})" if usd is not None else label


def _expected(assessment: Assessment) -> Decimal | None:
    usd = assessment.estimate.expected_usd if assessment.estimate is not None else None
    return None if usd is None else usd.quantize(CENT, ROUND_HALF_UP)


def _record_answer(job: Job, question: Approval, by: User, reason: str, message: str, now: datetime) -> None:
    key = f"change_answered:{question.asked_at.isoformat()}"
    kind = JobEvent.Kind.CHANGE_ANSWERED
    transitions.record_event(job, kind, now=now, actor=by, reason=reason, message=message, once_key=key)
