"""What a persistent resource cost while it was up, shared out among the jobs that ran on it. Asks no database."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal

from jobs.cost.actual import for_time
from jobs.models import Job
from jobs.timeline.resource_usage import Usage


@dataclass(frozen=True, slots=True)
class ResourceBill:
    """USD of the time that a `Usage` covers: what each job held, most expensive first, and what nobody held.

    Vertex AI bills every replica all the time that the resource is up, busy or not (persistent-resource-overview), so
    the shares and the idle rest are the whole bill.
    """

    shares: tuple[tuple[Job, Decimal], ...]
    idle: Decimal

    @property
    def total(self) -> Decimal:
        """The whole bill."""
        return self.idle + sum((usd for _, usd in self.shares), Decimal(0))


def resource_bill(usage: Usage, replica_usd: Mapping[int, Decimal | None]) -> ResourceBill | None:
    """Share out the bill of a persistent resource; `replica_usd` is the price of a replica of each pool for an hour.

    None where the price of a resource pool with replicas is not known. The resource counts with the size that `usage`
    took it to have.
    """
    if any(replica_usd.get(pool) is None and (usage.held[pool] or idle) for pool, idle in usage.idle.items()):
        return None
    shares = ((job, _cost(times, replica_usd)) for job, times in usage.held_by.items())
    ordered = sorted(shares, key=lambda share: (-share[1], str(share[0].pk)))
    return ResourceBill(tuple(share for share in ordered if share[1]), _cost(usage.idle, replica_usd))


def _cost(times: Mapping[int, timedelta], replica_usd: Mapping[int, Decimal | None]) -> Decimal:
    return sum((for_time(replica_usd.get(pool) or Decimal(0), time) for pool, time in times.items()), Decimal(0))
