"""What a job will cost: machines × hours × price, as a range where nobody can know better."""

import math
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from functools import lru_cache
from typing import Any

from jobs.cost.actual import HOUR
from jobs.cost.lines import NOTHING, Line, Rate, Shape, as_text
from jobs.cost.prices import PriceBook
from jobs.cost.rates import PERSISTENT, hourly
from jobs.cost.restarts import CHECKPOINT_HOURS, LIKELY, LIKELY_HIGH, LIKELY_LOW, Outlook, outlook
from jobs.spec import DiskSpec, MachineSpec, Submission
from jobs.strategies import Strategy
from jobs.strategies.rules.scheduling import DEFAULT_TIMEOUT

HARDLY_ANY = 0.05
"""Preemptions; fewer would be told as 0.0."""
SMALLEST_CHANCE = 0.0001
"""A smaller one would be told as 0.00%."""

_Outlooks = tuple[Outlook, Outlook, Outlook]


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
    high_usd: Decimal | None
    lines: tuple[Line, ...]
    """Of one run: what `hourly` is made of, for all replicas."""
    notes: tuple[str, ...]
    """Sentences for people."""
    prices_as_of: date | None
    """The oldest date among the prices; None when none of them has a date."""
    trials: int = 1
    restarts: Outlook | None = None
    """What preemptions add, where the machines can be preempted."""
    until_timeout_usd: Decimal | None = None
    """What all runs cost that last until the timeout."""
    timeout_hours: float = 0.0
    """The timeout that applies to each run: the spec's, else Vertex AI's default."""
    has_timeout: bool = True
    """Whether the spec gives it."""

    @property
    def most_usd(self) -> Decimal | None:
        """The most that may be spent as far as is known: the high estimate, or runs until the timeout if that is more.

        None where no price is known, or where restarts have no end.
        """
        if self.high_usd is None:
            return None
        return max(self.high_usd, self.until_timeout_usd or Decimal(0))

    def as_dict(self) -> dict[str, Any]:
        """Return JSON: amounts as text, dates as YYYY-MM-DD."""
        return {
            "strategy": self.strategy,
            "hours": self.hours,
            "trials": self.trials,
            "usd_per_hour": as_text(self.usd_per_hour),
            "expected_usd": as_text(self.expected_usd),
            "low_usd": as_text(self.low_usd),
            "high_usd": as_text(self.high_usd),
            "most_usd": as_text(self.most_usd),
            "lines": [line.as_dict() for line in self.lines],
            "notes": list(self.notes),
            "prices_as_of": self.prices_as_of.isoformat() if self.prices_as_of else None,
            "restarts": self.restarts.as_dict() if self.restarts else None,
        }


def estimate(
    submission: Submission,
    *,
    strategy: Strategy,
    expected: timedelta,
    book: PriceBook,
    checkpoint_every: timedelta | None = None,
) -> Estimate:
    """Return what `submission` costs under `strategy` when it, or each of its trials, runs for `expected`.

    `checkpoint_every` is the time between the training's checkpoints; None assumes the best one for Spot. The range
    of Spot comes from the assumed preemption rates, elsewhere it ends at the timeout where the spec gives one.
    """
    key = PERSISTENT if strategy.key == PERSISTENT else strategy.price_key
    rate = rate_of(submission, price_key=key, book=book)
    timeout = _timeout(submission)
    work = max(min(expected, timeout or DEFAULT_TIMEOUT), timedelta())
    notes = [*rate.notes, *_tuning_notes(submission, work)]
    if key == PERSISTENT:
        notes.append(_pool_note(rate_of(submission, price_key=strategy.price_key, book=book)))
    low = middle = high = hours = work / HOUR
    outlooks = _outlooks(submission, strategy, hours, checkpoint_every)
    if outlooks:
        low, middle, high = (each.billed_hours for each in outlooks)
        notes += _restart_notes(outlooks, hours, strategy.restart_allowance)
    notes += _timeout_notes(expected, timeout, high)
    runs, price = submission.trials, rate.usd_per_hour
    return Estimate(
        strategy=strategy.key,
        hours=hours,
        usd_per_hour=_amount(price, submission.parallel_trials),
        expected_usd=_amount(price, runs, middle),
        low_usd=_amount(price, runs, low),
        high_usd=_amount(price, runs, max(high, timeout / HOUR) if timeout else high),
        lines=rate.lines,
        notes=tuple(dict.fromkeys(notes)),
        prices_as_of=rate.prices_as_of,
        restarts=outlooks[1] if outlooks else None,
        **_runs(price, runs, timeout),
    )


