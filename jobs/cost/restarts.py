"""How long a job really runs, and how likely it dies, when its machines may be taken away at any moment.

Preemptions are taken as a Poisson process over the whole job: `preemptions_per_hour` counts those of all replicas
together, because a job stops when one of them is taken. Every time is in hours. Queueing and preempted time is not
billed and is not part of any figure here. docs/cost.md shows where the formulas and the default figures come from.
"""

import math
from dataclasses import dataclass
from functools import lru_cache

HOURS_PER_DAY = 24
RESTARTS_ALLOWED = 6
"""Vertex AI restarts a preempted job at most six times (Use Spot VMs with training, cloud.google.com, 2026-11-21)."""


@dataclass(frozen=True)
class Run:
    """A job that saves a checkpoint after every `interval` of work and starts again from the last one when cut."""

    work: float
    """Hours of useful work, above or equal to zero."""
    interval: float
    """Hours of work between two checkpoints, above zero; longer than `work` means no checkpoint at all."""
    checkpoint: float
    """Hours that it takes to write one checkpoint."""
    preemptions_per_hour: float
    """Of the whole job: the sum over its replicas."""
    restart: float
    """Billed hours lost on each restart: machines come up, the image is pulled, the checkpoint is read."""

    def __post_init__(self) -> None:
        """Raise ValueError for figures that have no meaning."""
        smallest = min(self.work, self.checkpoint, self.preemptions_per_hour, self.restart)
        if not smallest >= 0 or not self.interval > 0:
            raise ValueError("times and rates must not be negative and the interval must be above zero")

    @property
    def pieces(self) -> int:
        """Into how many pieces checkpoints cut the work; at least one."""
        return max(1, math.ceil(self.work / self.interval - 1e-9))

    @property
    def full_piece(self) -> float:
        """Hours of one piece with its checkpoint, for every piece but the last."""
        return self.interval + self.checkpoint

    @property
    def last_piece(self) -> float:
        """Hours of the last piece, which needs no checkpoint."""
        if self.pieces == 1:
            return self.work
        return max(0.0, self.work - (self.pieces - 1) * self.interval)

    @property
    def uncut_hours(self) -> float:
        """Hours of the whole run when nothing is preempted."""
        return self.work + (self.pieces - 1) * self.checkpoint


def young_interval(*, checkpoint: float, preemptions_per_hour: float) -> float:
    """Return the best time between checkpoints, to first order.

    Source: Young, "A first order approximation to the optimum checkpoint interval", CACM 17(9), 1974,
    doi 10.1145/361147.361115.
    """
    if preemptions_per_hour == 0:
        return math.inf
    return math.sqrt(2 * checkpoint / preemptions_per_hour)


