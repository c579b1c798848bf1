"""The machine types as rows of the catalogue, with what an hour costs in a region under each strategy. Pure.

A row is drawn here once per region and kept: the catalogue does not change while the process runs, and a template
would need a tenth of a second for all of them.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from dashboard.drawing.figures import money
from jobs.catalog import ACCELERATORS, MACHINES, Machine, accelerators_in
from jobs.cost import PriceBook, Rate, Shape
from jobs.cost.rates import machine_rate
from jobs.strategies import STRATEGIES, Strategy

PRICED: tuple[Strategy, ...] = tuple(STRATEGIES[key] for key in ("standard", "spot", "flex_start", "reservation"))
"""Strategies with a price of their own; on a persistent resource a job costs nothing, its machines cost as standard."""

UNDATED = "without a date"


@dataclass(frozen=True, slots=True)
class Price:
    """USD an hour; None where it is not known, where it is not offered, or where an accelerator is priced instead."""

    usd: Decimal | None
    is_offered: bool = True
    is_beside: bool = False

    @property
    def words(self) -> str:
        """The price as people read it."""
        if self.is_beside:
            return "by accelerator"
        return money(self.usd) if self.is_offered else "not offered"


def found(*, text: str, region: str, accelerator: str) -> list[Machine]:
    """Return the machine types that the filters leave, in the catalogue's order; "" narrows nothing."""
    return [
        machine
        for machine in MACHINES.values()
        if _matches(machine, text) and _has(machine, accelerator) and (not region or is_in(machine, region))
    ]


@lru_cache(maxsize=10_000)
def draw(machine_type: str, region: str, source: int) -> SafeString:
    """Return a machine type as a table row; `source` is the number of its source; prices only where a region is."""
    machine = MACHINES[machine_type]
    words = accelerator_words(machine)
    return format_html(
        '<tr><td><b>{}</b> <a class="cite" href="#source-{}">{}</a>{}</td>'
        '<td class="num">{}</td><td class="num">{}</td><td{}>{}{}</td>{}</tr>',
        machine_type,
        source,
        source,
        _remark(machine),
        machine.vcpu or "–",
        f"{machine.memory_gib:g} GB" if machine.memory_gib else "–",
        "" if words or machine.local_ssd_gib else SafeString(' class="bare"'),
        words or "–",
        format_html("<small>{} GB local SSD</small>", machine.local_ssd_gib) if machine.local_ssd_gib else "",
        format_html_join(
            "",
            '<td class="num{}">{}</td>',
            (("" if price.usd is not None else " none", price.words) for price in _prices(machine_type, region)),
        ),
    )


def _remark(machine: Machine) -> SafeString | str:
    if not machine.trainable:
        return format_html("<small>{}</small>", "not for training")
    return format_html("<details><summary>note</summary>{}</details>", machine.notes) if machine.notes else ""


def _prices(machine_type: str, region: str) -> tuple[Price, ...]:
    return prices_in(region)[machine_type] if region else ()


def is_in(machine: Machine, region: str) -> bool:
    """Tell whether training can get this machine's accelerator there; machines without one are everywhere."""
    there = accelerators_in(region)
    if machine.fixed_accelerator:
        return machine.fixed_accelerator in there
    return not machine.is_tpu or any(name in there for name in machine.attachable)


def accelerator_words(machine: Machine) -> str:
    """Return what a machine carries or takes: "8 × H100 80 GB", "T4 × 1, 2 or 4"; "" for nothing."""
    if machine.series == "cloud-tpu":
        return "TPU v2 or v3: 8 cores, or a Pod of 32 and more"
    if machine.fixed_accelerator:
        label = ACCELERATORS[machine.fixed_accelerator].label
        return f"{machine.gpu_count} × {label}"
    return "; ".join(
        f"{ACCELERATORS[name].label} × {_or(sorted(counts))}"
        for name, counts in machine.attachable.items()
        if not ACCELERATORS[name].is_retired
    )


@lru_cache(maxsize=64)
def prices_in(region: str) -> Mapping[str, tuple[Price, ...]]:
    """Return `{machine type: prices}` of one region; the price files do not change while the process runs."""
    return {name: tuple(_price(machine, strategy, region) for strategy in PRICED) for name, machine in MACHINES.items()}


@lru_cache(maxsize=64)
def sources_in(region: str) -> tuple[tuple[str, str], ...]:
    """Return the sources of a region's prices, each with the oldest and the newest day on which they held."""
    days: dict[str, list[str]] = {}
    for machine in MACHINES.values():
        for line in (line for strategy in PRICED for line in rate(machine, strategy, region).lines):
            if line.unit_usd is not None:
                days.setdefault(line.source, []).append(line.as_of.isoformat() if line.as_of else UNDATED)
    return tuple((source, _span(found)) for source, found in days.items())


def _span(days: Iterable[str]) -> str:
    found = sorted(set(days))
    return f"prices of {' to '.join(dict.fromkeys((found[0], found[-1])))}" if found != [UNDATED] else UNDATED


def rate(machine: Machine, strategy: Strategy, region: str) -> Rate:
    """Return what an hour of the machine without its disk costs."""
    fixed = machine.gpu_attach == "fixed" and not machine.is_tpu
    shape = Shape(machine.machine_type, *((machine.gpu_type, machine.gpu_count) if fixed else ()))
    return machine_rate(PriceBook.load(), shape, region=region, price_key=strategy.price_key)


def _price(machine: Machine, strategy: Strategy, region: str) -> Price:
    if not machine.trainable or not strategy.serves(machine):
        return Price(None, is_offered=False)
    if machine.is_tpu and machine.attachable:  # Cloud TPU v2 and v3: the host costs nothing, the devices do
        return Price(None, is_beside=True)
    return Price(rate(machine, strategy, region).usd_per_hour)


def _matches(machine: Machine, text: str) -> bool:
    told = f"{machine.machine_type} {machine.series} {accelerator_words(machine)} {machine.gpu_type}".lower()
    return all(word in told for word in text.lower().split())


def _has(machine: Machine, accelerator: str) -> bool:
    if accelerator == "none":
        return not machine.fixed_accelerator and not machine.is_tpu
    return not accelerator or accelerator == machine.fixed_accelerator or accelerator in machine.attachable


def _or(counts: Iterable[int]) -> str:
    *most, last = map(str, counts)
    return f"{', '.join(most)} or {last}" if most else last
