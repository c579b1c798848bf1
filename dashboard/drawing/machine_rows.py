"""Machine types as rows of the catalogue, with the price per hour in a region under each strategy. Pure.

Rows are rendered here and cached per region and price book, because a template would need 0.1 s for all of them.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import lru_cache

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from dashboard.drawing.figures import money
from jobs.catalog import ACCELERATORS, MACHINES, Machine, accelerators_in, forget_when_recorded
from jobs.cost import PriceBook, Rate, Shape
from jobs.cost.lines import Line
from jobs.cost.rates import machine_rate
from jobs.strategies import STRATEGIES, Strategy

PRICED: tuple[Strategy, ...] = tuple(STRATEGIES[key] for key in ("standard", "spot", "flex_start", "reservation"))
"""Strategies with a price of their own. On a persistent resource the job is free, and its machines cost as standard."""

UNDATED = "without a date"
NOT_OFFICIAL = "published copy, not official"


@dataclass(frozen=True, slots=True)
class Price:
    """USD per hour. None if it is not known, not offered, or if accelerators are priced separately."""

    usd: Decimal | None
    is_offered: bool = True
    is_beside: bool = False
    is_estimate: bool = False
    """Whether a part of it is derived by a rule, such as 1.15 times the price of Compute Engine."""

    @property
    def label(self) -> str:
        """The price as text."""
        if self.is_beside:
            return _("by accelerator")
        if not self.is_offered:
            return _("not offered")
        amount = money(self.usd)
        return _("%(amount)s est.") % {"amount": amount} if self.is_estimate and self.usd is not None else amount


def filter_machines(*, text: str, region: str, accelerator: str) -> list[Machine]:
    """Return the machine types that match the filters, in the catalogue's order. "" does not filter."""
    return [
        machine
        for machine in MACHINES.values()
        if _matches(machine, text) and _has(machine, accelerator) and (not region or is_in(machine, region))
    ]


@lru_cache(maxsize=20_000)
def render(machine_type: str, region: str, source: int, book: PriceBook, language: str | None) -> SafeString:
    """Return a machine type as a table row. `source` is the number of its source.

    Prices are shown only with a region.
    """
    del language  # the active language, part of the cache key
    machine = MACHINES[machine_type]
    accelerators = accelerator_label(machine)
    prices = prices_in(region, book)[machine_type] if region else ()
    return format_html(
        '<tr><td><b>{}</b> <a class="cite" href="#source-{}">{}</a>{}</td>'
        '<td class="num">{}</td><td class="num" data-label="{}">{}{}</td><td{}>{}{}</td>{}</tr>',
        machine_type,
        source,
        source,
        _remark(machine),
        machine.vcpu or "–",
        _("Memory"),
        f"{machine.memory_gib:g} GB" if machine.memory_gib else "–",
        _small(_("%(size)s GB allocatable"), f"{left:.1f}") if (left := machine.allocatable_gib) else "",
        "" if accelerators or machine.local_ssd_gib else SafeString(' class="bare"'),
        accelerators or "–",
        _small(_("%(size)s GB local SSD"), machine.local_ssd_gib) if machine.local_ssd_gib else "",
        format_html_join(
            "",
            '<td class="num{}">{}</td>',
            (("" if price.usd is not None else " none", price.label) for price in prices),
        ),
    )


def _small(words: str, size: object) -> SafeString:
    return format_html("<small>{}</small>", words % {"size": size})


def _remark(machine: Machine) -> SafeString | str:
    if not machine.trainable:
        return format_html("<small>{}</small>", _("not for training"))
    if not machine.notes:
        return ""
    words = '<details><summary>{}</summary><span lang="en">{}</span></details>'
    return format_html(words, _("note"), machine.notes)


def is_in(machine: Machine, region: str) -> bool:
    """Return whether training offers this machine's accelerator in a region.

    Machines without one are in all regions.
    """
    there = accelerators_in(region)
    if machine.fixed_accelerator:
        return machine.fixed_accelerator in there
    return not machine.is_tpu or any(name in there for name in machine.attachable)


