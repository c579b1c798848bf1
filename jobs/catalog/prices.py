"""Prices and management fees from the data files; `jobs.cost` decides which row applies."""

from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import cache

from jobs.catalog.rows import day, decimal, rows


@dataclass(frozen=True, slots=True)
class PriceRow:
    """A price in one region.

    `resource` is a machine type, an accelerator, `<series>-vcpu-hour`, `<series>-ram-gb-hour`, `<disk>-gb-month` (an
    hourly figure: the monthly price / 730) or `tpu-<version>-chip`. `strategy` is standard, spot, flex_start,
    reservation or `*` for all. `basis` is the bill that has it: compute_engine or vertex_training. `usd_per_hour` is
    None if no source gives it, and `as_of` if the source is undated. Rows of the data files are not official, because
    they are copies by others of Google's pages, bills and price lists.
    """

    region: str
    resource: str
    strategy: str
    usd_per_hour: Decimal | None
    basis: str
    source: str
    as_of: date | None
    note: str
    is_official: bool = False
    origin: str = "file"
    """Where the row was recorded: a file, or on this site by a person or an import."""


def _read(name: str) -> tuple[PriceRow, ...]:
    return tuple(
        PriceRow(
            region=row["region"],
            resource=row["resource"],
            strategy=row["strategy"],
            usd_per_hour=decimal(row["usd_per_hour"]),
            basis=row["basis"],
            source=row["source"],
            as_of=day(row["as_of"]),
            note=row["note"],
        )
        for row in rows(name)
    )


@cache
def price_rows() -> tuple[PriceRow, ...]:
    """Return all prices. A resource may have several dates; the newest applies."""
    return _read("prices")


@cache
def fee_rows() -> tuple[PriceRow, ...]:
    """Return Vertex AI's management fees, in USD per hour of the resource."""
    return _read("fees")
