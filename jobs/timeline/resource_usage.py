"""Which jobs used the replicas of a persistent resource, and how long replicas were idle. Makes no query.

Vertex AI reports how many replicas are in use, but not which job uses which. So jobs are assigned to lanes, one for
each present replica, in the order in which they started. The number of lanes in use is right, but a lane is not a
particular machine.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from jobs.models import Job
from jobs.strategies import KnownResource
from jobs.timeline.resource_holdings import Holding

MAX_LANES = 16
"""Number of replicas shown of one resource."""


@dataclass(frozen=True, slots=True)
class Hold:
    """A job on one replica. `end` is None while it runs."""

    job: Job
    start: datetime
    end: datetime | None


@dataclass(slots=True)
class ReplicaLane:
    """One replica of a resource pool, with the jobs that used it in order."""

    pool: int
    number: int
    holds: list[Hold] = field(default_factory=list)


class Stretch(NamedTuple):
    """A time in which a resource was up, and so billed, with the number of replicas of each resource pool."""

    start: datetime
    end: datetime
    sizes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Usage:
    """The use of one persistent resource from `since` to `until`, with its present replicas.

    `held` and `idle` are replica times by the index of the resource pool. `held_by` has the times of each job, which
    add up to `held`. `hidden` is the number of replicas without a lane. `up` are the times in which the resource was
    billed.
    """

    since: datetime
    until: datetime
    lanes: tuple[ReplicaLane, ...]
    held: Mapping[int, timedelta]
    idle: Mapping[int, timedelta]
    hidden: int
    held_by: Mapping[Job, Mapping[int, timedelta]] = field(default_factory=dict)
    up: tuple[Stretch, ...] = ()

    @property
    def share(self) -> float | None:
        """The share of the replicas' time that jobs used, 0 to 1, or None if there was none."""
        held, idle = (sum(each.values(), timedelta()) for each in (self.held, self.idle))
        return held / (held + idle) if held + idle else None

    def billed(self, lane: ReplicaLane) -> list[tuple[datetime, datetime]]:
        """Return the times in which a replica was billed, in order. Adjacent times are joined."""
        found: list[tuple[datetime, datetime]] = []
        for start, end, sizes in self.up:
            if lane.pool >= len(sizes) or lane.number >= sizes[lane.pool]:
                continue
            since = found.pop()[0] if found and found[-1][1] == start else start
            found.append((since, end))
        return found


def usage(holding: Holding, jobs: Iterable[Job], since: datetime, now: datetime) -> Usage:
    """Assign the jobs that ran on a resource since `since` to lanes. Jobs on other resources are ignored.

    The resource is assumed to have had its present size since it was started.
    """
    since = min(max(since, started_at(holding.known) or since), now)
    sizes = replica_counts(holding)
    lanes = [
        ReplicaLane(pool, number) for pool, size in enumerate(sizes) for number in range(min(size, 10 * MAX_LANES))
    ]
    for job in sorted(jobs, key=lambda job: (job.started_at or now, str(job.pk))):
        end = job.ended_at
        if job.started_at is None or (end is not None and end <= since):
            continue
        for pool, count in holding.wanted(job).items():
            free = sorted((lane for lane in lanes if lane.pool == pool), key=_free_from)
            for lane in free[:count]:
                lane.holds.append(Hold(job, max(job.started_at, since), end))
    held_by: dict[Job, dict[int, timedelta]] = {}
    for lane in lanes:
        for job, time in _held(lane, now):
            of_job = held_by.setdefault(job, {})
            of_job[lane.pool] = of_job.get(lane.pool, timedelta()) + time
    held = {
        pool: sum((times.get(pool, timedelta()) for times in held_by.values()), timedelta())
        for pool in range(len(sizes))
    }
    idle = {pool: max((now - since) * size - held[pool], timedelta()) for pool, size in enumerate(sizes)}
    return Usage(since, now, tuple(lanes[:MAX_LANES]), held, idle, max(sum(sizes) - MAX_LANES, 0), held_by)


def replica_counts(holding: Holding) -> tuple[int, ...]:
    """Return the number of replicas of each resource pool."""
    return tuple(max(0, pool.replica_count or 0) for pool in holding.resource_pools)


def _free_from(lane: ReplicaLane) -> datetime:
    """Return since when a lane has been free. A lane in use comes last."""
    if not lane.holds:
        return datetime.min.replace(tzinfo=UTC)
    return lane.holds[-1].end or datetime.max.replace(tzinfo=UTC)


def _held(lane: ReplicaLane, now: datetime) -> Iterator[tuple[Job, timedelta]]:
    """Yield how long each job used a replica. If two jobs overlap, the time belongs to the first."""
    at: datetime | None = None
    for hold in lane.holds:
        start = hold.start if at is None else max(hold.start, at)
        end = min(hold.end or now, now)
        yield hold.job, max(end - start, timedelta())
        at = end if at is None else max(at, end)


def started_at(known: KnownResource | None) -> datetime | None:
    """Return since when a resource has been up, as Vertex AI reports it."""
    text = (known.resource.start_time or known.resource.create_time) if known is not None else ""
    return datetime.fromisoformat(text) if text else None
