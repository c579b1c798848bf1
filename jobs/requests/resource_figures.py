"""What the machines of a persistent resource cost, and how many accelerators they have."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from typing import Any

from jobs import cost, spec
from jobs.assessment import storable_gpus
from jobs.budgets import OUTAGE
from jobs.policy_rules import sum_accelerators
from jobs.prices import current_book


@dataclass(frozen=True, slots=True)
class ResourceCost:
    """What a change may cost. None where a price is not known."""

    usd_per_hour: Decimal | None
    """Of all machines, with autoscaled pools at their largest."""
    most_usd: Decimal | None
    """Until the end of the lifetime, and for OUTAGE longer."""


def cost_of(body: Mapping[str, Any], region: str, lifetime: timedelta) -> ResourceCost:
    """Return what a persistent resource with this REST body may cost in its lifetime."""
    hourly = hourly_of(body, region)
    return ResourceCost(hourly, None if hourly is None else hourly * hours_of(lifetime + OUTAGE))


def hours_of(time: timedelta) -> Decimal:
    """Return a time in hours."""
    return Decimal(time // timedelta(seconds=1)) / 3600


def hourly_of(body: Mapping[str, Any], region: str) -> Decimal | None:
    """Return the price per hour of all machines at their largest number, None if one is not known."""
    known, _findings = spec.read("persistent_resource", dict(body))
    if known is None:
        return None
    total, book = Decimal(0), current_book()
    for pool in known.resource_pools:
        shape = cost.shape_of(pool.machine_spec, pool.disk_spec)
        rate = cost.hourly(book, shape, region=region, price_key="standard").usd_per_hour
        if rate is None:
            return None
        total += rate * pool.most_replicas
    return total


def dearest_of(bodies: Iterable[Mapping[str, Any]], region: str) -> Mapping[str, Any]:
    """Return the body that costs most; one without a known price costs more than any other."""

    def cost_an_hour(body: Mapping[str, Any]) -> tuple[bool, Decimal]:
        usd = hourly_of(body, region)
        return usd is None, usd or Decimal(0)

    return max(bodies, key=cost_an_hour)


def gpus_of(body: Mapping[str, Any]) -> tuple[int, frozenset[str]]:
    """Return the number of accelerators of all machines at their largest number, and their types."""
    known, _findings = spec.read("persistent_resource", dict(body))
    pools = known.resource_pools if known is not None else ()
    types, gpus = sum_accelerators((pool.machine_spec, pool.most_replicas) for pool in pools)
    return storable_gpus(gpus), frozenset(types)
