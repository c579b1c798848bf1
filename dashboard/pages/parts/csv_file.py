"""Tables as CSV that a spreadsheet opens without running anything that stands in a cell."""

import csv
import math
from collections.abc import Iterable, Sequence
from datetime import datetime

from django.http import HttpResponse

from dashboard.drawing.figures import iso

FORMULA_SIGNS = ("=", "+", "-", "@", "\t", "\r", "\n")
"""What makes a spreadsheet read a cell as a formula (OWASP, "CSV Injection", read 2026-11-21)."""


def csv_file(name: str, head: Sequence[str], rows: Iterable[Sequence[object]]) -> HttpResponse:
    """Return a file to save, called `name`: the head and the rows, each cell as `cell` writes it."""
    response = HttpResponse(content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    writer = csv.writer(response)
    writer.writerow([cell(title) for title in head])
    writer.writerows([cell(value) for value in row] for row in rows)
    return response


def cell(value: object) -> str:
    """Return a value as a cell: nothing for None, moments in ISO 8601, text that looks like a formula after a quote."""
    if value is None:
        return ""
    if isinstance(value, datetime):
        return iso(value)
    text = str(value)
    return f"'{text}" if text.startswith(FORMULA_SIGNS) and not _is_number(text) else text


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text)) and text == text.strip()
    except ValueError:
        return False
