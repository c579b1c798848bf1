"""What the spend page reads: kept sums of months and days, what is committed, and what burns now. Bounded by groups.

Months and days are UTC, money is US dollars without tax.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

from django.contrib.auth.models import User
from django.db.models import BigIntegerField, Exists, OuterRef, Q, Subquery, Sum
from django.db.models.functions import Cast
from django.utils.translation import gettext

from dashboard.queries.forecast import list_unfinished, list_work, usd_per_hour, with_ends
from jobs import timeline
from jobs.budget import BudgetLeft
from jobs.budgets import left_of, month_of, with_sums
from jobs.cost.month_forecast import Forecast, forecast_month
from jobs.models import Budget, Committed, DaySpend, Dimension, Job, MonthFigures, MonthSpend, ResourceSize, Team
from jobs.strategies.persistent import STRATEGY

MAX_GROUPS = 40
"""Rows of one table: the groups that cost most."""
MAX_BURNING = 2_000
"""Running jobs that are added up; of more, those that run longest."""
DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class GroupSpend:
    """What one group cost in the month, in how many jobs, and in the month before."""

    value: str
    name: str
    usd: Decimal
    jobs: int
    before_usd: Decimal


@dataclass(slots=True)
class Burn:
    """US dollars an hour of what runs now, by strategy; `unpriced` running jobs have no known price.

    Persistent resources count whole for the team that has created them, with what jobs hold of them.
    """

    jobs: int = 0
    resources: int = 0
    unpriced: int = 0
    by_strategy: dict[str, Decimal] = field(default_factory=dict)

    @property
    def usd(self) -> Decimal:
        """All strategies together."""
        return sum(self.by_strategy.values(), Decimal(0))


@dataclass(frozen=True, slots=True)
class BudgetLine:
    """A budget with what is left of it in the month, and its share that is spent, in percent; None of a zero budget."""

    budget: Budget
    left: BudgetLeft

    @property
    def spent_percent(self) -> int | None:
        """What is spent of it."""
        return int(self.left.spent_usd * 100 / self.left.limit_usd) if self.left.limit_usd else None

    @property
    def committed_percent(self) -> int | None:
        """What is committed of it."""
        return int(self.left.committed_usd * 100 / self.left.limit_usd) if self.left.limit_usd else None


@dataclass(frozen=True, slots=True)
class MonthView:
    """One month of some teams. `days` has every day of it that has begun, `before` every day of the month before."""

    month: date
    is_current: bool
    usd: Decimal
    jobs: int
    before_usd: Decimal
    committed_usd: Decimal
    days: dict[date, dict[str, Decimal]]
    before: dict[date, Decimal]
    groups: Sequence[GroupSpend]
    budgets: Sequence[BudgetLine]
    idle: Mapping[str, Decimal]
    """What stood idle of persistent resources, by the name of the team that pays for it."""
    burn: Burn
    saved_usd: Decimal
    preemptions: int
    forecast: Forecast | None


def last_day(month: date) -> date:
    """Return the last day of a month."""
    return (month + timedelta(days=31)).replace(day=1) - DAY


def get_month(teams: Sequence[Team], month: date, of: str, now: datetime) -> MonthView:
    """Return a month of these teams, with its groups by the dimension `of`; seven queries at most."""
    keys = [team.pk for team in teams]
    before = month_of(month - DAY)
    days = _list_days(keys, before, last_day(month))
    totals, idle = _get_totals(keys, month, before)
    is_current = month == month_of(now)
    begun = [month + DAY * at for at in range((min(last_day(month), now.date()) - month).days + 1)]
    unfinished, up = (list_unfinished(keys), _list_up(keys)) if is_current else ([], [])
    shown = {day: days.get(day, {}) for day in begun}
    costs = {day: sum(each.values(), Decimal(0)) for day, each in days.items()}
    return MonthView(
        month=month,
        is_current=is_current,
        usd=_usd(totals["cents"]),
        jobs=totals["jobs"],
        before_usd=_usd(totals["before"]),
        committed_usd=_usd(totals["committed"]) if is_current else Decimal(0),
        days=shown,
        before={day: usd for day, usd in costs.items() if day < month},
        groups=list_groups(teams, month, of),
        budgets=list_budgets(teams, now) if is_current else (),
        idle=idle,
        burn=_get_burn(unfinished, up),
        saved_usd=_usd(totals["saved"]),
        preemptions=totals["preemptions"],
        forecast=forecast_month(costs, list_work(keys, unfinished, up, now), now) if is_current else None,
    )


def list_budgets(teams: Sequence[Team], now: datetime) -> list[BudgetLine]:
    """Return the open budgets of teams with what is left of them in the month of `now`; one query."""
    rows = with_sums(Budget.objects.filter(team__in=teams, closed_at=None), now).select_related("team")
    return [BudgetLine(row, left_of(row, now)) for row in rows]


def _usd(cents: int | None) -> Decimal:
    return Decimal(cents or 0) / 100


def _list_days(keys: Sequence[int], since: date, until: date) -> dict[date, dict[str, Decimal]]:
    rows = DaySpend.objects.filter(team__in=keys, day__gte=since, day__lte=until)
    found: dict[date, dict[str, Decimal]] = {}
    for row in rows.values("day", "strategy").annotate(sum=Sum("cents")).order_by("day"):
        if row["sum"]:
            found.setdefault(row["day"], {})[row["strategy"]] = _usd(row["sum"])
    return found


def _get_totals(keys: Sequence[int], month: date, before: date) -> tuple[Counter[str], dict[str, Decimal]]:
    """Return the kept sums of these teams: US cents, jobs and preemptions; and what each paid for idle replicas.

    One query.
    """
    of_team = {"team": OuterRef("pk")}
    spent = MonthSpend.objects.filter(**of_team, dimension=Dimension.ALL)
    idle = MonthSpend.objects.filter(**of_team, dimension=Dimension.RESOURCE, month=month).order_by().values("team")
    figures = MonthFigures.objects.filter(**of_team, month=month).order_by().values("team")
    sums = {
        "cents": spent.filter(month=month).values("cents")[:1],
        "jobs": spent.filter(month=month).values("jobs")[:1],
        "before": spent.filter(month=before).values("cents")[:1],
        "committed": Committed.objects.filter(**of_team, dimension=Dimension.ALL).values("cents")[:1],
        "saved": figures.values(sum=Sum("saved_cents")),
        "preemptions": figures.values(sum=Sum("preemptions")),
        "idle": idle.values(sum=Sum("cents")),
    }
    rows = Team.objects.filter(pk__in=keys).annotate(**{f"sum_{name}": Subquery(rows) for name, rows in sums.items()})
    totals: Counter[str] = Counter()
    idle_usd: dict[str, Decimal] = {}
    for row in rows.order_by("name").values("name", *(f"sum_{name}" for name in sums)):
        totals.update({name: row[f"sum_{name}"] or 0 for name in sums})
        if row["sum_idle"]:
            idle_usd[row["name"]] = _usd(row["sum_idle"])
    return totals, idle_usd


def list_groups(teams: Sequence[Team], month: date, of: str) -> list[GroupSpend]:
    """Return the groups that cost most in a month; `of` is a Dimension or "team". One query."""
    column, dimension = ("team", Dimension.ALL) if of == "team" else ("value", of)
    before = month_of(month - DAY)
    rows = MonthSpend.objects.filter(team__in=teams, dimension=dimension, month__in=[month, before])
    now = Q(month=month)
    summed = rows.values(column).annotate(
        sum=Sum("cents", filter=now), count=Sum("jobs", filter=now), past=Sum("cents", filter=~now)
    )
    if of == Dimension.PERSON:  # the value is the key of a person
        person = User.objects.filter(pk=Cast(OuterRef("value"), BigIntegerField()))
        summed = summed.annotate(name=Subquery(person.values("username")))
    top = summed.filter(sum__gt=0).order_by("-sum", column)[:MAX_GROUPS]
    names = {team.pk: team.name for team in teams}
    return [
        GroupSpend(str(row[column]), _name(of, row, names), _usd(row["sum"]), row["count"], _usd(row["past"]))
        for row in top
    ]


def _name(of: str, row: Mapping[str, Any], teams: Mapping[int, str]) -> str:
    if of == Dimension.PERSON:
        return row["name"] or ""
    return teams[row["team"]] if of == "team" else row["value"] or gettext("none")


def _get_burn(unfinished: Sequence[Job], up: Sequence[ResourceSize]) -> Burn:
    """Add up what runs now: of a tuning job the trials that run."""
    burn = Burn()
    for job in unfinished:
        tunes = job.trial_seconds is not None
        if not (job.trials_running if tunes else job.running_since):
            continue
        burn.jobs += 1
        if job.hourly_usd is None:
            burn.unpriced += 1
            continue
        price = (timeline.trial_price(job) or Decimal(0)) * job.trials_running if tunes else job.hourly_usd
        burn.by_strategy[job.strategy] = burn.by_strategy.get(job.strategy, Decimal(0)) + price
    for size in up:
        price = usd_per_hour(size)
        burn.resources += 1
        burn.by_strategy[STRATEGY.key] = burn.by_strategy.get(STRATEGY.key, Decimal(0)) + price
    return burn


def _list_up(keys: Sequence[int]) -> list[ResourceSize]:
    """Return the newest size of each persistent resource that these teams have created and that is up; one query."""
    place = {name: OuterRef(name) for name in ("project", "region", "resource_id")}
    later = ResourceSize.objects.filter(**place, pk__gt=OuterRef("pk"))
    up = ResourceSize.objects.filter(~Exists(later), team__in=keys, is_up=True)
    return list(with_ends(up).order_by("pk")[:MAX_BURNING])
