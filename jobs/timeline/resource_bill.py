"""Split the cost of a persistent resource among the jobs that ran on it. Makes no query."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal

from jobs.cost.actual import for_time
from jobs.models import Job
from jobs.timeline.resource_usage import Usage


@dataclass(frozen=True, slots=True)
class ResourceBill:
    """USD for the time that a `Usage` covers: the share of each job, most expensive first, and the idle rest.

    Vertex AI bills every replica for all the time that the resource is up, busy or not (persistent-resource-overview),
    so the shares and the idle rest are the whole bill.
    """

    shares: tuple[tuple[Job, Decimal], ...]
    idle: Decimal

    @property
    def total(self) -> Decimal:
        """The whole bill."""
        return self.idle + sum((usd for _, usd in self.shares), Decimal(0))


def resource_bill(usage: Usage, replica_usd: Mapping[int, Decimal | None]) -> ResourceBill | None:
    """Split the bill of a persistent resource. `replica_usd` is the hourly price of a replica of each resource pool.

    Return None if the price of a resource pool with replicas is unknown. The size of the resource is the one that
    `usage` assumed.
    """
    if any(replica_usd.get(pool) is None and (usage.held[pool] or idle) for pool, idle in usage.idle.items()):
        return None
    shares = ((job, _cost(times, replica_usd)) for job, times in usage.held_by.items())
    ordered = sorted(shares, key=lambda share: (-share[1], str(share[0].pk)))
    return ResourceBill(tuple(share for share in ordered if share[1]), _cost(usage.idle, replica_usd))


def _cost(times: Mapping[int, timedelta], replica_usd: Mapping[int, Decimal | None]) -> Decimal:
    return sum((for_time(replica_usd.get(pool) or Decimal(0), time) for pool, time in times.items()), Decimal(0))
