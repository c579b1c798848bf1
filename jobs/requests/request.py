"""Request jobs: assess a submission by the rules and the team's policy, and write it with its first events."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction

from jobs import budgets, spec, strategies, transitions
from jobs.assessment import Assessment, Outcome, assess, storable_price, storable_usd
from jobs.cost import round_up
from jobs.errors import NotAllowed
from jobs.fallback import Plan
from jobs.models import Job, JobEvent, Scope, Team
from jobs.permissions import check_may_request
from jobs.queue import claims, installation
from jobs.requests.approval_coverage import AttemptApproval
from jobs.requests.checks import check_may_be_written
from jobs.requests.context import RequestOptions, load_context
from jobs.requests.fallback_attempts import check_plan, create_fallbacks
from jobs.requests.questions import Question, build_questions, save_question
from jobs.requests.request_keys import FIRST_KEY, identity_of, job_id, list_requested
from jobs.spec.secrets import secrets_as_json
from jobs.states import JobState
from jobs.strategies import is_on_resource

ASSESSED = {
    Outcome.ALLOWED: "Trainboard checked the job against rules and policy. It may be sent without an approval.",
    Outcome.NEEDS_APPROVAL: "Trainboard checked the job against rules and policy. An approver has to decide.",
}
"""Messages of a job's first event. A refused request is not saved."""
APPROVED_BEFORE = "Trainboard checked the job against rules and policy. It was approved with the first attempt."


def request_job(
    *,
    submission: spec.Submission,
    team: Team,
    by: User,
    expected: timedelta,
    request_key: str,
    now: datetime,
    cloned_from: Job | None = None,
    cap_usd: Decimal | None = None,
    plan: Plan | None = None,
) -> Job:
    """Save the job that `by` requests, with its events. Return the first job if `request_key` was used before.

    `cloned_from` is the job whose spec the form began with, stored so that an approver can see the differences.
    `cap_usd` is the most the job may cost. `plan` describes the further attempts if it gets no capacity. Raise
    NotAllowed and write nothing if policy refuses the job. Raise NotPermitted as `request_jobs`.
    """
    options = RequestOptions(team, by, expected, now, cloned_from, cap_usd, plan=plan)
    return request_jobs([submission], options, request_key=request_key)[0]


def request_jobs(submissions: Sequence[spec.Submission], options: RequestOptions, *, request_key: str) -> list[Job]:
    """Save one job, or all or none of a sweep. Return the earlier jobs if `request_key` was used before.

    Policy decides by what they cost together. If it asks about one of them, or about a further attempt of one, all of
    them wait for one approval. Raise NotAllowed and write nothing if one of them is refused. Raise NotPermitted unless
    the person is a member of the team whose role may request jobs.
    """
    check_may_request(options.by, options.team)
    if options.plan is not None:
        check_plan(options.plan)
        options = replace(options, cap_usd=options.plan.cap(options.cap_usd), left_usd=options.plan.max_usd)
    is_sweep = len(submissions) > 1
    keys = [f"{request_key}-{number}" for number in range(1, len(submissions) + 1)] if is_sweep else [request_key]
    if earlier := list_requested(options.by, keys):
        return earlier
    sweep = job_id(options.by, request_key) if is_sweep else None
    try:
        with transaction.atomic():
            # Before the assessment: otherwise concurrent requests would all see the same rest of a budget.
            budgets.lock_teams([options.team.pk])
            assessments = _assess(submissions, options)
            questions = build_questions(assessments, options)
            approval = options.approval if any(questions) else None
            approval = approval if approval is not None and all(map(approval.covers, assessments)) else None
            jobs = []
            for submission, assessment, question, key in zip(submissions, assessments, questions, keys, strict=True):
                is_awaited = question is not None and approval is None
                job = _create_row(assessment, options, key, sweep, share=len(keys), is_awaited=is_awaited)
                requested = identity_of(submission, options.cap_usd)
                _record_request(job, assessment, question, approval, requested, options)
                _poll_resource_of(job, options.now)
                jobs.append(job)
            if options.plan is not None:
                create_fallbacks(jobs, options.plan, options.now)
    except IntegrityError:  # the same click arrived twice at the same time
        if earlier := list_requested(options.by, keys):
            return earlier
        _check_unused(options.by, keys)
        raise
    return jobs


def _check_unused(by: User, keys: Sequence[str]) -> None:
    """Raise NotAllowed if somebody else, who had the same username then, has used one of these keys."""
    if Job.objects.filter(pk__in=[job_id(by, key) for key in keys]).exists():
        words = f"The request key {keys[0]} was used before by another account with the username {by.get_username()}."
        raise NotAllowed([spec.Finding("request_key_used", spec.Severity.ERROR, "", words)])


