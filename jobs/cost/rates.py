"""The cost of one machine per hour under each strategy, from the billing rules and the price book.

standard: Vertex AI's own price, which includes the management fee; if only Compute Engine's price is known, 1.15 times
that. spot, flex_start, reservation: Compute Engine's price for that strategy, and the management fee as its own line.
persistent: nothing, because the resource is billed. docs/cost.md explains each rule.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import date
from decimal import Decimal
from functools import lru_cache

from jobs.catalog import DISKS, forget_when_recorded
from jobs.cost import parts
from jobs.cost.lines import NOTHING, Line, Rate, Shape, shape_of
from jobs.cost.money import format_usd
from jobs.cost.parts import Part
from jobs.cost.prices import PriceBook, line
from jobs.spec import Submission, quoted
from jobs.strategies.base import SCHEDULING_NAMES, Known
from jobs.strategies.resource_fit import find_added
from jobs.texts import joined
from jobs.texts import translatable as _

MARKUP = Decimal("1.15")
FEE_SHARE = Decimal("0.15")
PERSISTENT = "persistent"
"""Price key of a run on a persistent resource; the resource itself is priced like standard."""
HOME = "us-central1"
"""The region with the best known prices. If a price of another region is not known, a note mentions this region's
price, but no estimate uses it."""

_VERTEX, _COMPUTE = "vertex_training", "compute_engine"
_MARKED_UP = "Estimate: 1.15 × Compute Engine's list price: Vertex AI's own price is not published for this."
_ESTIMATED_FEE = "Estimate: 15 % of Compute Engine's on-demand price: the management fee is not published for this."
_WORDS = {"spot": "Spot", "flex_start": "Flex-start"}


def rate_of(submission: Submission, *, price_key: str, book: PriceBook) -> Rate:
    """Return the hourly cost of one run of a job, over all replicas of all pools; `price_key` as for `hourly`.

    It is not known if the job has a strategy, or a field about its machines, that Trainboard does not know.
    """
    pools = tuple((shape_of(pool.machine_spec, pool.disk_spec), max(0, pool.replicas)) for _, pool in submission.pools)
    rate = _rate(book, pools or ((Shape(""), 1),), submission.region, price_key)
    if not (names := tuple(dict.fromkeys(_unknown_parts(submission)))):
        return rate
    note = _("The cost is not known, because Trainboard does not know %(names)s.", names=", ".join(names))
    lines = (_unknown(Part(name, Decimal(1), "machine"), _VERTEX) for name in names)
    return Rate((*rate.lines, *lines), (*rate.notes, note))


def rate_of_added(submission: Submission, known: Known, *, book: PriceBook) -> Rate:
    """Return the hourly cost of all machines by which a job may make its resource grow: see `find_added`."""
    added = find_added(submission, known)
    pools = tuple((shape_of(pool.machine_spec, pool.disk_spec), count) for pool, count in added)
    return _rate(book, pools, submission.region, "standard")


def _unknown_parts(submission: Submission) -> Iterator[str]:
    """Yield the strategy, and the fields of the job, its spec, its study and its machines, that are not known.

    Any of these may add machines or time. Fields of containers and outputs do not.
    """
    scheduling, tuning = submission.job_spec.scheduling, submission.tuning
    if scheduling.strategy not in SCHEDULING_NAMES:
        yield f"strategy {quoted(scheduling.strategy)[1:-1]}"
    parents = [
        submission.job,
        *((tuning, tuning.study_spec) if tuning is not None else ()),
        submission.job_spec,
        scheduling,
        *(each for _, pool in submission.pools for each in (pool, pool.machine_spec, pool.disk_spec)),
    ]
    for parent in parents:
        yield from (quoted(name)[1:-1] for name in parent.unknown_fields)


@lru_cache(maxsize=1024)  # most edits in a form change neither machines nor replicas
def _rate(book: PriceBook, pools: tuple[tuple[Shape, int], ...], region: str, price_key: str) -> Rate:
    rate = NOTHING
    for shape, replicas in pools:
        rate += hourly(book, shape, region=region, price_key=price_key).times(replicas)
    return rate


@lru_cache(maxsize=2048)  # a form that compares strategies looks up the same few repeatedly
def hourly(book: PriceBook, shape: Shape, *, region: str, price_key: str) -> Rate:
    """Return the hourly cost of one machine with its boot disk; a price that is not known is None.

    `price_key`: standard, spot, flex_start, reservation or persistent.
    """
    machine = machine_rate(book, shape, region=region, price_key=price_key)
    if price_key == PERSISTENT:
        return machine
    return machine + Rate((boot_disk(book, shape, region=region),))


forget_when_recorded(_rate.cache_clear)
forget_when_recorded(hourly.cache_clear)


def machine_rate(book: PriceBook, shape: Shape, *, region: str, price_key: str) -> Rate:
    """Return the hourly cost of one machine without its boot disk."""
    rate = _RULES[price_key](book, shape, region)
    names = ", ".join(dict.fromkeys(part.resource for part in rate.lines if part.unit_usd is None))
    if not names:
        return rate
    words = {"region": region or _("no region"), "kind": _WORDS.get(price_key, _("on-demand")), "names": names}
    note = _("Not known in %(region)s: the %(kind)s price of %(names)s.", **words)
    if (usd := _RULES[price_key](book, shape, HOME).usd_per_hour) is not None:
        note = joined(note, _("In %(region)s such a machine costs %(usd)s an hour.", region=HOME, usd=format_usd(usd)))
    return Rate(rate.lines, (*rate.notes, note))


def boot_disk(book: PriceBook, shape: Shape, *, region: str) -> Line:
    """Return the line of the boot disk, which costs the same under every strategy.

    Vertex AI's price is known for pd-ssd in us-central1. Elsewhere it is estimated as 1.15 times Compute Engine's, and
    a disk type of the catalogue without a known price is counted as pd-ssd.
    """
    part = parts.boot_disk(shape)
    name = f"{part.resource} boot disk"
    for kind, stand_in in ((part.resource, ""), ("pd-ssd", f"No {part.resource} price is known: counted as pd-ssd.")):
        if kind != part.resource and part.resource not in DISKS:
            break
        if found := _vertex_or_marked_up(book, replace(part, resource=f"{kind}-gb-month"), region):
            return _assume(replace(found, resource=name), stand_in)
    return _unknown(replace(part, resource=name), _VERTEX)


def _standard(book: PriceBook, shape: Shape, region: str) -> Rate:
    if parts.is_tpu(shape):
        return _tpu(book, shape, region, "standard")
    if book.is_listed_without_price(shape.machine_type, region=region, strategy="standard"):
        words = {"machine": shape.machine_type, "region": region}
        note = _("Google's price list has no on-demand price for %(machine)s in %(region)s.", **words)
        return Rate((_unknown(parts.whole(shape), _VERTEX),), (note,))
    lines = _machine(book, shape, region, "standard", _VERTEX)
    machine = lines if all(each.unit_usd is not None for each in lines) else ()
    notes: tuple[str, ...] = ()
    if not machine:
        machine = _on_demand_without_ssd(book, shape, region, lambda found: _scaled(found, MARKUP, _MARKED_UP))
        notes = _not_sold(book, shape, region)
    gpus = (_vertex_or_marked_up(book, part, region) or _unknown(part, _VERTEX) for part in parts.attached(shape))
    return Rate((*machine, *gpus), notes)


def _flex_start(book: PriceBook, shape: Shape, region: str) -> Rate:
    rate = _with_fee(book, shape, region, "flex_start")
    return replace(rate, notes=(*rate.notes, _("Google has announced new Flex-start prices for November 2026.")))


def _reservation(book: PriceBook, shape: Shape, region: str) -> Rate:
    rate = _with_fee(book, shape, region, "reservation")
    note = _(
        "Compute Engine bills the reservation from its creation to its deletion, used or not; counted here are only "
        "the hours of this job, at list price without any discount that the reservation may have."
    )
    return replace(rate, notes=(*rate.notes, note))


def _persistent(_book: PriceBook, _shape: Shape, _region: str) -> Rate:
    free = Line(
        resource="run on a persistent resource",
        quantity=Decimal(1),
        unit="machine",
        unit_usd=Decimal(0),
        basis="persistent_resource",
        source="Overview of persistent resources, docs.cloud.google.com",
        as_of=date(2026, 11, 21),
    )
    return Rate((free,))


_RULES: dict[str, Callable[[PriceBook, Shape, str], Rate]] = {
    "standard": _standard,
    "spot": lambda book, shape, region: _with_fee(book, shape, region, "spot"),
    "flex_start": _flex_start,
    "reservation": _reservation,
    PERSISTENT: _persistent,
}


def _with_fee(book: PriceBook, shape: Shape, region: str, price_key: str) -> Rate:
    """Return Compute Engine's price under the strategy, and the management fee."""
    strategy = "standard" if price_key == "reservation" else price_key
    if parts.is_tpu(shape):
        return _tpu(book, shape, region, strategy)
    machine = _machine(book, shape, region, strategy, _COMPUTE)
    gpus = tuple(_priced(book, part, region, strategy, _COMPUTE) for part in parts.attached(shape))
    return Rate((*machine, *gpus, *_fee(book, shape, region, price_key)))


