"""The table of a family's runs: its columns, the order and filter in the address, and its rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any
from uuid import UUID

from django.http import QueryDict
from django.utils.translation import gettext_lazy as _

from dashboard.pages.parts.rows import Row, row_of
from dashboard.queries.families import BEST_OF, COLUMNS, MAX_COLUMNS, NEWEST, SETTING, SIGNS, Known, Look, best_of
from jobs.models import Job

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

TITLES: dict[str, "StrOrPromise"] = {
    NEWEST: _("Requested"),
    "name": _("Run"),
    "state": _("Outcome"),
    "cost": _("Cost"),
    "ran": _("Ran"),
    "restarts": _("Restarts"),
    "strategy": _("Strategy"),
    "machines": _("Machines"),
}
assert TITLES.keys() == COLUMNS.keys()
SIGN_WORDS = {"is": _("is"), "from": _("at least"), "to": _("at most")}
assert SIGN_WORDS.keys() == SIGNS.keys()
MAX_VALUE_LENGTH = 120
FIRST_RISES = frozenset({"name", "state", "strategy", "machines"})
"""Columns of which the first click shows the lowest value first."""


@dataclass(frozen=True, slots=True)
class Head:
    """The head of a column that orders the table: `sort` is the value of its link, `order` the present one or ""."""

    title: "StrOrPromise"
    sort: str
    order: str


@dataclass(frozen=True, slots=True)
class FamilyRow:
    """A run: its row, its number in the chart or 0, its best value of the metric, and {setting: value}."""

    row: Row
    number: int
    best: float | None
    is_best: bool
    settings: Sequence[tuple[str, Any]]


def read_look(query: QueryDict, known: Known) -> Look:
    """Return what an address orders and filters by. An unknown column orders by time, and filters nothing."""
    columns = known.columns
    sort, where, sign = (query.get(name, "") for name in ("sort", "where", "sign"))
    column = sort.removeprefix("-")
    if column not in columns:
        sort, column = f"-{NEWEST}", NEWEST
    return Look(
        column=column,
        is_descending=sort.startswith("-"),
        where=where if where in columns else "",
        sign=sign if sign in SIGNS else "is",
        value=" ".join(query.get("value", "").replace("\x00", "").split())[:MAX_VALUE_LENGTH],
    )


def shown_settings(known: Known, look: Look) -> list[str]:
    """Return the settings that have a column: those that differ, and those of the order and of the filter."""
    asked = [each.removeprefix(SETTING) for each in (look.column, look.where) if each.startswith(SETTING)]
    differing = [name for name in known.differing if name not in asked]
    return [*dict.fromkeys(asked), *differing[: max(MAX_COLUMNS - len({*asked}), 0)]]


def heads_of(look: Look, settings: Sequence[str], metric: str) -> dict[str, Any]:
    """Return the heads by column, those of the settings as a list under "settings", and that of the metric."""
    return {name: _head(title, name, look) for name, title in TITLES.items()} | {
        "settings": [_head(name, SETTING + name, look) for name in settings],
        "metric": _head(metric, BEST_OF + metric, look) if metric else None,
    }


def _head(title: "StrOrPromise", name: str, look: Look) -> Head:
    is_here = look.column == name
    falls = look.is_descending if is_here else name in FIRST_RISES
    order = ("descending" if look.is_descending else "ascending") if is_here else ""
    return Head(title, name if falls else f"-{name}", order)


def choices_of(known: Known) -> list[tuple[str, "StrOrPromise", bool]]:
    """Return (value, words, whether they are a name of the program) of the columns by which runs can be filtered."""
    own = [(name, title, False) for name, title in TITLES.items() if name != NEWEST]
    metrics = [(BEST_OF + name, name, True) for name in known.metrics]
    return [*own, *metrics, *((SETTING + name, name, True) for name in known.settings)]


def rows_of(
    jobs: Sequence[Job],
    now: datetime,
    settings: Sequence[str],
    metric: str,
    numbers: Mapping[UUID, int],
    best: Job | None,
) -> list[FamilyRow]:
    """Return the rows of runs. `numbers` is {job: number in the chart}, and `best` the best run."""
    found = []
    for job in jobs:
        summary = getattr(job, "run_summary", None)
        values = summary.settings if summary is not None else {}
        shown = [(name, values.get(name)) for name in settings]
        value = best_of(job, metric) if metric else None
        found.append(
            FamilyRow(row_of(job, now), numbers.get(job.pk, 0), value, best is not None and job.pk == best.pk, shown)
        )
    return found
