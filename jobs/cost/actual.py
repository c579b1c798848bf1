"""What a job has cost so far: its hourly price times the time in which its machines worked."""

from datetime import timedelta
from decimal import Decimal

BILLING_INCREMENT = timedelta(seconds=30)
"""Started increments count whole. Unverified: only a secondary guide names 30 seconds, Google's own sentence was not
found (2026-11-21). No minimum is known and none is applied."""

HOUR = timedelta(hours=1)
MICROSECOND = timedelta(microseconds=1)


def accrued(
    usd_per_hour: Decimal | None, running: timedelta, *, increment: timedelta = BILLING_INCREMENT
) -> Decimal | None:
    """Return the USD owed for `running`, the time in RUNNING, or None when the price is not known.

    Queued, pending and preempted time is not billed and must not be part of `running`. `increment` zero bills to the
    microsecond. A negative time, which clocks can produce, counts as none.
    """
    if usd_per_hour is None:
        return None
    return for_time(usd_per_hour, billable(running, increment=increment))


def billable(running: timedelta, *, increment: timedelta = BILLING_INCREMENT) -> timedelta:
    """Return the time that is billed for `running`: rounded up to whole increments, never below zero."""
    running = max(running, timedelta())
    if not increment:
        return running
    return -(-running // increment) * increment


def for_time(usd_per_hour: Decimal, time: timedelta) -> Decimal:
    """Return what `time` costs at that price, counted to the microsecond."""
    return usd_per_hour * (time // MICROSECOND) / (HOUR // MICROSECOND)
