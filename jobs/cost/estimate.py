"""Estimate the cost of a job: machines × hours × price, with a range for what cannot be known."""

import math
from dataclasses import dataclass, replace
from datetime import date, timedelta
from decimal import Decimal
from functools import partial
from typing import Any

from jobs.cost.actual import HOUR
from jobs.cost.forecast import Forecast, forecast, forecast_preemptible
from jobs.cost.learned import NOT_LEARNED, Learned, Wait
from jobs.cost.lines import Line, amount_of, as_text
from jobs.cost.notes import basis_of, resource_notes, restart_notes, timeout_notes, tuning_notes
from jobs.cost.prices import PriceBook, is_stale
from jobs.cost.rates import PERSISTENT, rate_of
from jobs.cost.restarts import Outlook
from jobs.cost.trials import rounds
from jobs.spec import Submission
from jobs.strategies import Strategy
from jobs.strategies.rules.scheduling import DEFAULT_TIMEOUT


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
    until_timeout_usd: Decimal | None = None
    """Cost if all runs last until the timeout."""
    timeout_hours: float = 0.0
    """The timeout of each run: the spec's, else Vertex AI's default."""
    has_timeout: bool = True
    """Whether the spec sets the timeout."""
    documented_high_usd: Decimal | None = Decimal(0)
    """The upper end by documented preemption rates alone, which no history lowers; None if it is unlimited."""
    own_usd: Decimal | None = None
    """The cost if the run takes as long as the person expects; inside the range unless 20 jobs like it contradict."""
    wait: Wait | None = None
    """The wait for machines, if jobs of the team show it."""
    basis: tuple[str, ...] = ()
    """Sentences on what the range is based on, and how often earlier ranges held."""
    cap_usd: Decimal | None = None
    """The cap on the cost, where Google or an approver enforces it; None: no cap."""

    @property
    def most_usd(self) -> Decimal | None:
        """The most that may be spent as far as known: the high estimate, or the cost until the timeout if higher.

        The team's history can raise it but never lower it; a cap lowers it. None if no price is known, or if restarts
        are unlimited and there is no cap.
        """
        if self.high_usd is None or self.documented_high_usd is None:
            return None if self.usd_per_hour is None else self.cap_usd
        most = max(self.high_usd, self.documented_high_usd, self.until_timeout_usd or Decimal(0))
        return most if self.cap_usd is None else min(most, self.cap_usd)

    @property
    def google_stops_at_usd(self) -> Decimal | None:
        """The cost at which Google has stopped the job even if nobody watches it; None if no price is known.

        Whether a timeout covers all restarts of a job together is not documented, so each may last until the timeout.
        """
        return None if self.until_timeout_usd is None else self.until_timeout_usd * self.attempts

    @property
    def exposure_usd(self) -> Decimal | None:
        """The most that can be spent if Trainboard dies right now; None if no price is known.

        No cap of Trainboard lowers it, only a timeout that Google enforces. Nor does the team's history.
        """
        return self.google_stops_at_usd

    def has_stale_prices(self, today: date) -> bool:
        """Return whether a price is older than 90 days."""
        return self.prices_as_of is not None and is_stale(self.prices_as_of, today)

    def times(self, jobs: int) -> "Estimate":
        """Return the estimate for `jobs` such jobs together."""
        if jobs == 1:
            return self
        amounts = (
            "usd_per_hour", "expected_usd", "low_usd", "high_usd", "own_usd",
            "until_timeout_usd", "documented_high_usd", "cap_usd",
        )  # fmt: skip
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
) -> Estimate:
    """Return the cost of `submission` under `strategy` if it, or each of its trials, runs for `expected`.

    `checkpoint_every` is the time between checkpoints; None assumes the best one. `learned`: see `Learned`.
    """
    # None if the spec sets no timeout; Vertex AI's default of seven days applies then.
    timeout = submission.job_spec.scheduling.timeout
    timeout = timeout if timeout and timeout > timedelta() else None
    applies = timeout or DEFAULT_TIMEOUT
    hours = max(min(expected, applies), timedelta()) / HOUR
    found = _forecast(submission, strategy, hours, applies / HOUR, checkpoint_every, learned)
    key = PERSISTENT if strategy.runs_on_resource else strategy.price_key
    rate = rate_of(submission, price_key=key, book=book)
    held = rate_of(submission, price_key=strategy.price_key, book=book) if strategy.runs_on_resource else None
    notes = list(rate.notes) + (resource_notes(held) if held is not None else [])
    notes += restart_notes(found, hours, strategy.restart_allowance, submission)
    notes += tuning_notes(submission, hours, found.expected) + timeout_notes(submission, expected, timeout, found.high)
    count = rounds(submission.trials, submission.parallel_trials)
    usd = partial(amount_of, rate.usd_per_hour, submission.trials)
    basis = basis_of(strategy, learned, expected, applies, usd(found.own), usd(found.expected))
    return Estimate(
        strategy=strategy.key, hours=hours, trials=submission.trials, rounds=count,
        attempts=1 + strategy.restart_allowance,
        elapsed_hours=found.expected * count,
        usd_per_hour=amount_of(rate.usd_per_hour, submission.parallel_trials),
        expected_usd=usd(found.expected), low_usd=usd(found.low), high_usd=usd(found.high),
        own_usd=usd(found.own), documented_high_usd=usd(found.documented_high), until_timeout_usd=usd(applies / HOUR),
        timeout_hours=applies / HOUR, has_timeout=timeout is not None,
        lines=rate.lines, notes=tuple(dict.fromkeys(notes)), prices_as_of=rate.prices_as_of,
        restarts=found.middle, wait=learned.wait(), basis=basis,
    )  # fmt: skip


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
