"""What a request is made with, and what the site knows that its assessment rests on."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

from django.contrib.auth.models import User

from jobs import budgets, spec, strategies
from jobs.assessment import Context, IdenticalJob, filled
from jobs.fallback import Plan
from jobs.models import Job, Team
from jobs.prices import current_book, recent_book
from jobs.requests.allowed_resources import allowed_of, recent_allowed
from jobs.requests.approval_coverage import AttemptApproval
from jobs.requests.learned_figures import load_learned, recent_learned
from jobs.requests.persistent_resources import known_resources
from jobs.requests.policy_versions import load_policy
from jobs.requests.rule_settings import recent_severities, severities

RECENT = timedelta(days=1)
"""How long after its end an identical job is still named."""
MAX_JOBS = 20
"""The newest identical jobs that are looked at."""


@dataclass(frozen=True, slots=True)
class RequestOptions:
    """What jobs that are requested together share; `expected` is the run time of each job, or of each of its trials."""

    team: Team
    by: User
    expected: timedelta
    now: datetime
    cloned_from: Job | None = None
    cap_usd: Decimal | None = None
    """The most that each job shall cost."""
    plan: Plan | None = None
    """The further attempts of a job that gets no capacity."""
    left_usd: Decimal | None = None
    """What is left of the amount for all attempts together."""
    approval: AttemptApproval | None = None
    """The approval of all attempts of the request, for one that follows others."""
    job_id: UUID | None = None
    """A fixed id, so that a database restored from a backup makes the same job again."""

    @property
    def has_approvers_cap(self) -> bool:
        """Whether an approver has set the cap."""
        return self.approval is not None and self.approval.approval.cap_usd is not None


def sweep_size(job: Job) -> int:
    """Return how many jobs were requested together with this one, itself included."""
    return Job.objects.filter(sweep=job.sweep).count() if job.sweep is not None else 1


def submission_of(job: Job, stored: dict[str, Any] | None = None) -> spec.Submission:
    """Read the submission back from the job's stored spec, or from `stored`, one that the job had before."""
    body = job.spec if stored is None else stored
    return spec.stored_submission(f"job {job.pk}", job.kind, body, project=job.project, region=job.region)


def load_context(
    team: Team,
    submission: spec.Submission | None = None,
    *,
    resources: strategies.Known | None = None,
    now: datetime | None = None,
    sweep_size: int = 1,
    by: User | None = None,
    is_preview: bool = False,
    has_identical: bool = True,
    expected: timedelta | None = None,
    cap_usd: Decimal | None = None,
    is_approvers_cap: bool = False,
) -> Context:
    """Return what the site knows that an assessment rests on: the team's policy, severities, persistent resources.

    `resources` are those that the caller has loaded, None for those that the submission asks for. With `now` identical
    jobs count too, and what was learned from ended jobs. `by` requests `sweep_size` jobs, which are assessed together.
    With the run time that is `expected`, budgets are those of the submission with the labels that policy sets.

    `is_preview`: it is only shown, as of `now`, so that severities, prices, allowed resources and what was learned may
    be ten seconds old. What is requested, approved or sent is assessed without. `has_identical` False leaves identical
    jobs out, which only make a note. `cap_usd` is the most that each job shall cost; one of an approver always cancels.
    """
    policy = load_policy(team)
    context = Context(
        policy=policy,
        identical=_identical_jobs(submission, team, now=now) if has_identical and submission and now else (),
        resources=known_resources(submission) if resources is None and submission is not None else resources or (),
        sweep_size=sweep_size,
        budgets=budgets.left_for_submission(team, by, submission, now),
        submitter=by.get_username() if by is not None else "",
        cap_usd=cap_usd,
        cap_cancels=cap_usd is None or is_approvers_cap or policy.cancels_at_cap,
        **(_recent if is_preview else _current)(team, submission, now),
    )
    if submission is None or (full := filled(submission, context, expected).submission) == submission:
        return context
    return replace(context, budgets=budgets.left_for_submission(team, by, full, now))


def _current(team: Team, submission: spec.Submission | None, now: datetime | None) -> dict[str, Any]:
    learned = load_learned(team, submission, now) if submission is not None and now is not None else {}
    return {"severities": severities(), "book": current_book(), "allowed": allowed_of(team), "learned": learned}


def _recent(team: Team, submission: spec.Submission | None, now: datetime | None) -> dict[str, Any]:
    assert now is not None
    return {
        "severities": recent_severities(now),
        "book": recent_book(now),
        "allowed": recent_allowed(team, now),
        "learned": recent_learned(team, submission, now) if submission is not None else {},
    }


def _identical_jobs(submission: spec.Submission, team: Team, *, now: datetime) -> tuple[IdenticalJob, ...]:
    """Return the jobs of `team` with the same spec that have not ended, or ended within RECENT; one query.

    Jobs that were requested before digests were kept, and adopted ones, are not found.
    """
    same = Job.objects.filter(team=team, spec_digest=submission.digest)
    newest = same.order_by("-requested_at", "pk").only("display_name", "state", "ended_at")[:MAX_JOBS]
    return tuple(
        IdenticalJob(job.display_name, job.state, str(job.pk))
        for job in newest
        if not job.is_finished or (job.ended_at is not None and job.ended_at >= now - RECENT)
    )
