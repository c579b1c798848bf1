"""The board: every job that has not ended, in the order a job lives, and what has just ended."""

from datetime import datetime, timedelta
from typing import Any

from django.core.paginator import Paginator
from django.db.models import Case, Count, IntegerField, Q, QuerySet, Value, When
from django.http import HttpResponse

from dashboard.access import Job, Request, Team, failing_scopes, jobs_of, teams_of
from dashboard.access.pools import holdings_for
from dashboard.access.spending import spent_since
from dashboard.pages.parts.fragments import page_or_fragment
from dashboard.pages.parts.rows import row_of
from dashboard.pages.parts.search import STATE_WORDS, read_search
from jobs.lifecycle import database_now
from jobs.states import FINISHED, RUNNING, WAITING, JobState

PAGE_SIZE = 50
JUST_ENDED = timedelta(hours=24)


def board(request: Request) -> HttpResponse:
    """Show the board; htmx asks for its live part again and again."""
    return page_or_fragment(request, "board.html", "live", board_context(request, database_now()))


def board_context(request: Request, now: datetime) -> dict[str, Any]:
    """Return what the board shows: the strip's counts, and one page of rows."""
    teams = list(teams_of(request.user))
    who = _who(request, teams)
    jobs = _by(request, who)
    search = request.GET.get("q", "")[:200].strip()
    shown = jobs.filter(read_search(search)) if search else jobs
    page = Paginator(_in_order(shown, now), PAGE_SIZE).get_page(request.GET.get("page"))
    silent = failing_scopes(page.object_list)
    held = holdings_for(request.user, page.object_list)
    rows = [row_of(job, now, silent, held) for job in page.object_list]
    watched = [row.job.seen_at for row in rows if row.job.is_remote and not row.job.is_finished and row.job.seen_at]
    return {
        "now": now,
        "teams": teams,
        "who": who,
        "search": search,
        "counts": _counts(jobs, now),
        "page": page,
        "rows": rows,
        "silent": silent,
        "seen_at": min(watched, default=None),
        "is_quiet": not any(not row.job.is_finished for row in rows),
    }


def _who(request: Request, teams: list[Team]) -> str:
    """Return whose jobs are asked for: "mine", "all", or the id of one of the person's teams."""
    asked = request.GET.get("who", "")
    if asked in {"mine", "all", *(str(team.pk) for team in teams)}:
        return asked
    return str(teams[0].pk) if teams and not request.user.is_superuser else "all"


def _by(request: Request, who: str) -> QuerySet[Job]:
    jobs = jobs_of(request.user)
    if who == "mine":
        return jobs.filter(owner=request.user)
    return jobs if who == "all" else jobs.filter(team=int(who))


def _in_order(jobs: QuerySet[Job], now: datetime) -> QuerySet[Job]:
    """Return the board's jobs in the order of its groups, the newest change first within each."""
    place = Case(
        When(state=JobState.AWAITING_APPROVAL, then=Value(0)),
        When(state__in=WAITING, then=Value(1)),
        When(state__in=RUNNING, then=Value(2)),
        When(state__in=FINISHED, then=Value(4)),
        default=Value(3),
        output_field=IntegerField(),
    )
    on_it = jobs.filter(~Q(state__in=FINISHED) | Q(state_since__gte=now - JUST_ENDED))
    return on_it.select_related("approval__decided_by").order_by(place, "-state_since", "pk")


def _counts(jobs: QuerySet[Job], now: datetime) -> dict[str, Any]:
    """Return the strip's figures; "today" begins at midnight UTC."""
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
    today = Q(ended_at__gte=midnight)
    counts = jobs.aggregate(
        to_approve=Count("pk", filter=Q(state=JobState.AWAITING_APPROVAL)),
        waiting=Count("pk", filter=Q(state__in=WAITING)),
        running=Count("pk", filter=Q(state__in=RUNNING)),
        succeeded=Count("pk", filter=Q(state__in=STATE_WORDS["succeeded"]) & today),
        failed=Count("pk", filter=Q(state__in=STATE_WORDS["failed"]) & today),
        ever=Count("pk"),
    )
    return {**counts, "spent": spent_since(jobs, midnight, now), "day": midnight.date()}
