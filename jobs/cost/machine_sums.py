"""Compute prices of machines from their parts, as the Cloud Billing Catalog has no prices of machines. Pure."""

from collections.abc import Mapping
from datetime import date
from decimal import Decimal

from jobs.catalog import MACHINES, REGIONS, Machine, PriceRow
from jobs.cost import price_keys
from jobs.cost.price_keys import STRATEGIES
from jobs.cost.prices import COMPUTE_ENGINE, Key
from jobs.cost.skus import UnitPrice

SOURCE = "Cloud Billing Catalog API of Google"
MAX_NOTE_CHARACTERS = 500
_Part = tuple[str, Decimal]
"""A resource and its quantity."""


def rows_of(units: Mapping[Key, UnitPrice], *, as_of: date) -> list[PriceRow]:
    """Return a row for each part, and for each machine whose parts all have a price.

    `as_of` is the day on which the Catalog was read. Its `effectiveTime` is the time of the request, not when a price
    began.
    """
    rows = [_row(key, unit.usd, _part_note(unit), as_of) for key, unit in units.items()]
    for region in sorted({key[1] for key in units} & set(REGIONS)):
        for machine in MACHINES.values():
            for basis, strategies in STRATEGIES.items():
                parts = _parts(machine, basis)
                for strategy in strategies if parts else ():
                    priced = [(name, count, units.get((name, region, strategy, basis))) for name, count in parts]
                    known = [(name, count, unit) for name, count, unit in priced if unit is not None]
                    if len(known) == len(priced):
                        key = (machine.machine_type, region, strategy, basis)
                        usd = sum((count * unit.usd for _, count, unit in known), Decimal(0))
                        note = " + ".join(f"{count:g} × {name} ({unit.sku})" for name, count, unit in known)
                        rows.append(_row(key, usd, note, as_of))
    return rows


def _parts(machine: Machine, basis: str) -> list[_Part]:
    """Return the billed parts of a machine; empty if it is not billed by parts, or not all of them are known.

    The local SSD of A3 machines is billed by Compute Engine only. Whether Vertex AI bills the local SSD of other
    machines is not known, nor is the size on A3 Ultra.
    """
    if not machine.trainable or machine.is_tpu:
        return []
    if machine.gpu_type == "NVIDIA_B200":  # a slice includes its share of the host
        return [(machine.gpu_type, Decimal(machine.gpu_count))]
    if not (machine.vcpu and machine.memory_gib):
        return []
    has_gpu = machine.gpu_attach == "fixed"
    if has_gpu and machine.series == "a3" and machine.local_ssd_gib is None:
        return []
    ssd = machine.local_ssd_gib or 0
    if ssd and basis != COMPUTE_ENGINE and machine.series != "a3":
        return []
    parts = [
        (price_keys.vcpu(machine), Decimal(machine.vcpu)),
        (price_keys.memory(machine), machine.memory_gib),
    ]
    if has_gpu:
        parts.append((machine.gpu_type, Decimal(machine.gpu_count)))
    if ssd and basis == COMPUTE_ENGINE:
        parts.append(("local-ssd-gb-month", Decimal(ssd)))
    return parts


def _part_note(unit: UnitPrice) -> str:
    monthly = f"; {unit.monthly_usd:f} USD per GiB-month" if unit.monthly_usd is not None else ""
    return f"SKU {unit.sku}: {unit.description}{monthly}"


def _row(key: Key, usd: Decimal, note: str, as_of: date) -> PriceRow:
    resource, region, strategy, basis = key
    return PriceRow(
        region=region,
        resource=resource,
        strategy=strategy,
        usd_per_hour=usd,
        basis=basis,
        source=SOURCE,
        as_of=as_of,
        note=note[:MAX_NOTE_CHARACTERS],
        is_official=True,
        origin="import",
    )
