"""A request under other strategies: its cost under each, and which of them an approver may choose instead."""

from datetime import datetime, timedelta
from decimal import Decimal

from dashboard.pages.parts.strategy_rows import StrategyRow, strategy_rows
from jobs import requests
from jobs.assessment import Context, assess
from jobs.models import Job
from jobs.requests.policy_versions import terms_of
from jobs.spec import Submission
from jobs.timeline.resource_holdings import find_submission


def load_submission(job: Job, now: datetime) -> tuple[Submission, Context] | None:
    """Return a request and its current context; None if its stored text can no longer be read."""
    submission = find_submission(job)
    if submission is None:
        return None
    expected = timedelta(seconds=job.expected_seconds)
    context = requests.load_context(
        job.team, submission, now=now, is_preview=True, has_identical=False, expected=expected
    )
    return submission, context


def ways_of(job: Job, submission: Submission, context: Context) -> list[StrategyRow]:
    """Return the cost of the job under its own strategy and every other that it can run under."""
    assessment = assess(submission, context, expected=timedelta(seconds=job.expected_seconds), compares=True)
    rows = strategy_rows(assessment.alternatives, chosen=job.strategy)
    return [row for row in rows if row.is_priced and (row.key == job.strategy or not (row.obstacles or row.needs))]


def expected_usd_of(ways: list[StrategyRow], job: Job) -> Decimal | None:
    """Return the expected cost under the job's own strategy, or None if no price is known."""
    return next((row.expected_usd for row in ways if row.key == job.strategy), None)


def cheaper(ways: list[StrategyRow], job: Job) -> list[StrategyRow]:
    """Return the strategies with a lower expected cost than the requested one, cheapest first.

    Strategies with machines that are paid for already are left out, because it is not known whether any exist.
    """
    asked = expected_usd_of(ways, job)
    prices: dict[str, Decimal] = {
        row.key: row.expected_usd
        for row in ways
        if row.expected_usd is not None and not row.strategy.is_held and row.key != job.strategy
    }
    found = [row for row in ways if row.key in prices and asked is not None and prices[row.key] < asked]
    return sorted(found, key=lambda row: prices[row.key])


def asks_requester(job: Job) -> bool:
    """Return whether the requester has to accept a strategy chosen by an approver."""
    policy = getattr(job.team, "policy", None)
    return not terms_of(policy.current if policy is not None else None).approvers_choose_strategy
