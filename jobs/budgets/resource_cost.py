"""Compute the daily cost of a persistent resource from its observed sizes, without a database.

Team spending and the page of persistent resources both use it, so their figures agree.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import TypeVar

from jobs import timeline
from jobs.models import Job, PersistentResource, ResourceSize

DAY = timedelta(days=1)
Payer = tuple[int | None, int | None]
"""The team that pays for idle time and the person in it who created the resource; None: unknown."""
K = TypeVar("K")


@dataclass(frozen=True, slots=True)
class ResourceCost:
    """US cents by day (UTC) of each job's use and of idle time. `is_known`: every price was known.

    The cents of one team's jobs on a day add up to their sum, which is rounded once. The same holds for idle time.
    `held` and `idle_time` are replica times by index of the resource pool. `up` are the times in which the resource was
    billed, in order.
    """

    of_jobs: Mapping[tuple[Job, date], int]
    of_idle: Mapping[tuple[Payer, date], int]
    is_known: bool
    held: Mapping[int, timedelta] = field(default_factory=dict)
    idle_time: Mapping[int, timedelta] = field(default_factory=dict)
    up: tuple[timeline.Stretch, ...] = ()

    @property
    def shares(self) -> list[tuple[Job, Decimal]]:
        """The US dollars of each job, most expensive first."""
        cents: dict[Job, int] = defaultdict(int)
        for (job, _), count in self.of_jobs.items():
            cents[job] += count
        ordered = sorted(cents.items(), key=lambda share: (-share[1], str(share[0].pk)))
        return [(job, Decimal(count) / 100) for job, count in ordered if count]

    @property
    def idle_usd(self) -> Decimal:
        """The US dollars of idle time."""
        return Decimal(sum(self.of_idle.values())) / 100

    @property
    def total_usd(self) -> Decimal:
        """The US dollars of the whole bill."""
        return self.idle_usd + Decimal(sum(self.of_jobs.values())) / 100


def cost_of_resource(
    sizes: Sequence[ResourceSize],
    jobs: Iterable[Job],
    since: datetime,
    now: datetime,
    creators: Mapping[int, int] | None = None,
) -> ResourceCost:
    """Return the cost of a resource between two times; `sizes` are its rows in order, `jobs` ran on it.

    `creators` is the person who created the resource, by key of a size. A period without a known price costs nothing.
    """
    jobs = sorted(jobs, key=lambda job: (job.started_at or now, job.pk))
    of_jobs: dict[tuple[date, int | None], dict[Job, Decimal]] = defaultdict(lambda: defaultdict(Decimal))
    of_idle: dict[tuple[date, int | None], dict[Payer, Decimal]] = defaultdict(lambda: defaultdict(Decimal))
    held: dict[int, timedelta] = defaultdict(timedelta)
    idle_time: dict[int, timedelta] = defaultdict(timedelta)
    up: list[timeline.Stretch] = []
    is_known = True
    for size, start, end in _split_by_use(sizes, since, now):
        row = PersistentResource(
            project=size.project,
            region=size.region,
            resource_id=size.resource_id,
            body={"resourcePools": size.resource_pools},
        )
        holding = timeline.Holding(row, timeline.known_resource(row))
        up.append(timeline.Stretch(start, end, timeline.replica_counts(holding)))
        usage = timeline.usage(holding, jobs, start, end)
        _add(held, usage.held)
        _add(idle_time, usage.idle)
        prices = {pool: None if usd is None else Decimal(usd) for pool, usd in enumerate(size.replica_usd)}
        if (bill := timeline.resource_bill(usage, prices)) is None:
            is_known = False
            continue
        for job, usd in bill.shares:
            of_jobs[start.date(), job.team_id][job] += usd
        of_idle[start.date(), size.team_id][size.team_id, (creators or {}).get(size.pk)] += bill.idle
    order = {job: at for at, job in enumerate(jobs)}
    ordered = {key: dict(sorted(usd.items(), key=lambda share: order[share[0]])) for key, usd in of_jobs.items()}
    return ResourceCost(_by_day(ordered), _by_day(of_idle), is_known, held, idle_time, tuple(up))


def _split_by_use(
    sizes: Sequence[ResourceSize], since: datetime, now: datetime
) -> Iterator[tuple[ResourceSize, datetime, datetime]]:
    """Yield each period of one size and one day (UTC) in which the resource was up."""
    for place, size in enumerate(sizes):
        following = sizes[place + 1].at if place + 1 < len(sizes) else now
        start, end = max(size.at.astimezone(UTC), since.astimezone(UTC)), min(following, now)
        while size.is_up and start < end:
            midnight = datetime.combine(start.date() + DAY, time(), UTC)
            yield size, start, min(midnight, end)
            start = midnight


def _add(sums: dict[int, timedelta], times: Mapping[int, timedelta]) -> None:
    for pool, spent in times.items():
        sums[pool] += spent


def _by_day(usd: Mapping[tuple[date, int | None], Mapping[K, Decimal]]) -> dict[tuple[K, date], int]:
    """Return whole cents for each part of a day's sum, in order; they add up to the rounded sum."""
    found: dict[tuple[K, date], int] = defaultdict(int)
    for (day, _), parts in sorted(usd.items(), key=lambda each: (each[0][0], each[0][1] or 0)):
        total, counted = Decimal(0), 0
        for part, amount in parts.items():
            total += amount
            cents = timeline.to_cents(total)
            found[part, day] += cents - counted
            counted = cents
    return found
