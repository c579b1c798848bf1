"""All jobs that a person may see, newest first, in pages, with any filters.

A filter may match one job in a million, and no index serves every combination of filters. So one request searches at
most MAX_SEARCHED jobs and returns how far it came. The next request continues there.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.contrib.auth.models import User
from django.db.models import Exists, Max, OuterRef, Q, QuerySet, Subquery, Value
from django.db.models.functions import Lower, StrIndex, Upper
from django.db.models.lookups import GreaterThan

from dashboard.access import jobs_of, teams_of
from dashboard.queries.paging import Cursor, cursor_at, parse_cursor
from jobs.models import Job, Team

MAX_SEARCHED = 5_000
"""Maximum jobs that one request searches if a condition must be checked for each job."""
PORTION = 500
LAST = UUID(int=2**128 - 1)
"""An id that sorts after all jobs with the same time."""


@dataclass(frozen=True, slots=True)
class HistoryPage:
    """One page. `older` is the cursor of the next one, "" on the last page.

    Jobs before `searched_to` were not searched yet; it is None if all were.
    """

    jobs: list[Job]
    older: str
    is_first: bool
    searched_to: datetime | None


def get_owners(names: Collection[str]) -> dict[int, str]:
    """Return {id: name} of the people with these names, case-insensitively. One query, none without names."""
    condition = Q(pk__in=[])
    for name in names:
        condition |= Q(username__iexact=name)
    return dict(User.objects.filter(condition).values_list("pk", "username")) if names else {}


def list_people(user: User) -> list[str]:
    """Return the names of everybody who is in a team that `user` sees, and the person's own. One query."""
    rows = User.objects.filter(Q(memberships__team__in=teams_of(user)) | Q(pk=user.pk))
    return list(rows.order_by("username").values_list("username", flat=True).distinct())


def list_owners(user: User, names: Collection[str]) -> list[str]:
    """Return which of these people have requested a job that `user` sees, whatever the case of the names. One query."""
    has_jobs = Exists(jobs_of(user).filter(owner=OuterRef("pk")))
    rows = User.objects.annotate(small=Lower("username")).filter(has_jobs, small__in=[name.lower() for name in names])
    return list(rows.values_list("username", flat=True))


def list_history(
    user: User,
    limit: int,
    *,
    words: Collection[str] = (),
    matching: Q | None = None,
    within: Q | None = None,
    owners: Collection[int] | None = None,
    column: str = "requested_at",
    after: Cursor | None = None,
    only: Collection[str] = (),
) -> HistoryPage:
    """Return the jobs after a cursor in the order of `-column, pk`, with approvals. At most three bounded queries.

    `column` is requested_at or ended_at. `within` is a range of it or an id. An index serves both, and `owners`.
    `words`, all of which the name must contain, and `matching` are checked for each job. With `only`, jobs are loaded
    with these columns and `column`, without related rows.
    """
    visible = jobs_of(user)
    jobs = visible.filter(within or Q())
    jobs = jobs if owners is None else jobs.filter(owner__in=owners)
    jobs = jobs if after is None else jobs.filter(after.after(column))
    jobs = jobs.order_by(f"-{column}", "pk")
    teams = [team.pk for team in teams_of(user)] if owners is None and not user.is_superuser else []
    end, is_search = None, bool(words or matching)
    is_ordered = len(teams) < 2  # then one index gives the jobs in their order
    if is_search or not is_ordered:
        # a value, not a subquery: PostgreSQL must see how few jobs are left, or it may read an index of all of them
        end = _end_of_search(jobs, column, MAX_SEARCHED if is_search else limit + 1, teams, is_shared=is_search)
    rows = jobs.filter(matching or Q(), _has_words(words, is_ordered=is_ordered))
    rows = rows if end is None else rows.filter(**{f"{column}__gte": end})
    if is_search or owners is not None:
        # The index has the columns that are checked. If asked for ids alone, PostgreSQL reads only matching rows.
        ids = list(rows.values_list("pk", flat=True)[: limit + 1])
        rows = visible.filter(pk__in=ids).order_by(f"-{column}", "pk")
    rows = rows.select_related(None).only(*only, column) if only else rows.select_related("approval__decided_by")
    found = list(rows[: limit + 1])
    older = cursor_at(found[limit - 1], column) if len(found) > limit else Cursor(end, LAST) if end else ""
    searched_to = end if is_search and len(found) <= limit else None
    return HistoryPage(found[:limit], str(older), after is None, searched_to)


def _has_words(words: Collection[str], *, is_ordered: bool) -> Q:
    """Return the condition that a job's name contains some words, case-insensitively.

    PostgreSQL estimates that LIKE matches almost nothing and would read all searched jobs before it sorts a page. If an
    index gives the jobs in their order, this condition makes it stop when the page is full.
    """
    condition = Q()
    for word in words:
        if is_ordered:
            condition &= Q(GreaterThan(StrIndex(Upper("display_name"), Upper(Value(word))), 0))
        else:
            condition &= Q(display_name__icontains=word)
    return condition


def _end_of_search(
    jobs: QuerySet[Job], column: str, count: int, teams: list[int], *, is_shared: bool
) -> datetime | None:
    """Return the time of the job at which a search of `count` jobs ends, None if there are fewer.

    For a person in several teams, each team's index is read. The result is the latest time at which one of the teams
    has yielded `count` jobs, or its share of them with `is_shared`.
    """
    if len(teams) < 2:
        return jobs.values_list(column, flat=True)[count - 1 : count].first()
    count = max(count // len(teams), 1) if is_shared else count
    of_team = jobs.filter(team=OuterRef("pk")).values(column)[count - 1 : count]
    ends = Team.objects.filter(pk__in=teams).annotate(end=Subquery(of_team))
    end: datetime | None = ends.aggregate(last=Max("end"))["last"]
    return end


def iterate_history(user: User, **filters: Any) -> Iterator[Job]:
    """Yield every job that matches the filters of `list_history`, in its order. At most PORTION jobs are in memory."""
    page = list_history(user, PORTION, **filters)
    yield from page.jobs
    while after := parse_cursor(page.older):
        page = list_history(user, PORTION, after=after, **filters)
        yield from page.jobs
