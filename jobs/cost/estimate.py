"""What a job will cost: machines × hours × price, as a range where nobody can know better."""

import math
from dataclasses import dataclass, replace
from datetime import date, timedelta
from decimal import Decimal
from functools import lru_cache, partial
from typing import Any

from jobs.cost.actual import HOUR
from jobs.cost.age import is_stale
from jobs.cost.basis import basis_of
from jobs.cost.forecast import Forecast, forecast, forecast_preemptible
from jobs.cost.learned import NOT_LEARNED, Learned, Wait
from jobs.cost.lines import NOTHING, Line, Rate, Shape, as_text
from jobs.cost.money import format_usd
from jobs.cost.notes import restart_notes, timeout_notes, tuning_notes
from jobs.cost.prices import PriceBook
from jobs.cost.rates import PERSISTENT, hourly
from jobs.cost.restarts import Outlook
from jobs.cost.trials import rounds
from jobs.spec import DiskSpec, MachineSpec, Submission
from jobs.strategies import Strategy
from jobs.strategies.rules.scheduling import DEFAULT_TIMEOUT


@dataclass(frozen=True, slots=True)
class Estimate:
    """The expected cost of a job under one strategy. USD is None where a price is not known."""

    strategy: str
    """Key of the strategy."""
    hours: float
    """Expected running time of the job, or of one trial when it tunes, without anything that restarts add."""
    usd_per_hour: Decimal | None
    """While it runs: all its machines, and all trials that run at once."""
    expected_usd: Decimal | None
    low_usd: Decimal | None
    """The 5th percentile of what it costs when it succeeds, `high_usd` the 95th: 9 of 10 jobs should end between."""
    high_usd: Decimal | None
    lines: tuple[Line, ...]
    """Of one run: what `hourly` is made of, for all replicas."""
    notes: tuple[str, ...]
    """Sentences for people."""
    prices_as_of: date | None
    """The oldest date among the prices; None when none of them has a date."""
    trials: int = 1
    rounds: int = 1
    """How many runs follow one another: a tuning job's trials, a few at a time."""
    elapsed_hours: float = 0.0
    """Expected time from the start to the end, with what restarts add, when nothing waits for machines."""
    restarts: Outlook | None = None
    """What preemptions add, where the machines can be preempted."""
    until_timeout_usd: Decimal | None = None
    """What all runs cost that last until the timeout."""
    timeout_hours: float = 0.0
    """The timeout that applies to each run: the spec's, else Vertex AI's default."""
    has_timeout: bool = True
    """Whether the spec gives it."""
    documented_high_usd: Decimal | None = Decimal(0)
    """The upper end by documented rates of preemption alone, which no history lowers; None where it has no end."""
    wait: Wait | None = None
    """How long it waits for machines, where jobs of the team tell."""
    basis: tuple[str, ...] = ()
    """Sentences on what the range rests on, and how often earlier ones held."""
    cap_usd: Decimal | None = None
    """The job is cancelled when it has cost this much; None: it is not."""

    @property
    def most_usd(self) -> Decimal | None:
        """The most that may be spent as far as is known: the high estimate, or runs until the timeout if that is more.

        What the team's jobs have shown raises it and never lowers it; a cap makes it less. None where no price is
        known, or where restarts have no end and no cap ends them.
        """
        if self.high_usd is None or self.documented_high_usd is None:
            return None if self.usd_per_hour is None else self.cap_usd
        most = max(self.high_usd, self.documented_high_usd, self.until_timeout_usd or Decimal(0))
        return most if self.cap_usd is None else min(most, self.cap_usd)

    def has_stale_prices(self, today: date) -> bool:
        """Tell whether one of the prices is older than 90 days."""
        return self.prices_as_of is not None and is_stale(self.prices_as_of, today)

    def times(self, jobs: int) -> "Estimate":
        """Return what so many of this job cost together."""
        if jobs == 1:
            return self
        amounts = (
            "usd_per_hour", "expected_usd", "low_usd", "high_usd",
            "until_timeout_usd", "documented_high_usd", "cap_usd",
        )  # fmt: skip
        values = {name: getattr(self, name) for name in amounts}
        return replace(self, **{name: usd * jobs for name, usd in values.items() if usd is not None})

    def as_dict(self) -> dict[str, Any]:
        """Return JSON: amounts as text, dates as YYYY-MM-DD."""
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
    """Return what `submission` costs under `strategy` when it, or each of its trials, runs for `expected`.

    `checkpoint_every` is the time between checkpoints; None assumes the best one. `learned`: see `Learned`.
    """
    key = PERSISTENT if strategy.key == PERSISTENT else strategy.price_key
    rate = rate_of(submission, price_key=key, book=book)
    timeout = _timeout(submission)
    hours = max(min(expected, timeout or DEFAULT_TIMEOUT), timedelta()) / HOUR
    notes = list(rate.notes)
    if key == PERSISTENT:
        notes.append(_pool_note(rate_of(submission, price_key=strategy.price_key, book=book)))
    found = _forecast(submission, strategy, hours, checkpoint_every, learned)
    if found.outlooks:
        notes += restart_notes(found, hours, strategy.restart_allowance, submission)
    notes += tuning_notes(submission, hours, found.expected) + timeout_notes(submission, expected, timeout, found.high)
    amount = partial(_amount, rate.usd_per_hour, submission.trials)
    return Estimate(
        strategy=strategy.key,
        hours=hours,
        usd_per_hour=_amount(rate.usd_per_hour, submission.parallel_trials),
        expected_usd=amount(found.expected),
        low_usd=amount(found.low),
        high_usd=amount(found.high),
        documented_high_usd=amount(found.documented_high),
        lines=rate.lines,
        notes=tuple(dict.fromkeys(notes)),
        prices_as_of=rate.prices_as_of,
        restarts=found.middle,
        **_runs(submission, rate.usd_per_hour, found.expected, timeout),
        **_history(strategy, learned),
    )


