"""Learn run time, wait and preemptions from the ended jobs of a team. Pure.

Each figure is learned in steps from general to specific: all of the team's jobs of the strategy, then those on the same
machine in the same region, then those of about the same hour of the day. The result of a step is the prior of the next
one with the weight of a few jobs, so that a few similar jobs count more than many others. The ratio of actual to
expected run time does not depend on the strategy or the hour. It is learned from the jobs of every strategy, so that
strategies are compared for the same run. docs/cost.md, section 8, gives the method and its sources.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import date

from jobs.cost.distributions import HIGH, LOW, Gamma, Spread, student_quantile
from jobs.cost.restarts import LIKELY
from jobs.spec import Submission

MILLI = 1000
"""Logarithms are stored in whole thousandths."""
MAX_RUN_LOG = round(math.log(10) * MILLI)
"""Limit of the ratio of actual to expected run time, in both directions: ten times. It keeps one absurd time, or a
clock that jumped, from widening every range."""
WAIT_OFFSET_SECONDS = 15.0
"""Seconds added to a wait before taking its logarithm, so that a wait of zero has one."""
PRIOR_WEIGHT = 4.0
"""Weight of a prior, in jobs."""
STEP_WEIGHTS = (4.0, 4.0, 16.0)
"""Weight of the prior of each step, in jobs: machines differ more than hours of the day."""
MAX_FREEDOM = 30.0
"""The variance of a time differs less between machines than its centre, so its prior may weigh more jobs."""
RUN_FACTOR, RUN_WEIGHT = 2.0, 2.0
"""Without jobs of the team, a run is assumed to last between half and twice the expected time in 9 of 10 cases. No
published figure exists; this one is ours, and its centre weighs two jobs."""
MAX_EVENTS, MAX_HOURS = 4.0, 1000.0
"""The highest weight of preemptions of other machines or other hours."""
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

    `team`: all of the team's jobs of the strategy. `alike`: those of `team` on the same machine in the same region.
    `hour`: those of `alike` sent within an hour of the time of day. `team_runs` and `alike_runs`: as `team` and
    `alike`, for every strategy. `since` is the month in which the first of `alike_runs`, or if there is none of
    `team_runs`, ended.
    """

    team: Sums = NOTHING
    alike: Sums = NOTHING
    hour: Sums = NOTHING
    team_runs: Sums = NOTHING
    alike_runs: Sums = NOTHING
    machine: str = ""
    region: str = ""
    since: date | None = None

    @property
    def steps(self) -> Sequence[Sums]:
        """The sums from general to specific, without overlap."""
        return self.team.minus(self.alike), self.alike.minus(self.hour), self.hour

    def run_factor(self) -> Spread:
        """Return the logarithm of the ratio of actual to expected run time; the same for every strategy."""
        steps = self.team_runs.minus(self.alike_runs), self.alike_runs
        return _learn(RUN_PRIOR, [(step.runs, step.run_logs, step.run_squares) for step in steps])

    def wait(self) -> "Wait | None":
        """Return the wait of a job for its machines; None if no job of the strategy was observed."""
        if not self.team.waits:
            return None
        found = _learn(WAIT_PRIOR, [(step.waits, step.wait_logs, step.wait_squares) for step in self.steps])
        low, usual, high = (
            max(math.exp(min(logarithm, MAX_WAIT_LOG)) - WAIT_OFFSET_SECONDS, 0.0)
            for logarithm in (found.quantile(LOW), found.centre, found.quantile(HIGH))
        )
        return Wait(low, usual, high, self.alike.waits or self.team.waits)

    def rate(self, *, is_short: bool) -> Gamma:
        """Return the preemptions per hour of one machine; the hour of the day applies to short runs only."""
        team, alike, hour = self.steps
        found = RATE_PRIOR.seen(team.preemptions, team.machine_hours)
        steps = (alike, hour) if is_short else (self.alike,)
        for step in steps:
            found = found.at_most(shape=MAX_EVENTS, hours=MAX_HOURS).seen(step.preemptions, step.machine_hours)
        return found

    def loss(self, usual: float) -> float:
        """Return the hours that a preemption costs; `usual` is the figure of the model without history."""
        seen = self.alike if self.alike.preemptions else self.team
        return (PRIOR_WEIGHT * usual + seen.lost_seconds / 3600) / (PRIOR_WEIGHT + seen.preemptions)


def _learn(prior: Spread, steps: Sequence[tuple[int, int, int]]) -> Spread:
    """Return the distribution after each step's (count, sum, sum of squares), in thousandths."""
    for weight, (count, total, squares) in zip(STEP_WEIGHTS, steps, strict=False):
        prior = prior.at_most(weight, freedom=MAX_FREEDOM).seen(count, total / MILLI, squares / MILLI**2)
    return prior


@dataclass(frozen=True, slots=True)
class Wait:
    """Seconds from the submission to the first run: the 5th percentile, the usual wait and the 95th percentile."""

    low: float
    usual: float
    high: float
    jobs: int
    """Number of jobs on the same machine in the region; if there is none, of the strategy."""


MAX_WAIT_LOG = math.log(30 * 24 * 3600)
NOT_LEARNED = Learned()


def machine_of(submission: Submission) -> str:
    """Return the machine by which jobs are similar: that of the first worker pool, with its attached GPUs."""
    for _, pool in submission.pools:
        machine = pool.machine_spec
        attached = machine.machine_type.startswith("n1-") and machine.accelerator
        gpus = f" with {machine.accelerator_count} × {machine.accelerator}" if attached else ""
        return f"{machine.machine_type}{gpus}"
    return ""


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
