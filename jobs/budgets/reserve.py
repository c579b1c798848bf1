"""Reserve the cost of approved jobs in their team's budgets, in the transaction that allows them."""

from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal

from jobs import budget
from jobs.budgets.groups import groups_of_job
from jobs.budgets.left import left_for
from jobs.budgets.record import record_spend
from jobs.errors import NotAllowed
from jobs.models import Job
from jobs.spec import Severity


def check_and_reserve(jobs: Sequence[Job], now: datetime) -> None:
    """Commit the highest cost of jobs of one team that were just approved. The caller has locked the team.

    Raise NotAllowed if they would exceed a budget that stops jobs; the caller then rolls back. A budget that asks is
    covered by the approval.
    """
    most = [job.max_usd for job in jobs]
    known = None if None in most else sum((usd for usd in most if usd is not None), Decimal(0))
    # There is one job, or all jobs of a sweep, which have the same groups.
    passed = budget.check(known, left_for(jobs[0].team_id, groups_of_job(jobs[0]), now))
    stops = [found for found in passed if found.severity is Severity.ERROR]
    if stops:
        raise NotAllowed(stops)
    record_spend(jobs, now)
