"""Regions that offer training, and the accelerators of each."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from types import MappingProxyType

from jobs.catalog.accelerators import ACCELERATORS
from jobs.catalog.rows import day, rows


@dataclass(frozen=True, slots=True)
class Region:
    """A region with the accelerators that its page lists for training, retired ones included."""

    name: str
    accelerators: frozenset[str]
    source: str
    read_date: date | None


REGIONS: Mapping[str, Region] = MappingProxyType(
    {
        row["region"]: Region(
            row["region"],
            frozenset(filter(None, row["accelerators"].split(";"))),
            row["source"],
            day(row["read"]),
        )
        for row in rows("regions")
    }
)
"""`{region: Region}` in alphabetical order."""

_RETIRED = frozenset(name for name, found in ACCELERATORS.items() if found.is_retired)


def accelerators_in(region: str) -> frozenset[str]:
    """Return the accelerators available for training in a region; empty if it has none or is unknown.

    Accelerators that the site has recorded are in each region, because no source lists where they are.
    """
    found = REGIONS.get(region)
    return (found.accelerators - _RETIRED) | set(ACCELERATORS.recorded) if found is not None else frozenset()


def regions_with(accelerator: str) -> tuple[str, ...]:
    """Return the regions where an accelerator is available for training, in alphabetical order."""
    return tuple(region for region in REGIONS if accelerator in accelerators_in(region))
