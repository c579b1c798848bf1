"""Model the run time of a job, and its chance to finish, on machines that may be preempted at any time.

Preemptions are a Poisson process over the whole job: `preemptions_per_hour` counts those of all replicas together,
because a job stops when one replica is preempted. Every time is in hours. Queueing and preempted time is not billed and
not included in any figure. docs/cost.md gives the sources of the formulas and default figures.
"""

import math
from dataclasses import dataclass
from functools import lru_cache

HOURS_PER_DAY = 24
RESTARTS_ALLOWED = 6
"""Vertex AI restarts a preempted job at most six times (Use Spot VMs with training, cloud.google.com, 2026-11-21)."""


@dataclass(frozen=True)
class Run:
    """A job that saves a checkpoint after every `interval` of work and restarts from the last one when preempted."""

    work: float
    """Hours of useful work, zero or more."""
    interval: float
    """Hours of work between two checkpoints, above zero; longer than `work` means no checkpoint at all."""
    checkpoint: float
    """Hours to write one checkpoint."""
    preemptions_per_hour: float
    """Preemptions of the whole job, the sum over its replicas."""
    restart: float
    """Billed hours lost on each restart: starting machines, pulling the image, reading the checkpoint."""

    def __post_init__(self) -> None:
        """Raise ValueError for figures without a meaning."""
        smallest = min(self.work, self.checkpoint, self.preemptions_per_hour, self.restart)
        if not smallest >= 0 or not self.interval > 0:
            raise ValueError("times and rates must not be negative and the interval must be above zero")

    @property
    def pieces(self) -> int:
        """The number of pieces between checkpoints; at least one."""
        return max(1, math.ceil(self.work / self.interval - 1e-9))

    @property
    def full_piece(self) -> float:
        """Hours of one piece with its checkpoint, for every piece except the last."""
        return self.interval + self.checkpoint

    @property
    def last_piece(self) -> float:
        """Hours of the last piece, which needs no checkpoint."""
        if self.pieces == 1:
            return self.work
        return max(0.0, self.work - (self.pieces - 1) * self.interval)

    @property
    def uncut_hours(self) -> float:
        """Hours of the whole run without preemptions."""
        return self.work + (self.pieces - 1) * self.checkpoint


def young_interval(*, checkpoint: float, preemptions_per_hour: float) -> float:
    """Return the optimum time between checkpoints, to first order.

    Source: Young, "A first order approximation to the optimum checkpoint interval", CACM 17(9), 1974, doi
    10.1145/361147.361115.
    """
    if preemptions_per_hour == 0:
        return math.inf
    return math.sqrt(2 * checkpoint / preemptions_per_hour)


def daly_interval(*, checkpoint: float, preemptions_per_hour: float) -> float:
    """Return the optimum hours of work between checkpoints, to higher order; infinite without preemptions.

    Source: Daly, "A higher order estimate of the optimum checkpoint interval for restart dumps", FGCS 22(3), 2006, doi
    10.1016/j.future.2004.11.016. `checkpoint` must be above zero, because a free checkpoint has no optimum interval.
    """
    if checkpoint <= 0:
        raise ValueError("a checkpoint must take some time")
    if preemptions_per_hour == 0:
        return math.inf
    between = 1 / preemptions_per_hour
    if checkpoint >= 2 * between:
        return between
    ratio = checkpoint / (2 * between)
    first_order = young_interval(checkpoint=checkpoint, preemptions_per_hour=preemptions_per_hour)
    return first_order * (1 + math.sqrt(ratio) / 3 + ratio / 9) - checkpoint


def preemptions_per_hour(*, daily_share: float, replicas: int = 1) -> float:
    """Return a job's preemption rate if each replica is preempted within a day with probability `daily_share`.

    `daily_share` is from 0 up to, but not including, 1.
    """
    if not 0 <= daily_share < 1:
        raise ValueError("a share lies between 0 and 1")
    return -math.log1p(-daily_share) / HOURS_PER_DAY * replicas


def expected_hours(run: Run) -> float:
    """Return the expected billed hours if restarts can be preempted too; infinite if the job never finishes.

    In Daly's complete model, a piece of length t takes `e^(L R) (e^(L t) - 1) / L` on average.
    """
    rate = run.preemptions_per_hour
    if rate == 0:
        return run.uncut_hours
    # The sum of e^(L t) - 1 over all pieces.
    growth = (run.pieces - 1) * _expm1(rate * run.full_piece) if run.pieces > 1 else 0.0
    growth += _expm1(rate * run.last_piece)
    return growth and _exp(rate * run.restart) * growth / rate


