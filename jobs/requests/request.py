"""A spec becomes a job: assessed by the rules and the policy of the team, and written with its first events."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID, uuid4

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction

from jobs import budgets, spec, strategies
from jobs.assessment import MAX_USD, Assessment, assess
from jobs.cost import round_up
from jobs.fallback import Plan
from jobs.models import Job, Scope, Team
from jobs.queue import claims
from jobs.requests.asked import Asked
from jobs.requests.attempts import begin_fallbacks, check_plan
from jobs.requests.beginning import FIRST_KEY, begin
from jobs.requests.context import load_context
from jobs.requests.keeping import check_may_be_kept
from jobs.requests.permissions import check_may_request
from jobs.requests.planned import questions_about
from jobs.strategies import persistent


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
    """Write the job that `by` asks for, and its events; return the first job when `request_key` was used before.

    `cloned_from` is the job whose spec the form began with, kept so that an approver can see what is different;
    `cap_usd` the most that it shall cost; `plan` what follows where it gets no capacity. Raises NotAllowed, with
    nothing written, when policy refuses it, and NotPermitted as `request_jobs` does.
    """
    asked = Asked(team, by, expected, now, cloned_from, cap_usd, plan)
    return request_jobs([submission], asked, request_key=request_key)[0]


def request_jobs(submissions: Sequence[spec.Submission], asked: Asked, *, request_key: str) -> list[Job]:
    """Write the jobs of a sweep, or one job, all or none; return those of before when `request_key` was used before.

    Policy judges what they cost together, and if it asks about one of them, or about a further attempt of one, all
    wait for one approval. Raises NotAllowed, with nothing written, when one of them is refused, and NotPermitted unless
    the person is a member of the team whose role may request jobs.
    """
    check_may_request(asked.by, asked.team)
    if asked.plan is not None:
        check_plan(asked.plan)
        asked = replace(asked, cap_usd=asked.plan.cap(asked.cap_usd), left_usd=asked.plan.max_usd)
    is_sweep = len(submissions) > 1
    keys = [f"{request_key}-{number}" for number in range(1, len(submissions) + 1)] if is_sweep else [request_key]
    if earlier := _requested(asked.by, keys):
        return earlier
    size, sweep = len(submissions), uuid4() if is_sweep else None
    try:
        with transaction.atomic():
            budgets.hold_budgets(asked.team.pk)
            assessments = _assess(submissions, asked)
            questions = questions_about(assessments, asked)
            agreed = asked.agreed if any(questions) and asked.agreed and asked.agreed.covers(assessments) else None
            jobs = [_row(each, asked, key, sweep, share=size) for each, key in zip(assessments, keys, strict=True)]
            for job, assessment, question, each in zip(jobs, assessments, questions, submissions, strict=True):
                begin(
                    job, assessment, None if agreed else question, by=asked.by, now=asked.now,
                    requested=_requested_as(each, asked.cap_usd), agreed=agreed,
                )  # fmt: skip
                _poll_its_resource(job, asked.now)
            budgets.reserve(jobs, asked.now)
            if asked.plan is not None:
                begin_fallbacks(jobs, asked.plan, asked.now)
    except IntegrityError:  # the same click arrived twice at the same time
        if earlier := _requested(asked.by, keys):
            return earlier
        raise
    return jobs


def _assess(submissions: Sequence[spec.Submission], asked: Asked) -> list[Assessment]:
    """Return the assessments of jobs that are requested together; raise NotAllowed when one is refused."""
    size, by, expected = len(submissions), asked.by, asked.expected
    context = load_context(
        asked.team, submissions[0], now=asked.now, sweep_size=size, by=by, expected=expected, cap_usd=asked.cap_usd,
        is_approvers_cap=asked.agreed is not None and asked.agreed.approval.cap_usd is not None,
    )  # fmt: skip
    assessments = [assess(each, context, expected=expected) for each in submissions]
    for assessment in assessments:
        check_may_be_kept(assessment, left_usd=asked.left_usd)
    return assessments


def requested_job(by: User, request_key: str) -> Job | None:
    """Return the job that `by` requested with this key, None where there is none."""
    return Job.objects.filter(owner=by, request_key=request_key).first()


def is_request_of(job: Job, submission: spec.Submission, cap_usd: Decimal | None, plan: Plan | None) -> bool:
    """Tell whether a job was requested with this submission and cap, whatever was changed in it since, but its name."""
    event = job.events.filter(once_key=FIRST_KEY).first()
    found = event.detail.get("requested") if event is not None else None
    before = {"digest": job.spec_digest, "cap_usd": None if job.cap_usd is None else str(job.cap_usd)}
    return bool((found or before) == _requested_as(submission, cap_usd if plan is None else plan.cap(cap_usd)))


def _requested_as(submission: spec.Submission, cap_usd: Decimal | None) -> dict[str, str | None]:
    """Return what tells requests apart that were made with one key."""
    return {"digest": submission.digest, "cap_usd": None if cap_usd is None else f"{cap_usd:.2f}"}


def _requested(by: User, keys: Sequence[str]) -> list[Job]:
    """Return the jobs that were requested with these keys, in their order."""
    return sorted(Job.objects.filter(owner=by, request_key__in=keys), key=lambda job: keys.index(job.request_key))


def _poll_its_resource(job: Job, now: datetime) -> None:
    """A job on a persistent resource has it looked at, wherever that is, before the job is assessed once more."""
    if job.strategy == persistent.STRATEGY.key:
        kind = Scope.Kind.PERSISTENT_RESOURCE
        claims.wake_scope(project=job.project, region=job.region, kind=kind, due_at=now)


def sweep_size(job: Job) -> int:
    """Return how many jobs were requested together with this one, itself included."""
    return Job.objects.filter(sweep=job.sweep).count() if job.sweep is not None else 1


def submission_of(job: Job, stored: dict[str, Any] | None = None) -> spec.Submission:
    """Read the submission back from the job's stored spec, or from `stored`, one that the job had before."""
    body = job.spec if stored is None else stored
    return spec.stored_submission(f"job {job.pk}", job.kind, body, project=job.project, region=job.region)