def daly_interval(*, checkpoint: float, preemptions_per_hour: float) -> float:
    """Return the best hours of work between checkpoints, to higher order; without end when nothing is preempted.

    Source: Daly, "A higher order estimate of the optimum checkpoint interval for restart dumps", FGCS 22(3), 2006,
    doi 10.1016/j.future.2004.11.016. `checkpoint` must be above zero: a free checkpoint has no best interval.
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
    """Return the rate of a job whose every replica is preempted within a day with probability `daily_share`, 0 to 1."""
    if not 0 <= daily_share < 1:
        raise ValueError("a share lies between 0 and 1")
    return -math.log1p(-daily_share) / HOURS_PER_DAY * replicas


def expected_hours(run: Run) -> float:
    """Return the billed hours to expect when a restart can itself be preempted; without end when it never finishes.

    Daly's complete model: a piece of length t takes `e^(L R) (e^(L t) - 1) / L` on average.
    """
    rate = run.preemptions_per_hour
    if rate == 0:
        return run.uncut_hours
    # The sum of e^(L t) - 1 over all pieces.
    growth = (run.pieces - 1) * _expm1(rate * run.full_piece) if run.pieces > 1 else 0.0
    growth += _expm1(rate * run.last_piece)
    return growth and _exp(rate * run.restart) * growth / rate


def expected_preemptions(run: Run) -> float:
    """Return how often the job is preempted on average; every billed hour is exposed, restarts too."""
    return run.preemptions_per_hour * expected_hours(run) if run.preemptions_per_hour else 0.0


def survival(run: Run, *, allowed: int = RESTARTS_ALLOWED) -> float:
    """Return the probability, 0 to 1, that the job ends after at most `allowed` preemptions.

    1. A piece of length t is never cut with a = e^(-L t); a restarted one is not cut with b = e^(-L (t + R)).
       So it is cut k times with (1 - a) (1 - b)^(k - 1) b.
    2. The counts of all pieces add up: their generating polynomials multiply, kept up to degree `allowed`.
       The equal pieces are multiplied by repeated squaring.
    3. The sum of the coefficients is the answer.
    """
    full = _power(_piece_counts(run, run.full_piece, allowed), run.pieces - 1)
    return min(1.0, sum(_times(full, _piece_counts(run, run.last_piece, allowed))))


def _piece_counts(run: Run, length: float, allowed: int) -> list[float]:
    """Return the probabilities that one piece is cut 0, 1, ... `allowed` times."""
    rate = run.preemptions_per_hour
    first = math.exp(-rate * length)
    again = math.exp(-rate * (length + run.restart))
    return [first, *((1 - first) * (1 - again) ** (k - 1) * again for k in range(1, allowed + 1))]


def _times(left: list[float], right: list[float]) -> list[float]:
    """Multiply two polynomials of equal length, dropping what exceeds that length."""
    return [sum(left[i] * right[k - i] for i in range(k + 1)) for k in range(len(left))]


def _power(base: list[float], exponent: int) -> list[float]:
    """Raise a polynomial to a power by repeated squaring."""
    result = [1.0] + [0.0] * (len(base) - 1)
    while exponent:
        if exponent & 1:
            result = _times(result, base)
        base = _times(base, base)
        exponent >>= 1
    return result


def _exp(value: float) -> float:
    """Return e^value, infinite where a float ends."""
    try:
        return math.exp(value)
    except OverflowError:
        return math.inf


def _expm1(value: float) -> float:
    """Return e^value - 1, infinite where a float ends."""
    try:
        return math.expm1(value)
    except OverflowError:
        return math.inf


@dataclass(frozen=True, slots=True)
class Assumption:
    """What is taken for granted about preemptions, because Vertex AI publishes no figures of its own."""

    rate: float
    """Preemptions per hour of one machine."""
    restart: float
    """Billed hours lost on each restart."""

    @property
    def daily_share(self) -> float:
        """Share of machines that are preempted within a day, 0 to 1."""
        return -math.expm1(-self.rate * HOURS_PER_DAY)


LIKELY_LOW = Assumption(preemptions_per_hour(daily_share=0.05), restart=0.05)
LIKELY = Assumption(preemptions_per_hour(daily_share=0.10), restart=0.125)
LIKELY_HIGH = Assumption(preemptions_per_hour(daily_share=0.15), restart=0.20)
"""5 to 15 % a day is Google's former figure for preemptible machines; 3 and 12 minutes of restart are those of a
published benchmark (docs/cost.md). `LIKELY` is the middle of both."""
CHECKPOINT_HOURS = 1 / 60
"""Assumed time to write a checkpoint: a minute."""


@dataclass(frozen=True, slots=True)
class Outlook:
    """What to expect of a run on machines that may be preempted."""

    billed_hours: float
    """Infinite when it would hardly ever finish."""
    interval_hours: float
    """Hours of work between checkpoints that this assumes."""
    preemptions: float
    survival: float
    """Probability that the restarts which Vertex AI grants are enough."""

    def as_dict(self) -> dict[str, float | None]:
        """Return JSON; None stands for hours without end."""
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
    """Return what to expect of `work` hours on `replicas` machines; `interval` None takes Daly's best interval."""
    rate = assumption.rate * replicas
    best = interval or daly_interval(checkpoint=CHECKPOINT_HOURS, preemptions_per_hour=rate)
    run = Run(work, best, CHECKPOINT_HOURS, rate, assumption.restart)
    return Outlook(expected_hours(run), best, expected_preemptions(run), survival(run, allowed=allowed))
