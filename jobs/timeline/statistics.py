"""What a few counts show of many jobs: percentiles of waits that were sorted into buckets, and how sure a rate is."""

import math
from collections.abc import Mapping
from datetime import timedelta

FIRST_EDGE = timedelta(seconds=15)
LAST_BUCKET = 16
"""Each bucket ends at twice the wait of the one before: 15 s, 30 s, 1 min ... 5 days 16 hours; the last has no end."""
NEVER_RAN = -1
Z_OF_80_PERCENT = 1.2816
"""Standard deviations on each side of the mean between which a normal distribution has 80 % of its mass."""


def wait_bucket(wait: timedelta) -> int:
    """Return the bucket of a wait, 0 to LAST_BUCKET; a wait of exactly an edge is in the bucket that it ends."""
    edge, bucket = FIRST_EDGE, 0
    while wait > edge and bucket < LAST_BUCKET:
        edge, bucket = edge * 2, bucket + 1
    return bucket


def wait_percentile(counts: Mapping[int, int], share: float) -> timedelta | None:
    """Return the wait that `share` (0 to 1) of the jobs did not exceed, None where none ran.

    `counts`: {bucket: jobs}; NEVER_RAN is left out. Inside a bucket waits are taken to be spread evenly, so the answer
    is at most a factor of two off; of the last bucket it is the beginning.
    """
    buckets = sorted((bucket, count) for bucket, count in counts.items() if bucket != NEVER_RAN and count > 0)
    wanted, before = share * sum(count for _, count in buckets), 0
    for bucket, count in buckets:
        if before + count >= wanted:
            start = FIRST_EDGE * 2 ** (bucket - 1) if bucket else timedelta()
            length = start if bucket else FIRST_EDGE
            return start if bucket == LAST_BUCKET else start + length * ((wanted - before) / count)
        before += count
    return None


def poisson_interval(count: int) -> tuple[float, float]:
    """Return between which expected counts the real one lies, with 80 % confidence, where `count` events were seen.

    Garwood's interval, with Wilson and Hilferty's approximation of chi-squared quantiles; it is 4 % off at most.
    """
    return (
        _chi_squared(2 * count, -Z_OF_80_PERCENT) / 2 if count else 0.0,
        _chi_squared(2 * count + 2, Z_OF_80_PERCENT) / 2,
    )


def _chi_squared(freedom: int, z: float) -> float:
    spread = 2 / (9 * freedom)
    return freedom * (1 - spread + z * math.sqrt(spread)) ** 3
