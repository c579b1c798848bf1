"""Prices of accelerators that are not included in their machine's price: GPUs on N1, devices of TPU v2 and v3. Pure.

The prices are the lines that `jobs.cost` would bill for one accelerator.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from django.utils.translation import gettext as _

from dashboard.drawing.machine_rows import NOT_OFFICIAL, PRICED, UNDATED, Price
from jobs.catalog import ACCELERATORS, MACHINES, Machine, accelerators_in, forget_when_recorded
from jobs.cost import PriceBook, Shape
from jobs.cost.lines import Line
from jobs.cost.parts import DEVICE_CORES
from jobs.cost.rates import machine_rate
from jobs.strategies import Strategy


@dataclass(frozen=True, slots=True)
class Attached:
    """One accelerator in one region, with a price for each strategy of PRICED and the sources of the prices."""

    name: str
    label: str
    is_gpu: bool
    prices: tuple[Price, ...]
    sources: tuple[str, ...]

    @property
    def unit(self) -> str:
        """What one price is for."""
        if self.is_gpu:
            return _("one GPU")
        return (
            _("a slice") if self.name.endswith("_POD") else _("a device of %(cores)s cores") % {"cores": DEVICE_CORES}
        )


@lru_cache(maxsize=64)
def list_attached(region: str, book: PriceBook) -> tuple[Attached, ...]:
    """Return the accelerators of a region that no machine's price includes, in the catalogue's order.

    Return () for "".
    """
    if not region:
        return ()
    there = accelerators_in(region)
    hosts = ((name, _host(name)) for name, each in ACCELERATORS.items() if name in there and not each.is_retired)
    return tuple(_attached(name, host, region, book) for name, host in hosts if host is not None)


def _host(accelerator: str) -> Machine | None:
    """Return the first machine that takes the accelerator. A Pod is requested as cores of its TPU."""
    wanted = accelerator.removesuffix("_POD")
    return next((each for each in MACHINES.values() if each.trainable and wanted in each.attachable), None)


def _attached(name: str, host: Machine, region: str, book: PriceBook) -> Attached:
    billed = [_lines(name, host, strategy, region, book) for strategy in PRICED]
    return Attached(
        name=name,
        label=ACCELERATORS[name].label,
        is_gpu=not host.is_tpu,
        prices=tuple(_price(lines, strategy, host) for lines, strategy in zip(billed, PRICED, strict=True)),
        sources=tuple(dict.fromkeys(_source(line) for lines in billed for line in lines if line.unit_usd is not None)),
    )


def _lines(name: str, host: Machine, strategy: Strategy, region: str, book: PriceBook) -> list[Line]:
    """Return the billed lines of the accelerator, fees included, without its machine."""
    shape = Shape(host.machine_type, name, DEVICE_CORES if host.is_tpu and not name.endswith("_POD") else 1)
    rate = machine_rate(book, shape, region=region, price_key=strategy.price_key)
    return [line for line in rate.lines if name in line.resource]


def _price(lines: Sequence[Line], strategy: Strategy, host: Machine) -> Price:
    if not strategy.serves(host):
        return Price(None, is_offered=False)
    known = [line.usd_per_hour for line in lines]
    amounts = [amount for amount in known if amount is not None]
    if not amounts or len(amounts) != len(known):
        return Price(None)
    return Price(sum(amounts[1:], amounts[0]), is_estimate=any(line.is_estimate for line in lines))


def _source(line: Line) -> str:
    copied = "" if line.is_official else f" ({NOT_OFFICIAL})"
    return f"{line.source}{copied}, {f'prices of {line.as_of}' if line.as_of else UNDATED}"


forget_when_recorded(list_attached.cache_clear)
