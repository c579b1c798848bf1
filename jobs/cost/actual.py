"""The cost of a job so far: its hourly price times the billable time of its machines."""

from datetime import timedelta
from decimal import Decimal

BILLING_INCREMENT = timedelta(seconds=30)
"""Started increments are billed whole. Unverified: only a secondary guide gives 30 seconds, and no statement of Google
was found (2026-11-21). No minimum is known and none is applied."""

OVERRUN = timedelta(seconds=150)
"""How long machines may be billed after a run's timeout or failure, until they are gone. No bound is documented: up to
136 seconds were recorded from the end of a program to that of its job (2026-02-23)."""

SCALE_DOWN = timedelta(hours=1)
"""How long machines that a persistent resource has added for a job are counted after a run. They are billed until the
resource scales down again (persistent-resource-overview, read 2026-11-28). No time is documented; an hour is assumed.
"""

HOUR = timedelta(hours=1)
MICROSECOND = timedelta(microseconds=1)


def accrued(
    usd_per_hour: Decimal | None, running: timedelta, *, increment: timedelta = BILLING_INCREMENT
) -> Decimal | None:
    """Return the cost in USD of `running`, the time in RUNNING; None if the price is not known.

    Queued, pending and preempted time is not billed and must not be part of `running`. With an `increment` of zero, the
    time is billed to the microsecond. A negative time, which clocks can produce, counts as zero.
    """
    if usd_per_hour is None:
        return None
    return for_time(usd_per_hour, billable(running, increment=increment))


def billable(running: timedelta, *, increment: timedelta = BILLING_INCREMENT) -> timedelta:
    """Return the billed time for `running`: rounded up to whole increments, never below zero."""
    running = max(running, timedelta())
    if not increment:
        return running
    return -(-running // increment) * increment


def longest_billed(timeout: timedelta, *, beyond: timedelta = OVERRUN) -> timedelta:
    """Return the longest time for which one run with this timeout is billed, `beyond` which its machines stay."""
    return billable(timeout + beyond)


def for_time(usd_per_hour: Decimal, time: timedelta) -> Decimal:
    """Return the cost of `time` at that price, exact to the microsecond."""
    return usd_per_hour * (time // MICROSECOND) / (HOUR // MICROSECOND)
