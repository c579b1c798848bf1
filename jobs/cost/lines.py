"""The parts of a price: what is asked for, what each thing costs an hour, and where that figure comes from."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from typing import Any

from jobs.spec import DiskSpec, MachineSpec

DIGITS = 9
"""Decimal places that leave this room; list prices have no more. Sums are rounded only then."""


def as_text(usd: Decimal | None) -> str | None:
    """Write an amount for JSON: plain digits, at most `DIGITS` after the point, or None when it is not known."""
    if usd is None:
        return None
    return f"{usd:.{DIGITS}f}".rstrip("0").rstrip(".")


@dataclass(frozen=True, slots=True)
class Shape:
    """One machine as a worker pool or a resource pool asks for it, with its boot disk."""

    machine_type: str
    accelerator_type: str = ""
    accelerator_count: int = 0
    tpu_topology: str = ""
    disk_type: str = ""
    """Empty: the default of the machine type."""
    disk_gib: int = 100


def shape_of(machine: MachineSpec, disk: DiskSpec) -> Shape:
    """Return what a machine and its disk are for the price book; worker pools and resource pools alike."""
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
    """One billed thing: how many, and what one of them costs an hour."""

    resource: str
    quantity: Decimal
    unit: str
    """In the singular: machine, GPU, chip, vCPU, GiB."""
    unit_usd: Decimal | None
    """USD for one unit for one hour; None when it is not known."""
    basis: str
    """Whose price it is: vertex_training, compute_engine, management_fee or persistent_resource."""
    source: str = ""
    as_of: date | None = None
    """The day on which the source held this price; None when it gives no date, which `assumption` then states."""
    assumption: str = ""
    """Why the figure is not simply read from a source, in sentences for people; empty when it is."""
    is_estimate: bool = False
    """Whether the figure is derived from another price by a rule, which `assumption` then states."""
    is_official: bool = False
    """Whether the figure, or the one that it is computed from, was read from Google itself."""

    @property
    def usd_per_hour(self) -> Decimal | None:
        """What the whole quantity costs an hour."""
        return None if self.unit_usd is None else self.unit_usd * self.quantity

    @property
    def assumed(self) -> bool:
        """Whether something about the figure had to be assumed."""
        return bool(self.assumption)

    def times(self, count: int) -> "Line":
        """Return the line for `count` times as much."""
        return replace(self, quantity=self.quantity * count)

    def as_dict(self) -> dict[str, Any]:
        """Return JSON: amounts as text, the date as YYYY-MM-DD."""
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
    """What one hour costs, with the lines that it is made of and what a person should know about them."""

    lines: tuple[Line, ...]
    notes: tuple[str, ...] = ()

    @property
    def usd_per_hour(self) -> Decimal | None:
        """The sum of the lines; None as soon as one of them is not known."""
        return total(line.usd_per_hour for line in self.lines)

    @property
    def prices_as_of(self) -> date | None:
        """The oldest date among the prices used."""
        return min((line.as_of for line in self.lines if line.as_of), default=None)

    @property
    def is_estimate(self) -> bool:
        """Whether a line is derived from another price by a rule, and not the price of a source."""
        return any(line.is_estimate for line in self.lines)

    def times(self, count: int) -> "Rate":
        """Return the rate of `count` of these."""
        return Rate(tuple(line.times(count) for line in self.lines), self.notes)

    def __add__(self, other: "Rate") -> "Rate":
        """Return both together: equal lines become one, equal notes are shown once."""
        return Rate(merged(self.lines + other.lines), tuple(dict.fromkeys(self.notes + other.notes)))


NOTHING = Rate(())
"""No machine at all, for sums to start from."""


def total(amounts: Iterable[Decimal | None]) -> Decimal | None:
    """Add amounts up; None as soon as one of them is not known."""
    result = Decimal(0)
    for amount in amounts:
        if amount is None:
            return None
        result += amount
    return result


def amount_of(usd_per_hour: Decimal | None, runs: int, hours: float = 1.0) -> Decimal | None:
    """Return price × runs × hours; None when the price is not known or the hours have no end."""
    if usd_per_hour is None or not math.isfinite(hours):
        return None
    return usd_per_hour * runs * Decimal(repr(hours))


def merged(lines: Iterable[Line]) -> tuple[Line, ...]:
    """Join lines that differ only in their quantity, in the order of their first appearance."""
    by_kind: dict[tuple[object, ...], Line] = {}
    for line in lines:
        kind = (line.resource, line.unit, line.unit_usd, line.basis, line.source, line.as_of, line.assumption)
        first = by_kind.get(kind)
        by_kind[kind] = replace(line, quantity=line.quantity + first.quantity) if first else line
    return tuple(by_kind.values())
