"""Check approved jobs against their team's budgets, in the transaction that allows them."""

from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal

from jobs import gate
from jobs.budgets.ceilings import load_ceilings
from jobs.budgets.groups import groups_of_job
from jobs.budgets.left import left_for
from jobs.budgets.spent import gpus_of
from jobs.errors import NotAllowed
from jobs.gate import Charge
from jobs.models import Job
from jobs.spec import Severity


def check_approved(jobs: Sequence[Job], now: datetime) -> None:
    """Check the highest cost of jobs of one team that were just approved. The caller has locked the team.

    From then on it is committed. Raise NotAllowed if they would exceed a ceiling, or a budget that stops jobs; the
    caller then rolls back. A budget that asks is covered by the approval.
    """
    # There is one job, or all jobs of a sweep, which have the same groups.
    first, own = jobs[0], [job.pk for job in jobs]
    ceilings = load_ceilings(first.team, first.owner_id, now, apart_from=own, is_locked=True)
    left = left_for(first.team_id, groups_of_job(first), now, apart_from=own)
    passed = gate.check(_charge_of(jobs), left, ceilings)
    stops = [found for found in passed if found.severity is Severity.ERROR]
    if stops:
        raise NotAllowed(stops)


def _charge_of(jobs: Sequence[Job]) -> Charge:
    """Return what these jobs add together, as they were assessed last."""
    amounts = [job.max_usd for job in jobs if job.max_usd is not None]
    return Charge(
        max(amounts) if len(amounts) == len(jobs) else None,
        _sum([job.hourly_usd for job in jobs]),
        sum(gpus_of(job) for job in jobs),
        len(jobs),
    )


def _sum(amounts: Sequence[Decimal | None]) -> Decimal | None:
    return None if None in amounts else sum((usd for usd in amounts if usd is not None), Decimal(0))
