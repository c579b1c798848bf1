"""Cached HTML of rows of the board and the history. A row is rendered when it changes, and once a minute.

Many people watch the same jobs, and most of their rows are equal. The cache key contains everything that a row shows in
addition to its job. The row of a job that waits for a persistent resource also shows who holds it. It is rendered every
ten seconds, and shared only by users of the same teams.
"""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.contrib.auth.models import User
from django.core.cache import caches
from django.template.loader import get_template
from django.utils.safestring import SafeString, mark_safe
from django.utils.timezone import get_current_timezone_name
from django.utils.translation import get_language

from dashboard.access import jobs_of, teams_of
from dashboard.drawing.scale import Scale
from dashboard.drawing.track import anchor_of
from dashboard.pages.parts.board_rows import BoardRow, Viewer
from dashboard.pages.parts.fragments import version_of
from dashboard.pages.parts.rows import is_silent, row_of
from dashboard.queries.board import CHANGING, load_jobs
from dashboard.queries.persistent_resources import get_holdings_for
from jobs.models import Job, Scope
from jobs.states import WAITING_AT_VERTEX
from jobs.strategies import is_on_resource

KEY_COLUMNS = (*CHANGING, "strategy")
"""Columns of the job in the key of its row."""
INDENTATION = re.compile(r"\n\s+")
"""Indentation of the template, which is a tenth of a row."""
KEPT_SECONDS = 60
"""Seconds until a row is rendered again, because durations and costs grow."""
KEPT_ON_RESOURCE_SECONDS = 10
"""The same for a job that waits for a persistent resource."""


@dataclass(frozen=True, slots=True)
class RowLook:
    """What rows show in addition to their jobs."""

    viewer: Viewer
    scale: Scale
    hidden: Collection[str]
    shows_team: bool

    def key_of(self, job: Job, silent: Sequence[Scope]) -> str:
        """Return the cache key of the row."""
        viewer = self.viewer
        of_viewer = job.owner_id == viewer.pk, job.team_id in viewer.requests_in, viewer.may_decide(job)
        look = self.scale.length, anchor_of(self.scale), sorted(self.hidden), self.shows_team
        return _key_of(job, viewer.sees, self.scale.now, is_silent(job, silent), of_viewer, look)


def _key_of(job: Job, sees: Collection[int], now: datetime, *look: object) -> str:
    """Return a key that changes when the row of the job changes. `sees` are the teams whose jobs the user may see."""
    of_job = [getattr(job, name) for name in KEY_COLUMNS]
    shows_others = is_on_resource(job.strategy) and job.state in WAITING_AT_VERTEX
    period = KEPT_ON_RESOURCE_SECONDS if shows_others else KEPT_SECONDS
    moment = (int(now.timestamp()) + job.pk.int) // period  # not all rows in the same second
    of_user = get_language(), get_current_timezone_name(), sorted(sees) if shows_others else ()
    return version_of(job.pk, of_job, moment, of_user, look)


def kept_rows(keys: dict[UUID, str]) -> dict[UUID, SafeString]:
    """Return the cached rows by job. `keys` are those of `RowLook.key_of`."""
    found = caches["rows"].get_many(list(keys.values()))
    return {pk: mark_safe(found[key]) for pk, key in keys.items() if key in found}  # noqa: S308  # drawn by `draw_row`


def draw_row(row: BoardRow, look: RowLook, key: str) -> SafeString:
    """Render a row and cache it under its key."""
    context: dict[str, Any] = {
        "each": row,
        "row": row.row,
        "job": row.job,
        "now": look.scale.now,
        "is_own": row.job.owner_id == look.viewer.pk,
        "shows_team": look.shows_team,
        "hidden": look.hidden,
    }
    return _draw("board/row.html", context, key)


def draw_history(user: User, jobs: Sequence[Job], now: datetime) -> list[SafeString]:
    """Return the rows of the history in the order of the jobs, which need KEY_COLUMNS. Deleted jobs have no row."""
    sees = [team.pk for team in teams_of(user)]
    keys = {job.pk: _key_of(job, sees, now, "history") for job in jobs}
    rows = kept_rows(keys)
    missing = [pk for pk in keys if pk not in rows]
    loaded = load_jobs(jobs_of(user), missing) if missing else []
    held = get_holdings_for(user, loaded)
    for job in loaded:
        rows[job.pk] = _draw("history/row.html", {"job": job, "row": row_of(job, now, held=held)}, keys[job.pk])
    return [rows[pk] for pk in keys if pk in rows]


def _draw(template: str, context: dict[str, Any], key: str) -> SafeString:
    html = INDENTATION.sub("\n", get_template(template).render(context))
    caches["rows"].set(key, html, KEPT_SECONDS)
    return mark_safe(html)  # noqa: S308  # escaped by the template
