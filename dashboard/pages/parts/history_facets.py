"""The filters of the history and its facets: values to tick, each with its number of jobs."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.http import QueryDict
from django.utils.datastructures import MultiValueDict
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from dashboard.forms.history import HistoryForm
from dashboard.queries.history import get_owners
from dashboard.queries.history_figures import HistoryFigures
from dashboard.queries.history_filters import FACETS, NO_ACCELERATOR, HistoryFilters
from dashboard.queries.search import Search, read_search, states_for
from jobs.catalog import ACCELERATORS
from jobs.state_words import STATE_WORDS
from jobs.strategies import strategy_label

TITLES = {
    "state": _("State"),
    "strategy": _("Strategy"),
    "accelerator": _("Accelerator"),
    "region": _("Region"),
    "owner": _("Person"),
    "team": _("Team"),
}
MAX_SHOWN = 8
UNFINISHED = {"to-approve": _("awaiting approval"), "waiting": _("waiting"), "running": _("running")}
"""Groups of states, in addition to the states in which jobs ended."""


@dataclass(frozen=True, slots=True)
class Choice:
    """One value of a facet. `jobs` is None for jobs that have not ended, which are not counted."""

    value: str
    label: str
    jobs: int | None
    is_chosen: bool


@dataclass(frozen=True, slots=True)
class Facet:
    """A column by which the history can be filtered."""

    name: str
    title: str
    choices: list[Choice]

    @property
    def first(self) -> list[Choice]:
        """Choices that are always visible."""
        return self.choices[:MAX_SHOWN]

    @property
    def rest(self) -> list[Choice]:
        """Choices that are collapsed unless one of them is selected."""
        return self.choices[MAX_SHOWN:]

    @property
    def is_open(self) -> bool:
        """Whether one of the collapsed choices is selected."""
        return any(choice.is_chosen for choice in self.rest)


def read_form(address: QueryDict) -> HistoryForm:
    """Return the validated form of an address. Empty values count as absent."""
    form = HistoryForm(MultiValueDict({name: list(filter(None, values)) for name, values in address.lists()}))
    form.is_valid()
    return form


def read_filters(form: HistoryForm) -> tuple[HistoryFilters, dict[int, str] | None]:
    """Return the filters of a form, and the selected people, or None for everybody. One query at most.

    Invalid values filter nothing.
    """
    found = form.cleaned_data
    names = found.get("owner", ())
    owners = get_owners(names) if names else None
    states: set[str] = set()
    for value in found.get("state", ()):  # "=" and a state, or the name of a group of states
        states |= {value[1:]} if value.startswith("=") else states_for(value)
    text = found.get("q", "")
    key = _id_in(text)
    filters = HistoryFilters(
        search=Search() if key else read_search(text),
        key=key,
        state=frozenset(states),
        owner=frozenset(owners.values() if owners else names),
        since=found.get("since"),
        until=found.get("until"),
        by_end=found.get("by") == "ended",
        **{name: frozenset(found.get(name, ())) for name in ("strategy", "accelerator", "region", "team")},
    )
    return filters, owners


def _id_in(text: str) -> UUID | None:
    try:
        return UUID(text.strip())
    except ValueError:
        return None


def facets_of(figures: HistoryFigures, filters: HistoryFilters) -> list[Facet]:
    """Return the facets with more than one value, or with a selected one."""
    found = [Facet(name, str(TITLES[name]), list(_choices(name, figures, filters))) for name in FACETS]
    return [facet for facet in found if len(facet.choices) > 1 or any(each.is_chosen for each in facet.choices)]


def _choices(name: str, figures: HistoryFigures, filters: HistoryFilters) -> Iterator[Choice]:
    chosen, counted = filters.values(name), figures.facets[name]
    grouped: frozenset[str] = frozenset()
    for group in UNFINISHED if name == "state" else ():
        states = states_for(group)
        grouped |= states
        yield Choice(group, str(UNFINISHED[group]), None, states <= chosen)
    sign = "=" if name == "state" else ""
    for value, jobs in counted.items():
        yield Choice(sign + value, label_of(name, value), jobs, value in chosen)
    for value in sorted(chosen - counted.keys() - grouped):
        yield Choice(sign + value, label_of(name, value), 0, is_chosen=True)


def label_of(facet: str, value: str) -> str:
    """Return the label of a facet's value."""
    if facet == "strategy":
        return strategy_label(value)
    if facet == "state":
        return str(STATE_WORDS.get(value, value))
    known = ACCELERATORS.get(value) if facet == "accelerator" else None
    return known.label if known else gettext("none") if (facet, value) == ("accelerator", NO_ACCELERATOR) else value


def arguments(filters: HistoryFilters, owners: dict[int, str] | None) -> dict[str, Any]:
    """Return the filters as arguments of `list_history`."""
    return {
        "words": filters.search.names,
        "matching": filters.matching,
        "within": filters.within,
        "owners": None if owners is None else list(owners),
        "column": filters.column,
    }