def _row(assessment: Assessment, asked: Asked, request_key: str, sweep: UUID | None, *, share: int) -> Job:
    """Write the row of a job; `share` is the number of jobs that share the team's limit."""
    submission = assessment.submission
    return Job.objects.create(
        id=asked.job_id or uuid4(),
        team=asked.team,
        acts_as=asked.team.acts_as,
        owner=asked.by,
        sweep=sweep,
        request_key=request_key,
        kind=submission.kind,
        display_name=submission.display_name,
        project=submission.project,
        region=submission.region,
        cloned_from=asked.cloned_from,
        expected_seconds=int(asked.expected.total_seconds()),
        cap_usd=asked.cap_usd,
        cap_cancels=assessment.cap_cancels,
        state="",
        state_since=asked.now,
        requested_at=asked.now,
        **assessed_columns(assessment, share),
    )


def assessed_columns(assessment: Assessment, share: int) -> dict[str, Any]:
    """Return the columns of a job that say what was judged: its body, its estimate and its amounts."""
    assert assessment.estimate is not None
    assert assessment.decision is not None
    submission, limit = assessment.submission, assessment.decision.limit_usd
    return {
        "strategy": strategies.strategy_of(submission).key,
        "machines": submission.machines_summary,
        "spec": spec.rest_body(submission.job),
        "spec_digest": submission.digest,
        "hourly_usd": storable(assessment.estimate.usd_per_hour),
        "estimate_usd": storable(assessment.estimate.expected_usd),
        "estimate": assessment.estimate.as_dict(),
        "max_usd": assessment.max_usd,
        "limit_usd": None if limit is None else limit if share == 1 else round_up(limit / share),
    }


def storable(usd: Decimal | None) -> Decimal | None:
    """An amount that its column can hold; what a job of a billion replicas would cost stays in the estimate only."""
    return usd if usd is not None and usd < MAX_USD else None
