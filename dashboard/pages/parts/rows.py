"""One job as a row of a list: what it is, why it is where it is, how long it waited and what it costs."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal

from django.conf import settings

from dashboard.access import Job, Scope
from dashboard.access.pools import Holdings
from dashboard.access.spending import cost_so_far
from dashboard.pages.parts.reasons import may_wait, why
from jobs import timeline
from jobs.states import FINISHED, RUNNING, WAITING, JobState
from jobs.strategies import STRATEGIES, Strategy

MISSED_LOOKS = 3
"""So many polls may fail before what we know counts as old."""
GRACE = timedelta(seconds=5)


@dataclass(frozen=True, slots=True)
class Row:
    """What a list shows of a job; templates only format it."""

    job: Job
    group: str
    strategy: str
    why: str
    waited: timedelta | None
    may_wait: timedelta | None
    ran: timedelta | None
    restarts_allowed: int
    cost: Decimal | None
    has_cost: bool
    is_stale: bool


def group_of(state: str) -> str:
    """Return the board's heading for a state."""
    if state == JobState.AWAITING_APPROVAL:
        return "To approve"
    if state in WAITING:
        return "Waiting"
    if state in RUNNING:
        return "Running"
    return "Just ended" if state in FINISHED else "In another state"


def row_of(job: Job, now: datetime, silent: Iterable[Scope] = (), held: Holdings | None = None) -> Row:
    """Return the row of one job; needs owner, team and approval loaded with it.

    `silent`: where Vertex AI is mute; `held`: the persistent resources that its wait is explained with.
    """
    strategy = STRATEGIES.get(job.strategy)
    return Row(
        job=job,
        group=group_of(job.state),
        strategy=strategy.label if strategy else job.strategy,
        why=why(job, held),
        waited=wait_of(job, now),
        may_wait=may_wait(job) if not job.started_at else None,
        ran=timeline.running(job, now) if job.started_at else None,
        restarts_allowed=restarts_allowed(job, strategy),
        cost=cost_so_far(job, now),
        has_cost=job.started_at is not None,
        is_stale=is_stale(job, now, silent),
    )


def wait_of(job: Job, now: datetime) -> timedelta | None:
    """Return how long the job waited for its machines, after a restart how long it has waited again."""
    if job.submitted_at is None:
        return None
    if job.started_at and job.state in WAITING:
        return max(now - job.state_since, timedelta())
    return timeline.waited(job, now)


def restarts_allowed(job: Job, strategy: Strategy | None) -> int:
    """Return how many restarts the list shows pips for; 0 where none can or did happen."""
    if strategy is None or not (strategy.preemptible or job.restarts):
        return 0
    return strategy.restart_allowance


def is_stale(job: Job, now: datetime, silent: Iterable[Scope]) -> bool:
    """Tell whether what we know of an unfinished job is old: its place is mute, or a few polls have passed."""
    if job.is_finished or not job.is_remote or job.seen_at is None:
        return False
    if any((job.project, job.region, job.kind) == (each.project, each.region, each.kind) for each in silent):
        return True
    return now - job.seen_at > MISSED_LOOKS * settings.POLL_INTERVAL + GRACE
