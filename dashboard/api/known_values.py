"""Errors for names in a query that are not known. Each error names the nearest known one.

A filter that is passed over answers with everything, and a program that then cancels what it found would hit it all.
"""

from collections.abc import Collection, Iterable, Iterator
from difflib import SequenceMatcher
from http import HTTPStatus

from django.contrib.auth.models import User

from dashboard.access import jobs_of, teams_by_project, teams_of
from dashboard.api.problems import FieldError, Problem
from dashboard.forms.history import state_choices
from dashboard.queries.history import list_owners, list_people
from jobs.bounds import bounded
from jobs.catalog import REGIONS
from jobs.strategies import STRATEGIES

MAX_SHOWN = 60
"""Characters of an unknown name that an error repeats."""
MAX_ERRORS = 5


def unknown_names(kind: str, names: Iterable[tuple[str, str]], known: Collection[str]) -> Iterator[FieldError]:
    """Yield an error for each (field, name) of a query that is not known. `kind` is what the name should be of."""
    for field, name in names:
        if name not in known:
            nearest = _nearest(name, known)
            words = f"There is no {kind} {bounded(name, MAX_SHOWN)!r}"
            yield FieldError(
                place="query", field=field, message=f"{words}; the nearest is {nearest!r}." if nearest else f"{words}."
            )


def _nearest(name: str, known: Collection[str]) -> str:
    """Return the known name that has most in common with a name, or "" if there is none."""
    small = name[:MAX_SHOWN].casefold()
    return max(sorted(known), key=lambda each: SequenceMatcher(None, small, each.casefold()).ratio(), default="")


def problem_of(errors: Iterable[FieldError]) -> Problem | None:
    """Return the problem of some errors, or None if there are none."""
    found = list(errors)
    words = "; ".join(f"{error.field}: {error.message}" for error in found[:MAX_ERRORS])
    return Problem(HTTPStatus.UNPROCESSABLE_ENTITY, words, errors=found) if found else None


def unknown_filters(
    user: User,
    *,
    state: Collection[str] = (),
    strategy: Collection[str] = (),
    team: Collection[str] = (),
    owner: Collection[str] = (),
    project: Collection[str] = (),
    region: Collection[str] = (),
) -> Iterator[FieldError]:
    """Yield an error for each value of a filter that is nothing the person sees. At most two queries for each filter.

    A project or region is known if it can be used now, or if a job that the person sees was in it.
    """
    yield from unknown_names("state", _pairs("state", state), [value for value, _ in state_choices()])
    yield from unknown_names("strategy", _pairs("strategy", strategy), STRATEGIES)
    yield from unknown_names("team", _pairs("team", team), {each.name for each in teams_of(user)} if team else ())
    if owner:
        people = list_people(user)
        known = {name.lower() for name in people}
        if missing := [name for name in owner if name.lower() not in known]:
            known |= {name.lower() for name in list_owners(user, missing)}
            unknown = [name for name in missing if name.lower() not in known]
            yield from unknown_names("person", _pairs("owner", unknown), people)
    for field, names, usable in (("project", project, teams_by_project(user)), ("region", region, REGIONS)):
        if missing := [name for name in names if name and name not in usable]:
            used = jobs_of(user).filter(**{f"{field}__in": missing}).order_by().values_list(field, flat=True).distinct()
            yield from unknown_names(field, _pairs(field, missing), {*usable, *used})


def _pairs(field: str, names: Iterable[str]) -> list[tuple[str, str]]:
    return [(field, name) for name in names if name]
