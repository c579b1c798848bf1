"""One job as a row of a list: its state with the reason, its wait and its cost."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal

from django.conf import settings

from dashboard.pages.parts.why import Why, why
from dashboard.queries.persistent_resources import Holdings
from jobs import timeline
from jobs.explain import has_unknown_run
from jobs.models import Job, Scope
from jobs.strategies import STRATEGIES, Strategy

MAX_MISSED_POLLS = 3
"""After more failed polls than this, the last known state is shown as old."""
GRACE_PERIOD = timedelta(seconds=5)


@dataclass(frozen=True, slots=True)
class Row:
    """What a list shows of a job. Templates only format it."""

    job: Job
    strategy: str
    is_on_resource: bool
    why: Why
    waited: timedelta | None
    ran: timedelta | None
    restarts_allowed: int
    cost: Decimal | None
    has_cost: bool
    is_stale: bool
    has_unknown_run: bool
    """Whether it ran although nobody knows when; its wait, run time and cost are then unknown."""


def row_of(job: Job, now: datetime, silent: Iterable[Scope] = (), held: Holdings | None = None) -> Row:
    """Return the row of a job, which has to be loaded with owner, team and approval.

    `silent` are the scopes that cannot be polled. `held` is who holds the persistent resource that the job waits for.
    """
    strategy = STRATEGIES.get(job.strategy)
    return Row(
        job=job,
        strategy=strategy.label if strategy else job.strategy,
        is_on_resource=strategy is not None and strategy.runs_on_resource,
        why=why(job, held),
        waited=wait_of(job, now),
        ran=timeline.running(job, now) if job.started_at else None,
        restarts_allowed=restarts_allowed(job, strategy),
        cost=timeline.cost_so_far(job, now),
        has_cost=job.started_at is not None,
        is_stale=is_stale(job, now, silent),
        has_unknown_run=has_unknown_run(job),
    )


def amount_of(job: Job) -> str:
    """Return the amount to decide about, as the form posts it. A decision is valid for this amount only."""
    question = getattr(job, "approval", None)
    usd = job.max_usd if question is None else question.asked_usd
    return "" if usd is None else str(usd)


def wait_of(job: Job, now: datetime) -> timedelta | None:
    """Return how long the job has waited, all waits together; None if it has not been allowed yet, or is unknown.

    This includes time in which it could not be submitted because of quotas or rate limits.
    """
    if (job.approved_at is None and job.submitted_at is None) or has_unknown_run(job):
        return None
    return timeline.waited(job, now)


def restarts_allowed(job: Job, strategy: Strategy | None) -> int:
    """Return the number of restarts that the list draws as dots; 0 if none are possible and none happened."""
    if strategy is None or not (strategy.preemptible or job.restarts):
        return 0
    return strategy.restart_allowance


def is_stale(job: Job, now: datetime, silent: Iterable[Scope]) -> bool:
    """Return whether the state of an unfinished job is old, because Vertex AI does not respond or polls failed."""
    if job.is_finished or not job.is_remote or job.seen_at is None:
        return False
    if is_silent(job, silent):
        return True
    return now - job.seen_at > MAX_MISSED_POLLS * settings.POLL_INTERVAL + GRACE_PERIOD


def is_silent(job: Job, silent: Iterable[Scope]) -> bool:
    """Return whether the job's scope is one for which Vertex AI does not respond."""
    return any((job.project, job.region, job.kind) == (each.project, each.region, each.kind) for each in silent)
