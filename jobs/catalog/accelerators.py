"""Accelerators that training supports, and retired ones.

TPUs without their own AcceleratorType (v5e, v6e, 7x) are named TPU_V5E, TPU_V6E and TPU_7X here.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from types import MappingProxyType

from jobs.catalog.growing import Growing
from jobs.catalog.rows import day, rows


@dataclass(frozen=True, slots=True)
class Accelerator:
    """A GPU or TPU.

    `quota` is the end of its quota metric's name. `has_default_quota` is False if a project has none until it requests
    some. `flex_start` is whether Flex-start offers it. `retired_date` is the day its support ended, and `replacement`
    the name of another accelerator. `min_cuda` is the first CUDA version, (major, minor), that supports it, and
    `end_cuda` the first that no longer does; None for TPUs and if there is no such version yet.
    """

    name: str
    label: str
    kind: str
    quota: str
    flex_start: bool
    retired_date: date | None
    replacement: str
    min_cuda: tuple[int, int] | None
    end_cuda: tuple[int, int] | None
    has_default_quota: bool
    source: str
    read_date: date | None

    @property
    def is_retired(self) -> bool:
        """Whether its support has ended; the catalogue lists only dates in the past."""
        return self.retired_date is not None


def _version(text: str) -> tuple[int, int] | None:
    major, _, minor = text.partition(".")
    return (int(major), int(minor)) if text else None


def _load() -> Mapping[str, Accelerator]:
    return MappingProxyType(
        {
            row["name"]: Accelerator(
                name=row["name"],
                label=row["label"],
                kind=row["kind"],
                quota=row["quota"],
                flex_start=row["flex_start"] == "yes",
                retired_date=day(row["retired"]),
                replacement=row["replacement"],
                min_cuda=_version(row["min_cuda"]),
                end_cuda=_version(row["end_cuda"]),
                has_default_quota=row["default_quota"] != "0",
                source=row["source"],
                read_date=day(row["read"]),
            )
            for row in rows("accelerators")
        }
    )


ACCELERATORS: Growing[Accelerator] = Growing(_load())
"""`{name: Accelerator}`, available ones first, then those that the site has recorded."""
