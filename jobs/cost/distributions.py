"""Quantiles and updates of the three distributions that estimates use: normal, Student's t and Gamma. Pure."""

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from statistics import NormalDist

LOW, HIGH = 0.05, 0.95
"""An estimate's range lies between these percentiles: 9 of 10 jobs should end inside it."""
MAX_STEPS, PRECISION = 100, 1e-9
_NORMAL = NormalDist()


@lru_cache(maxsize=256)
def normal_quantile(share: float) -> float:
    """Return the value that a standard normal variable stays below with probability `share`, 0 to 1 exclusive."""
    return _NORMAL.inv_cdf(share)


def student_quantile(share: float, freedom: float) -> float:
    """Return a quantile of Student's t; within 0.2 % between the 5th and 95th percentile from 4 degrees of freedom on.

    Source: Abramowitz and Stegun, Handbook of Mathematical Functions (1964), 26.7.5.
    """
    z = normal_quantile(share)
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
    )
    return z + sum(term / freedom ** (place + 1) for place, term in enumerate(terms))


@dataclass(frozen=True, slots=True)
class Gamma:
    """What is known of a rate per hour: as if `shape` events had been seen in `hours`."""

    shape: float
    hours: float

    @property
    def mean(self) -> float:
        """The expected rate per hour."""
        return self.shape / self.hours

    def seen(self, events: int, hours: float) -> "Gamma":
        """Return what is known after `events` more in `hours` more, of which the rate is Poisson's.

        What was known may be wrong by a factor, so the logarithm of the rate is taken as normal, with its mode at that
        of the mean and a variance of 1 / shape. The result has the mode and the curvature of what is known afterwards:
        shape × (x - log(mean)) + hours × exp(x) = events, and shape + hours × exp(x). Zero hours show nothing.
        Source: Gelman and others, Bayesian Data Analysis (3rd edition, 2013), sections 2.6 and 4.1.
        """
        if hours <= 0:
            return self
        before = math.log(self.mean)
        at = max(before, math.log(events / hours)) if events > 0 else before
        for _ in range(MAX_STEPS):  # Newton's, from above, where they come nearer with each
            expected = hours * math.exp(at)
            step = (self.shape * (at - before) + expected - events) / (self.shape + expected)
            at -= step
            if abs(step) < PRECISION:
                break
        shape = self.shape + hours * math.exp(at)
        return Gamma(shape, shape / math.exp(at))

    def at_most(self, *, shape: float, hours: float) -> "Gamma":
        """Return the same mean with no more weight than this, for machines that may differ from those seen."""
        factor = min(1.0, shape / self.shape, hours / self.hours)
        return Gamma(self.shape * factor, self.hours * factor)

    def quantile(self, share: float) -> float:
        """Return the rate that the true one does not exceed with probability `share`.

        Source: Wilson and Hilferty, "The distribution of chi-square", PNAS 17 (1931); poor below a shape of 0.5.
        """
        spread = 1 / (9 * self.shape)
        root = 1 - spread + normal_quantile(share) * math.sqrt(spread)
        return self.mean * max(root, 0.0) ** 3


@dataclass(frozen=True, slots=True)
class Spread:
    """What is known of the logarithm of a time.

    Its centre counts as if from `weight` observations, its variance as if from `freedom`, which is 4 at least.
    """

    centre: float
    variance: float
    weight: float
    freedom: float

    def seen(self, count: int, total: float, squares: float) -> "Spread":
        """Return what is known after `count` more observations with this sum and this sum of squares.

        The conjugate update of a normal distribution whose mean and variance are both unknown.
        Source: Gelman and others, Bayesian Data Analysis (3rd edition, 2013), section 3.3.
        """
        if count <= 0:
            return self
        mean = total / count
        inner = max(squares - count * mean * mean, 0.0)
        between = self.weight * count / (self.weight + count) * (mean - self.centre) ** 2
        weight, freedom = self.weight + count, self.freedom + count
        centre = (self.weight * self.centre + total) / weight
        return Spread(centre, (self.freedom * self.variance + inner + between) / freedom, weight, freedom)

    def at_most(self, weight: float, *, freedom: float) -> "Spread":
        """Return the same with no more weight than this, for jobs that may differ from those that were seen."""
        return replace(self, weight=min(self.weight, weight), freedom=min(self.freedom, freedom))

    def quantile(self, share: float) -> float:
        """Return the logarithm that the next observation does not exceed with probability `share`."""
        deviation = math.sqrt(self.variance * (1 + 1 / self.weight))
        return self.centre + student_quantile(share, self.freedom) * deviation


def poisson_interval(count: int) -> tuple[float, float]:
    """Return between which expected counts the real one lies, with 80 % confidence, where `count` events were seen.

    Source: Garwood, "Fiducial limits for the Poisson distribution", Biometrika 28 (1936).
    """
    low = Gamma(count, 1).quantile(0.1) if count else 0.0
    return low, Gamma(count + 1, 1).quantile(0.9)
