"""The lines of a price: what is billed, its cost per hour, and the source of the figure."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from typing import Any

from jobs.spec import DiskSpec, MachineSpec

DIGITS = 9
"""Decimal places to which sums are rounded for output; list prices have no more."""


def as_text(usd: Decimal | None) -> str | None:
    """Return an amount for JSON: plain digits, at most `DIGITS` after the point, or None if it is not known."""
    if usd is None:
        return None
    return f"{usd:.{DIGITS}f}".rstrip("0").rstrip(".")


@dataclass(frozen=True, slots=True)
class Shape:
    """One machine of a worker pool or resource pool, with its boot disk."""

    machine_type: str
    accelerator_type: str = ""
    accelerator_count: int = 0
    tpu_topology: str = ""
    disk_type: str = ""
    """Empty: the default of the machine type."""
    disk_gib: int = 100


def shape_of(machine: MachineSpec, disk: DiskSpec) -> Shape:
    """Return the shape of a machine and its disk for the price book, for worker pools and resource pools."""
    return Shape(
        machine_type=machine.machine_type,
        accelerator_type=machine.accelerator,
        accelerator_count=machine.accelerator_count,
        tpu_topology=machine.tpu_topology,
        disk_type=disk.boot_disk_type,
        disk_gib=max(0, disk.size_gb),
    )


@dataclass(frozen=True, slots=True)
class Line:
    """One billed item: the quantity, and the cost per hour of one unit."""

    resource: str
    quantity: Decimal
    unit: str
    """In the singular: machine, GPU, chip, vCPU, GiB."""
    unit_usd: Decimal | None
    """USD for one unit for one hour; None if it is not known."""
    basis: str
    """The kind of price: vertex_training, compute_engine, management_fee or persistent_resource."""
    source: str = ""
    as_of: date | None = None
    """The day on which the source had this price; None if it gives no date, which `assumption` then states."""
    assumption: str = ""
    """Sentences for people on why the figure is not taken directly from a source; empty if it is."""
    is_estimate: bool = False
    """Whether the figure is derived from another price by a rule, which `assumption` then states."""
    is_official: bool = False
    """Whether the figure, or the one it is computed from, was read from Google directly."""

    @property
    def usd_per_hour(self) -> Decimal | None:
        """Cost per hour of the whole quantity."""
        return None if self.unit_usd is None else self.unit_usd * self.quantity

    @property
    def assumed(self) -> bool:
        """Whether something about the figure was assumed."""
        return bool(self.assumption)

    def times(self, count: int) -> "Line":
        """Return the line for `count` times the quantity."""
        return replace(self, quantity=self.quantity * count)

    def as_dict(self) -> dict[str, Any]:
        """Return the line as JSON: amounts as text, the date as YYYY-MM-DD."""
        return {
            "resource": self.resource,
            "quantity": as_text(self.quantity),
            "unit": self.unit,
            "unit_usd": as_text(self.unit_usd),
            "usd_per_hour": as_text(self.usd_per_hour),
            "basis": self.basis,
            "source": self.source,
            "is_official": self.is_official,
            "as_of": self.as_of.isoformat() if self.as_of else None,
            "is_estimate": self.is_estimate,
            "assumed": self.assumed,
            "assumption": self.assumption,
        }


@dataclass(frozen=True, slots=True)
class Rate:
    """The cost of one hour, with its lines and notes for people."""

    lines: tuple[Line, ...]
    notes: tuple[str, ...] = ()

    @property
    def usd_per_hour(self) -> Decimal | None:
        """The sum of the lines; None if one of them is not known."""
        return total(line.usd_per_hour for line in self.lines)

    @property
    def prices_as_of(self) -> date | None:
        """The date of the main price, which is that of the line that costs most; None if it has no date.

        Small parts with older prices, such as a fee, would hide that it is recent: `old_parts` names them.
        """
        priced = [line for line in self.lines if line.usd_per_hour is not None]
        return max(priced, key=lambda line: line.usd_per_hour or 0).as_of if priced else None

    @property
    def is_estimate(self) -> bool:
        """Whether a line is derived from another price by a rule."""
        return any(line.is_estimate for line in self.lines)

    def times(self, count: int) -> "Rate":
        """Return the rate for `count` times as much."""
        return Rate(tuple(line.times(count) for line in self.lines), self.notes)

    def __add__(self, other: "Rate") -> "Rate":
        """Return the sum of both: equal lines are merged, and equal notes are shown once."""
        return Rate(merged(self.lines + other.lines), tuple(dict.fromkeys(self.notes + other.notes)))


NOTHING = Rate(())
"""The rate of no machine, as the start of a sum."""


def total(amounts: Iterable[Decimal | None]) -> Decimal | None:
    """Return the sum of amounts; None if one of them is not known."""
    result = Decimal(0)
    for amount in amounts:
        if amount is None:
            return None
        result += amount
    return result


def amount_of(usd_per_hour: Decimal | None, runs: int, hours: float = 1.0) -> Decimal | None:
    """Return price × runs × hours; None if the price is not known or the hours are infinite."""
    if usd_per_hour is None or not math.isfinite(hours):
        return None
    return usd_per_hour * runs * Decimal(repr(hours))


def merged(lines: Iterable[Line]) -> tuple[Line, ...]:
    """Merge lines that differ only in quantity, in the order of their first appearance."""
    by_kind: dict[tuple[object, ...], Line] = {}
    for line in lines:
        kind = (line.resource, line.unit, line.unit_usd, line.basis, line.source, line.as_of, line.assumption)
        first = by_kind.get(kind)
        by_kind[kind] = replace(line, quantity=line.quantity + first.quantity) if first else line
    return tuple(by_kind.values())
