"""What the spend page reads: kept sums of months and days, what is committed, and what burns now. Bounded by groups.

Months and days are UTC, money is US dollars without tax.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

from django.contrib.auth.models import User
from django.db.models import BigIntegerField, Case, CharField, Exists, F, OuterRef, Q, Subquery, Sum, Value, When
from django.db.models.functions import Cast
from django.utils.translation import gettext

from dashboard.queries.forecast import MAX_JOBS, list_unfinished, list_work, usd_per_hour, with_ends
from jobs import timeline
from jobs.budget import BudgetLeft
from jobs.budgets import (
    OpenCosts,
    left_of,
    load_committed,
    load_committed_resources,
    month_of,
    period_of,
    sum_open,
    with_spent,
)
from jobs.budgets.groups import ALL, Group
from jobs.cost import from_micros
from jobs.cost.month_forecast import Forecast, forecast_month
from jobs.models import Budget, Dimension, Job, MonthFigures, ResourceSize, SpendSum, Team
from jobs.strategies.persistent import STRATEGY

MAX_GROUPS = 40
"""Rows of one table: the groups that cost most."""
MAX_BURNING = 2_000
"""Running jobs that are added up; of more, those that run longest."""
DAY = timedelta(days=1)
NO_USD = from_micros(0)
GROUP, FIGURES = "group", "figures"
"""Where a row of `_add_sums` comes from, beside the dimensions."""
Rows = Any
"""A query set of rows (period, dimension, value, name, micro-dollars, jobs)."""


@dataclass(slots=True)
class GroupSpend:
    """What one group cost in the month, in how many jobs, and in the month before."""

    value: str
    name: str
    usd: Decimal = NO_USD
    jobs: int = 0
    before_usd: Decimal = NO_USD


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


@dataclass(slots=True)
class MonthView:
    """One month of some teams. `days` has every day of it that has begun, `before` every day of the month before."""

    month: date
    is_current: bool
    usd: Decimal = Decimal(0)
    jobs: int = 0
    before_usd: Decimal = Decimal(0)
    committed_usd: Decimal = Decimal(0)
    days: dict[date, dict[str, Decimal]] = field(default_factory=dict)
    before: dict[date, Decimal] = field(default_factory=dict)
    groups: Sequence[GroupSpend] = ()
    budgets: Sequence[BudgetLine] = ()
    idle: dict[str, Decimal] = field(default_factory=dict)
    """What stood idle of persistent resources, by the name of the team that pays for it."""
    burn: Burn = field(default_factory=Burn)
    saved_usd: Decimal = Decimal(0)
    preemptions: int = 0
    forecast: Forecast | None = None


def last_day(month: date) -> date:
    """Return the last day of a month."""
    return (month + timedelta(days=31)).replace(day=1) - DAY


def get_month(teams: Sequence[Team], month: date, of: str, now: datetime) -> MonthView:
    """Return a month of these teams, with its groups by the dimension `of`.

    Makes six queries at most, one of them every ten seconds. What runs is counted until now.
    """
    keys, view = [team.pk for team in teams], MonthView(month, month == month_of(now))
    open_costs, jobs, up = OpenCosts(), list[Job](), list[ResourceSize]()
    if view.is_current:
        jobs, up = list_unfinished(keys), _list_up(keys)
        open_costs = _sum_open(keys, jobs, now)
    groups = _add_sums(view, keys, _select_groups(keys, month, of, open_costs))
    _add_open(view, open_costs, now)
    view.groups = _rank(groups, teams, of, open_costs)
    view.burn = _get_burn(jobs, up)
    costs = {day: sum(each.values(), Decimal(0)) for day, each in view.days.items()}
    if view.is_current:
        view.budgets = list_budgets(teams, now, open_costs)
        view.forecast = forecast_month(costs, list_work(keys, jobs, up, now), now)
    begun = (month + DAY * at for at in range((min(last_day(month), now.date()) - month).days + 1))
    view.days = {day: view.days.get(day, {}) for day in begun}
    view.before = {day: usd for day, usd in sorted(costs.items()) if day < month}
    return view


def _sum_open(keys: Sequence[int], unfinished: Sequence[Job], now: datetime) -> OpenCosts:
    """Return what open work costs now. One query; two more of teams with more jobs than `list_unfinished` returns."""
    found = sum_open(unfinished, now)
    if len(unfinished) < MAX_JOBS:
        found.committed.update(load_committed_resources(keys, now))
    else:
        found.committed = load_committed(keys, now, with_labels=True)
    return found


def load_open(keys: Sequence[int], now: datetime) -> OpenCosts:
    """Return what open work of these teams costs now, by team and group. Two queries, four of many jobs."""
    return _sum_open(keys, list_unfinished(keys), now)


def list_budgets(teams: Sequence[Team], now: datetime, open_costs: OpenCosts | None = None) -> list[BudgetLine]:
    """Return the open budgets of teams with what is left of them in the month of `now`.

    One query, and those of `load_open` if the caller does not have it.
    """
    person = User.objects.filter(pk=Cast(OuterRef("value"), BigIntegerField())).values("username")
    is_person = When(dimension=Dimension.PERSON, then=Subquery(person))
    rows = with_spent(Budget.objects.filter(team__in=teams, closed_at=None), now).select_related("team")
    found = list(rows.annotate(person=Case(is_person, default=None)))
    if open_costs is None:
        open_costs = load_open([team.pk for team in teams], now) if found else OpenCosts()
    return [BudgetLine(row, left_of(row, open_costs.committed, now, unrecorded=open_costs.spent)) for row in found]


Groups = dict[str, GroupSpend]
"""Groups by their value."""


def _text(words: str) -> Value:
    return Value(words, output_field=CharField())


def _add_sums(view: MonthView, keys: Sequence[int], groups: Rows) -> Groups:
    """Add the kept sums of these teams to a month; `days` gets those of the month before too. Return `groups`.

    One query.
    """
    found, this, before = Groups(), period_of(view.month), period_of(view.month - DAY)
    payer = Case(When(dimension=Dimension.RESOURCE, then=F("team__name")), default=Value(""))
    rows = SpendSum.objects.filter(
        team__in=keys, dimension__in=(Dimension.ALL, Dimension.STRATEGY, Dimension.RESOURCE),
        period__range=(before, period_of(last_day(view.month), is_month=False)),
    )  # fmt: skip
    summed = rows.annotate(name=payer).values_list("period", "dimension", "value", "name")
    figures = MonthFigures.objects.filter(team__in=keys, month=view.month).annotate(
        period=Cast("month", CharField()), kind=_text(FIGURES), key=_text(""), name=_text("")
    )
    ended = figures.values_list("period", "kind", "key", "name").annotate(
        sum=Sum("saved_micros"), count=Sum("preemptions")
    )
    parts = summed.annotate(sum=Sum("micros"), count=Sum("jobs")).order_by().union(groups, ended.order_by(), all=True)
    for period, dimension, value, name, micros, jobs in parts:
        usd, is_month = from_micros(micros), len(period) == len(this)
        if dimension == GROUP:
            _add_group(found, value, name, usd, jobs, is_before=period != this)
        elif dimension == FIGURES:
            view.saved_usd, view.preemptions = usd, jobs
        elif dimension == Dimension.STRATEGY and not is_month and micros:
            view.days.setdefault(date.fromisoformat(period), {})[value] = usd
        elif dimension == Dimension.RESOURCE and period == this and micros:
            view.idle[name] = view.idle.get(name, Decimal(0)) + usd
        elif dimension == Dimension.ALL and period == this:
            view.usd, view.jobs = view.usd + usd, view.jobs + jobs
        elif dimension == Dimension.ALL:
            view.before_usd += usd
    view.idle = dict(sorted(view.idle.items()))
    return found


def _add_open(view: MonthView, open_costs: OpenCosts, now: datetime) -> None:
    """Add what jobs that run cost until now to the present month and its last day."""
    today = now.astimezone(UTC).date()
    for (team, (dimension, value)), micros in open_costs.spent.items():
        if dimension == Dimension.ALL:
            view.usd += from_micros(micros)
            view.jobs += open_costs.new_jobs[team, ALL]
        elif dimension == Dimension.STRATEGY and micros:
            of_day = view.days.setdefault(today, {})
            of_day[value] = of_day.get(value, Decimal(0)) + from_micros(micros)
    view.committed_usd = from_micros(sum(sum_ for (_, group), sum_ in open_costs.committed.items() if group == ALL))


def _select_groups(keys: Sequence[int], month: date, of: str, open_costs: OpenCosts) -> Rows:
    """Select the sums of the groups that cost most in a month, or cost something now; `of` is a Dimension or "team"."""
    this, column = period_of(month), "team" if of == "team" else "value"
    rows = SpendSum.objects.filter(team__in=keys, dimension=Dimension.ALL if of == "team" else of)
    top = rows.filter(period=this).values(column).annotate(sum=Sum("micros")).filter(sum__gt=0)
    open_now = {_key(team, group, of) for (team, group), micros in open_costs.spent.items() if micros}
    largest = Q(**{f"{column}__in": top.order_by("-sum", column).values(column)[:MAX_GROUPS]})
    rows = rows.filter(largest | Q(**{f"{column}__in": open_now - {None}}), period__in=[this, period_of(month - DAY)])
    # The value of a person's group is the key of the person.
    person = User.objects.filter(pk=Cast(OuterRef("value"), BigIntegerField())).values("username")
    name = Subquery(person) if of == Dimension.PERSON else _text("")
    named = rows.annotate(kind=_text(GROUP), key=Cast(column, CharField()), name=name)
    return named.values_list("period", "kind", "key", "name").annotate(sum=Sum("micros"), count=Sum("jobs")).order_by()


def _key(team: int, group: Group, of: str) -> str | None:
    """Return the value by which a group is listed, None if it is not of the dimension `of`."""
    if of == "team":
        return str(team) if group == ALL else None
    return group[1] if group[0] == of else None


def _add_group(groups: Groups, value: str, name: str, usd: Decimal, jobs: int, *, is_before: bool = False) -> None:
    group = groups.setdefault(value, GroupSpend(value, name))
    if is_before:
        group.before_usd += usd
    else:
        group.usd, group.jobs = group.usd + usd, group.jobs + jobs


def list_groups(teams: Sequence[Team], month: date, of: str, open_costs: OpenCosts) -> list[GroupSpend]:
    """Return the groups that cost most in a month; `of` is a Dimension or "team". One query.

    `open_costs` are those of `load_open` for the present month, empty for an earlier one.
    """
    groups = Groups()
    for period, _, value, name, micros, jobs in _select_groups([team.pk for team in teams], month, of, open_costs):
        _add_group(groups, value, name, from_micros(micros), jobs, is_before=period != period_of(month))
    return _rank(groups, teams, of, open_costs)


def _rank(groups: Groups, teams: Sequence[Team], of: str, open_costs: OpenCosts) -> list[GroupSpend]:
    """Return the groups with what jobs that run cost until now, the largest first."""
    names = {str(team.pk): team.name for team in teams} if of == "team" else {}
    names = open_costs.people if of == Dimension.PERSON else names
    for (team, group), micros in open_costs.spent.items():
        value = _key(team, group, of)
        if value is not None and micros:
            _add_group(groups, value, "", from_micros(micros), open_costs.new_jobs[team, group])
    for row in groups.values():
        row.name = row.name or names.get(row.value) or row.value or gettext("none")
    rows = (row for row in groups.values() if row.usd > 0)
    return sorted(rows, key=lambda row: (-row.usd, row.value))[:MAX_GROUPS]


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