def _runs(
    submission: Submission, price: Decimal | None, billed_hours: float, timeout: timedelta | None
) -> dict[str, Any]:
    """The fields of an estimate about its runs, each of which is billed for so many hours and ends at the timeout."""
    hours = (timeout or DEFAULT_TIMEOUT) / HOUR
    count = rounds(submission.trials, submission.parallel_trials)
    return {
        "trials": submission.trials,
        "rounds": count,
        "elapsed_hours": billed_hours * count,
        "until_timeout_usd": _amount(price, submission.trials, hours),
        "timeout_hours": hours,
        "has_timeout": timeout is not None,
    }


def _history(strategy: Strategy, learned: Learned) -> dict[str, Any]:
    """The fields of an estimate that the team's jobs tell."""
    basis = basis_of(strategy.label, learned, is_preemptible=strategy.preemptible)
    return {"wait": learned.wait(), "basis": basis}


def rate_of(submission: Submission, *, price_key: str, book: PriceBook) -> Rate:
    """Return what one run of the job costs an hour, over all replicas of all pools."""
    pools = tuple((shape_of(pool.machine_spec, pool.disk_spec), max(0, pool.replicas)) for _, pool in submission.pools)
    return _rate(book, pools or ((Shape(""), 1),), submission.region, price_key)


@lru_cache(maxsize=1024)  # most of what one types into a form changes neither machines nor replicas
def _rate(book: PriceBook, pools: tuple[tuple[Shape, int], ...], region: str, price_key: str) -> Rate:
    rate = NOTHING
    for shape, replicas in pools:
        rate += hourly(book, shape, region=region, price_key=price_key).times(replicas)
    return rate


def shape_of(machine: MachineSpec, disk: DiskSpec) -> Shape:
    """Return what a machine and its disk are for the price book; worker pools and resource pools alike."""
    return Shape(
        machine_type=machine.machine_type,
        accelerator_type=machine.accelerator,
        accelerator_count=machine.accelerator_count,
        tpu_topology=machine.tpu_topology,
        disk_type=disk.boot_disk_type,
        disk_gib=max(0, disk.size_gb),
    )


def _amount(usd_per_hour: Decimal | None, runs: int, hours: float = 1.0) -> Decimal | None:
    """Price × runs × hours; None when the price is not known or the hours have no end."""
    if usd_per_hour is None or not math.isfinite(hours):
        return None
    return usd_per_hour * runs * Decimal(repr(hours))


def _timeout(submission: Submission) -> timedelta | None:
    """The timeout that the spec names; None for none, when Vertex AI's default of seven days applies."""
    timeout = submission.job_spec.scheduling.timeout
    return timeout if timeout and timeout > timedelta() else None


def _forecast(
    submission: Submission, strategy: Strategy, hours: float, every: timedelta | None, learned: Learned
) -> Forecast:
    """How long a run will be billed; `every` is the time between checkpoints."""
    timeout = (_timeout(submission) or DEFAULT_TIMEOUT) / HOUR
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


def _pool_note(pool: Rate) -> str:
    """Say what the machines cost on the bill of the persistent resource, which is priced like standard."""
    share = f"about {format_usd(pool.usd_per_hour)}" if pool.usd_per_hour is not None else "an unknown share"
    return (
        "The run itself costs nothing: the persistent resource is billed all the time it is up, busy or not. "
        f"The machines that this run holds account for {share} an hour of that, taken at the standard price."
    )
