"""What is known of the rest of the month of some teams, for its forecast."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from itertools import islice
from typing import Any
from zoneinfo import ZoneInfo

from django.db.models import Avg, F, FloatField, Max, Min, OuterRef, QuerySet, Subquery
from django.db.models.fields.json import KT, KeyTransform
from django.db.models.functions import Cast, Coalesce

from jobs import cost, cron, spec, strategies, timeline
from jobs.cache import Recent
from jobs.cost.month_forecast import HOUR, Source, Work, end_of_month
from jobs.models import Job, ResourceChange, ResourceSize, Schedule
from jobs.prices import recent_book
from jobs.states import JobState

MAX_JOBS = 2_000
PAST = timedelta(days=60)
"""Ended runs of schedules in this time give the cost of the next ones."""
MAX_RUNS_AHEAD = 64
"""Runs of one schedule whose times are computed; later ones follow in the same mean interval."""
MAX_RUN_HOURS = 24 * 31
NO_USD = Decimal(0)
COSTS = (
    "hourly_usd", "running_seconds", "running_since", "trial_seconds", "trials_running", "trials_counted_at",
    "parallel_trials", "kind", "started_at", "ended_at", "state", "cost_micros", "cost_until",
)  # fmt: skip
"""Columns from which the cost of a job so far is computed."""
GROUPS = ("team", "owner", "strategy", "machines", "max_usd", "cap_usd", "cap_cancels")
KEPT = ("low_usd", "expected_usd", "high_usd", "usd_per_hour")


def list_unfinished(keys: Sequence[int]) -> list[Job]:
    """Return the jobs of these teams that run or are allowed to, those first that run longest. One query.

    They have `labels` and `owner_name` beside their own columns, for `jobs.budgets.sum_open`.
    """
    allowed = Job.objects.unfinished().filter(team__in=keys).exclude(state=JobState.AWAITING_APPROVAL)
    kept = {f"kept_{name}": KT(f"estimate__{name}") for name in KEPT}
    rows = allowed.annotate(labels=KeyTransform("labels", "spec"), owner_name=F("owner__username"), **kept)
    return list(rows.only(*COSTS, *GROUPS).order_by(F("started_at").asc(nulls_last=True), "pk")[:MAX_JOBS])


def list_work(keys: Sequence[int], jobs: Iterable[Job], sizes: Iterable[ResourceSize], now: datetime) -> list[Work]:
    """Return the known work of these teams. One query, none if the runs of schedules are known from a moment ago.

    `jobs` are those of `list_unfinished`, `sizes` those of their persistent resources that are up, of `with_ends`.
    """
    return [*_list_jobs(jobs, now), *_runs.get(tuple(keys), now), *_list_resources(sizes, now)]


def usd_per_hour(size: ResourceSize) -> Decimal:
    """Return what all replicas of a resource cost an hour; those without a known price count nothing."""
    pools = zip(size.resource_pools, size.replica_usd, strict=True)
    return sum((Decimal(usd) * int(pool["replicaCount"]) for pool, usd in pools if usd is not None), NO_USD)


def _list_jobs(jobs: Iterable[Job], now: datetime) -> Iterator[Work]:
    """Yield what jobs that run, or are allowed to, cost from now on.

    Of a job that has cost more than its estimate only the high end, until its timeout, is known.
    """
    for job in jobs:
        low, expected, high, price = (_usd(getattr(job, f"kept_{name}")) for name in KEPT)
        price = job.hourly_usd or price
        if not price or expected is None:
            continue
        past = timeline.cost_so_far(job, now) or NO_USD
        limit = job.max_usd if job.max_usd is not None else high or expected
        if job.cap_usd is not None and job.cap_cancels:
            limit = min(limit, job.cap_usd)
        known = [min(usd or expected, limit) - past for usd in (low, expected, limit if expected <= past else high)]
        low, expected, high = (max(usd, NO_USD) for usd in known)
        source = Source.RUNNING if job.started_at is not None else Source.COMMITTED
        yield Work(source, now, price, low, expected, max(high, expected))


def _usd(text: Any) -> Decimal | None:
    return Decimal(text) if text not in (None, "") else None


def _list_runs(keys: Sequence[int], now: datetime) -> Iterator[Work]:
    """Yield the runs of schedules until the end of the month, at the cost of the last ones, else of their estimate.

    One query. Costs are not rounded up to half minutes.
    """
    seconds = Coalesce(F("trial_seconds") / F("parallel_trials"), F("running_seconds"), output_field=FloatField())
    usd = Cast(F("hourly_usd"), FloatField()) * seconds / 3600
    runs = Job.objects.filter(schedule_run__schedule=OuterRef("pk"), ended_at__gte=now - PAST, started_at__isnull=False)
    ran = runs.order_by().values("schedule_run__schedule")
    sums = {"low": Min(usd), "usd": Avg(usd), "high": Max(usd), "price": Max(F("hourly_usd"))}
    known = {f"ran_{name}": Subquery(ran.annotate(sum=each).values("sum")) for name, each in sums.items()}
    rows = Schedule.objects.filter(team__in=keys, is_enabled=True, next_at__lt=end_of_month(now)).annotate(**known)
    for row in rows.order_by("pk"):
        amounts = [getattr(row, name) for name in known]
        if not all(amounts):
            found = _estimate(row, now)
            amounts = [found.low_usd, found.expected_usd, found.high_usd, found.usd_per_hour]
        low, middle, high, price = (Decimal(repr(each) if isinstance(each, float) else each or 0) for each in amounts)
        if not price:
            continue
        if row.cap_usd is not None:
            low, middle, high = (min(each, row.cap_usd) for each in (low, middle, high))
        for moment in _moments(row, timedelta(hours=min(float(middle / price), MAX_RUN_HOURS)), now):
            yield Work(Source.SCHEDULED, moment, price, low, middle, high)


_runs: Recent[tuple[int, ...], list[Work]] = Recent(lambda keys, now: list(_list_runs(keys, now)))
_runs.forget_when_saved(Schedule)


def _estimate(row: Schedule, now: datetime) -> cost.Estimate:
    """Return the estimate of a run of a schedule of which no run has ended, by its expected run time alone."""
    project = row.project or "project"
    submission = spec.stored_submission(f"schedule {row.pk}", row.kind, row.spec, project=project, region=row.region)
    expected = timedelta(seconds=row.expected_seconds)
    strategy = strategies.strategy_of(submission)
    return cost.estimate(submission, strategy=strategy, expected=expected, book=recent_book(now))


def _moments(row: Schedule, length: timedelta, now: datetime) -> Iterator[datetime]:
    """Yield when a schedule runs until the end of the month. A run that waits for the one before is left out."""
    end, last = end_of_month(now), None
    computed = list(islice(_times(row, now), MAX_RUNS_AHEAD))
    if len(computed) == MAX_RUNS_AHEAD:
        gap = (computed[-1] - computed[0]) / (len(computed) - 1)
        computed += [computed[-1] + gap * at for at in range(1, max(int((end - computed[-1]) / gap), 0) + 1)]
    for moment in computed:
        if moment >= end or (row.last_day is not None and moment.date() > row.last_day + timedelta(days=1)):
            return
        if last is None or row.allows_overlap or moment >= last + length:
            yield moment
            last = moment


def _times(row: Schedule, now: datetime) -> Iterator[datetime]:
    """Yield `next_at` and the later times of a schedule, until its last day."""
    if row.next_at is not None:
        yield max(row.next_at, now)
        for moment in cron.moments(row.cron, row.time_zone, max(row.next_at, now)):
            if row.last_day is not None and moment.astimezone(ZoneInfo(row.time_zone)).date() > row.last_day:
                return
            yield moment


def _list_resources(sizes: Iterable[ResourceSize], now: datetime) -> Iterator[Work]:
    """Yield what resources that are up cost until they are to be deleted; somebody may delete one at any time."""
    end = end_of_month(now)
    for size in sizes:
        price, ends = usd_per_hour(size), getattr(size, "ends", None)
        until = min(ends, end) if ends is not None and ends > now else end
        usd = price * Decimal(repr((until - now) / HOUR))
        yield Work(Source.RESOURCES, now, price, NO_USD, usd, usd)


def with_ends(sizes: QuerySet[ResourceSize]) -> QuerySet[ResourceSize]:
    """Annotate the sizes of resources with `ends`, when each is to be deleted, None if it has no lifetime."""
    place = {name: OuterRef(name) for name in ("project", "region", "resource_id")}
    made = ResourceChange.objects.filter(**place, outcome__in=ResourceChange.MADE).order_by()
    return sizes.annotate(ends=Subquery(made.values("resource_id").annotate(end=Max("deletes_at")).values("end")))
