"""Tables as CSV that a spreadsheet opens without running anything that stands in a cell."""

import csv
import io
import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

from django.http import HttpResponse

from dashboard.drawing.figures import iso

FORMULA_SIGNS = ("=", "+", "-", "@", "\t", "\r", "\n")
"""What makes a spreadsheet read a cell as a formula (OWASP, "CSV Injection", read 2026-11-21)."""


def csv_file(name: str, head: Sequence[str], rows: Iterable[Sequence[object]]) -> HttpResponse:
    """Return a file to save, called `name`: the head and the rows, each cell as `cell` writes it."""
    response = HttpResponse("".join(csv_lines(head, rows)), content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


def csv_lines(head: Sequence[str], rows: Iterable[Sequence[object]]) -> Iterator[str]:
    """Yield the lines of such a file as they are read."""
    line = io.StringIO()
    writer = csv.writer(line)
    for row in itertools.chain([head], rows):
        writer.writerow([cell(value) for value in row])
        yield line.getvalue()
        # csv writes into a file only, so one line at a time is taken out of this one.
        line.seek(0)
        line.truncate()


def cell(value: object) -> str:
    """Return a value as a cell: nothing for None, moments in ISO 8601, text that looks like a formula after a quote."""
    if value is None:
        return ""
    if isinstance(value, datetime):
        return iso(value)
    text = str(value)
    # -0.5 begins as a formula does, and is none.
    return f"'{text}" if text.startswith(FORMULA_SIGNS) and not _is_number(text) else text


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text)) and text == text.strip()
    except ValueError:
        return False
