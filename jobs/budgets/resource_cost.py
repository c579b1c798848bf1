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
from jobs.cost import from_micros, to_micros
from jobs.models import Job, PersistentResource, ResourceSize

DAY = timedelta(days=1)
Payer = tuple[int | None, int | None]
"""The team that pays for idle time and the person in it who created the resource; None: unknown."""
K = TypeVar("K")


@dataclass(frozen=True, slots=True)
class ResourceCost:
    """Micro-dollars by day (UTC) of each job's use and of idle time. `is_known`: every price was known.

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
        sums: dict[Job, int] = defaultdict(int)
        for (job, _), micros in self.of_jobs.items():
            sums[job] += micros
        ordered = sorted(sums.items(), key=lambda share: (-share[1], str(share[0].pk)))
        return [(job, from_micros(micros)) for job, micros in ordered if micros]

    @property
    def idle_usd(self) -> Decimal:
        """The US dollars of idle time."""
        return from_micros(sum(self.of_idle.values()))

    @property
    def total_usd(self) -> Decimal:
        """The US dollars of the whole bill."""
        return self.idle_usd + from_micros(sum(self.of_jobs.values()))


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
    of_jobs: dict[tuple[Job, date], Decimal] = defaultdict(Decimal)
    of_idle: dict[tuple[Payer, date], Decimal] = defaultdict(Decimal)
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
            of_jobs[job, start.date()] += usd
        of_idle[(size.team_id, (creators or {}).get(size.pk)), start.date()] += bill.idle
    return ResourceCost(_rounded(of_jobs), _rounded(of_idle), is_known, held, idle_time, tuple(up))


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


def _rounded(usd: Mapping[K, Decimal]) -> dict[K, int]:
    return {key: micros for key, amount in usd.items() if (micros := to_micros(amount))}