def _tpu(book: PriceBook, shape: Shape, region: str, strategy: str) -> Rate:
    note = "Vertex AI's management fee on TPUs is not published and is not counted."
    return Rate((_assume(_priced(book, parts.tpu(shape), region, strategy, _COMPUTE), note),), (note,))


def _fee(book: PriceBook, shape: Shape, region: str, strategy: str) -> tuple[Line, ...]:
    """Return the published fee for the whole machine, or if it is not known, 15 % of the on-demand price."""
    machine = _listed_fee(book, shape, region, strategy) or _on_demand_without_ssd(book, shape, region, _estimated_fee)
    gpus = (_estimated_fee(_priced(book, part, region, "standard", _COMPUTE)) for part in parts.attached(shape))
    return (*machine, *gpus)


def _listed_fee(book: PriceBook, shape: Shape, region: str, strategy: str) -> tuple[Line, ...]:
    """Return the published fee for the machine or all of its parts; nothing if a part is missing."""
    for candidate in ((parts.whole(shape),), parts.pieces(shape)):
        rows = [(part, book.fee(part.resource, region=region, strategy=strategy)) for part in candidate]
        found = [line(row, quantity=part.quantity, unit=part.unit) for part, row in rows if row is not None]
        if found and len(found) == len(candidate):
            return tuple(_as_fee(each) for each in found)
    return ()


