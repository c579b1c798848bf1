"""What is left of a team's budgets: spent by the ledger, and committed by what is allowed now."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import date, datetime
from typing import Any
from uuid import UUID

from django.contrib.auth.models import User
from django.db.models import BigIntegerField, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce

from jobs.budget import BudgetLeft, Passing
from jobs.budgets.committed import Committed, Place, load_committed
from jobs.budgets.groups import Group, groups_of, groups_of_job, month_of
from jobs.budgets.ledger import micros_by_month, period_of
from jobs.cost import from_micros
from jobs.models import Budget, Dimension, Job, SpendSum, Team
from jobs.spec import Submission, rest_body
from jobs.strategies import strategy_of


def left_for(
    team_id: int,
    groups: Sequence[Group],
    now: datetime,
    *,
    apart_from: Collection[UUID] = (),
    apart_from_resource: Place | None = None,
) -> tuple[BudgetLeft, ...]:
    """Return the open budgets of the team that apply to these groups, in the month of `now`.

    What `apart_from` and `apart_from_resource` have committed is left out. Makes one query, three if there are such
    budgets.
    """
    rows = with_spent(Budget.objects.filter(team=team_id, closed_at=None), now)
    counted = [row for row in rows if (row.dimension, row.value) in groups]
    committed = load_for(counted, now, apart_from=apart_from, apart_from_resource=apart_from_resource)
    return tuple(left_of(row, committed, now) for row in counted)


def left_for_submission(
    team: Team, by: User | None, submission: Submission | None, now: datetime | None
) -> tuple[BudgetLeft, ...]:
    """Return the budgets that apply to a submission requested by `by`; empty if `by`, `submission` or `now` is None."""
    if by is None or submission is None or now is None:
        return ()
    groups = groups_of(
        owner_id=by.pk,
        strategy=strategy_of(submission).key,
        machines=submission.machines_summary,
        labels=rest_body(submission.job).get("labels"),
    )
    return left_for(team.pk, groups, now)


def left_for_job(job: Job, now: datetime) -> tuple[BudgetLeft, ...]:
    """Return the budgets that apply to a job, without the job's own spending and commitment.

    This takes the queries of `left_for`, and one more if the job has cost something.
    """
    found = left_for(job.team_id, groups_of_job(job), now, apart_from=[job.pk])
    if not found or not job.cost_micros:
        return found
    months = micros_by_month([job.pk], job.team_id).get(job.pk)
    own = from_micros(months[month_of(now)] if months else 0)
    return tuple(replace(each, spent_usd=each.spent_usd - own) for each in found)


def with_spent(budgets: QuerySet[Budget], now: datetime | date) -> QuerySet[Budget]:
    """Annotate budgets with `spent_micros` in the month of `now`; budgets of the whole team first."""
    group = {name: OuterRef(name) for name in ("team", "dimension", "value")}
    spent = SpendSum.objects.filter(**group, period=period_of(month_of(now))).values("micros")
    sums = Coalesce(Subquery(spent[:1]), 0, output_field=BigIntegerField())
    return budgets.annotate(spent_micros=sums).order_by("dimension", "name", "pk")


def load_for(budgets: Sequence[Budget], now: datetime, **apart_from: Any) -> Committed:
    """Return what is committed in the groups of these budgets; `apart_from` as `load_committed`."""
    teams, has_labels = {row.team_id for row in budgets}, any(row.dimension == Dimension.LABEL for row in budgets)
    return load_committed(teams, now, with_labels=has_labels, **apart_from) if teams else Committed()


def left_of(row: Budget, committed: Committed, now: datetime, *, unrecorded: Committed | None = None) -> BudgetLeft:
    """Return what is left of a budget from `with_spent`; `unrecorded` is spent and not in the ledger yet."""
    beyond = unrecorded[row.team_id, (row.dimension, row.value)] if unrecorded else 0
    spent = from_micros(row.spent_micros + beyond)  # type: ignore[attr-defined]
    held = from_micros(committed[row.team_id, (row.dimension, row.value)])
    return BudgetLeft(row.name, month_of(now), row.amount_usd, spent, held, Passing(row.passing))
