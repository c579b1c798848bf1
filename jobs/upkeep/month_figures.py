"""The figures of months: what jobs that have ended add to the sums of their group, and rows of the version before.

Whoever writes rows of a team holds it (`lock_teams`), so nobody deletes a row that another is about to add to.
"""

from collections import Counter
from collections.abc import Iterable
from datetime import date
from typing import Any

from django.db import transaction
from django.db.models import F

from jobs.budgets import lock_teams
from jobs.isolation import take_each
from jobs.models import JobFigures, MonthFigures
from jobs.models.figures import GROUPED, IN_COLUMNS, SUMMED, WAITS
from jobs.timeline import NEVER_RAN

PORTION = 200
"""Rows of one transaction: a fraction of a second."""
NONE = dict.fromkeys((*SUMMED, *WAITS), 0)
COLUMNS = ("month", *(f"{name}_id" if name in ("team", "owner") else name for name in GROUPED))
Changes = dict[tuple[Any, ...], Counter[str]]
"""By how much the sums of a group change; the group is its values of COLUMNS."""


def add(before: Iterable[JobFigures], after: Iterable[JobFigures]) -> None:
    """Add to the sums of months by how much what these jobs add to them has changed. The caller holds their teams."""
    changes: Changes = {}
    for sign, rows in ((-1, before), (1, after)):
        for row in rows:
            _count(changes, row.ended_on.replace(day=1), row, sign)
    _write(changes)


def fold() -> int:
    """Move up to PORTION rows of the version before, of each team, into the rows of their groups.

    Return how many there were. Repeating it is harmless, and it may be cut short anywhere.
    """
    teams = (
        MonthFigures.objects.filter(wait_bucket__gt=IN_COLUMNS).order_by("team_id").values_list("team_id", flat=True)
    )
    return take_each(list(teams.distinct()), _fold_team, what="months of a team")


def _fold_team(team: int) -> int:
    rows = MonthFigures.objects.filter(wait_bucket__gt=IN_COLUMNS)
    with transaction.atomic():
        lock_teams([team])
        portion = list(rows.filter(team=team).order_by(*COLUMNS)[:PORTION])
        changes: Changes = {}
        for row in portion:
            _count(changes, row.month, row, 1)
        _write(changes)
        MonthFigures.objects.filter(pk__in=[row.pk for row in portion]).delete()
    return len(portion)


def _count(changes: Changes, month: date, row: JobFigures | MonthFigures, sign: int) -> None:
    """Add a row of one bucket to the changes of its group."""
    sums = changes.setdefault((month, *(getattr(row, name) for name in COLUMNS[1:])), Counter())
    for name in SUMMED:
        sums[name] += sign * getattr(row, name)
    if row.wait_bucket != NEVER_RAN:
        sums[WAITS[row.wait_bucket]] += sign * row.jobs


def _write(changes: Changes) -> None:
    """Add to the rows of groups, in one order, and delete those that then hold nothing."""
    groups = [
        ({**dict(zip(COLUMNS, group, strict=True)), "wait_bucket": IN_COLUMNS}, sums)
        for group, sums in sorted(changes.items())
        if any(sums.values())
    ]
    MonthFigures.objects.bulk_create([MonthFigures(**group, **NONE) for group, _ in groups], ignore_conflicts=True)
    for group, sums in groups:
        MonthFigures.objects.filter(**group).update(**{name: F(name) + value for name, value in sums.items() if value})
    teams, months = ({group[name] for group, _ in groups} for name in ("team_id", "month"))
    MonthFigures.objects.filter(team__in=teams, month__in=months, wait_bucket=IN_COLUMNS, **NONE).delete()