def _runs(price: Decimal | None, runs: int, timeout: timedelta | None) -> dict[str, Any]:
    """The fields of an estimate about its runs, each of which ends at the timeout."""
    hours = (timeout or DEFAULT_TIMEOUT) / HOUR
    usd = _amount(price, runs, hours)
    return {"trials": runs, "until_timeout_usd": usd, "timeout_hours": hours, "has_timeout": timeout is not None}


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


def _outlooks(submission: Submission, strategy: Strategy, hours: float, every: timedelta | None) -> _Outlooks | None:
    """What preemptions add when there are few, some and many; None for machines that cannot be preempted."""
    if not strategy.preemptible:
        return None
    replicas = sum(max(0, pool.replicas) for _, pool in submission.pools)
    interval = every / HOUR if every and every > timedelta() else None
    low, middle, high = (
        outlook(hours, replicas=replicas, assumption=each, interval=interval, allowed=strategy.restart_allowance)
        for each in (LIKELY_LOW, LIKELY, LIKELY_HIGH)
    )
    return low, middle, high


def _pool_note(pool: Rate) -> str:
    """Say what the machines cost on the bill of the persistent resource, which is priced like standard."""
    share = f"about {pool.usd_per_hour:,.2f} USD" if pool.usd_per_hour is not None else "an unknown share"
    return (
        "The run itself costs nothing: the persistent resource is billed all the time it is up, busy or not. "
        f"The machines that this run holds account for {share} an hour of that, taken at the standard price."
    )


def _tuning_notes(submission: Submission, work: timedelta) -> list[str]:
    if submission.tuning is None:
        return []
    trials, parallel = submission.trials, submission.parallel_trials
    return [f"{trials} trials of {in_words(work / HOUR)} each, {parallel} at a time; every trial is billed."]


def _timeout_notes(expected: timedelta, timeout: timedelta | None, high: float) -> list[str]:
    """Say what the timeout does to the range, whose upper end would else be `high` hours."""
    applies = timeout or DEFAULT_TIMEOUT
    if expected > applies:
        whose = "timeout" if timeout else "default timeout"
        return [f"The {whose} ends the job after {in_words(applies / HOUR)}, before the expected end."]
    if timeout and timeout / HOUR > high:
        return [f"The upper end is a run until the timeout, after {in_words(timeout / HOUR)}."]
    return []


def _restart_notes(outlooks: _Outlooks, hours: float, allowed: int) -> list[str]:
    """Say what was assumed about preemptions, and how likely the job dies of them."""
    least, middle, most = outlooks
    shares = f"{LIKELY_LOW.daily_share:.0%} to {LIKELY_HIGH.daily_share:.0%}"
    assumed = (
        f"Assumed: {shares} of the machines are preempted within a day, each restart loses "
        f"{LIKELY_LOW.restart * 60:.0f} to {LIKELY_HIGH.restart * 60:.0f} minutes, and the training saves a checkpoint "
        f"every {in_words(min(middle.interval_hours, hours))}, which takes {CHECKPOINT_HOURS * 60:.0f} minute."
    )
    if not math.isfinite(middle.billed_hours):
        return [assumed, "With that many machines it would hardly ever finish."]
    times = f"{middle.preemptions:.1f} preemptions" if middle.preemptions >= HARDLY_ANY else "hardly a preemption"
    gone = _chance(1 - least.survival, 1 - most.survival)
    return [
        assumed,
        f"{in_words(hours)} of work take about {in_words(middle.billed_hours)} of billed time with {times}.",
        f"The chance of more than {allowed} preemptions, after which Vertex AI gives the job up, is {gone}.",
    ]


def _chance(least: float, most: float) -> str:
    if most < SMALLEST_CHANCE:
        return f"below {SMALLEST_CHANCE:.2%}"
    return " to ".join(dict.fromkeys((f"{least:.2%}", f"{most:.2%}")))


def in_words(hours: float) -> str:
    """Write a length of time for people: seconds below two minutes, minutes below two hours, else hours."""
    if hours < 2 / 60:
        return f"{hours * 3600:.0f} seconds"
    return f"{hours * 60:.0f} minutes" if hours < 2 else f"{hours:.1f} hours".replace(".0 ", " ")
