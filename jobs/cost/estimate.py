"""Estimate the cost of a job: machines × hours × price, with a range for what cannot be known."""

import math
from dataclasses import dataclass, replace
from datetime import date, timedelta
from decimal import Decimal
from functools import partial
from typing import Any

from jobs.cost.actual import HOUR, OVERRUN, SCALE_DOWN, longest_billed
from jobs.cost.forecast import Forecast, forecast, forecast_preemptible
from jobs.cost.learned import NOT_LEARNED, Learned, Wait
from jobs.cost.lines import NOTHING, Line, amount_of, as_text, total
from jobs.cost.money import format_usd, round_up
from jobs.cost.notes import basis_of, in_words, longest_runs, resource_notes, restart_notes, timeout_notes, tuning_notes
from jobs.cost.prices import PriceBook, is_stale
from jobs.cost.rates import PERSISTENT, rate_of, rate_of_added
from jobs.cost.restarts import Outlook
from jobs.cost.trials import rounds
from jobs.spec import Submission
from jobs.strategies import Known, Strategy
from jobs.strategies.rules.scheduling import DEFAULT_TIMEOUT
from jobs.texts import Text
from jobs.texts import translatable as _

MAX_WORKER_RESTARTS = 5
"""How often a replica is started again before the whole job is. Source: "Understand the custom training service", read
2026-11-21, also of the next two."""
MAX_JOB_RETRIES = 3
"""How often a job is started again after that, or after an exit code that may be transient: 6, 11, 134 or 139."""
MAX_INTERNAL_RETRIES = 2
"""How often a job is started again after an internal error, unless `disableRetries` is set."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """The expected cost of a job under one strategy. USD is None if a price is not known."""

    strategy: str
    """Key of the strategy."""
    hours: float
    """Expected run time of the job, or of one trial of a tuning job, without the time that restarts add."""
    usd_per_hour: Decimal | None
    """Cost per hour of all machines, and of all trials that run at once."""
    expected_usd: Decimal | None
    low_usd: Decimal | None
    """The 5th percentile of the cost if the job succeeds; `high_usd` is the 95th. 9 of 10 jobs should end in
    between."""
    high_usd: Decimal | None
    lines: tuple[Line, ...]
    """The parts of the hourly cost of one run, for all replicas."""
    notes: tuple[str, ...]
    """Sentences for people."""
    prices_as_of: date | None
    """The date of the main price, as `Rate.prices_as_of`."""
    trials: int = 1
    attempts: int = 1
    """How often Google may run the job, or each trial: the first run and the restarts that it allows."""
    rounds: int = 1
    """Number of runs in sequence: a tuning job runs a few trials at a time."""
    elapsed_hours: float = 0.0
    """Expected time from start to end, with the time that restarts add and without waiting for machines."""
    restarts: Outlook | None = None
    """What preemptions add, if the machines can be preempted."""
    most_usd: Decimal | None = None
    """The most that can be spent if nobody but Google ends the job; None if no price is known.

    Whether a timeout covers all restarts of a job together is not documented, so each run counts until its machines are
    gone after the timeout. No history and no cap of Trainboard changes it. Policy, budgets and ceilings all compare
    this amount."""
    adds_usd_per_hour: Decimal | None = Decimal(0)
    """Price per hour of all machines by which the job may make a persistent resource of others grow. They are on the
    resource's bill, so only `most_usd` and the ceilings count them."""
    timeout_hours: float = 0.0
    """The timeout of each run: the spec's, else Vertex AI's default."""
    beyond: timedelta = OVERRUN
    """How long the machines of a run may stay after its timeout."""
    has_timeout: bool = True
    """Whether the spec sets the timeout."""
    own_usd: Decimal | None = None
    """The cost if the run takes as long as the person expects; inside the range unless 20 jobs like it contradict."""
    wait: Wait | None = None
    """The wait for machines, if jobs of the team show it."""
    basis: tuple[str, ...] = ()
    """Sentences on what the range is based on, and how often earlier ranges held."""

    @property
    def longest(self) -> Text:
        """The runs until which `most_usd` counts, such as "up to 4 runs of up to 24 hours each"."""
        return longest_runs(self.attempts, self.timeout_hours, self.trials)

    @property
    def shorter(self) -> str:
        """What a timeout of twice the expected run time would make of `most_usd`; "" if that is not much less."""
        hours = max(math.ceil(2 * self.hours), 1)
        if self.most_usd is None or not self.most_usd or 2 * hours > self.timeout_hours:
            return ""
        usd = round_up(self.with_timeout(timedelta(hours=hours)) or Decimal(0))
        return _("With a timeout of %(time)s it is at most %(usd)s.", time=in_words(hours), usd=format_usd(usd))

    def with_timeout(self, timeout: timedelta) -> Decimal | None:
        """Return what another timeout would make of `most_usd`."""
        if self.most_usd is None:
            return None
        return self.most_usd * Decimal(repr(self.longest_billed(timeout) / self.longest_billed()))

    def longest_billed(self, timeout: timedelta | None = None) -> timedelta:
        """Return the longest time for which one run is billed, with its own timeout or another one."""
        timeout = timedelta(hours=self.timeout_hours) if timeout is None else timeout
        return longest_billed(timeout, beyond=self.beyond)

    def has_stale_prices(self, today: date) -> bool:
        """Return whether a price is older than 90 days."""
        return self.prices_as_of is not None and is_stale(self.prices_as_of, today)

    def times(self, jobs: int) -> "Estimate":
        """Return the estimate for `jobs` such jobs together."""
        if jobs == 1:
            return self
        amounts = ("usd_per_hour", "expected_usd", "low_usd", "high_usd", "own_usd", "most_usd", "adds_usd_per_hour")
        values = {name: getattr(self, name) for name in amounts}
        return replace(self, **{name: usd * jobs for name, usd in values.items() if usd is not None})

    def as_dict(self) -> dict[str, Any]:
        """Return the estimate as JSON: amounts as text, dates as YYYY-MM-DD."""
        return {
            "strategy": self.strategy,
            "hours": self.hours,
            "trials": self.trials,
            "rounds": self.rounds,
            "elapsed_hours": self.elapsed_hours if math.isfinite(self.elapsed_hours) else None,
            "usd_per_hour": as_text(self.usd_per_hour),
            "expected_usd": as_text(self.expected_usd),
            "low_usd": as_text(self.low_usd),
            "high_usd": as_text(self.high_usd),
            "own_usd": as_text(self.own_usd),
            "most_usd": as_text(self.most_usd),
            "adds_usd_per_hour": as_text(self.adds_usd_per_hour),
            "attempts": self.attempts,
            "timeout_hours": self.timeout_hours,
            "lines": [line.as_dict() for line in self.lines],
            "notes": list(self.notes),
            "prices_as_of": self.prices_as_of.isoformat() if self.prices_as_of else None,
            "restarts": self.restarts.as_dict() if self.restarts else None,
            "wait_seconds": [self.wait.low, self.wait.usual, self.wait.high] if self.wait else None,
            "basis": list(self.basis),
        }


