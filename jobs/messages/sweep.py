"""What a sweep does for messages: announce what no event tells, then decide who gets what."""

from datetime import datetime

from jobs.messages.reports import report_when_due
from jobs.messages.route import route
from jobs.messages.waits import watch_waits


def sweep(now: datetime) -> int:
    """Announce long waits and reports, and write deliveries; return how many messages were routed."""
    watch_waits(now)
    report_when_due(now)
    return route(now)
