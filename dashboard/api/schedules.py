"""Endpoints for schedules of the caller's teams: list, create, change, pause, resume, run and delete."""

from datetime import date
from http import HTTPStatus
from uuid import UUID

from django.http import HttpResponse
from django.urls import reverse
from ninja import Header, Query, Router, Schema, Status
from pydantic import ConfigDict, Field

from dashboard.access import Request
from dashboard.access.loaders import schedule_for, schedules_of
from dashboard.api import idempotency, request_bodies
from dashboard.api.filters import Name
from dashboard.api.idempotency import KeyHeader
from dashboard.api.job_values import job_shape
from dashboard.api.known_values import problem_of, unknown_filters
from dashboard.api.problems import Problem, field_error
from dashboard.api.request_bodies import JobRequest
from dashboard.api.schedule_shapes import RunShape, ScheduleDetail, ScheduleShape, shape_of
from dashboard.api.shapes import Requested
from dashboard.api.tokens import READ, SUBMIT
from dashboard.queries.jobs import list_runs
from jobs import requests, spec, tasks
from jobs.clock import database_now
from jobs.models import Schedule, ShownJob
from jobs.models.schedule import MAX_NAME_LENGTH
from jobs.requests import schedules as verbs
from jobs.requests.schedule_runs import run_now
from jobs.requests.schedules import Times
from jobs.states import JobState

router = Router(tags=["schedules"])
MAX_LISTED = 500
MAX_TEAMS = 50


class ScheduleRequest(JobRequest):
    """A job to request, and the times at which it is requested."""

    schedule: str = Field(
        ..., min_length=1, max_length=MAX_NAME_LENGTH, description="Name of the schedule. Unique in the team."
    )
    cron: str = Field(..., max_length=100, description="Five fields: minute, hour, day of month, month, day of week.")
    time_zone: str = Field("UTC", max_length=64, description="IANA time zone, such as Europe/Berlin.")
    last_day: date | None = Field(None, description="Last day on which it runs. null: no end.")
    allows_overlap: bool = Field(False, description="Whether it runs before the previous run has ended.")  # noqa: FBT003


class ScheduleChange(Schema):
    """The values to change. Values that you omit are kept."""

    model_config = ConfigDict(extra="forbid")

    schedule: str = Field("", max_length=MAX_NAME_LENGTH, description="New name. Unique in the team.")
    cron: str = Field("", max_length=100, description="Five fields: minute, hour, day of month, month, day of week.")
    time_zone: str = Field("", max_length=64, description="IANA time zone, such as Europe/Berlin.")
    last_day: date | None = Field(None, description="Last day on which it runs. null: no end.")
    allows_overlap: bool = Field(False, description="Whether it runs before the previous run has ended.")  # noqa: FBT003


class ScheduleFilters(Schema):
    """Filters of the list of schedules."""

    team: list[Name] = Field([], max_length=MAX_TEAMS, description="Names of teams. Can be repeated.")


@router.get("/schedules", response=list[ScheduleShape], auth=READ, summary="List schedules")
def list_schedules(request: Request, filters: Query[ScheduleFilters]) -> list[ScheduleShape]:
    """Return the schedules of your teams, sorted by team and name, at most 500."""
    if (problem := problem_of(unknown_filters(request.user, team=filters.team))) is not None:
        raise problem
    rows = schedules_of(request)
    rows = rows.filter(team__name__in=filters.team) if filters.team else rows
    return [shape_of(row) for row in rows[:MAX_LISTED]]


@router.get("/schedules/{uuid:schedule_id}", response=ScheduleDetail, auth=READ, summary="Get a schedule")
def get_schedule(request: Request, schedule_id: UUID) -> ScheduleDetail:
    """Return a schedule with its latest runs."""
    row = schedule_for(request, schedule_id)
    runs = [
        RunShape(moment=run.moment, outcome=run.outcome, message=run.message, job=run.job_id) for run in list_runs(row)
    ]
    return ScheduleDetail(**shape_of(row).model_dump(), runs=runs)


@router.post("/schedules", response={200: ScheduleShape, 201: ScheduleShape}, auth=SUBMIT, summary="Create a schedule")
def create_schedule(
    request: Request, response: HttpResponse, body: ScheduleRequest, headers: Header[KeyHeader]
) -> Status[ScheduleShape]:
    """Create a schedule that requests a job in your name. Each run is assessed when it is due.

    Returns 201 for a new schedule. Returns 200 and the existing schedule if the key was used for the same request.
    Deleting a schedule frees its key.
    """
    parsed = request_bodies.parse_request(request, body)
    request_bodies.check_readable(parsed, body)
    key = idempotency.schedule_id(request.user, headers.idempotency_key)
    earlier = _made_before(request, key)
    row = earlier or _create(request, parsed, body, key)
    if not _is_same(row, parsed, body):
        raise idempotency.reused_key()
    response["Location"] = reverse("api-v1:get_schedule", args=[row.pk])
    return Status(HTTPStatus.CREATED if earlier is None else HTTPStatus.OK, shape_of(row))


def _made_before(request: Request, key: UUID) -> Schedule | None:
    """Return the caller's own schedule with this id, which is derived from an Idempotency-Key."""
    return schedules_of(request).defer(None).filter(pk=key, owner=request.user).first()


