"""Endpoints that change a job: cancel, declare fine, approve, reject."""

from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal, InvalidOperation
from functools import partial
from http import HTTPStatus
from uuid import UUID

from ninja import Router, Schema
from pydantic import ConfigDict, Field

from dashboard.access import Request, job_for
from dashboard.api.job_values import job_shape
from dashboard.api.problems import Problem, field_error
from dashboard.api.shapes import JobShape
from dashboard.api.tokens import APPROVE, SUBMIT
from jobs import requests, steps, tasks
from jobs.bounds import clean
from jobs.clock import DatabaseClock, database_now
from jobs.models import Job
from jobs.requests.declared_fine import FINE_FOR, HOUR, MAX_FINE_BY_LEAD, declare_fine

router = Router(tags=["actions"])
MAX_COMMENT_LENGTH = 2_000


class Decision(Schema):
    """A decision about a job. `max_usd` is the approval's `max_usd` that you read before you decided."""

    model_config = ConfigDict(extra="forbid")

    comment: str = Field("", max_length=MAX_COMMENT_LENGTH, description="Comment.")
    max_usd: str | None = Field(
        None,
        max_length=30,
        description="The maximum cost that you decide about. If it has changed, the response is 409.",
    )


class Rejection(Decision):
    """A rejection of a job."""

    comment: str = Field(min_length=1, max_length=MAX_COMMENT_LENGTH, description="Reason, which the requester reads.")


@router.post("/jobs/{uuid:job_id}/cancel", response={202: JobShape}, auth=SUBMIT, summary="Cancel a job")
def cancel_job(request: Request, job_id: UUID) -> JobShape:
    """Request cancellation of a job. Its events show when it has ended.

    Returns 409 if the job has already ended or is being cancelled.
    """
    job = job_for(request, job_id, "cancel")
    requests.check_is_ours(job)
    if not steps.cancel(job, by=request.user, clock=DatabaseClock()):
        job.refresh_from_db(fields=["state"])
        words = "The job has already ended." if job.is_finished else "The cancellation of the job is on its way."
        raise Problem(HTTPStatus.CONFLICT, words, kind="wrong-state")
    tasks.enqueue_job(job.pk)
    return _now(request, job_id)


class Fine(Schema):
    """How long a running job is right to be silent or slow."""

    model_config = ConfigDict(extra="forbid")

    hours: float = Field(FINE_FOR / HOUR, gt=0, le=MAX_FINE_BY_LEAD / HOUR, description="Hours from now.")


@router.post("/jobs/{uuid:job_id}/fine", response=JobShape, auth=SUBMIT, summary="Declare a running job fine")
def declare_job_fine(request: Request, job_id: UUID, body: Fine) -> JobShape:
    """Answer “Still working?”: nothing is reported until then. A job may call this itself before it is silent.

    Returns 403 unless the token belongs to the job's owner or a lead, 422 if the time is longer than they may choose,
    and 409 if the job does not run or is being cancelled.
    """
    job = job_for(request, job_id)
    try:
        is_done = declare_fine(job, by=request.user, now=database_now(), length=timedelta(hours=body.hours))
    except ValueError as error:
        raise field_error("body", "hours", str(error)) from None
    if not is_done:
        words = "The job does not run, or is being cancelled."
        raise Problem(HTTPStatus.CONFLICT, words, kind="wrong-state")
    return _now(request, job_id)


@router.post("/jobs/{uuid:job_id}/approve", response=JobShape, auth=APPROVE, summary="Approve a job")
def approve_job(request: Request, job_id: UUID, body: Decision) -> JobShape:
    """Approve a job that awaits approval. It continues once enough approvers have approved it.

    The approval covers all attempts in `approval.attempts`. Returns 403 for your own job and if you are not an
    approver of it. Returns 409 if the job does not await approval, if you have already voted, or if its maximum cost
    differs from `max_usd`.
    """
    return _decide(request, job_id, body, requests.approve)


@router.post("/jobs/{uuid:job_id}/reject", response=JobShape, auth=APPROVE, summary="Reject a job")
def reject_job(request: Request, job_id: UUID, body: Rejection) -> JobShape:
    """Reject a job that awaits approval. `comment` is the reason and is required.

    Returns the same errors as approving a job.
    """
    return _decide(request, job_id, body, requests.reject)


def _decide(request: Request, job_id: UUID, body: Decision, verb: Callable[..., bool]) -> JobShape:
    job = job_for(request, job_id, "decide")
    question = getattr(job, "approval", None)
    asked_usd = job.max_usd if question is None else question.asked_usd
    if body.max_usd is not None and _amount(body.max_usd) != asked_usd:
        words = f"The maximum cost is now {asked_usd} USD. Read the job again before you decide."
        raise Problem(HTTPStatus.CONFLICT, words, kind="other-amount")
    if verb is requests.approve and body.max_usd is not None and question is not None:
        verb = partial(requests.approve, digest=question.digest)  # the amount may change until the row is locked
    try:
        is_done = verb(job, by=request.user, comment=clean(body.comment), now=database_now())
    except requests.Changed:
        words = "The maximum cost has just changed. Read the job again before you decide."
        raise Problem(HTTPStatus.CONFLICT, words, kind="other-amount") from None
    except ValueError as error:
        raise field_error("body", "comment", str(error)) from None
    if not is_done:
        words = "The job does not await approval, or you have already voted on it."
        raise Problem(HTTPStatus.CONFLICT, words, kind="wrong-state")
    tasks.enqueue_job(job.pk)
    return _now(request, job_id)


def _amount(text: str) -> Decimal:
    try:
        return Decimal(text)
    except InvalidOperation:
        raise field_error("body", "max_usd", "This is not an amount.") from None


def _now(request: Request, job_id: UUID) -> JobShape:
    job: Job = job_for(request, job_id)
    return job_shape(request, job, database_now())
