"""What the spend page reads: kept sums of months and days, what is committed, and what burns now. Bounded by groups.

Months and days are UTC, money is US dollars without tax.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

from django.contrib.auth.models import User
from django.db.models import BigIntegerField, Case, Exists, F, OuterRef, Q, Subquery, Sum, Value, When
from django.db.models.functions import Cast
from django.utils.translation import gettext

from dashboard.queries.forecast import list_unfinished, list_work, usd_per_hour, with_ends
from jobs import timeline
from jobs.budget import BudgetLeft
from jobs.budgets import Committed, left_of, load_committed, load_for, month_of, period_of, with_spent
from jobs.budgets.groups import ALL
from jobs.cache import Recent
from jobs.cost import from_micros
from jobs.cost.month_forecast import Forecast, forecast_month
from jobs.models import Budget, Dimension, Job, MonthFigures, ResourceSize, SpendSum, Team
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
    """Return a month of these teams, with its groups by the dimension `of`.

    Makes nine queries at most, two of them every ten seconds.
    """
    keys, before = [team.pk for team in teams], month_of(month - DAY)
    sums, is_current = _load_sums(keys, month, before), month == month_of(now)
    begun = [month + DAY * at for at in range((min(last_day(month), now.date()) - month).days + 1)]
    unfinished, up = (list_unfinished(keys), _list_up(keys)) if is_current else ([], [])
    costs = {day: sum(each.values(), Decimal(0)) for day, each in sums.days.items()}
    committed = _committed.get(tuple(keys), now) if is_current else Committed()
    figures = MonthFigures.objects.filter(team__in=keys, month=month)
    ended = figures.aggregate(saved=Sum("saved_micros"), preemptions=Sum("preemptions"))
    return MonthView(
        month=month,
        is_current=is_current,
        usd=sums.usd,
        jobs=sums.jobs,
        before_usd=sums.before_usd,
        committed_usd=from_micros(sum(committed[key, ALL] for key in keys)),
        days={day: sums.days.get(day, {}) for day in begun},
        before={day: usd for day, usd in costs.items() if day < month},
        groups=list_groups(teams, month, of),
        budgets=list_budgets(teams, now, committed) if is_current else (),
        idle=dict(sorted(sums.idle.items())),
        burn=_get_burn(unfinished, up),
        saved_usd=from_micros(ended["saved"]),
        preemptions=ended["preemptions"] or 0,
        forecast=forecast_month(costs, list_work(keys, unfinished, up, now), now) if is_current else None,
    )


def _load_committed(keys: tuple[int, ...], now: datetime) -> Committed:
    return load_committed(keys, now, with_labels=True)


_committed: Recent[tuple[int, ...], Committed] = Recent(_load_committed)
"""What is committed, as known at most ten seconds ago; requests and approvals do not use it."""


def list_budgets(teams: Sequence[Team], now: datetime, committed: Committed | None = None) -> list[BudgetLine]:
    """Return the open budgets of teams with what is left of them in the month of `now`.

    One query, and those of `load_committed` if the caller does not have it.
    """
    rows = list(with_spent(Budget.objects.filter(team__in=teams, closed_at=None), now).select_related("team"))
    committed = load_for(rows, now) if committed is None else committed
    return [BudgetLine(row, left_of(row, committed, now)) for row in rows]


@dataclass(slots=True)
class _Sums:
    """Sums of some teams: of a month and the one before, of days by strategy, and of idle resources by payer; USD."""

    usd: Decimal = Decimal(0)
    jobs: int = 0
    before_usd: Decimal = Decimal(0)
    days: dict[date, dict[str, Decimal]] = field(default_factory=dict)
    idle: dict[str, Decimal] = field(default_factory=dict)


def _load_sums(keys: Sequence[int], month: date, before: date) -> _Sums:
    """Return the sums of these teams. One query."""
    found, this = _Sums(), period_of(month)
    payer = Case(When(dimension=Dimension.RESOURCE, then=F("team__name")), default=Value(""))
    rows = SpendSum.objects.filter(
        team__in=keys, dimension__in=(Dimension.ALL, Dimension.STRATEGY, Dimension.RESOURCE),
        period__range=(period_of(before), period_of(last_day(month), is_month=False)),
    )  # fmt: skip
    summed = rows.values_list("period", "dimension", "value", payer).annotate(Sum("micros"), Sum("jobs"))
    for period, dimension, value, name, micros, jobs in summed.order_by("period"):
        usd, is_month = from_micros(micros), len(period) == len(this)
        if dimension == Dimension.STRATEGY and not is_month and micros:
            found.days.setdefault(date.fromisoformat(period), {})[value] = usd
        elif dimension == Dimension.RESOURCE and period == this and micros:
            found.idle[name] = found.idle.get(name, Decimal(0)) + usd
        elif dimension == Dimension.ALL and period == this:
            found.usd, found.jobs = found.usd + usd, found.jobs + jobs
        elif dimension == Dimension.ALL:
            found.before_usd += usd
    return found


def list_groups(teams: Sequence[Team], month: date, of: str) -> list[GroupSpend]:
    """Return the groups that cost most in a month; `of` is a Dimension or "team". One query."""
    column, dimension = ("team", Dimension.ALL) if of == "team" else ("value", of)
    this, before = period_of(month), period_of(month_of(month - DAY))
    rows = SpendSum.objects.filter(team__in=teams, dimension=dimension, period__in=[this, before])
    now = Q(period=this)
    summed = rows.values(column).annotate(
        sum=Sum("micros", filter=now), count=Sum("jobs", filter=now), past=Sum("micros", filter=~now)
    )
    if of == Dimension.PERSON:  # the value is the key of a person
        person = User.objects.filter(pk=Cast(OuterRef("value"), BigIntegerField()))
        summed = summed.annotate(name=Subquery(person.values("username")))
    top = summed.filter(sum__gt=0).order_by("-sum", column)[:MAX_GROUPS]
    names = {team.pk: team.name for team in teams}
    return [
        GroupSpend(
            str(row[column]), _name(of, row, names), from_micros(row["sum"]), row["count"], from_micros(row["past"])
        )
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
