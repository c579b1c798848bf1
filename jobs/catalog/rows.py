"""Read the data files of the catalogue: CSV with a header, one source and date per row."""

import csv
from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from pathlib import Path

DATA = Path(__file__).resolve().parent / "data"


def rows(name: str) -> Iterator[dict[str, str]]:
    """Yield the rows of `data/<name>.csv` as `{column: text}`."""
    with (DATA / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        yield from csv.DictReader(file)


def decimal(text: str) -> Decimal | None:
    """Return the number in a cell, or None if it is empty."""
    return Decimal(text) if text else None


def day(text: str) -> date | None:
    """Return the ISO date in a cell, or None if it is empty."""
    return date.fromisoformat(text) if text else None