def estimate(
    submission: Submission,
    *,
    strategy: Strategy,
    expected: timedelta,
    book: PriceBook,
    checkpoint_every: timedelta | None = None,
    learned: Learned = NOT_LEARNED,
    resources: Known | None = None,
) -> Estimate:
    """Return the cost of `submission` under `strategy` if it, or each of its trials, runs for `expected`.

    `checkpoint_every` is the time between checkpoints; None assumes the best one. `learned`: see `Learned`.
    `resources` are the persistent resources of the project and region; None if it does not matter what they add.
    """
    # None if the spec sets no timeout; Vertex AI's default of seven days applies then.
    timeout = submission.job_spec.scheduling.timeout
    timeout = timeout if timeout and timeout > timedelta() else None
    applies = timeout or DEFAULT_TIMEOUT
    hours = max(min(expected, applies), timedelta()) / HOUR
    found = _forecast(submission, strategy, hours, applies / HOUR, checkpoint_every, learned)
    key = PERSISTENT if strategy.runs_on_resource else strategy.price_key
    rate = rate_of(submission, price_key=key, book=book)
    notes, adds = list(rate.notes), NOTHING
    if strategy.runs_on_resource:
        adds = NOTHING if resources is None else rate_of_added(submission, resources, book=book)
        held = rate_of(submission, price_key=strategy.price_key, book=book)
        notes += resource_notes(held, adds, submission.job_spec.persistent_resource_id)
    notes += restart_notes(found, hours, strategy.restart_allowance, submission, learned)
    notes += tuning_notes(submission, hours, found.expected) + timeout_notes(submission, expected, timeout, found.high)
    count, attempts = rounds(submission.trials, submission.parallel_trials), _runs(submission, strategy)
    usd = partial(amount_of, rate.usd_per_hour, submission.trials)
    beyond = OVERRUN + SCALE_DOWN if adds.usd_per_hour != 0 else OVERRUN  # the run itself costs nothing then
    longest = attempts * longest_billed(applies, beyond=beyond) / HOUR
    most = total((usd(longest), amount_of(adds.usd_per_hour, count, longest)))
    basis = basis_of(strategy, learned, expected, applies, usd(found.own), usd(found.expected))
    return Estimate(
        strategy=strategy.key, hours=hours, trials=submission.trials, rounds=count,
        attempts=attempts, elapsed_hours=found.expected * count,
        usd_per_hour=amount_of(rate.usd_per_hour, submission.parallel_trials),
        expected_usd=usd(found.expected), low_usd=usd(found.low), high_usd=usd(found.high),
        own_usd=usd(found.own), most_usd=most, adds_usd_per_hour=adds.usd_per_hour,
        timeout_hours=applies / HOUR, beyond=beyond, has_timeout=timeout is not None,
        lines=rate.lines, notes=tuple(dict.fromkeys(notes)), prices_as_of=rate.prices_as_of,
        restarts=found.middle, wait=learned.wait(), basis=basis,
    )  # fmt: skip


def _runs(submission: Submission, strategy: Strategy) -> int:
    """Return how often Google may run a job or trial, each time until its timeout.

    With `restartJobOnWorkerRestart`, each restart of a replica is one of the job. Replicas are counted anew after a
    restart by another cause: for want of capacity, of the job itself, or after an internal error, each counted apart.
    """
    scheduling, runs = submission.job_spec.scheduling, 1 + strategy.restart_allowance
    if not scheduling.restart_job_on_worker_restart or scheduling.disable_retries:
        return runs
    runs += MAX_JOB_RETRIES + MAX_INTERNAL_RETRIES
    return runs * (1 + MAX_WORKER_RESTARTS * sum(max(0, pool.replicas) for _, pool in submission.pools))


def _forecast(
    submission: Submission,
    strategy: Strategy,
    hours: float,
    timeout: float,
    every: timedelta | None,
    learned: Learned,
) -> Forecast:
    """Return the billed hours of a run of at most `timeout` hours; `every` is the time between checkpoints."""
    if not strategy.preemptible:
        return forecast(hours, timeout=timeout, learned=learned)
    return forecast_preemptible(
        hours,
        timeout=timeout,
        replicas=sum(max(0, pool.replicas) for _, pool in submission.pools),
        trials=max(1, submission.trials),
        allowed=strategy.restart_allowance,
        interval=every / HOUR if every and every > timedelta() else None,
        learned=learned,
    )
