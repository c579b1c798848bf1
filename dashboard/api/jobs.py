"""Endpoints that read jobs: the list, one job, its events and its log."""

from uuid import UUID

from ninja import Query, Router

from dashboard.access import Request, job_for
from dashboard.api.filters import EventFilters, JobFilters, LogFilters, cursor_in, list_arguments, log_arguments
from dashboard.api.job_values import job_detail, job_shape
from dashboard.api.long_polling import wait_for
from dashboard.api.shapes import EventPage, EventShape, JobDetail, JobPage, LogLineShape, LogPage
from dashboard.api.tokens import READ
from dashboard.queries.history import list_history
from dashboard.queries.jobs import list_events_after
from dashboard.queries.logs import list_lines_after
from jobs import observation
from jobs.clock import database_now
from jobs.models import JobEvent

router = Router(tags=["jobs"], auth=READ)
POLL_SECONDS = 2
"""Poll interval for an unfinished job if the request was able to wait."""
BUSY_POLL_SECONDS = 5
"""Poll interval if the request could not wait because others do."""


@router.get("/jobs", response=JobPage, summary="List jobs")
def list_jobs(request: Request, filters: Query[JobFilters]) -> JobPage:
    """Return the jobs of your teams, newest first.

    One request searches at most 5,000 jobs, so a page can be empty and still have a `next_cursor`.
    """
    now = database_now()
    found = list_arguments(filters, request.user)
    page = list_history(request.user, filters.limit, after=cursor_in(filters.cursor), **found)
    items = [job_shape(request, job, now) for job in page.jobs]
    return JobPage(items=items, next_cursor=page.older or None)


@router.get("/jobs/{uuid:job_id}", response=JobDetail, summary="Get a job")
def get_job(request: Request, job_id: UUID) -> JobDetail:
    """Return a job with its estimate, its cost so far, its attempts, its approval and its diagnosis."""
    return job_detail(request, job_for(request, job_id, joined=("health",)), database_now())


@router.get("/jobs/{uuid:job_id}/events", response=EventPage, summary="List or wait for events of a job")
def list_job_events(request: Request, job_id: UUID, filters: Query[EventFilters]) -> EventPage:
    """Return the events after `after`, oldest first.

    With `wait`, the response is sent when there is an event or the time is over. The site lets only a few requests wait
    at the same time and answers the others at once. `poll_after_seconds` is the time to wait before the next request.
    """
    job, limit = job_for(request, job_id), filters.limit
    has_waited, found = True, list_events_after(job, filters.after, limit + 1)
    if not found and filters.wait and not job.is_finished:
        has_waited, found = wait_for(lambda: list_events_after(job, filters.after, limit + 1), filters.wait)
        job = job_for(request, job_id)
    has_more, events = len(found) > limit, found[:limit]
    is_prompt = has_waited and not job.is_finished
    return EventPage(
        items=[_event(event) for event in events],
        next_after=events[-1].pk if events else filters.after,
        has_more=has_more,
        state=job.state,
        is_finished=job.is_finished,
        poll_after_seconds=0 if has_more else POLL_SECONDS if is_prompt else BUSY_POLL_SECONDS,
    )


def _event(event: JobEvent) -> EventShape:
    names = ("kind", "from_state", "to_state", "occurred_at", "recorded_at", "reason", "message", "detail")
    actor = event.actor.get_username() if event.actor else None
    return EventShape(id=event.pk, actor=actor, **{name: getattr(event, name) for name in names})


@router.get("/jobs/{uuid:job_id}/logs", response=LogPage, summary="List log lines of a job")
def list_log_lines(request: Request, job_id: UUID, filters: Query[LogFilters]) -> LogPage:
    """Return stored lines in the order in which Trainboard read them, so that you do not miss late lines."""
    job = job_for(request, job_id)
    observation.follow_log(job, now=database_now())
    is_complete = job.is_finished and (job.log_complete or not job.remote_name)
    found = list_lines_after(job, filters.after, filters.limit + 1, **log_arguments(filters))
    has_more, lines = len(found) > filters.limit, found[: filters.limit]
    return LogPage(
        items=[LogLineShape.from_orm(line) for line in lines],
        next_after=lines[-1].pk if lines else filters.after,
        has_more=has_more,
        is_complete=is_complete and not has_more,
        poll_after_seconds=0 if has_more else POLL_SECONDS,
    )
