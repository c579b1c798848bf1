"""The board: jobs that have not ended and jobs that ended recently, each with its next event and its times."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.core.paginator import Paginator
from django.http import HttpResponse, QueryDict
from django.utils import timezone
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from dashboard.access import Request, jobs_of, teams_of
from dashboard.drawing.scale import axis
from dashboard.drawing.track import board_scale, hour_lines, place
from dashboard.pages.parts.board_axis import AXES, HOURS_HEADER, hours_for
from dashboard.pages.parts.board_rows import (
    GROUPINGS,
    HEADINGS,
    SORTS,
    Viewer,
    board_row,
    group_of,
    needs,
    reruns_of,
    sort_key,
)
from dashboard.pages.parts.board_strip import strip_of
from dashboard.pages.parts.drawn_rows import RowLook, draw_row, kept_rows
from dashboard.pages.parts.fragments import live_page, version_of, wants_part
from dashboard.queries.board import (
    BoardJob,
    get_board_state,
    get_month_spent,
    jobs_on_board,
    list_board,
    list_board_events,
    list_saved_views,
    list_silent,
    load_jobs,
)
from dashboard.queries.ceilings import recent_ceilings
from dashboard.queries.persistent_resources import get_holdings_for
from dashboard.queries.search import read_search
from jobs.clock import display_now
from jobs.models import Dimension, Job, Scope, Team
from jobs.states import FINISHED
from jobs.strategies import strategy_label

PAGE_SIZE = 50
MAX_TEAM_TABS = 4
"""With more teams than this, a menu replaces the tabs."""
JUST_ENDED = timedelta(hours=24)
NEAR_NOW = 16.0
"""Minimum distance between an hour label and "now" in the narrow column, as a percentage of its width."""
COLUMNS = {"machines": _("machines"), "times": _("times"), "restarts": _("restarts")}
"""Columns that the parameter `hide` can hide."""
REDRAWN_EVERY = 60
"""Seconds after which an unchanged board is rendered again, because durations and costs grow."""


@dataclass(frozen=True, slots=True)
class Asked:
    """The parameters in the address of the board."""

    who: str
    search: str
    needs_me: bool
    group: str
    sort: str
    hours: str
    """A key of AXES, or "" if the axis follows the jobs."""
    hidden: frozenset[str]
    page: str
    is_other_team: bool
    """Whether the address names a team of which the user is no member, such as an old view of a team they left."""

    @classmethod
    def parse(cls, query: QueryDict, teams: Sequence[Team], *, is_superuser: bool) -> "Asked":
        """Parse the parameters. Unknown values count as absent."""
        who, group, sort, hours = (query.get(key, "") for key in ("who", "group", "sort", "hours"))
        is_other_team = bool(who) and who not in {"mine", "all", *(str(team.pk) for team in teams)}
        if is_other_team or not who:
            who = str(teams[0].pk) if len(teams) == 1 and not is_superuser else "all"
        return cls(
            who=who,
            search=query.get("q", "")[:200].strip(),
            needs_me=query.get("view") == "needs-me",
            group=group if group in GROUPINGS else "state",
            sort=sort if sort in SORTS else "when",
            hours=hours if hours in AXES else "",
            hidden=frozenset(query.getlist("hide")) & COLUMNS.keys(),
            page=query.get("page", ""),
            is_other_team=is_other_team,
        )


def board(request: Request) -> HttpResponse:
    """Show the board. htmx polls its live part."""
    now = display_now()
    teams = list(teams_of(request.user))
    asked = Asked.parse(request.GET, teams, is_superuser=request.user.is_superuser)
    # A poll mostly finds nothing changed and then needs no jobs; a whole page always needs them.
    listed = None if wants_part(request) else _list(request, asked, now)
    state = get_board_state(request.user, asked.who, now - JUST_ENDED, listed)
    moment = int(now.timestamp() + request.user.pk) // REDRAWN_EVERY  # spreads the users over the period
    version = version_of(request.user.pk, request.get_full_path(), moment, state)
    return live_page(
        request,
        "board.html",
        "live",
        version,
        lambda: board_context(request, asked, now, listed) | _switches(request, teams, asked),
    )


def board_context(
    request: Request, asked: Asked, now: datetime, listed: list[BoardJob] | None = None
) -> dict[str, Any]:
    """Return the figures above the board and one page of grouped rows; `listed` is the result of `list_board`."""
    listed = _list(request, asked, now) if listed is None else listed
    everything = [each.job for each in listed]
    viewer = Viewer.load(request.user, everything, now)
    reruns = reruns_of(everything)
    page = _page(listed, asked, viewer, reruns, now)
    shown = [job for _, job in page.object_list]
    silent = list_silent(shown, timezone.now())
    hours = asked.hours or hours_for(shown, now, request.headers.get(HOURS_HEADER, ""))
    shows_team = asked.who == "all" and len(teams_of(request.user)) > 1
    look = RowLook(viewer, board_scale(now, AXES[hours]), asked.hidden, shows_team)
    return _figures(request, asked, everything, now) | {
        "now": now,
        "strip": strip_of(everything, viewer, reruns, now),
        "page": page,
        "groups": _in_groups(page.object_list, _rows(request, shown, look, silent)),
        "axis": axis(look.scale, NEAR_NOW),
        "hour_lines": hour_lines(look.scale),
        "hours": hours,
        "silent": silent,
    }


def _figures(request: Request, asked: Asked, jobs: Sequence[Job], now: datetime) -> dict[str, Any]:
    """Return the totals of all jobs on the board, and this month's cost of the selected teams or of the user."""
    teams = [team for team in teams_of(request.user) if asked.who in ("mine", "all", str(team.pk))]
    group = (Dimension.PERSON, str(request.user.pk)) if asked.who == "mine" else (Dimension.ALL, "")
    return {
        "count": len(jobs),
        "has_jobs": bool(jobs) or jobs_on_board(request.user, asked.who).exists(),
        "is_quiet": all(job.is_finished for job in jobs),
        "spent": get_month_spent(teams, group, jobs, now),
        "ceilings": recent_ceilings(request.user, teams, now),
    }


