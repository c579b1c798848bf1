"""Response schemas of schedules."""

from datetime import date, datetime
from uuid import UUID

from ninja import Schema

from jobs.models import Schedule
from jobs.requests.schedules import project_of


class ScheduleShape(Schema):
    """A schedule. `next_at` is null while it is paused and after its last day."""

    id: UUID
    name: str
    team: str
    owner: str
    project: str
    region: str
    cron: str
    time_zone: str
    is_enabled: bool
    paused_because: str
    allows_overlap: bool
    last_day: date | None
    next_at: datetime | None


class RunShape(Schema):
    """One run of a schedule. `moment` is when it was due.

    `outcome` is requested, refused, skipped, missed or not_permitted.
    """

    moment: datetime
    outcome: str
    message: str
    job: UUID | None


class ScheduleDetail(ScheduleShape):
    """A schedule with its latest runs, newest first."""

    runs: list[RunShape]


NAMES = (
    "id", "name", "region", "cron", "time_zone", "is_enabled", "paused_because", "allows_overlap", "last_day",
    "next_at",
)  # fmt: skip
"""Columns that are returned unchanged."""


def shape_of(row: Schedule) -> ScheduleShape:
    """Return a schedule as the API represents it. Team and owner must be loaded with it."""
    kept = {name: getattr(row, name) for name in NAMES}
    return ScheduleShape(team=row.team.name, owner=row.owner.get_username(), project=project_of(row), **kept)