def accelerator_label(machine: Machine) -> str:
    """Return the accelerators that a machine has or supports: "8 × H100 80 GB", "T4 × 1, 2 or 4".

    Return "" for none.
    """
    if machine.series == "cloud-tpu":
        return _("TPU v2 or v3: 8 cores, or a Pod of 32 and more")
    if machine.fixed_accelerator:
        label = ACCELERATORS[machine.fixed_accelerator].label
        return f"{machine.gpu_count} × {label}"
    return "; ".join(
        f"{ACCELERATORS[name].label} × {_or(sorted(counts))}"
        for name, counts in machine.attachable.items()
        if not ACCELERATORS[name].is_retired
    )


@lru_cache(maxsize=64)
def prices_in(region: str, book: PriceBook) -> Mapping[str, tuple[Price, ...]]:
    """Return `{machine type: prices}` for a region."""
    return {
        name: tuple(_price(machine, strategy, region, book) for strategy in PRICED)
        for name, machine in MACHINES.items()
    }


@lru_cache(maxsize=64)
def sources_in(region: str, book: PriceBook) -> tuple[tuple[str, str], ...]:
    """Return the sources of a region's prices, each with the oldest and newest date of its prices."""
    days: dict[str, list[str]] = {}
    for line in _lines(region, book):
        source = line.source if line.is_official else f"{line.source} ({NOT_OFFICIAL})"
        days.setdefault(source, []).append(line.as_of.isoformat() if line.as_of else UNDATED)
    return tuple((source, _span(dates)) for source, dates in days.items())


@lru_cache(maxsize=64)
def oldest_in(region: str, book: PriceBook) -> date | None:
    """Return the date of the oldest price of a region's machines. None if none has a date."""
    return min((line.as_of for line in _lines(region, book) if line.as_of), default=None)


def _lines(region: str, book: PriceBook) -> list[Line]:
    """Return the known price components of a region's machines."""
    rates = (rate(machine, strategy, region, book) for machine in MACHINES.values() for strategy in PRICED)
    return [line for each in rates for line in each.lines if line.unit_usd is not None]


def _span(days: Iterable[str]) -> str:
    dates = sorted(set(days))
    return f"prices of {' to '.join(dict.fromkeys((dates[0], dates[-1])))}" if dates != [UNDATED] else UNDATED


def rate(machine: Machine, strategy: Strategy, region: str, book: PriceBook) -> Rate:
    """Return the price per hour of the machine without its disk."""
    fixed = machine.gpu_attach == "fixed" and not machine.is_tpu
    shape = Shape(machine.machine_type, *((machine.gpu_type, machine.gpu_count) if fixed else ()))
    return machine_rate(book, shape, region=region, price_key=strategy.price_key)


def _price(machine: Machine, strategy: Strategy, region: str, book: PriceBook) -> Price:
    if not machine.trainable or not strategy.serves(machine):
        return Price(None, is_offered=False)
    if machine.is_tpu and machine.attachable:  # Cloud TPU v2 and v3: the devices are billed, not the host
        return Price(None, is_beside=True)
    found = rate(machine, strategy, region, book)
    return Price(found.usd_per_hour, is_estimate=found.is_estimate)


def _matches(machine: Machine, text: str) -> bool:
    searched = f"{machine.machine_type} {machine.series} {accelerator_label(machine)} {machine.gpu_type}".lower()
    return all(word in searched for word in text.lower().split())


def _has(machine: Machine, accelerator: str) -> bool:
    if accelerator == "none":
        return not machine.fixed_accelerator and not machine.is_tpu
    return not accelerator or accelerator == machine.fixed_accelerator or accelerator in machine.attachable


def _or(counts: Iterable[int]) -> str:
    *most, last = map(str, counts)
    return _("%(some)s or %(last)s") % {"some": ", ".join(most), "last": last} if most else last


forget_when_recorded(render.cache_clear)
forget_when_recorded(prices_in.cache_clear)
forget_when_recorded(sources_in.cache_clear)
forget_when_recorded(oldest_in.cache_clear)
