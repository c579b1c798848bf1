"""Forecast the billed hours of a run: the expected value, and the range in which 9 of 10 runs end. Pure.

A run is billed for its useful time and for the time lost by preemptions:

1. The useful time is the expected run time times a factor whose logarithm follows Student's t (`Learned.run_factor`).
2. Preemptions are a Poisson process whose rate per machine follows a Gamma distribution. The time that each of them
   costs can be preempted as well, so for one rate their number follows the generalized Poisson distribution of Consul
   and Jain (Technometrics 15(4), 1973, doi 10.1080/00401706.1973.10489112): a = rate × uncut time, b = rate × loss.
3. The range lies between the 5th and the 95th percentile of the mixture over both, taken at FACTORS × RATES points of
   equal probability.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TypedDict

from jobs.cost.distributions import HIGH, LOW, Gamma, Spread, normal_quantile
from jobs.cost.learned import NOT_LEARNED, Learned
from jobs.cost.restarts import CHECKPOINT_HOURS, LIKELY, LIKELY_HIGH, LIKELY_LOW, Assumption, Outlook, Run, outlook

FACTORS, RATES = 30, 5
"""Number of points of equal probability for the run time and the preemption rate. The 5th and 95th percentile are among
those of the run time."""
MAX_PREEMPTIONS = 300
"""A run with more preemptions is treated as endless; Vertex AI gives up after six."""
MANY = 20.0
"""From this many preemptions on, their number is treated as normally distributed."""
SMALL = 1e-3
"""A probability too small to affect a percentile of the range."""


@dataclass(frozen=True, slots=True)
class Forecast:
    """Billed hours of one run, or the mean of the trials; infinite if it would hardly ever end."""

    low: float
    expected: float
    high: float
    own: float
    """Billed hours if the run takes as long as the person expects; within the range unless `Learned.contradicts`."""
    outlooks: tuple[Outlook, Outlook, Outlook] | None = None
    """What few, some and many preemptions add; None for machines that cannot be preempted."""
    assumptions: tuple[Assumption, Assumption, Assumption] = (LIKELY_LOW, LIKELY, LIKELY_HIGH)

    @property
    def middle(self) -> Outlook | None:
        """What the expected preemptions add."""
        return self.outlooks[1] if self.outlooks else None


def forecast(hours: float, *, timeout: float, learned: Learned = NOT_LEARNED) -> Forecast:
    """Return the billed hours of a run of `hours` that cannot be preempted and ends at the timeout at the latest."""
    factor = learned.run_factor()
    low, expected, high = (
        _run_time(hours, logarithm, timeout)
        for logarithm in (factor.quantile(LOW), factor.centre, factor.quantile(HIGH))
    )
    return _around(Forecast(low, expected, high, min(hours, timeout)), learned)


@lru_cache(maxsize=1024)
def forecast_preemptible(
    hours: float,
    *,
    timeout: float,
    replicas: int,
    trials: int,
    allowed: int,
    interval: float | None,
    learned: Learned = NOT_LEARNED,
) -> Forecast:
    """Return the billed hours of a run of `hours` on `replicas` preemptible machines; for `trials`, the mean.

    `interval` is the hours between checkpoints, None for Daly's optimum; `allowed` is the number of restarts by Vertex
    AI.
    """
    factor = learned.run_factor()
    work = _run_time(hours, factor.centre, timeout)
    rate = learned.rate()
    assumptions = _assumptions(learned, rate)
    asked: _Asked = {"replicas": replicas, "interval": interval, "allowed": allowed}
    few, some, many, own = (
        outlook(time, assumption=assumption, **asked)
        for time, assumption in (*((work, each) for each in assumptions), (min(hours, timeout), assumptions[1]))
    )
    uncut, loss = _uncut(work, some), _loss(work, some)
    if learned.machines.preemptions:
        loss = learned.loss(loss)
        few, some, many = (
            _with_loss(each, _uncut(work, each), loss, at.rate * replicas)
            for each, at in zip((few, some, many), assumptions, strict=True)
        )
        own = _with_loss(own, _uncut(min(hours, timeout), own), loss, assumptions[1].rate * replicas)
    low, high = _range(
        [(_run_time(hours, point, timeout) / work if work else 0.0) * uncut for point in _points(factor, FACTORS)],
        [point * replicas for point in _points(rate, RATES)],
        loss,
        trials,
    )
    middle = some.billed_hours
    found = Forecast(min(low, middle), middle, max(high, middle), own.billed_hours, (few, some, many), assumptions)
    return _around(found, learned)


def _around(found: Forecast, learned: Learned) -> Forecast:
    """Return a range that has the person's own figure inside, unless enough jobs like it contradict."""
    if learned.contradicts:
        return found
    return replace(found, low=min(found.low, found.own), high=max(found.high, found.own))


