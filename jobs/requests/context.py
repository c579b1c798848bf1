"""The options of a request, and the context that its assessment uses."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from django.contrib.auth.models import User
from django.db.models import Q

from jobs import budgets, known_catalogue, spec, strategies
from jobs.assessment import Context, IdenticalJob, filled
from jobs.cost.learned import Learned
from jobs.fallback import Plan
from jobs.models import Job, Team
from jobs.prices import current_book, recent_book
from jobs.requests.allowed_resources import allowed_of, recent_allowed
from jobs.requests.approval_coverage import AttemptApproval
from jobs.requests.learned_figures import load_learned, recent_learned
from jobs.requests.persistent_resources import known_resources
from jobs.requests.policy_versions import load_policy, load_recent
from jobs.requests.rule_settings import recent_severities, severities

RECENT = timedelta(days=1)
"""How long after its end an identical job is still reported."""
MAX_JOBS = 20
"""Number of newest identical jobs that are checked."""


@dataclass(frozen=True, slots=True)
class RequestOptions:
    """Options shared by jobs requested together. `expected` is the run time of each job, or of each of its trials."""

    team: Team
    by: User
    expected: timedelta
    now: datetime
    cloned_from: Job | None = None
    cap_usd: Decimal | None = None
    """The most that each job may cost."""
    timeout_cap_usd: Decimal | None = None
    """For a further attempt, the cap of the first one, from which its timeout is set as approvers have seen it."""
    author: User | None = None
    """Who wrote the spec, if it comes from a schedule."""
    plan: Plan | None = None
    """The further attempts of a job that gets no capacity."""
    left_usd: Decimal | None = None
    """The rest of the amount for all attempts together."""
    approval: AttemptApproval | None = None
    """The approval of all attempts of the request, for an attempt that follows others."""

    @property
    def has_approvers_cap(self) -> bool:
        """Whether an approver has set the cap."""
        return self.approval is not None and self.approval.approval.cap_usd is not None


def sweep_size(job: Job) -> int:
    """Return how many jobs were requested together with this one, including it."""
    return Job.objects.filter(sweep=job.sweep).count() if job.sweep is not None else 1


def submission_of(job: Job, stored: dict[str, Any] | None = None) -> spec.Submission:
    """Return the submission of the job's stored spec, or of `stored`, which is an earlier spec of the job."""
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
    timeout_cap_usd: Decimal | None = None,
    is_approvers_cap: bool = False,
    is_locked: bool = False,
) -> Context:
    """Return the context of an assessment: the team's policy, severities, persistent resources, budgets and prices.

    `resources` are the resources that the caller has loaded; if None, those that the submission names are loaded. With
    `now`, the context includes identical jobs and figures learned from ended jobs. `by` requests `sweep_size` jobs,
    which are assessed together. With `expected`, the run time, the budgets are those of the submission with the labels
    that policy sets. `cap_usd` is the most that each job may cost; an approver's cap always cancels the job. The
    timeout is set from `timeout_cap_usd`, by default `cap_usd`.

    `is_locked` locks what requests of other teams may use up, until the transaction ends.

    `is_preview` means that the assessment is only shown, as of `now`. Severities, prices, allowed resources and learned
    figures may then be ten seconds old. Requests, approvals and submissions use current values. `has_identical=False`
    leaves out identical jobs, which only cause a note.
    """
    known_catalogue.refresh()
    policy = load_policy(team)
    context = Context(
        policy=policy,
        identical=_identical_jobs(submission, team, now=now) if has_identical and submission and now else (),
        resources=known_resources(submission) if resources is None and submission is not None else resources or (),
        sweep_size=sweep_size,
        budgets=budgets.left_for_submission(team, by, submission, now),
        ceilings=budgets.ceilings_for(team, by, now, is_preview=is_preview, is_locked=is_locked),
        recent=load_recent(policy, team, by, now),
        submitter=by.get_username() if by is not None else "",
        cap_usd=cap_usd,
        timeout_cap_usd=timeout_cap_usd if is_approvers_cap else timeout_cap_usd or cap_usd,
        is_approvers_cap=is_approvers_cap,
        cap_cancels=cap_usd is None or is_approvers_cap or policy.cancels_at_cap,
        **(_recent if is_preview else _current)(team, submission, now, expected),
    )
    if submission is None or (full := filled(submission, context, expected).submission) == submission:
        return context
    return replace(context, budgets=budgets.left_for_submission(team, by, full, now))


def _current(
    team: Team, submission: spec.Submission | None, now: datetime | None, expected: timedelta | None
) -> dict[str, Any]:
    learned: Mapping[str, Learned] = {}
    if submission is not None and now is not None:
        learned = load_learned(team, submission, now, expected=expected)
    return {"severities": severities(), "book": current_book(), "allowed": allowed_of(team), "learned": learned}


def _recent(
    team: Team, submission: spec.Submission | None, now: datetime | None, expected: timedelta | None
) -> dict[str, Any]:
    assert now is not None
    return {
        "severities": recent_severities(now),
        "book": recent_book(now),
        "allowed": recent_allowed(team, now),
        "learned": recent_learned(team, submission, now, expected=expected) if submission is not None else {},
    }


def jobs_in_folder(submission: spec.Submission, team: Team) -> tuple[IdenticalJob, ...]:
    """Return the newest jobs of `team` with the same output folder. Makes one query if it has one.

    Jobs that were adopted, or requested before folders were compared, are not found.
    """
    key = spec.folder_key(submission)
    if key is None:
        return ()
    wrote = Q(started_at__isnull=False) | Q(ended_at=None)
    rows = (
        Job.objects.filter(wrote, team=team, folder_key=key)
        .order_by("-requested_at", "pk")
        .only("display_name", "state")[:MAX_JOBS]
    )
    return tuple(IdenticalJob(job.display_name, job.state, str(job.pk)) for job in rows)


def _identical_jobs(submission: spec.Submission, team: Team, *, now: datetime) -> tuple[IdenticalJob, ...]:
    """Return the jobs of `team` with the same spec that have not ended, or ended within RECENT. Makes one query.

    Adopted jobs, and jobs requested before digests were stored, are not found.
    """
    same = Job.objects.filter(team=team, spec_digest=submission.digest)
    newest = same.order_by("-requested_at", "pk").only("display_name", "state", "ended_at")[:MAX_JOBS]
    return tuple(
        IdenticalJob(job.display_name, job.state, str(job.pk))
        for job in newest
        if not job.is_finished or (job.ended_at is not None and job.ended_at >= now - RECENT)
    )
