"""Learn run time, wait and preemptions from the ended jobs of a team that are like the one to estimate. Pure.

The run time is learned from jobs with the same program on the same machine and with an expected run time of the same
magnitude. Other jobs with the same program move it by less than a fifth, however many they are, and jobs with another
program not at all, so that toy jobs leave the figure of a long run. The ratio of actual to expected run time is learned
from the jobs of every strategy, so that strategies are compared for the same run. Waits and preemptions are those of
jobs of the strategy on the same machine in the same region. docs/cost.md, section 8, gives the method and its sources.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from datetime import date

from jobs.cost.advice import PreemptionRates
from jobs.cost.distributions import HIGH, LOW, Gamma, Spread, student_quantile
from jobs.cost.restarts import LIKELY, LIKELY_HIGH, LIKELY_LOW, Assumption, preemptions_per_hour

MILLI = 1000
"""Logarithms are stored in whole thousandths."""
MAX_RUN_LOG = round(math.log(10) * MILLI)
"""Limit of the ratio of actual to expected run time, in both directions: ten times. It keeps one absurd time, or a
clock that jumped, from widening every range."""
WAIT_OFFSET_SECONDS = 15.0
"""Seconds added to a wait before taking its logarithm, so that a wait of zero has one."""
PRIOR_WEIGHT = 4.0
"""Degrees of freedom of a prior, in jobs."""
RUN_FACTOR, RUN_WEIGHT = 2.0, 2.0
"""Without jobs like it, a run is assumed to last between half and twice the expected time in 9 of 10 cases. No
published figure exists; this one is ours, and the expected time weighs two jobs."""
MAX_OTHERS, MAX_OTHERS_LOG = 0.35, math.log(2)
"""Weight, in jobs, of all jobs with the same program on other machines, and of those with other magnitudes, and the
limit of their mean. Both together move the expected time by less than a fifth: 2 × 0.35 / 2.7 × ln 2 < ln 1.2."""
MIN_JOBS = 20
"""With fewer jobs like it, the run time that a person expects is always inside the range."""
USUAL_WAIT, WAIT_FACTOR, WAIT_WEIGHT = 120.0, 4.0, 0.5
"""Seconds, factor, and weight in jobs of the prior for waits. No figure is published, so the weight is low, and no wait
is estimated before a job was observed."""


def _prior(usual: float, factor: float, weight: float) -> Spread:
    """Return the prior of a time between `usual` / `factor` and `usual` × `factor` in 9 of 10 cases."""
    deviation = math.log(factor) / student_quantile(HIGH, PRIOR_WEIGHT)
    return Spread(math.log(usual), deviation**2 / (1 + 1 / weight), weight, PRIOR_WEIGHT)


RUN_PRIOR = _prior(1.0, RUN_FACTOR, RUN_WEIGHT)
WAIT_PRIOR = _prior(USUAL_WAIT + WAIT_OFFSET_SECONDS, WAIT_FACTOR, WAIT_WEIGHT)
RATE_PRIOR = Gamma(1.0, 1 / LIKELY.rate)
"""The documented preemption rate, with the weight of a single preemption. It was published for other machines, and a
copy of the same text differs from it by a factor of seven (docs/cost.md, section 5)."""


@dataclass(frozen=True, slots=True)
class Sums:
    """Sums over ended jobs, as stored by `jobs.models.LearnedFigures`.

    `run_logs` and `run_squares` are sums of ln(useful run time / expected run time) for `runs` jobs that succeeded, in
    thousandths. `wait_logs` and `wait_squares` are sums of ln(wait + 15 s) for `waits` jobs, in thousandths.
    `machine_seconds` is the time in which machines could be preempted, times the machines. Of `estimated` jobs,
    `inside` had a cost within their range.
    """

    runs: int = 0
    run_logs: int = 0
    run_squares: int = 0
    waits: int = 0
    wait_logs: int = 0
    wait_squares: int = 0
    machine_seconds: int = 0
    preemptions: int = 0
    lost_seconds: int = 0
    estimated: int = 0
    inside: int = 0

    def minus(self, part: "Sums") -> "Sums":
        """Return the sums without those of `part`, which they include."""
        return Sums(*(getattr(self, name) - getattr(part, name) for name in NAMES))

    @property
    def machine_hours(self) -> float:
        """Hours in which machines could be preempted, times the machines."""
        return self.machine_seconds / 3600


NAMES = tuple(field.name for field in fields(Sums))
NOTHING = Sums()


@dataclass(frozen=True, slots=True)
class Learned:
    """The sums for an estimate under one strategy.

    `program`: jobs of every strategy with the same program. `same_machine`: those of them on the same machine. `alike`:
    those of them with an expected run time of the same magnitude. `machines`: jobs of the strategy on the same machine
    in the same region, whatever they run. `team`: all of the team's jobs of the strategy, for the calibration alone.
    """

    program: Sums = NOTHING
    same_machine: Sums = NOTHING
    alike: Sums = NOTHING
    machines: Sums = NOTHING
    team: Sums = NOTHING
    machine: str = ""
    region: str = ""
    google: PreemptionRates | None = None
    """Compute Engine's preemption rates of such Spot VMs; None: nothing recent, so the documented rate is assumed."""

    @property
    def contradicts(self) -> bool:
        """Whether there are enough jobs like it for a range that leaves out what the person expects."""
        return self.alike.runs >= MIN_JOBS

    def run_factor(self) -> Spread:
        """Return the logarithm of the ratio of actual to expected run time; the same for every strategy."""
        found = RUN_PRIOR
        for others in (self.program.minus(self.same_machine), self.same_machine.minus(self.alike)):
            if others.runs > 0:
                mean = others.run_logs / others.runs / MILLI
                limited = max(-MAX_OTHERS_LOG, min(mean, MAX_OTHERS_LOG))
                found = found.moved(min(others.runs, MAX_OTHERS), limited)
        return _seen(found, self.alike.runs, self.alike.run_logs, self.alike.run_squares)

    def wait(self) -> "Wait | None":
        """Return the wait of a job for its machines; None if no job of the strategy has waited for such machines."""
        seen = self.machines
        if not seen.waits:
            return None
        found = _seen(WAIT_PRIOR, seen.waits, seen.wait_logs, seen.wait_squares)
        low, usual, high = (
            max(math.exp(min(logarithm, MAX_WAIT_LOG)) - WAIT_OFFSET_SECONDS, 0.0)
            for logarithm in (found.quantile(LOW), found.centre, found.quantile(HIGH))
        )
        return Wait(low, usual, high, seen.waits)

    def assumptions(self) -> tuple[Assumption, Assumption, Assumption]:
        """Return few, some and many preemptions without the team's jobs: by Google's rates, else as documented."""
        if self.google is None:
            return LIKELY_LOW, LIKELY, LIKELY_HIGH
        shares = zip(
            (LIKELY_LOW, LIKELY, LIKELY_HIGH), (self.google.low, self.google.usual, self.google.high), strict=True
        )
        few, some, many = (replace(each, rate=preemptions_per_hour(daily_share=share)) for each, share in shares)
        return few, some, many

    def rate(self) -> Gamma:
        """Return the preemptions per hour of one machine; the prior has the weight of a single preemption."""
        prior = RATE_PRIOR if self.google is None else Gamma(1.0, 1 / self.assumptions()[1].rate)
        return prior.seen(self.machines.preemptions, self.machines.machine_hours)

    def loss(self, usual: float) -> float:
        """Return the hours that a preemption costs; `usual` is the figure of the model without history."""
        seen = self.machines
        return (PRIOR_WEIGHT * usual + seen.lost_seconds / 3600) / (PRIOR_WEIGHT + seen.preemptions)


