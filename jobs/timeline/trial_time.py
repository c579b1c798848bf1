"""When the machines of trials ran, and what that cost. Waiting trials cost nothing.

Every trial runs as a separate custom job (vertex-facts 2.4), whose states show when it had machines. The trial's own
`startTime` may be the time at which it was suggested, so it is used only as long as no answer about the custom job
shows a run.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from itertools import pairwise

from jobs.cost.actual import BILLING_INCREMENT, accrued
from jobs.cost.actual import billable as rounded_up
from jobs.cost.money import from_micros
from jobs.models import Job, Trial
from jobs.states import FINISHED, JobState
from jobs.timeline.spans import Span, billable, running
from jobs.timeline.study_spec import parallel_trials

SUCCEEDED, INFEASIBLE = "SUCCEEDED", "INFEASIBLE"
ENDED = frozenset({SUCCEEDED, INFEASIBLE})
"""Trial.State has no failed state: a trial that fails is INFEASIBLE (vertex-facts 2.4)."""
HOLDS_MACHINES = frozenset({"ACTIVE", "STOPPING"})
"""Values of Trial.State for a suggested trial. Only its custom job shows whether its machines already run."""

WAITS: dict[str, str] = {"": "waiting", JobState.QUEUED: "QUEUED", JobState.PENDING: "PENDING"}
"""Names of the custom job's states on pages. "" is a wait that was not observed."""


@dataclass(frozen=True, slots=True)
class TrialTime:
    """The machine time of all trials of a job until a time, and how many trials' machines ran then."""

    total: timedelta
    running: int


def machine_states(trial: Trial) -> list[Span]:
    """Return the states of a trial's custom job as spans, without its final one. Only the last may be open.

    The state is "" if a wait was not observed. Until the custom job has been polled, the trial counts as RUNNING from
    its own start to its own end.
    """
    changes = [(state, datetime.fromisoformat(at)) for state, at in trial.job_states or ()]
    if not changes:
        if trial.started_at is None or trial.state not in HOLDS_MACHINES | ENDED:
            return []
        last = None if trial.state not in ENDED else max(trial.ended_at or trial.started_at, trial.started_at)
        return [Span(JobState.RUNNING, trial.started_at, last)]
    spans = [Span(state, at, then) for (state, at), (_, then) in pairwise(changes) if state or then > at]
    state, at = changes[-1]
    if state in FINISHED:
        return spans if billable(spans) or trial.state != SUCCEEDED else _own_times(trial, changes[0][1], at)
    if trial.state not in ENDED:
        return [*spans, Span(state, at, None)]
    end = max(trial.ended_at or at, at)
    if trial.state == SUCCEEDED and not billable([*spans, Span(state, at, end)]):
        return [*spans, *_own_times(trial, at, end, wait=state)]
    return [*spans, Span(state, at, end)]


def _own_times(trial: Trial, since: datetime, ended: datetime, *, wait: str = "") -> list[Span]:
    """Return the last states of a trial that succeeded, so it ran, although no answer about its custom job shows when.

    `wait` is the state that the custom job has had since `since`.
    """
    start = min(max(trial.started_at or since, since), ended)
    waited = [Span(wait, since, start)] if start > since else []
    return [*waited, Span(JobState.RUNNING, start, max(min(trial.ended_at or ended, ended), start))]


def machine_spans(trial: Trial) -> list[Span]:
    """Return the spans in which a trial's machines ran and were billed."""
    return billable(machine_states(trial))


def is_running(trial: Trial) -> bool:
    """Return whether a trial's machines are running now."""
    return any(span.end is None for span in machine_spans(trial))


def is_waiting(trial: Trial) -> bool:
    """Return whether a trial has begun but has no machines: before it first runs, or after a restart."""
    return trial.state not in ENDED and not is_running(trial)


def state_now(trial: Trial) -> str:
    """Return the state of a trial, or that of its custom job, such as QUEUED, while it waits for machines."""
    spans = machine_states(trial)
    if trial.state not in HOLDS_MACHINES or not spans or is_running(trial):
        return trial.state
    return WAITS.get(spans[-1].state, spans[-1].state.upper())


def ran(trial: Trial, now: datetime) -> timedelta:
    """Return how long a trial's machines have run by `now`."""
    return sum((span.length(now) for span in machine_spans(trial)), timedelta())


def waited(trial: Trial, now: datetime) -> timedelta:
    """Return how long a trial has been without machines by `now` since it began."""
    idle = [span for span in machine_states(trial) if span not in machine_spans(trial)]
    return sum((span.length(now) for span in idle), timedelta())


def trial_time(trials: Iterable[Trial], now: datetime) -> TrialTime:
    """Return the machine time of these trials until `now`. The time of an ended trial is rounded up as in billing."""
    total, count = timedelta(), 0
    for trial in trials:
        is_open = is_running(trial)
        length = ran(trial, now)
        total += length if is_open else rounded_up(length)
        count += is_open
    return TrialTime(total, count)


def total_run_time(trials: Iterable[Trial], now: datetime) -> timedelta:
    """Return how long the machines of these trials have run by `now`, not rounded as in billing."""
    return sum((ran(trial, now) for trial in trials), timedelta())


def all_trials_ran(job: Job, now: datetime) -> timedelta:
    """Return the machine time of all trials until `now`, with that of ended trials rounded up as in billing.

    It is read from the columns of a job whose trials are counted.
    """
    total = timedelta(seconds=job.trial_seconds or 0)
    if job.trials_counted_at is not None and not job.is_finished:
        total += job.trials_running * max(now - job.trials_counted_at, timedelta())
    return total


def trial_price(job: Job) -> Decimal | None:
    """Return what one trial costs per hour in USD. `hourly_usd` is the price of all trials that may run at once."""
    return None if job.hourly_usd is None else job.hourly_usd / (job.parallel_trials or parallel_trials(job))


def cost_so_far(job: Job, now: datetime) -> Decimal | None:
    """Return what a job has cost until `now` in USD, or None if its price is unknown.

    Of a job that has ended it is the sum in the ledger, once that reaches to the end of the job.
    """
    ended, until = job.ended_at, job.cost_until
    if ended is not None and until is not None and until >= ended and job.cost_micros is not None:
        return from_micros(job.cost_micros)
    return compute_cost(job, now)


def compute_cost(job: Job, now: datetime, *, increment: timedelta = BILLING_INCREMENT) -> Decimal | None:
    """Return the cost of a job until `now` in USD by its run time and price, or None if its price is unknown.

    The cost of a tuning job is the machine time of its trials; that of any other job is its own run time.
    """
    if job.trial_seconds is None:
        return accrued(job.hourly_usd, running(job, now), increment=increment)
    return accrued(trial_price(job), all_trials_ran(job, now), increment=increment)


def cost_since(job: Job, trials: Sequence[Trial], since: datetime, now: datetime) -> Decimal | None:
    """Return what the trials of a job have cost from `since` to `now` in USD, or None if its price is unknown."""
    spans = [span for trial in trials for span in machine_spans(trial)]
    until = job.ended_at or now
    overlaps = (max((span.end or until) - max(span.start, since), timedelta()) for span in spans)
    return accrued(trial_price(job), sum(overlaps, timedelta()))
