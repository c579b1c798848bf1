"""Values of jobs for the API: the same as on pages, with the same secrets hidden."""

from dataclasses import asdict
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from django.http import HttpRequest
from django.urls import reverse

from dashboard.api.shapes import (
    ApprovalShape,
    AskedAttemptShape,
    AttemptShape,
    DiagnosisShape,
    FailureShape,
    FallbackShape,
    GroupShape,
    JobDetail,
    JobShape,
    WarningShape,
)
from dashboard.pages.parts.why import why
from dashboard.queries.jobs import list_attempts, list_events
from dashboard.queries.logs import get_attempt_times
from jobs import timeline
from jobs.cost import MICRO
from jobs.explain import explain, has_failed, has_unknown_run, obstacle_of
from jobs.fallback import plan_of
from jobs.models import Job
from jobs.requests.approver_groups import groups_of
from jobs.states import SUCCESSFUL, JobState

COLUMNS = (
    "kind", "state", "is_finished", "strategy", "machines", "project", "region", "family", "requested_at",
    "submitted_at", "started_at", "ended_at", "restarts",
)  # fmt: skip
"""Columns of a job that the API returns under the same names."""
STOPPED = frozenset({JobState.CANCELLED, JobState.WITHDRAWN})


def usd(amount: Decimal | None) -> str | None:
    """Return an amount as text with its digits. None if it is not known."""
    return None if amount is None else f"{amount:f}"


def job_values(request: HttpRequest, job: Job, now: datetime) -> dict[str, Any]:
    """Return the values of JobShape. Owner, team and approval must be loaded with the job."""
    cost, is_unknown = timeline.cost_so_far(job, now) if job.started_at else None, has_unknown_run(job)
    return {name: getattr(job, name) for name in COLUMNS} | {
        "id": job.pk,
        "name": job.display_name,
        "team": job.team.name,
        "owner": job.owner.get_username(),
        "reason": why(job).text,
        "outcome": outcome_of(job),
        "waited_seconds": None if is_unknown else _seconds(timeline.waited(job, now)),
        "ran_seconds": None if is_unknown else _seconds(timeline.running(job, now)),
        "usd_per_hour": usd(job.hourly_usd),
        "estimate_usd": usd(job.estimate_usd),
        "max_usd": usd(job.max_usd),
        "cap_usd": usd(job.cap_usd),
        "cost_usd": None if cost is None else usd(cost.quantize(MICRO)),
        "url": request.build_absolute_uri(reverse("job", args=[job.pk])),
    }


def outcome_of(job: Job) -> str:
    """Return how the job ended: succeeded, failed, cancelled or rejected. Return "" if it has not ended."""
    if not job.is_finished:
        return ""
    if job.state in SUCCESSFUL:
        return "succeeded"
    if job.state == JobState.REJECTED:
        return "rejected"
    return "failed" if has_failed(job) or job.state not in STOPPED else "cancelled"


def job_shape(request: HttpRequest, job: Job, now: datetime) -> JobShape:
    """Return a job as in lists."""
    return JobShape(**job_values(request, job, now))


def job_detail(request: HttpRequest, job: Job, now: datetime) -> JobDetail:
    """Return all values of a job except its events and log. Needs a few queries."""
    return JobDetail(
        **job_values(request, job, now),
        expected_seconds=job.expected_seconds,
        is_adopted=job.is_adopted,
        cancel_requested_at=job.cancel_requested_at,
        remote_name=job.remote_name,
        error=job.error,
        last_error=job.last_error,
        estimate=job.estimate,
        approval=_approval(job),
        attempts=_attempts(job, now),
        diagnosis=_diagnosis(job),
        fallback=_fallback(job),
        warning=_warning(job, now),
        spec=job.spec,
    )


def _approval(job: Job) -> ApprovalShape | None:
    approval = getattr(job, "approval", None)
    if approval is None:
        return None
    return ApprovalShape(
        asked_at=approval.asked_at,
        groups=[GroupShape.from_orm(group) for group in groups_of(approval)],
        findings=[{name: finding[name] for name in finding if name != "words"} for finding in approval.findings],
        decision=approval.decision,
        decided_by=approval.decided_by.get_username() if approval.decided_by else None,
        decided_at=approval.decided_at,
        comment=approval.comment,
        max_usd=usd(approval.asked_usd),
        attempts=None if approval.attempts is None else [AskedAttemptShape(**attempt) for attempt in approval.attempts],
    )


def _fallback(job: Job) -> FallbackShape | None:
    attempts = list_attempts(job)
    if not attempts:
        return None
    own = next(attempt for attempt in attempts if attempt.job_id == job.pk)
    row = attempts[0].fallback
    kept = {name: getattr(row, name) for name in ("words", "outcome", "message")}
    size, jobs = plan_of(row.plan).size, [attempt.job_id for attempt in attempts]
    return FallbackShape(number=own.number, size=size, jobs=jobs, **kept)


def _warning(job: Job, now: datetime) -> WarningShape | None:
    found = timeline.warning_of(job, now)
    if found is None:
        return None
    amount = None if found.usd is None else usd(found.usd.quantize(MICRO))
    return WarningShape(
        code=found.code, since=found.since, is_certain=found.is_certain, evidence=str(found.words), usd=amount,
        asked_at=found.asked_at, cancels_at=found.cancels_at,
    )  # fmt: skip


def _attempts(job: Job, now: datetime) -> list[AttemptShape]:
    """Return the attempts of a job that has run. A tuning job has none, because its attempts belong to its trials."""
    if job.started_at is None or job.trial_seconds is not None:
        return []
    tries = timeline.attempts(list_events(job), now, **get_attempt_times(job))
    return [
        AttemptShape(
            number=attempt.number,
            start=attempt.start,
            cause=attempt.cause,
            waited_seconds=None if attempt.wait is None else _seconds(attempt.wait),
            is_waiting=attempt.is_waiting,
        )
        for attempt in tries.whole
    ]


def _diagnosis(job: Job) -> DiagnosisShape | None:
    if has_failed(job):
        known = explain(job)
        if known is None:
            return None
        failure = FailureShape(**asdict(known.failure)) if known.failure is not None else None
        return DiagnosisShape(**asdict(known.diagnosis), is_from_log=known.is_from_log, failure=failure)
    obstacle = obstacle_of(job) if not job.is_finished else None
    return DiagnosisShape(**asdict(obstacle), is_from_log=False) if obstacle is not None else None


def _seconds(length: timedelta) -> int:
    return round(length.total_seconds())