def recent_since(runs: Mapping[date, int]) -> date:
    """Return the first of the newest months that together have MIN_JOBS runs; `runs` are those alike by month.

    Earlier months are left out, because teams change how they expect. With fewer runs in all, every month counts.
    """
    count = 0
    for month in sorted(runs, reverse=True):
        count += runs[month]
        if count >= MIN_JOBS:
            return month
    return date.min


def _seen(prior: Spread, count: int, total: int, squares: int) -> Spread:
    """Return the distribution after jobs with these sums, in thousandths."""
    return prior.seen(count, total / MILLI, squares / MILLI**2)


@dataclass(frozen=True, slots=True)
class Wait:
    """Seconds from the submission to the first run: the 5th percentile, the usual wait and the 95th percentile."""

    low: float
    usual: float
    high: float
    jobs: int
    """Number of jobs of the strategy on the same machine in the region."""


MAX_WAIT_LOG = math.log(30 * 24 * 3600)
NOT_LEARNED = Learned()


def run_log(useful_seconds: float, expected_seconds: float) -> int:
    """Return the logarithm of the ratio of actual to expected run time, in thousandths, limited to ten times.

    Raise ValueError unless both are above zero, because a run of no time shows nothing.
    """
    if not (useful_seconds > 0 and expected_seconds > 0):
        raise ValueError("a run time must be above zero")
    found = round(math.log(useful_seconds / expected_seconds) * MILLI)
    return max(-MAX_RUN_LOG, min(found, MAX_RUN_LOG))


def wait_log(seconds: float) -> int:
    """Return the logarithm of a wait plus 15 seconds, in thousandths; a negative wait (clocks differ) counts as 0."""
    return round(min(math.log(max(seconds, 0.0) + WAIT_OFFSET_SECONDS), MAX_WAIT_LOG) * MILLI)