def _assess(submissions: Sequence[spec.Submission], options: RequestOptions) -> list[Assessment]:
    """Return the assessments of jobs that are requested together. Raise NotAllowed if one is refused."""
    expected = options.expected
    context = load_context(
        options.team, submissions[0], now=options.now, sweep_size=len(submissions), by=options.by, expected=expected,
        cap_usd=options.cap_usd, timeout_cap_usd=options.timeout_cap_usd, is_approvers_cap=options.has_approvers_cap,
        is_locked=True,
    )  # fmt: skip
    assessments = [assess(submission, context, expected=expected) for submission in submissions]
    for assessment in assessments:
        check_may_be_written(assessment, left_usd=options.left_usd)
    return assessments


def _poll_resource_of(job: Job, now: datetime) -> None:
    """Poll the persistent resource that a job names now, so that its state is known at the next assessment."""
    if is_on_resource(job.strategy):
        kind = Scope.Kind.PERSISTENT_RESOURCE
        claims.wake_scope(project=job.project, region=job.region, kind=kind, due_at=now)


def _create_row(
    assessment: Assessment,
    options: RequestOptions,
    request_key: str,
    sweep: UUID | None,
    *,
    share: int,
    is_awaited: bool,
) -> Job:
    """Create the row of a job. `share` is the number of jobs that share the team's limit.

    A job that awaits an approval may be rejected or withdrawn before it is looked up at Vertex AI. So it is in doubt if
    the database may have forgotten the same request: whatever its end, it is looked up then.
    """
    submission = assessment.submission
    return Job.objects.create(
        id=job_id(options.by, request_key),
        team=options.team,
        acts_as=options.team.acts_as,
        owner=options.by,
        author=options.author if options.author != options.by else None,
        sweep=sweep,
        request_key=request_key,
        kind=submission.kind,
        display_name=submission.display_name,
        project=submission.project,
        region=submission.region,
        cloned_from=options.cloned_from,
        expected_seconds=int(options.expected.total_seconds()),
        cap_usd=options.cap_usd,
        cap_cancels=assessment.cap_cancels,
        state="",
        state_since=options.now,
        requested_at=options.now,
        attempted_at=installation.restored_at() if is_awaited else None,
        **assessed_columns(assessment, share),
    )


def _record_request(
    job: Job,
    assessment: Assessment,
    question: Question | None,
    approval: AttemptApproval | None,
    requested: dict[str, str | None],
    options: RequestOptions,
) -> None:
    """Record the events of a request: its assessment, and either `question` for approvers or that it may be sent.

    With `approval` the job was approved with the first attempt, so nobody is asked. `requested` distinguishes requests
    made with the same key.
    """
    by, now = options.by, options.now
    question = None if approval else question
    outcome = Outcome.NEEDS_APPROVAL if question is not None else Outcome.ALLOWED
    transitions.record_event(
        job,
        JobEvent.Kind.ASSESSED,
        now=now,
        message=ASSESSED[outcome] if approval is None else APPROVED_BEFORE,
        reason=outcome,
        detail=assessment.as_dict() | {"requested": requested},
        once_key=FIRST_KEY,
    )
    if question is not None:
        save_question(job, question, now=now)
        message = f"{by.get_username()} requested the job; policy asks for an approval."
        to = JobState.AWAITING_APPROVAL
        transitions.transition(job, to, now=now, actor=by, reason="requested", message=message)
    else:
        _allow(job, approval, by=by, now=now)


def _allow(job: Job, approval: AttemptApproval | None, *, by: User, now: datetime) -> None:
    """Let a job be sent. The event names the approval that covers it, if there is one."""
    why, detail = "policy allows it", {}
    if approval is not None:
        given, approver = approval.approval, approval.approval.decided_by
        who = approver.get_username() if approver is not None else "an approver"
        why = f"{who} approved attempt {approval.number} with the first one"
        asked_at = given.asked_at.isoformat()
        detail = {"approval": {"job": str(given.job_id), "asked_at": asked_at, "attempt": approval.number}}
    allowed_usd = job.max_usd if job.limit_usd is None else job.limit_usd
    transitions.transition(
        job,
        JobState.APPROVED,
        now=now,
        actor=by,
        reason="requested",
        message=f"{by.get_username()} requested the job; {why}.",
        detail=detail,
        due_at=now,
        approved_usd=allowed_usd if approval is None else job.max_usd,
    )


def assessed_columns(assessment: Assessment, share: int) -> dict[str, Any]:
    """Return the columns of a job that its assessment sets: its body, its estimate and its amounts."""
    assert assessment.estimate is not None
    assert assessment.decision is not None
    submission, limit = assessment.submission, assessment.decision.limit_usd
    return {
        "strategy": strategies.strategy_of(submission).key,
        "machines": submission.machines_summary,
        "spec": (body := spec.rest_body(submission.job)),
        "secrets": secrets_as_json(body),
        "spec_digest": submission.digest,
        "folder_key": spec.folder_key(submission),
        "hourly_usd": storable_price(assessment.estimate.usd_per_hour),
        "estimate_usd": storable_usd(assessment.estimate.expected_usd),
        "estimate": assessment.estimate.as_dict(),
        "max_usd": assessment.max_usd,
        "gpus": assessment.gpus,
        "limit_usd": None if limit is None else limit if share == 1 else round_up(limit / share),
    }
