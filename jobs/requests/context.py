"""What the site knows that the assessment of a request rests on, loaded for a team and a submission."""

from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal

from django.contrib.auth.models import User

from jobs import budgets, spec, strategies
from jobs.assessment import Context, filled
from jobs.cost import PriceBook
from jobs.models import Policy, Team
from jobs.prices import current_book
from jobs.requests import rule_settings
from jobs.requests.allowed import allowed_of
from jobs.requests.identical import identical_jobs
from jobs.requests.learned import load_learned
from jobs.requests.persistent_resources import known_resources
from jobs.requests.policy_versions import limits_of


def cancels_at_cap(team: Team) -> bool:
    """Tell whether the team's jobs are cancelled when they have cost their cap; else people are told."""
    policy = Policy.objects.filter(team=team).values_list("cancel_at_cap", flat=True).first()
    return True if policy is None else policy


def load_context(
    team: Team,
    submission: spec.Submission | None = None,
    *,
    resources: strategies.Known | None = None,
    now: datetime | None = None,
    sweep_size: int = 1,
    book: PriceBook | None = None,
    by: User | None = None,
    expected: timedelta | None = None,
) -> Context:
    """Return what the site knows that an assessment rests on: limits of the team, severities, persistent resources.

    `resources` are those that the caller has loaded; else those that the submission asks for are. With `now` the jobs
    that are identical to it count as well, and what ended jobs of the team tell. `sweep_size` jobs are judged together.
    `book` is by default that of now. `by` requests it, which budgets and policy ask for. With the run time that is
    `expected`, budgets are those of the submission with the labels that policy sets.
    """
    if resources is None:
        resources = known_resources(submission) if submission is not None else ()
    same = identical_jobs(submission, team, now=now) if submission is not None and now is not None else ()
    context = Context(
        limits=limits_of(team),
        severities=rule_settings.severities(),
        resources=resources,
        identical=same,
        sweep_size=sweep_size,
        book=book or current_book(),
        allowed=allowed_of(team),
        budgets=budgets.left_for_submission(team, by, submission, now),
        learned=load_learned(team, submission, now) if submission is not None and now is not None else {},
        submitter=by.get_username() if by is not None else "",
    )
    if submission is None or (full := filled(submission, context, expected).submission) == submission:
        return context
    return replace(context, budgets=budgets.left_for_submission(team, by, full, now))


def with_cap(context: Context, team: Team, cap_usd: Decimal | None, *, is_approvers: bool = False) -> Context:
    """Return the context of jobs with a cap on their cost; one that an approver has set always cancels."""
    if cap_usd is None:
        return context
    return replace(context, cap_usd=cap_usd, cap_cancels=is_approvers or cancels_at_cap(team))
