"""How clean the electricity of each region was in the last year that Google has published."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from types import MappingProxyType

from jobs.catalog.rows import day, rows


@dataclass(frozen=True, slots=True)
class Carbon:
    """The yearly figures of a region.

    `carbon_free_share` is Google's "CFE": the share of carbon-free energy, hour by hour, with the energy that Google
    buys there. `grams_per_kwh` is the carbon intensity of the local grid alone, in grams of CO2 equivalent.
    """

    carbon_free_share: float
    grams_per_kwh: float
    year: int
    source: str
    read_date: date | None


CARBON: Mapping[str, Carbon] = MappingProxyType(
    {
        row["region"]: Carbon(
            float(row["carbon_free_share"]),
            float(row["grams_per_kwh"]),
            int(row["year"]),
            row["source"],
            day(row["read"]),
        )
        for row in rows("carbon")
    }
)
"""`{region: Carbon}`."""
