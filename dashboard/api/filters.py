"""Query parameters of the API: filters, pages and cursors. Filters of jobs are those of the history page."""

from dataclasses import replace
from datetime import datetime
from http import HTTPStatus
from typing import Annotated, Any

from django.contrib.auth.models import User
from django.http import QueryDict
from ninja import Schema
from pydantic import Field

from dashboard.api.known_values import problem_of, unknown_filters
from dashboard.api.long_polling import MAX_WAIT_SECONDS
from dashboard.api.problems import FieldError, Problem, field_error
from dashboard.forms.history import MAX_VALUES
from dashboard.pages.parts.history_facets import arguments, read_filters, read_form
from dashboard.queries.logs import LEVELS
from dashboard.queries.paging import Cursor, parse_cursor
from dashboard.queries.search import MAX_LENGTH
from jobs.bounds import is_storable, utc_moment

Name = Annotated[str, Field(max_length=63, pattern=r"^[^\x00]*$")]
MAX_LIMIT = 200
MAX_PAGE = 500
MAX_ID = 2**63 - 1
NEXT = "`next_cursor` of the previous page."
STATES = (
    "A group (to-approve, waiting, running, succeeded, failed, finished), or = followed by a state, such as =pending. "
    "Can be repeated: a job matches if it has any of them."
)
SEARCH = (
    "A job's id, or words that all must match: part of its name, or name:, state:, strategy:, owner:, team:, project:, "
    "region:, machine:, gpu:, image: or label: with a value, or a comparison such as cost>100 or gpus>=8. Quotes keep "
    "spaces."
)


class JobFilters(Schema):
    """Filters of the list of jobs. All are optional. Days are in UTC."""

    q: str = Field("", max_length=MAX_LENGTH, description=SEARCH)
    state: list[str] = Field([], description=STATES)
    strategy: list[str] = Field([], description="Keys of strategies. Can be repeated.")
    owner: list[str] = Field([], description="User names of owners. Can be repeated.")
    team: list[str] = Field([], description="Names of teams. Can be repeated.")
    region: list[str] = Field([], description="Regions. Can be repeated.")
    project: list[Name] = Field([], max_length=MAX_VALUES, description="Google Cloud projects. Can be repeated.")
    accelerator: list[str] = Field([], description="Accelerators. Matches only jobs that have ended. Can be repeated.")
    since: str = Field("", description="First day, as YYYY-MM-DD.")
    until: str = Field("", description="Last day, as YYYY-MM-DD.")
    cursor: str = Field("", max_length=120, description=NEXT)
    limit: int = Field(50, ge=1, le=MAX_LIMIT, description="Maximum number of jobs on a page.")
    by: str = Field("", description="The time that `since` and `until` apply to: requested (default) or ended.")


class EventFilters(Schema):
    """The events to return, and how long to wait for one."""

    after: int = Field(0, ge=0, le=MAX_ID, description="Return only events after the event with this id.")
    limit: int = Field(100, ge=1, le=MAX_PAGE, description="Maximum number of events on a page.")
    wait: int = Field(0, ge=0, le=MAX_WAIT_SECONDS, description="Seconds to wait for an event if there is none.")


class LogFilters(Schema):
    """The log lines to return."""

    after: int = Field(0, ge=0, le=MAX_ID, description="Return only lines that were read after the line with this id.")
    limit: int = Field(200, ge=1, le=MAX_PAGE, description="Maximum number of lines on a page.")
    since: datetime | None = Field(None, description="Return only lines from this time on. ISO 8601 with a time zone.")
    replica: str = Field("", max_length=64, description="Name of a replica, such as workerpool0-0.")
    level: str = Field("", description="Minimum severity: INFO, WARNING or ERROR.")
    q: str = Field("", max_length=200, description="Text that the line contains.")


class PriceFilters(Schema):
    """The prices to return."""

    region: str = Field(..., max_length=40, description="A region with training, such as us-central1.")
    q: str = Field("", max_length=100, description="Part of the name of a resource.")
    cursor: str = Field("", max_length=200, description=NEXT)
    limit: int = Field(200, ge=1, le=MAX_PAGE, description="Maximum number of prices on a page.")


def log_arguments(filters: LogFilters) -> dict[str, Any]:
    """Return the filters as arguments of `list_lines_after`. Raise Problem for unusable values."""
    if filters.level and filters.level not in LEVELS:
        raise field_error("query", "level", f"Use one of {', '.join(LEVELS)}.")
    since = utc_moment(filters.since) if filters.since is not None else None
    if since is None and filters.since is not None:
        raise field_error("query", "since", "Add a time zone, as in 2026-03-01T09:00:00Z.")
    if not is_storable(filters.replica + filters.q):
        raise field_error("query", "q", "The text contains a character that cannot occur in a log.")
    return {"replica": filters.replica, "since": since, "words": filters.q, "level": filters.level}


def cursor_in(text: str) -> Cursor | None:
    """Return the position of a cursor of the job list, or None without one. Raise Problem for an invalid cursor."""
    cursor = parse_cursor(text)
    if text and cursor is None:
        raise field_error("query", "cursor", "Use the next_cursor of a page.")
    return cursor


def list_arguments(filters: JobFilters, user: User) -> dict[str, Any]:
    """Return the filters as arguments of `list_history`. Raise Problem for unusable values and unknown names."""
    checked = filters.model_dump(include={"state", "strategy", "team", "owner", "project", "region"})
    if is_storable("".join(name for names in checked.values() for name in names)):  # else the form refuses it
        problem = problem_of(unknown_filters(user, **checked))
        if problem is not None:
            raise problem
    address = QueryDict(mutable=True)
    for name, value in filters.model_dump(exclude={"cursor", "limit", "project"}).items():
        address.setlist(name, value if isinstance(value, list) else [value])
    form = read_form(address)
    if form.errors:
        errors = [
            FieldError(place="query", field=name, message=str(words))
            for name, found in form.errors.items()
            for words in found
        ]
        raise Problem(
            HTTPStatus.UNPROCESSABLE_ENTITY,
            "; ".join(f"{error.field}: {error.message}" for error in errors[:5]),
            errors=errors,
        )
    found, owners = read_filters(form)
    if found.search.unfinished:  # to pass over it would answer with more jobs than were meant
        raise field_error("query", "q", f"Add a value to {found.search.unfinished[0]!r}.")
    return arguments(replace(found, project=frozenset(filter(None, filters.project))), owners)
