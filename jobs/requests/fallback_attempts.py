"""The rows of further attempts. They are created with the first job of a request."""

from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal

from jobs import fallback, spec, timeline
from jobs.errors import NotAllowed
from jobs.fallback import Plan
from jobs.models import Fallback, FallbackAttempt, Job


def check_plan(plan: Plan) -> None:
    """Raise NotAllowed if the plan is not usable."""
    if problems := fallback.problems_of(plan):
        raise NotAllowed(
            [spec.Finding("fallback_not_usable", spec.Severity.ERROR, "", problem) for problem in problems]
        )


def create_fallbacks(jobs: Sequence[Job], plan: Plan, now: datetime) -> None:
    """Save the plan of each of these jobs, which become first attempts. `check_plan` has accepted the plan."""
    for job in jobs:
        words = fallback.path_words(job.strategy, job.region, plan)
        row = Fallback.objects.create(plan=plan.as_dict(), words=words, wait_hours=plan.wait_hours, began_at=now)
        FallbackAttempt.objects.create(fallback=row, number=1, job=job)


def list_attempts(row: Fallback) -> list[FallbackAttempt]:
    """Return the attempts with their jobs, teams and owners, in order. Makes one query."""
    return list(row.attempts.select_related("job__team", "job__owner").order_by("number"))


def get_plan(job: Job) -> Plan | None:
    """Return the plan of the attempts that a job belongs to, or None for a job without further attempts.

    Makes a query if the job was loaded without its attempt and the fallback.
    """
    attempt = getattr(job, "attempt", None)
    return None if attempt is None else fallback.plan_of(attempt.fallback.plan)


def sum_costs(attempts: Sequence[FallbackAttempt], now: datetime) -> Decimal | None:
    """Return what these attempts have cost in USD, or None if the price of one that ran is not known."""
    costs = [timeline.cost_so_far(attempt.job, now) for attempt in attempts if attempt.job.started_at is not None]
    return None if None in costs else sum((usd for usd in costs if usd is not None), Decimal(0))