def _on_demand_without_ssd(
    book: PriceBook, shape: Shape, region: str, change: Callable[[Line], Line]
) -> tuple[Line, ...]:
    """Return Compute Engine's on-demand lines, changed, without the local SSD of A3, which Vertex AI does not bill."""
    machine = _machine(book, shape, region, "standard", _COMPUTE, ssd=parts.bills_local_ssd(shape))
    if len(machine) > 1 or parts.bills_local_ssd(shape):
        return tuple(change(each) for each in machine)
    (found,) = machine
    for part in parts.local_ssd(shape):
        ssd = _priced(book, part, region, "standard", _COMPUTE).usd_per_hour
        if found.unit_usd is not None and ssd is not None:
            without = replace(found, unit_usd=found.unit_usd - ssd)
            found = _assume(without, "Without its local SSD, which Vertex AI's bill of an A3 machine did not show.")
    return (change(found),)


def _machine(
    book: PriceBook, shape: Shape, region: str, strategy: str, basis: str, *, ssd: bool = True
) -> tuple[Line, ...]:
    """Return the machine as one line if it has a price, else its parts, else one line without a price."""
    whole = _priced(book, parts.whole(shape), region, strategy, basis)
    if whole.unit_usd is not None or book.is_withdrawn(whole.resource, region=region, strategy=strategy, basis=basis):
        return (whole,)
    bundled = parts.local_ssd(shape) if ssd and basis == _COMPUTE else ()
    pieces = parts.pieces(shape)
    lines = tuple(_priced(book, part, region, strategy, basis) for part in (*pieces, *(bundled if pieces else ())))
    return lines if any(each.unit_usd is not None for each in lines) else (whole,)


def _vertex_or_marked_up(book: PriceBook, part: Part, region: str) -> Line | None:
    """Return Vertex AI's price of a part, else 1.15 times Compute Engine's, else None."""
    own = _priced(book, part, region, "standard", _VERTEX)
    if own.unit_usd is not None:
        return own
    listed = _priced(book, part, region, "standard", _COMPUTE)
    return _scaled(listed, MARKUP, _MARKED_UP) if listed.unit_usd is not None else None


def _priced(book: PriceBook, part: Part, region: str, strategy: str, basis: str) -> Line:
    row = book.price(part.resource, region=region, strategy=strategy, basis=basis)
    return line(row, quantity=part.quantity, unit=part.unit) if row else _unknown(part, basis)


def _unknown(part: Part, basis: str) -> Line:
    return Line(part.resource, part.quantity, part.unit, None, basis, assumption="No price is known.")


def _not_sold(book: PriceBook, shape: Shape, region: str) -> tuple[str, ...]:
    row = book.price(shape.machine_type, region=region, strategy="standard", basis=_COMPUTE)
    if row is None or "not sold on demand" not in row.note:
        return ()
    name = shape.machine_type
    return (_("Compute Engine does not sell %(machine)s on demand; its price is the sum of its parts.", machine=name),)


def _estimated_fee(found: Line) -> Line:
    return _as_fee(_scaled(found, FEE_SHARE, _ESTIMATED_FEE))


def _as_fee(found: Line) -> Line:
    return replace(found, resource=f"management fee on {found.resource}", basis="management_fee")


def _scaled(found: Line, factor: Decimal, reason: str) -> Line:
    scaled = None if found.unit_usd is None else found.unit_usd * factor
    return _assume(replace(found, unit_usd=scaled, is_estimate=scaled is not None), reason)


def _assume(found: Line, reason: str) -> Line:
    """Add a sentence to the assumptions of a line with a price."""
    if not reason or found.unit_usd is None:
        return found
    return replace(found, assumption=f"{reason} {found.assumption}".strip())
