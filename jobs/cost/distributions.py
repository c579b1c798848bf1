"""Quantiles and updates of the distributions that estimates use: normal, Student's t and Gamma. Pure."""

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from statistics import NormalDist

LOW, HIGH = 0.05, 0.95
"""Percentiles of an estimate's range: 9 of 10 jobs should end within it."""
MAX_STEPS, PRECISION = 100, 1e-9
_NORMAL = NormalDist()


@lru_cache(maxsize=256)
def normal_quantile(share: float) -> float:
    """Return the quantile of the standard normal distribution for `share`, between 0 and 1 exclusive."""
    return _NORMAL.inv_cdf(share)


def student_quantile(share: float, freedom: float) -> float:
    """Return a quantile of Student's t, accurate to 0.2 % (5th to 95th percentile, 4 degrees of freedom or more).

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
    """A distribution of a rate per hour, as if `shape` events had been observed in `hours`."""

    shape: float
    hours: float

    @property
    def mean(self) -> float:
        """The expected rate per hour."""
        return self.shape / self.hours

    def seen(self, events: int, hours: float) -> "Gamma":
        """Return the distribution after `events` more in `hours` more, if events follow a Poisson distribution.

        The prior may be wrong by a factor. The logarithm of the rate is therefore taken as normal, with its mode at the
        logarithm of the mean and a variance of 1 / shape. The result has the mode and the curvature of the posterior:
        shape × (x - log(mean)) + hours × exp(x) = events, and shape + hours × exp(x). Zero hours change nothing.
        Source: Gelman and others, Bayesian Data Analysis (3rd edition, 2013), sections 2.6 and 4.1.
        """
        if hours <= 0:
            return self
        before = math.log(self.mean)
        at = max(before, math.log(events / hours)) if events > 0 else before
        for _ in range(MAX_STEPS):  # Newton's method, from above, where each step comes closer
            expected = hours * math.exp(at)
            step = (self.shape * (at - before) + expected - events) / (self.shape + expected)
            at -= step
            if abs(step) < PRECISION:
                break
        shape = self.shape + hours * math.exp(at)
        return Gamma(shape, shape / math.exp(at))

    def quantile(self, share: float) -> float:
        """Return the quantile of the rate for probability `share`.

        Source: Wilson and Hilferty, "The distribution of chi-square", PNAS 17 (1931); inaccurate below a shape of 0.5.
        """
        spread = 1 / (9 * self.shape)
        root = 1 - spread + normal_quantile(share) * math.sqrt(spread)
        return self.mean * max(root, 0.0) ** 3


@dataclass(frozen=True, slots=True)
class Spread:
    """A distribution of the logarithm of a time.

    Its centre weighs as much as `weight` observations, its variance as much as `freedom`, which is at least 4.
    """

    centre: float
    variance: float
    weight: float
    freedom: float

    def seen(self, count: int, total: float, squares: float) -> "Spread":
        """Return the distribution after `count` more observations with this sum and sum of squares.

        This is the conjugate update of a normal distribution with unknown mean and variance. Source: Gelman and others,
        Bayesian Data Analysis (3rd edition, 2013), section 3.3.
        """
        if count <= 0:
            return self
        mean = total / count
        inner = max(squares - count * mean * mean, 0.0)
        between = self.weight * count / (self.weight + count) * (mean - self.centre) ** 2
        weight, freedom = self.weight + count, self.freedom + count
        centre = (self.weight * self.centre + total) / weight
        return Spread(centre, (self.freedom * self.variance + inner + between) / freedom, weight, freedom)

    def moved(self, count: float, mean: float) -> "Spread":
        """Return the distribution with its centre moved towards `mean` by the weight of `count` observations.

        The variance stays, because these observations are of another kind.
        """
        weight = self.weight + count
        return replace(self, centre=(self.weight * self.centre + count * mean) / weight, weight=weight)

    def quantile(self, share: float) -> float:
        """Return the quantile of the next observation's logarithm for probability `share`."""
        deviation = math.sqrt(self.variance * (1 + 1 / self.weight))
        return self.centre + student_quantile(share, self.freedom) * deviation


def poisson_interval(count: int) -> tuple[float, float]:
    """Return the 80 % confidence interval of the expected count, given `count` observed events.

    Source: Garwood, "Fiducial limits for the Poisson distribution", Biometrika 28 (1936).
    """
    low = Gamma(count, 1).quantile(0.1) if count else 0.0
    return low, Gamma(count + 1, 1).quantile(0.9)
