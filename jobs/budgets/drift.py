"""Compare the stored sums of spending with the rows that they are computed from, and correct them."""

from collections import Counter
from collections.abc import Iterator
from itertools import chain
from typing import Any

from django.db import transaction

from jobs.budgets.record import MODELS, Spent, Sums, lock_teams, sums_of
from jobs.models import JobSpend, ResourceSpend, Team

PORTION = 1_000


def find_drift() -> Iterator[tuple[Team, str]]:
    """Yield each team whose stored sums differ from its jobs, with a message for people."""
    for team in Team.objects.order_by("pk"):
        with transaction.atomic():
            lock_teams([team.pk])
            for model, sums in _counted(team).items():
                if wrong := _differences(model, team, sums):
                    yield team, f"{len(wrong)} sums of {model._meta.verbose_name_plural} differ from those of its jobs."


def mend_drift() -> int:
    """Correct the stored sums from the jobs; return how many sums were wrong."""
    count = 0
    for team in Team.objects.order_by("pk"):
        with transaction.atomic():
            lock_teams([team.pk])
            for model, sums in _counted(team).items():
                for key, values in _differences(model, team, sums).items():
                    named = dict(zip(MODELS[model], key, strict=True))
                    count += 1
                    model.objects.update_or_create(**named, defaults=values)
    return count


def _counted(team: Team) -> dict[Any, Sums]:
    """Return the sums of the team's jobs and persistent resources for each model, computed from their rows."""
    found: dict[Any, Sums] = {model: {} for model in MODELS}
    of_jobs = JobSpend.objects.filter(team=team).iterator(chunk_size=PORTION)
    spent: Iterator[Spent] = chain(of_jobs, ResourceSpend.objects.filter(team=team).iterator(chunk_size=PORTION))
    for row in spent:
        for model, sums in sums_of((), [row]).items():
            for key, added in sums.items():
                found[model].setdefault(key, Counter()).update(added)
    return found


def _differences(model: Any, team: Team, sums: Sums) -> dict[tuple[Any, ...], dict[str, int]]:
    """Return {key columns of a row: its correct sums} for the rows that are wrong."""
    names, columns = MODELS[model], [each for each in ("cents", "jobs") if hasattr(model, each)]
    kept = {
        tuple(row[name] for name in names): {column: row[column] for column in columns}
        for row in model.objects.filter(team=team).values(*names, *columns)
    }
    wrong = {}
    for key in kept.keys() | sums.keys():
        right = {column: sums.get(key, Counter())[column] for column in columns}
        if kept.get(key, dict.fromkeys(columns, 0)) != right:
            wrong[key] = right
    return wrong