def _create(request: Request, parsed: request_bodies.ParsedRequest, body: ScheduleRequest, key: UUID) -> Schedule:
    try:
        return verbs.create_schedule(
            _times(body),
            submission=parsed.submission,
            team=parsed.team,
            by=request.user,
            expected=request_bodies.expected_of(body),
            now=database_now(),
            cap_usd=body.cap_usd,
            plan=request_bodies.parse_plan(body),
            schedule_id=key,
        )
    except verbs.NotUsable as refusal:
        if (made := _made_before(request, key)) is not None:
            return made  # two identical requests arrived at the same time
        raise _not_usable(refusal) from None


def _not_usable(refusal: verbs.NotUsable) -> Problem:
    return field_error("body", "schedule" if refusal.field == "name" else refusal.field, str(refusal))


def _times(body: ScheduleRequest) -> Times:
    return Times(body.schedule, body.cron, body.time_zone, body.allows_overlap, body.last_day)


def _is_same(row: Schedule, parsed: request_bodies.ParsedRequest, body: ScheduleRequest) -> bool:
    """Return whether a schedule matches the request. Its times are compared only while nobody has changed it."""
    plan = request_bodies.parse_plan(body)
    kept = (
        row.team_id,
        row.kind,
        verbs.project_of(row),
        row.region,
        row.spec,
        row.expected_seconds,
        row.cap_usd,
        row.plan,
    )
    wanted = (
        parsed.team.pk,
        parsed.submission.kind,
        parsed.submission.project,
        parsed.submission.region,
        spec.rest_body(parsed.submission.job),
        body.expected_seconds,
        body.cap_usd,
        None if plan is None else plan.as_dict(),
    )
    is_changed = row.updated_at != row.created_at
    return kept == wanted and (is_changed or verbs.has_times(row, _times(body)))


@router.patch("/schedules/{uuid:schedule_id}", response=ScheduleShape, auth=SUBMIT, summary="Change a schedule")
def change_schedule(request: Request, schedule_id: UUID, body: ScheduleChange) -> ScheduleShape:
    """Change the name or the times of a schedule. Its job does not change. Repeating the request changes nothing.

    If a lead changes the times of somebody else's, its jobs are requested in the lead's name from then on.

    Returns 403 if you are neither the owner nor a lead of the team.
    """
    row = schedule_for(request, schedule_id, to_change=True)
    changes = body.model_dump(exclude_unset=True)
    if "schedule" in changes:
        changes["name"] = changes.pop("schedule")
    try:
        return shape_of(verbs.change_schedule(row, changes, by=request.user, now=database_now()))
    except verbs.NotUsable as refusal:
        raise _not_usable(refusal) from None


@router.delete("/schedules/{uuid:schedule_id}", response={204: None}, auth=SUBMIT, summary="Delete a schedule")
def delete_schedule(request: Request, schedule_id: UUID) -> Status[None]:
    """Delete a schedule and the list of its runs. Its jobs are kept.

    Returns 403 if you are neither the owner nor a lead of the team.
    """
    verbs.delete_schedule(schedule_for(request, schedule_id, to_change=True), by=request.user)
    return Status(HTTPStatus.NO_CONTENT, None)


@router.post(
    "/schedules/{uuid:schedule_id}/run",
    response={200: Requested, 201: Requested},
    auth=SUBMIT,
    summary="Run a schedule now",
)
def run_schedule(request: Request, schedule_id: UUID, headers: Header[KeyHeader]) -> Status[Requested]:
    """Request the job of a schedule now, in your name. Its times do not change.

    Returns 201 for a new job. Returns 200 if the key was used before. Returns 403 if you are neither the owner nor a
    lead of the team. Returns 409 if the previous run has not ended and runs may not overlap. Returns 422 and the
    findings if the job has errors.
    """
    row = schedule_for(request, schedule_id, to_change=True)
    key = idempotency.request_key(headers.idempotency_key)
    is_repeated = requests.find_requested(request.user, key) is not None
    try:
        job = run_now(row, by=request.user, now=database_now(), request_key=key)
    except verbs.NotUsable as refusal:
        raise Problem(HTTPStatus.CONFLICT, str(refusal), kind="wrong-state") from None
    if not row.runs.filter(job=job).exists():
        raise idempotency.reused_key()
    if job.state == JobState.APPROVED:
        tasks.enqueue_job(job.pk)
    shape = job_shape(request, ShownJob.of(job).reveal_to(request.user), database_now())
    result = Requested(job=shape, is_repeated=is_repeated, findings=[])
    return Status(HTTPStatus.OK if is_repeated else HTTPStatus.CREATED, result)


@router.post("/schedules/{uuid:schedule_id}/pause", response=ScheduleShape, auth=SUBMIT, summary="Pause a schedule")
def pause_schedule(request: Request, schedule_id: UUID) -> ScheduleShape:
    """Pause a schedule until it is resumed.

    Returns 403 if you are neither the owner nor a lead of the team.
    """
    row = schedule_for(request, schedule_id, to_change=True)
    verbs.pause_schedule(row, by=request.user, now=database_now())
    return shape_of(schedule_for(request, schedule_id))


@router.post("/schedules/{uuid:schedule_id}/resume", response=ScheduleShape, auth=SUBMIT, summary="Resume a schedule")
def resume_schedule(request: Request, schedule_id: UUID) -> ScheduleShape:
    """Resume a schedule from its next due time on. Its jobs are requested in your name from then on.

    Returns 403 if you are neither the owner nor a lead of the team. Returns 409 if its last day is in the past.
    """
    row = schedule_for(request, schedule_id, to_change=True)
    try:
        verbs.resume_schedule(row, by=request.user, now=database_now())
    except verbs.NotUsable as refusal:
        raise Problem(HTTPStatus.CONFLICT, str(refusal), kind="wrong-state") from None
    return shape_of(schedule_for(request, schedule_id))
