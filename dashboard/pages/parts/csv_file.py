"""CSV tables whose cells a spreadsheet never runs as formulas."""

import csv
import io
import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

from django.http import HttpResponse

from dashboard.drawing.figures import iso

FORMULA_SIGNS = ("=", "+", "-", "@", "\t", "\r", "\n")
"""First characters that make a spreadsheet read a cell as a formula (OWASP, "CSV Injection", read 2026-11-21)."""


def csv_file(name: str, head: Sequence[str], rows: Iterable[Sequence[object]]) -> HttpResponse:
    """Return a download called `name` with the head and the rows, each cell formatted by `cell`."""
    response = HttpResponse("".join(csv_lines(head, rows)), content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


def csv_lines(head: Sequence[str], rows: Iterable[Sequence[object]]) -> Iterator[str]:
    """Yield the lines of a CSV file while the rows are read."""
    line = io.StringIO()
    writer = csv.writer(line)
    for row in itertools.chain([head], rows):
        writer.writerow([cell(value) for value in row])
        yield line.getvalue()
        # csv can only write to a file, so each line is taken out of this buffer.
        line.seek(0)
        line.truncate()


def cell(value: object) -> str:
    """Return a value as a cell: "" for None, times in ISO 8601, a quote before text that looks like a formula."""
    if value is None:
        return ""
    if isinstance(value, datetime):
        return iso(value)
    text = str(value)
    # -0.5 starts like a formula but is a number.
    return f"'{text}" if text.startswith(FORMULA_SIGNS) and not _is_number(text) else text


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text)) and text == text.strip()
    except ValueError:
        return False
