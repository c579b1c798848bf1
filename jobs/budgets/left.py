"""Query what is left of a team's budgets for jobs of certain groups: one query, two if a budget applies."""

from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal

from django.contrib.auth.models import User
from django.db.models import BigIntegerField, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce

from jobs.budget import BudgetLeft, Passing
from jobs.budgets.groups import Group, groups_of, groups_of_job, month_of
from jobs.budgets.record import cents_by_month
from jobs.models import Budget, Committed, Job, JobSpend, MonthSpend, Team
from jobs.spec import Submission, rest_body
from jobs.strategies import strategy_of


def left_for(team_id: int, groups: Sequence[Group], now: datetime) -> tuple[BudgetLeft, ...]:
    """Return the open budgets of the team that apply to these groups, in the month of `now`."""
    wanted = set(groups)
    open_budgets = Budget.objects.filter(team=team_id, closed_at=None).values_list("pk", "dimension", "value")
    counted = [pk for pk, *group in open_budgets if tuple(group) in wanted]
    if not counted:
        return ()
    return tuple(left_of(row, now) for row in with_sums(Budget.objects.filter(pk__in=counted), now))


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

    This takes the queries of `left_for`, and one more if the job's `spend` was not loaded with it.
    """
    found = left_for(job.team_id, groups_of_job(job), now)
    own: JobSpend | None = getattr(job, "spend", None) if found else None
    if own is None:
        return found
    spent = Decimal(cents_by_month(own)[month_of(now)]) / 100
    committed = Decimal(own.committed_cents) / 100
    return tuple(
        BudgetLeft(
            each.name,
            each.month,
            each.limit_usd,
            each.spent_usd - spent,
            each.committed_usd - committed,
            each.passing,
        )
        for each in found
    )


def with_sums(budgets: QuerySet[Budget], now: datetime) -> QuerySet[Budget]:
    """Annotate budgets with `spent_cents` (month of `now`) and `committed_cents`; budgets of the whole team first."""
    group = {name: OuterRef(name) for name in ("team", "dimension", "value")}
    spent = MonthSpend.objects.filter(**group, month=month_of(now)).values("cents")
    committed = Committed.objects.filter(**group).values("cents")
    sums = {
        name: Coalesce(Subquery(rows[:1]), 0, output_field=BigIntegerField())
        for name, rows in (("spent_cents", spent), ("committed_cents", committed))
    }
    return budgets.annotate(**sums).order_by("dimension", "name", "pk")


def left_of(row: Budget, now: datetime) -> BudgetLeft:
    """Return what is left of a budget from `with_sums`."""
    spent, committed = (Decimal(getattr(row, name)) / 100 for name in ("spent_cents", "committed_cents"))
    return BudgetLeft(row.name, month_of(now), row.amount_usd, spent, committed, Passing(row.passing))
