"""Endpoints that assess a job and request a job, once per Idempotency-Key."""

from dataclasses import replace
from datetime import timedelta
from http import HTTPStatus

from django.http import HttpResponse
from django.urls import reverse
from ninja import Header, Router, Status

from dashboard.access import Request
from dashboard.access.bounded_work import ASSESSMENTS, bounded_work
from dashboard.api import idempotency, jobs, request_bodies
from dashboard.api.idempotency import KeyHeader
from dashboard.api.job_values import job_shape, usd
from dashboard.api.problems import refused
from dashboard.api.request_bodies import JobRequest, JobText, ParsedRequest
from dashboard.api.shapes import AlternativeShape, AssessmentShape, FindingShape, Requested
from dashboard.api.tokens import READ, SUBMIT
from jobs import requests, spec, tasks
from jobs.assessment import Assessment, assess
from jobs.clock import database_now
from jobs.errors import NotAllowed
from jobs.models import Job, ShownJob
from jobs.requests.fallback_attempts import get_plan
from jobs.spec import Finding
from jobs.states import JobState
from jobs.strategies import strategy_of

router = Router(tags=["requests"])


@router.post("/assessments", response=AssessmentShape, auth=READ, summary="Assess a job without requesting it")
def create_assessment(request: Request, body: JobText) -> AssessmentShape:
    """Return the findings, the estimate and the outcome that the compose page shows, and the job under each strategy.

    Nothing is saved. Without `expected_seconds`, `estimate` and `outcome` are null and `alternatives` is empty.
    """
    parsed, now = request_bodies.parse_request(request, body), database_now()
    expected = timedelta(seconds=body.expected_seconds) if body.expected_seconds else None
    with bounded_work(ASSESSMENTS, request.user):
        context = requests.load_context(
            parsed.team, parsed.submission, now=now, by=request.user, expected=expected, cap_usd=body.cap_usd
        )
        context = replace(context, in_folder=requests.jobs_in_folder(parsed.submission, parsed.team))
        assessment = assess(parsed.submission, context, expected=expected, compares=True)
    return _assessment(parsed, assessment, parsed.findings(assessment.findings, body.confirm))


@jobs.router.post("/jobs", response={200: Requested, 201: Requested}, auth=SUBMIT, summary="Request a job")
def create_job(
    request: Request, response: HttpResponse, body: JobRequest, headers: Header[KeyHeader]
) -> Status[Requested]:
    """Assess a job and request it. The job awaits approval if the team's policy requires it, else it is submitted.

    Returns 201 for a new job. Returns 200 and the existing job if the key was used for the same request before.
    Returns 422 and the findings if the job has errors; the job is not saved.
    """
    parsed = request_bodies.parse_request(request, body)
    key = idempotency.request_key(headers.idempotency_key)
    earlier = requests.find_requested(request.user, key)
    notes = request_bodies.check_readable(parsed, body) if earlier is None else []
    with bounded_work(ASSESSMENTS, request.user):
        job = earlier or _request(request, parsed, body, key)
    if not _is_same(job, parsed, body):
        raise idempotency.reused_key()
    if job.state == JobState.APPROVED:
        tasks.enqueue_job(job.pk)
    shape = job_shape(request, ShownJob.of(job).reveal_to(request.user), database_now())
    response["Location"] = reverse("api-v1:get_job", args=[job.pk])
    result = Requested(job=shape, is_repeated=earlier is not None, findings=_shapes(notes))
    return Status(HTTPStatus.CREATED if earlier is None else HTTPStatus.OK, result)


def _request(request: Request, parsed: ParsedRequest, body: JobRequest, key: str) -> Job:
    """Request the job. Findings of a refusal get their line numbers."""
    try:
        return requests.request_job(
            submission=parsed.submission,
            team=parsed.team,
            by=request.user,
            expected=request_bodies.expected_of(body),
            request_key=key,
            now=database_now(),
            cap_usd=body.cap_usd,
            plan=request_bodies.parse_plan(body),
        )
    except NotAllowed as refusal:
        raise refused(parsed.located(tuple(refusal.findings))) from None


def _is_same(job: Job, parsed: ParsedRequest, body: JobRequest) -> bool:
    """Return whether a job matches the request. What was requested with a key never changes."""
    submission, plan = parsed.submission, request_bodies.parse_plan(body)
    return (
        job.team_id == parsed.team.pk
        and (job.kind, job.project, job.region) == (submission.kind, submission.project, submission.region)
        and job.expected_seconds == body.expected_seconds
        and job.display_name == submission.display_name
        and requests.is_request_of(job, submission, body.cap_usd, plan)
        and get_plan(job) == plan
    )


def _assessment(parsed: ParsedRequest, assessment: Assessment, findings: list[Finding]) -> AssessmentShape:
    submission = assessment.submission
    is_refused = spec.has_errors(findings)
    outcome = assessment.outcome and ("refuse" if is_refused else str(assessment.outcome))
    return AssessmentShape(
        outcome=outcome,
        name=submission.display_name,
        kind=submission.kind,
        strategy=strategy_of(submission).key,
        machines=submission.machines_summary,
        project=submission.project,
        region=submission.region,
        findings=_shapes(findings),
        estimate=assessment.estimate.as_dict() if assessment.estimate else None,
        max_usd=usd(assessment.max_usd),
        alternatives=[
            AlternativeShape(
                strategy=alternative.strategy.key,
                label=alternative.strategy.label,
                is_possible=not alternative.errors,
                estimate=alternative.estimate.as_dict(),
                saving=None if alternative.saving is None else float(alternative.saving),
                findings=_shapes(parsed.located(alternative.findings)),
            )
            for alternative in assessment.alternatives
        ],
        body=spec.rest_body(submission.job),
    )


def _shapes(findings: list[Finding]) -> list[FindingShape]:
    return [FindingShape(**finding.as_dict()) for finding in findings]
