"""Schedules of your teams: list them, read one with its runs, pause and resume it."""

from datetime import date, datetime
from http import HTTPStatus
from uuid import UUID

from ninja import Router, Schema

from dashboard.access import Request
from dashboard.access.schedule_loaders import schedule_for, schedules_of
from dashboard.api.problems import Problem
from dashboard.api.tokens import READ, SUBMIT
from dashboard.queries.schedules import list_runs
from jobs.clock import database_now
from jobs.models import Schedule
from jobs.requests import schedules as verbs

router = Router(tags=["schedules"])
MAX_LISTED = 500


class ScheduleShape(Schema):
    """A schedule; `next_at` is null while it is paused and after its last day."""

    id: UUID
    name: str
    team: str
    owner: str
    cron: str
    time_zone: str
    is_enabled: bool
    paused_because: str
    allows_overlap: bool
    last_day: date | None
    next_at: datetime | None


class RunShape(Schema):
    """What became of one due moment: requested, refused, skipped, missed or not_permitted."""

    moment: datetime
    outcome: str
    message: str
    job: UUID | None


class ScheduleDetail(ScheduleShape):
    """A schedule with its newest runs, the newest first."""

    runs: list[RunShape]


@router.get("/schedules", response=list[ScheduleShape], auth=READ, summary="List schedules")
def list_schedules(request: Request) -> list[ScheduleShape]:
    """Return the schedules of your teams, by team and name; at most 500."""
    return [_shape(row) for row in schedules_of(request)[:MAX_LISTED]]


@router.get("/schedules/{uuid:schedule_id}", response=ScheduleDetail, auth=READ, summary="Get a schedule")
def get_schedule(request: Request, schedule_id: UUID) -> ScheduleDetail:
    """Return a schedule with its newest runs."""
    row = schedule_for(request, schedule_id)
    runs = [
        RunShape(moment=run.moment, outcome=run.outcome, message=run.message, job=run.job_id) for run in list_runs(row)
    ]
    return ScheduleDetail(**_shape(row).model_dump(), runs=runs)


@router.post("/schedules/{uuid:schedule_id}/pause", response=ScheduleShape, auth=SUBMIT, summary="Pause a schedule")
def pause_schedule(request: Request, schedule_id: UUID) -> ScheduleShape:
    """Let it run no more until it is resumed. 403 for who is neither its owner nor a lead of the team."""
    row = schedule_for(request, schedule_id, to_change=True)
    verbs.pause_schedule(row, by=request.user, now=database_now())
    return _shape(schedule_for(request, schedule_id))


@router.post("/schedules/{uuid:schedule_id}/resume", response=ScheduleShape, auth=SUBMIT, summary="Resume a schedule")
def resume_schedule(request: Request, schedule_id: UUID) -> ScheduleShape:
    """Let it run again from its next time on. 409 where its last day is over."""
    row = schedule_for(request, schedule_id, to_change=True)
    try:
        verbs.resume_schedule(row, by=request.user, now=database_now())
    except verbs.NotUsable as refusal:
        raise Problem(HTTPStatus.CONFLICT, str(refusal), kind="wrong-state") from None
    return _shape(schedule_for(request, schedule_id))


def _shape(row: Schedule) -> ScheduleShape:
    names = ("id", "name", "cron", "time_zone", "is_enabled", "paused_because", "allows_overlap", "last_day", "next_at")
    kept = {name: getattr(row, name) for name in names}
    return ScheduleShape(team=row.team.name, owner=row.owner.get_username(), **kept)
