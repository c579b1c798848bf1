"""What the figures of months add up to, and those of single jobs."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

from jobs.models import JobFigures, MonthFigures
from jobs.models.figures import SUMMED, WAITS
from jobs.upkeep.figures import MONTH_COLUMNS

Sums = dict[tuple[Any, ...], Counter[str]]
"""{month and values of GROUPED: sums that are not 0, those of WAITS among them}."""


def sums_of_months() -> Sums:
    """Return the sums of each group, of all its rows."""
    return _sums((row.month, row) for row in MonthFigures.objects.all())


def sums_of_jobs() -> Sums:
    """Return what they have to be: the same of the figures of single jobs."""
    return _sums((row.ended_on.replace(day=1), row) for row in JobFigures.objects.all())


def _sums(rows: Iterable[tuple[Any, JobFigures | MonthFigures]]) -> Sums:
    found: Sums = {}
    for month, row in rows:
        sums = found.setdefault((month, *(getattr(row, name) for name in MONTH_COLUMNS[1:])), Counter())
        for name in (*SUMMED, *WAITS):
            sums[name] += getattr(row, name, 0)
        if row.wait_bucket >= 0:
            sums[WAITS[row.wait_bucket]] += row.jobs
    held = {group: Counter({name: value for name, value in sums.items() if value}) for group, sums in found.items()}
    return {group: sums for group, sums in held.items() if sums}