class _Asked(TypedDict):
    replicas: int
    interval: float | None
    allowed: int


def _run_time(hours: float, logarithm: float, timeout: float) -> float:
    return min(hours * math.exp(logarithm), timeout)


def _assumptions(learned: Learned, rate: Gamma) -> tuple[Assumption, Assumption, Assumption]:
    """Return assumptions of few, some and many preemptions: documented, by Google's rates, or from the team's jobs."""
    assumed = learned.assumptions()
    if not learned.machines.machine_seconds:
        return assumed
    shown = (rate.quantile(LOW), rate.mean, rate.quantile(HIGH))
    few, some, many = (replace(each, rate=at) for each, at in zip(assumed, shown, strict=True))
    return few, some, many


def _uncut(work: float, seen: Outlook) -> float:
    """Return the hours of a run with its checkpoints and without preemptions."""
    return Run(work, seen.interval_hours, CHECKPOINT_HOURS, 0.0, 0.0).uncut_hours


def _loss(work: float, seen: Outlook) -> float:
    """Return the mean hours that a preemption costs by Daly's model: lost work and the restart."""
    if not seen.preemptions or not math.isfinite(seen.billed_hours):
        return 0.0 if math.isfinite(seen.billed_hours) else math.inf
    return (seen.billed_hours - _uncut(work, seen)) / seen.preemptions


def _with_loss(seen: Outlook, uncut: float, loss: float, rate: float) -> Outlook:
    """Return the outlook with the observed loss per preemption: T = uncut + rate × T × loss."""
    if rate * loss >= 1:
        return replace(seen, billed_hours=math.inf, preemptions=math.inf)
    billed = uncut / (1 - rate * loss)
    return replace(seen, billed_hours=billed, preemptions=rate * billed)


def _points(known: Gamma | Spread, count: int) -> list[float]:
    """Return `count` values of equal probability."""
    return [known.quantile((place + 0.5) / count) for place in range(count)]


def _range(uncut: list[float], rates: list[float], loss: float, trials: int) -> tuple[float, float]:
    """Return the 5th and the 95th percentile of the billed hours of a run, or of the mean of `trials`."""
    if not math.isfinite(loss):
        return min(uncut), math.inf
    share = 1 / len(uncut) / len(rates)
    found = [
        (hours + preemptions * loss / trials, chance * share)
        for hours in uncut
        for rate in rates
        for preemptions, chance in _preemptions(rate * hours * trials, rate * loss)
    ]
    if not found:
        return min(uncut), math.inf
    found.sort()
    return _percentile(found, LOW), _percentile(found, HIGH)


def _percentile(points: list[tuple[float, float]], share: float) -> float:
    """Return a percentile of sorted (value, probability), interpolated between points; infinite beyond the last."""
    before, middle, below = points[0][0], 0.0, 0.0
    for value, chance in points:
        following = below + chance / 2
        if following >= share:
            part = (share - middle) / (following - middle) if following > middle else 1.0
            return before + (value - before) * part
        before, middle, below = value, following, below + chance
    return math.inf if below < share else before


def _preemptions(exposure: float, again: float) -> Iterator[tuple[float, float]]:
    """Yield (k, probability of k preemptions) of the generalized Poisson distribution, until little is left.

    `exposure` is the mean number in an uncut run, `again` the mean number in the time that one preemption costs. Many
    are treated as normally distributed. If `again` is 1 or more, a part of the runs never ends, and this part is left
    out.
    """
    if exposure > MANY:
        if again < 1:
            mean, deviation = exposure / (1 - again), math.sqrt(exposure / (1 - again) ** 3)
            points = [mean + deviation * normal_quantile((place + 0.5) / RATES) for place in range(RATES)]
            yield from ((max(point, 0.0), 1 / RATES) for point in points)
        return
    left, chance = 1.0, math.exp(-exposure)
    for count in range(MAX_PREEMPTIONS):
        if count:
            total = exposure + again * count
            logarithm = math.log(exposure) + (count - 1) * math.log(total) - total - math.lgamma(count + 1)
            chance = math.exp(logarithm)
        yield count, chance
        left -= chance
        if left < SMALL or not exposure:
            return