def _rows(request: Request, shown: Sequence[Job], look: RowLook, silent: Sequence[Scope]) -> dict[UUID, SafeString]:
    """Return the row of each job."""
    scale, keys = look.scale, {job.pk: look.key_of(job, silent) for job in shown}
    rows = kept_rows(keys)
    loaded = load_jobs(jobs_of(request.user), [pk for pk in keys if pk not in rows])
    events = list_board_events(loaded, scale.start)
    held = get_holdings_for(request.user, loaded)
    for job in loaded:
        row = board_row(job, look.viewer, scale, events[job.pk], silent, held)
        rows[job.pk] = draw_row(row, look, keys[job.pk])
    return {pk: place(row, scale) for pk, row in rows.items()}


def _list(request: Request, asked: Asked, now: datetime) -> list[BoardJob]:
    """Return the jobs on the board, with owner names if grouped by owner, and whether each matches the search."""
    search = read_search(asked.search).whole or None
    jobs = jobs_on_board(request.user, asked.who)
    return list_board(jobs, now - JUST_ENDED, now, with_owners=asked.group == "owner", search=search)


def _switches(request: Request, teams: Sequence[Team], asked: Asked) -> dict[str, Any]:
    """Return the context of the bar above the rows: a tab for each team, or a menu if there are many."""
    is_choice = len(teams) > 1 or request.user.is_superuser
    has_tabs = is_choice and len(teams) <= MAX_TEAM_TABS
    is_of_all = asked.who == "all" or (not is_choice and asked.who != "mine")
    return {
        "asked": asked,
        "is_now": is_of_all and not asked.search and not asked.needs_me,
        "teams": teams,
        "team_tabs": teams if has_tabs else (),
        "team_menu": teams if is_choice and not has_tabs else (),
        "chosen_team": next((team for team in teams if asked.who == str(team.pk)), None),
        "views": list_saved_views(request.user),
        "groupings": GROUPINGS,
        "grouping": GROUPINGS[asked.group],
        "columns": _columns(request.GET, asked),
        "axes": AXES,
    }


def _page(listed: Sequence[BoardJob], asked: Asked, viewer: Viewer, reruns: frozenset[UUID], now: datetime) -> Any:
    """Return one page of (group, job) for the jobs selected by the address, sorted as it asks."""
    grouped = [
        (_group(job, owner, asked, viewer, reruns), job)
        for job, owner, is_found in listed
        if is_found and (not asked.needs_me or needs(job, viewer, reruns))
    ]

    def order(item: tuple[tuple[int, str], Job]) -> tuple[Any, ...]:
        # By group, then unfinished before finished, then as the address asks. The key keeps the order of ties stable.
        group, job = item
        return (*group, job.state in FINISHED, sort_key(job, asked.sort, now), job.pk)

    return Paginator(sorted(grouped, key=order), PAGE_SIZE).get_page(asked.page)


def _group(job: Job, owner: str, asked: Asked, viewer: Viewer, reruns: frozenset[UUID]) -> tuple[int, str]:
    """Return the position of the job's group, and its heading unless HEADINGS has it.

    Jobs that need the viewer come first in every grouping.
    """
    place = group_of(job, viewer, reruns)
    if asked.group == "state" or place == 0:
        return place, ""
    return 1, owner if asked.group == "owner" else strategy_label(job.strategy)


def _columns(query: QueryDict, asked: Asked) -> list[tuple[str, str, bool]]:
    """Return each hideable column: its label, the address that toggles it, and whether it is hidden."""
    columns = []
    for key, label in COLUMNS.items():
        changed = query.copy()
        changed.setlist("hide", sorted(asked.hidden ^ {key}))
        columns.append((str(label), f"?{changed.urlencode()}", key in asked.hidden))
    return columns


def _in_groups(
    listed: Iterable[tuple[tuple[int, str], Job]], rows: Mapping[UUID, SafeString]
) -> list[tuple[str, list[SafeString]]]:
    """Return the rows below each heading, in order. A job that was deleted meanwhile has no row."""
    groups: dict[str, list[SafeString]] = {}
    for (position, heading), job in listed:
        if job.pk in rows:
            groups.setdefault(heading or str(HEADINGS[position]), []).append(rows[job.pk])
    return list(groups.items())
