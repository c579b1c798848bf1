"""Assess an allowed job again before each try to send it.

Policy, prices, resources and the team's members may have changed since the request, and since the last try.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from django.db import transaction

from jobs import budgets
from jobs.assessment import Assessment, Context, assess, storable_price
from jobs.cost import rate_of
from jobs.cost.lines import as_text
from jobs.gate import CeilingUse
from jobs.models import Job, JobEvent
from jobs.permissions import may_request
from jobs.requests.approval_coverage import find_approval, find_uncovered
from jobs.requests.context import load_context, submission_of, sweep_size
from jobs.requests.persistent_resources import known_resources, waits_for_resource
from jobs.requests.questions import Question
from jobs.spec import Finding, Severity
from jobs.states import JobState
from jobs.strategies import STRATEGIES
from jobs.submission.ports import Change, Event
from jobs.texts import translatable

RESOURCE_INTERVAL = timedelta(seconds=30)
"""Pause before a job is tried again whose persistent resource is on the way to RUNNING."""


def reassess(job: Job, now: datetime) -> Change | None:
    """Return the change to write instead of sending the job now, or None if it may be sent.

    If there are ceilings, what the job may cost at present prices is compared with them and stored while nothing else
    can use them up. What others have requested since never makes a policy ask about an allowed job.

    This runs before a creation is taken from the rate limit, so that a job that waits for its resource takes none.
    Figures learned since the request are ignored: only prices or policy can make a new approval necessary.
    """
    if not budgets.has_ceilings(job.team):
        return _reassess(job, now, ())
    with transaction.atomic():
        budgets.lock_teams([job.team_id])
        ceilings = budgets.load_ceilings(job.team, job.owner_id, now, apart_from=[job.pk], is_locked=True)
        return _reassess(job, now, ceilings)


def _reassess(job: Job, now: datetime, ceilings: tuple[CeilingUse, ...]) -> Change | None:
    if not may_request(job.owner, team_id=job.team_id):
        return _refuse([_no_longer_member(job)])
    submission, expected = submission_of(job), timedelta(seconds=job.expected_seconds)
    resources = known_resources(submission, apart_from=job.pk)
    approval = find_approval(job) if job.cap_usd is not None else None
    context = load_context(
        job.team,
        resources=resources,
        sweep_size=sweep_size(job),
        by=job.owner,
        cap_usd=job.cap_usd,
        is_approvers_cap=approval is not None and approval.cap_usd is not None,
    )
    # The job's own commitment is not deducted from the budget, and policy fills in nothing in an approved job.
    context = replace(context, budgets=budgets.left_for_job(job, now), budget_jobs=1, fills=False, ceilings=ceilings)
    assessment = assess(submission, context, expected=expected)
    if not (refused := assessment.errors):
        if asks := find_uncovered(job, assessment):
            return _ask_again(job, assessment, asks, now)
        save_price_snapshot(job, assessment, context, now)
        return None
    if waits_for_resource(submission, resources, refused):
        columns = {"due_at": now + RESOURCE_INTERVAL, "last_error": refused[0].message}
        return Change(columns=columns, releases=True)
    return _refuse(refused)


def _no_longer_member(job: Job) -> Finding:
    """Return the error about a job whose requester has left the team, may only read by now, or is deactivated."""
    words = {"person": job.owner.get_username(), "team": str(job.team)}
    message = translatable("%(person)s may no longer request jobs for %(team)s.", **words)
    return Finding("requester_left", Severity.ERROR, "", message, translatable("Let a member of the team request it."))


def _refuse(refused: Sequence[Finding]) -> Change:
    words = "; ".join(finding.message for finding in refused)
    event = Event(
        JobEvent.Kind.STATE,
        f"Trainboard checked the job again before sending it and refused it: {words}",
        to_state=JobState.SUBMIT_FAILED,
        reason="policy",
        detail={"findings": [finding.as_dict() for finding in refused]},
    )
    return Change((event,), {"due_at": None}, releases=True)


def _ask_again(job: Job, assessment: Assessment, asks: list[dict[str, object]], now: datetime) -> Change:
    """Send the job back to its approvers. The earlier approval is no longer valid."""
    assert assessment.decision is not None
    policy = assessment.decision.as_dict()
    was_approved = find_approval(job) is not None
    needs = "its approval is no longer valid and it needs a new one" if was_approved else "it needs an approval now"
    event = Event(
        JobEvent.Kind.STATE,
        f"Trainboard checked the job again before sending it, and {needs}: {asks[0]['message']}",
        key=f"asked_again:{now.isoformat()}",
        to_state=JobState.AWAITING_APPROVAL,
        reason="judged_again",
        detail={"findings": asks, "policy": policy},
    )
    amounts = {"max_usd": assessment.max_usd, "limit_usd": assessment.decision.limit_usd, "approved_usd": None}
    return Change((event,), {"due_at": None, **amounts}, question=Question(asks, policy), releases=True)


def save_price_snapshot(job: Job, assessment: Assessment, context: Context, now: datetime) -> None:
    """Save the current prices with a claimed job that is about to be sent: its cost is calculated from them.

    Also save whether the current policy cancels the job at its cap. Prices recorded later change neither the job's cost
    nor its savings.
    """
    estimate, submission = assessment.estimate, assessment.submission
    assert estimate is not None
    standard = rate_of(submission, price_key=STRATEGIES["standard"].price_key, book=context.book).usd_per_hour
    hourly = storable_price(estimate.usd_per_hour)
    snapshot = {
        "at": now.isoformat(),
        "usd_per_hour": as_text(hourly),
        "standard_usd_per_hour": as_text(None if standard is None else standard * submission.parallel_trials),
        "prices_as_of": estimate.prices_as_of.isoformat() if estimate.prices_as_of else None,
        "lines": [line.as_dict() for line in estimate.lines],
    }
    ours = Job.objects.filter(pk=job.pk, claim=job.claim, state__in=[JobState.APPROVED, JobState.SUBMITTING])
    most = assessment.max_usd
    ours.update(price_snapshot=snapshot, hourly_usd=hourly, max_usd=most, cap_cancels=context.cap_cancels)