def expected_preemptions(run: Run) -> float:
    """Return the mean number of preemptions; every billed hour may be preempted, including restarts."""
    return run.preemptions_per_hour * expected_hours(run) if run.preemptions_per_hour else 0.0


def survival(run: Run, *, allowed: int = RESTARTS_ALLOWED) -> float:
    """Return the probability, 0 to 1, that the job ends after at most `allowed` preemptions.

    1. A piece of length t is never preempted with a = e^(-L t); after a restart it is not preempted with
       b = e^(-L (t + R)). So it is preempted k times with (1 - a) (1 - b)^(k - 1) b.
    2. The counts of all pieces add up: their generating polynomials are multiplied, up to degree `allowed`.
       The equal pieces are multiplied by repeated squaring.
    3. The result is the sum of the coefficients.
    """
    full = _power(_piece_counts(run, run.full_piece, allowed), run.pieces - 1)
    return min(1.0, sum(_times(full, _piece_counts(run, run.last_piece, allowed))))


def _piece_counts(run: Run, length: float, allowed: int) -> list[float]:
    """Return the probabilities that one piece is preempted 0, 1, ... `allowed` times."""
    rate = run.preemptions_per_hour
    first = math.exp(-rate * length)
    again = math.exp(-rate * (length + run.restart))
    return [first, *((1 - first) * (1 - again) ** (k - 1) * again for k in range(1, allowed + 1))]


def _times(left: list[float], right: list[float]) -> list[float]:
    """Return the product of two polynomials of equal length, truncated to that length."""
    return [sum(left[i] * right[k - i] for i in range(k + 1)) for k in range(len(left))]


def _power(base: list[float], exponent: int) -> list[float]:
    """Return a power of a polynomial, computed by repeated squaring."""
    result = [1.0] + [0.0] * (len(base) - 1)
    while exponent:
        if exponent & 1:
            result = _times(result, base)
        base = _times(base, base)
        exponent >>= 1
    return result


def _exp(value: float) -> float:
    """Return e^value, or infinity on overflow."""
    try:
        return math.exp(value)
    except OverflowError:
        return math.inf


def _expm1(value: float) -> float:
    """Return e^value - 1, or infinity on overflow."""
    try:
        return math.expm1(value)
    except OverflowError:
        return math.inf


@dataclass(frozen=True, slots=True)
class Assumption:
    """Assumptions about preemptions, because Vertex AI publishes no figures."""

    rate: float
    """Preemptions per hour of one machine."""
    restart: float
    """Billed hours lost on each restart."""

    @property
    def daily_share(self) -> float:
        """Share of machines preempted within a day, 0 to 1."""
        return -math.expm1(-self.rate * HOURS_PER_DAY)


LIKELY_LOW = Assumption(preemptions_per_hour(daily_share=0.05), restart=0.05)
LIKELY = Assumption(preemptions_per_hour(daily_share=0.10), restart=0.125)
LIKELY_HIGH = Assumption(preemptions_per_hour(daily_share=0.15), restart=0.20)
"""5 to 15 % a day is Google's former figure for preemptible machines; 3 and 12 minutes of restart come from a published
benchmark (docs/cost.md). `LIKELY` is the middle of both."""
CHECKPOINT_HOURS = 1 / 60
"""Assumed hours to write a checkpoint: one minute."""


@dataclass(frozen=True, slots=True)
class Outlook:
    """The expected course of a run on machines that may be preempted."""

    billed_hours: float
    """Infinite if the run would hardly ever finish."""
    interval_hours: float
    """Assumed hours of work between checkpoints."""
    preemptions: float
    survival: float
    """Probability that the restarts allowed by Vertex AI are enough."""

    def as_dict(self) -> dict[str, float | None]:
        """Return the outlook as JSON; None means infinite hours."""
        finite = math.isfinite(self.billed_hours)
        return {
            "billed_hours": self.billed_hours if finite else None,
            "interval_hours": self.interval_hours if math.isfinite(self.interval_hours) else None,
            "preemptions": self.preemptions if finite else None,
            "survival": self.survival,
        }


@lru_cache(maxsize=1024)
def outlook(
    work: float,
    *,
    replicas: int,
    assumption: Assumption,
    interval: float | None = None,
    allowed: int = RESTARTS_ALLOWED,
) -> Outlook:
    """Return the outlook for `work` hours on `replicas` machines; without `interval`, Daly's optimum is used."""
    rate = assumption.rate * replicas
    best = interval or daly_interval(checkpoint=CHECKPOINT_HOURS, preemptions_per_hour=rate)
    run = Run(work, best, CHECKPOINT_HOURS, rate, assumption.restart)
    return Outlook(expected_hours(run), best, expected_preemptions(run), survival(run, allowed=allowed))
