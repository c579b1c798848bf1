"""The figures of months: what jobs that have ended add to the sums of their group.

Whoever writes rows of a team holds it (`lock_teams`), so nobody deletes a row that another is about to add to.
"""

from collections import Counter
from collections.abc import Iterable
from typing import Any

from django.db.models import F

from jobs.models import JobFigures, MonthFigures
from jobs.models.figures import GROUPED, IN_COLUMNS, SUMMED, WAITS
from jobs.timeline import NEVER_RAN

NONE = dict.fromkeys((*SUMMED, *WAITS), 0)
COLUMNS = ("month", *(f"{name}_id" if name in ("team", "owner") else name for name in GROUPED))


def add(before: Iterable[JobFigures], after: Iterable[JobFigures]) -> None:
    """Add to the sums of months by how much what these jobs add to them has changed. The caller holds their teams.

    Rows are written in one order, and those that then hold nothing are deleted.
    """
    changes: dict[tuple[Any, ...], Counter[str]] = {}
    for sign, rows in ((-1, before), (1, after)):
        for row in rows:
            sums = changes.setdefault(
                (row.ended_on.replace(day=1), *(getattr(row, name) for name in COLUMNS[1:])), Counter()
            )
            for name in SUMMED:
                sums[name] += sign * getattr(row, name)
            if row.wait_bucket != NEVER_RAN:
                sums[WAITS[row.wait_bucket]] += sign * row.jobs
    groups = [
        ({**dict(zip(COLUMNS, group, strict=True)), "wait_bucket": IN_COLUMNS}, sums)
        for group, sums in sorted(changes.items())
        if any(sums.values())
    ]
    MonthFigures.objects.bulk_create([MonthFigures(**group, **NONE) for group, _ in groups], ignore_conflicts=True)
    for group, sums in groups:
        MonthFigures.objects.filter(**group).update(**{name: F(name) + value for name, value in sums.items() if value})
    teams, months = ({group[name] for group, _ in groups} for name in ("team_id", "month"))
    MonthFigures.objects.filter(team__in=teams, month__in=months, **NONE).delete()
