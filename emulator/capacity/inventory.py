"""Available and allocated machines and quota. Everything that the plan does not name is unlimited.

A plan: `{"machines": {region: {unit: count}}, "spot": {...}, "quotas": {region: {metric: limit}}, "reservations":
{name: {"machineType": type, "count": n}}, "reclaim": {"mean_seconds": s, "seed": n}}`.
"""

import copy
from collections import Counter
from dataclasses import dataclass
from typing import Any

from emulator.capacity.demand import METRIC_PREFIX, Demand
from emulator.protocol.documents import Document
from emulator.protocol.errors import invalid

SECTIONS = frozenset({"machines", "spot", "quotas", "reservations", "reclaim"})


@dataclass(frozen=True)
class Holding:
    """Allocations of a holder. `covered` are units from reservations, `reserved` are machines by reservation."""

    demand: Demand
    covered: Counter[str]
    reserved: Counter[str]


class Inventory:
    """The machines and quotas of all regions."""

    def __init__(self) -> None:
        self.plan: Document = {}
        self._holdings: dict[str, Holding] = {}
        self._totals: dict[tuple[str, str], Counter[str]] = {}
        self._reserved: Counter[str] = Counter()

    def update_plan(self, changes: Document) -> None:
        """Merge a plan into the current one. null removes a limit. Raise ApiError 400 for an invalid plan."""
        if set(changes) - SECTIONS:
            raise invalid(
                f"A capacity plan may contain {', '.join(sorted(SECTIONS))}; got {', '.join(sorted(changes))}."
            )
        merged = copy.deepcopy(self.plan)
        for section, content in changes.items():
            if not isinstance(content, dict):
                raise invalid(f"{section} must be an object.")
            target = merged.setdefault(section, {})
            for key, value in content.items():
                if section in ("machines", "spot", "quotas"):
                    _merge_counts(target.setdefault(key, {}), value, f"{section}.{key}")
                elif value is None:
                    target.pop(key, None)
                else:
                    target[key] = value
        self.plan = merged

    # ------------------------------------------------------------ questions
    def over_quota(self, demand: Demand) -> list[str]:
        """Return the metrics whose total limit is below the demand, with their service's prefix."""
        limits = self.plan.get("quotas", {}).get(demand.region, {})
        return [METRIC_PREFIX + name for name, count in demand.metrics.items() if count > limits.get(name, count)]

    def has_quota(self, demand: Demand) -> bool:
        """Return whether the demand fits into the unused part of every quota."""
        limits = self.plan.get("quotas", {}).get(demand.region, {})
        used = self._total(demand.region, "metrics")
        return all(used[name] + count <= limits.get(name, used[name] + count) for name, count in demand.metrics.items())

    def has_machines(self, demand: Demand) -> bool:
        """Return whether all machines of the demand are free now."""
        for name, count in demand.reserved.items():
            if count > self._free_reserved(name):
                return False
        limits = self.plan.get(demand.source, {}).get(demand.region, {})
        used = self._total(demand.region, demand.source)
        is_covered = self._reserved_machines(demand).total() > demand.reserved.total()
        needed = demand.units - demand.any_units if is_covered else demand.units
        return all(used[unit] + count <= limits.get(unit, used[unit] + count) for unit, count in needed.items())

    def has_all(self, demand: Demand) -> bool:
        """Return whether machines and quota for the demand are free."""
        return self.has_machines(demand) and self.has_quota(demand)

    def excess(self, region: str, source: str) -> Counter[str]:
        """Return the units allocated beyond the limit, as after a change of the plan."""
        limits = self.plan.get(source, {}).get(region, {})
        used = self._total(region, source)
        return Counter({unit: used[unit] - limit for unit, limit in limits.items() if used[unit] > limit})

    def usage(self) -> Document:
        """Return the allocated units and quota by region."""
        regions = {holding.demand.region for holding in self._holdings.values()}
        return {
            region: {section: dict(+self._total(region, section)) for section in ("machines", "spot", "metrics")}
            for region in sorted(regions)
        }

    # ------------------------------------------------------------ allocations
    def allocate(self, name: str, demand: Demand) -> None:
        """Record that a holder has all machines of a demand."""
        self.release(name)
        reserved = self._reserved_machines(demand)
        covered = demand.any_units if reserved.total() > demand.reserved.total() else Counter[str]()
        holding = self._holdings[name] = Holding(demand, covered, reserved)
        self._total(demand.region, "metrics").update(demand.metrics)
        self._total(demand.region, demand.source).update(demand.units - covered)
        self._reserved.update(holding.reserved)

    def release(self, name: str) -> None:
        """Record that a holder has released everything."""
        holding = self._holdings.pop(name, None)
        if holding is not None:
            demand = holding.demand
            self._total(demand.region, "metrics").subtract(demand.metrics)
            self._total(demand.region, demand.source).subtract(demand.units - holding.covered)
            self._reserved.subtract(holding.reserved)

    def holders(self, region: str, source: str) -> list[str]:
        """Return the names of the holders of machines of a source, oldest first."""
        return [
            name
            for name, holding in self._holdings.items()
            if (holding.demand.region, holding.demand.source) == (region, source)
        ]

    def _total(self, region: str, section: str) -> Counter[str]:
        return self._totals.setdefault((region, section), Counter())

    def _free_reserved(self, name: str) -> int:
        return int(self.plan.get("reservations", {}).get(name, {}).get("count", 0)) - self._reserved[name]

    def _reserved_machines(self, demand: Demand) -> Counter[str]:
        """Return the machines by reservation that a demand would get.

        These are the reservations that it names, and any others if they cover all machines that take any reservation.
        """
        named = Counter(demand.reserved)
        covering: Counter[str] = Counter()
        for machine_type, count in demand.any_reserved.items():
            for name, reservation in self.plan.get("reservations", {}).items():
                if reservation.get("machineType") == machine_type and self._free_reserved(name) >= count:
                    covering[name] += count
                    break
            else:
                return named
        return named + covering


def _merge_counts(target: Document, counts: Any, where: str) -> None:
    if not isinstance(counts, dict):
        raise invalid(f"{where} must be an object of counts.")
    for unit, count in counts.items():
        name = unit.removeprefix(METRIC_PREFIX)
        if count is None:
            target.pop(name, None)
        elif isinstance(count, int) and not isinstance(count, bool) and count >= 0:
            target[name] = count
        else:
            raise invalid(f"{where}.{unit} must be a whole number or null.")
