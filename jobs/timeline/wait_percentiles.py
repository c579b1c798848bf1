"""Percentiles of the waits of many jobs, which are stored as counts in buckets."""

from collections.abc import Mapping
from datetime import timedelta

FIRST_EDGE = timedelta(seconds=15)
LAST_BUCKET = 16
"""Each bucket ends at twice the end of the previous one: 15 s, 30 s, 1 min ... 5 days 16 hours. The last has no end."""
NEVER_RAN = -1


def wait_bucket(wait: timedelta) -> int:
    """Return the bucket of a wait, 0 to LAST_BUCKET. A wait equal to an edge is in the bucket that ends there."""
    edge, bucket = FIRST_EDGE, 0
    while wait > edge and bucket < LAST_BUCKET:
        edge, bucket = edge * 2, bucket + 1
    return bucket


def wait_percentile(counts: Mapping[int, int], share: float) -> timedelta | None:
    """Return the wait that `share` (0 to 1) of the jobs did not exceed, or None if none ran.

    `counts` is {bucket: jobs}; NEVER_RAN is ignored. Waits inside a bucket are assumed to be spread evenly, so the
    result is off by at most a factor of two. For the last bucket it is the start of the bucket.
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
