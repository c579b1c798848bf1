"""Every job that a person may see, newest first, a page at a time, whatever the filters.

A filter may leave one job of a million, and no index serves every combination of filters. So one request searches at
most MAX_SEARCHED jobs and returns how far back it came; the next one goes on from there.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.contrib.auth.models import User
from django.db.models import Max, OuterRef, Q, QuerySet, Subquery

from dashboard.access import jobs_of, teams_of
from dashboard.queries.paging import Cursor, Page, cursor_at, parse_cursor
from jobs.models import Job, Team

MAX_SEARCHED = 5_000
"""Jobs that one request searches where a condition has to be checked job by job."""
PORTION = 500
LAST = UUID(int=2**128 - 1)
"""The id behind those of all jobs of one moment."""


@dataclass(frozen=True, slots=True)
class HistoryPage(Page):
    """One page; `searched_to`: jobs from before that moment were not searched yet, None where all were."""

    searched_to: datetime | None = None


def get_owners(names: Collection[str]) -> dict[int, str]:
    """Return {id: name} of the people of these names, whatever the case of their letters; one query, or none."""
    condition = Q(pk__in=[])
    for name in names:
        condition |= Q(username__iexact=name)
    return dict(User.objects.filter(condition).values_list("pk", "username")) if names else {}


def list_history(
    user: User,
    limit: int,
    *,
    matching: Q | None = None,
    within: Q | None = None,
    owners: Collection[int] | None = None,
    column: str = "requested_at",
    after: Cursor | None = None,
    only: Collection[str] = (),
) -> HistoryPage:
    """Return the jobs after a cursor in the order of `-column, pk`, with their approvals; at most two bounded queries.

    `column` is requested_at or ended_at, and `within` a range of it or an id, which indexes serve, as they do `owners`.
    `matching` is checked job by job. With `only` the jobs have these columns and that of the order, and no rows beside.
    """
    jobs = jobs_of(user).filter(within or Q())
    jobs = jobs if owners is None else jobs.filter(owner__in=owners)
    jobs = jobs if after is None else jobs.filter(after.after(column))
    jobs = jobs.order_by(f"-{column}", "pk")
    teams = [team.pk for team in teams_of(user)] if owners is None and not user.is_superuser else []
    end = None
    if matching or owners is not None or len(teams) > 1:  # else one index gives the page in its order
        end = _end_of_search(jobs, column, MAX_SEARCHED if matching else limit + 1, teams, is_shared=bool(matching))
    rows = jobs.filter(matching or Q())
    rows = rows if end is None else rows.filter(**{f"{column}__gte": end})
    rows = rows.select_related(None).only(*only, column) if only else rows.select_related("approval__decided_by")
    found = list(rows[: limit + 1])
    older = cursor_at(found[limit - 1], column) if len(found) > limit else Cursor(end, LAST) if end else ""
    searched_to = end if matching and len(found) <= limit else None
    return HistoryPage(found[:limit], str(older), after is None, searched_to)


def _end_of_search(
    jobs: QuerySet[Job], column: str, count: int, teams: list[int], *, is_shared: bool
) -> datetime | None:
    """Return the moment of the job behind which a search of `count` jobs ends; None where there are fewer.

    A person in several teams walks the index of each: to the last moment at which one of them has given `count` jobs,
    or its share of them where it is shared.
    """
    if len(teams) < 2:
        return jobs.values_list(column, flat=True)[count - 1 : count].first()
    count = max(count // len(teams), 1) if is_shared else count
    of_team = jobs.filter(team=OuterRef("pk")).values(column)[count - 1 : count]
    ends = Team.objects.filter(pk__in=teams).annotate(end=Subquery(of_team))
    end: datetime | None = ends.aggregate(last=Max("end"))["last"]
    return end


def iterate_history(user: User, **filters: Any) -> Iterator[Job]:
    """Yield every job that the filters of `list_history` leave, in its order; PORTION jobs are held at a time."""
    page = list_history(user, PORTION, **filters)
    yield from page.jobs
    while after := parse_cursor(page.older):
        page = list_history(user, PORTION, after=after, **filters)
        yield from page.jobs
