"""The length of the board's time axis, chosen to fit its jobs unless the address sets it."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from math import ceil

from dashboard.drawing.track import BEFORE_NOW
from jobs.models import Job

AXES = {
    "0.25": timedelta(minutes=15),
    "1": timedelta(hours=1),
    "4": timedelta(hours=4),
    "12": timedelta(hours=12),
    "24": timedelta(hours=24),
    "48": timedelta(hours=48),
    "168": timedelta(days=7),
}
"""Lengths of the axis by hours, in order."""
DEFAULT = "12"
"""Hours of the axis of an empty board."""
HOURS_HEADER = "X-Shown-Hours"
"""Header in which the live part sends the hours that it shows."""
SHARE = 0.8
"""Share of the listed jobs that have to fit, so that a few jobs of several days do not squeeze those of minutes."""
MARGIN = 1.5
"""The axis becomes shorter only if the jobs would fit even if they had begun this many times as long ago."""


def hours_for(jobs: Iterable[Job], now: datetime, shown: str = "") -> str:
    """Return the key in AXES of the shortest axis that fits the listed jobs from their request until now.

    `shown` is the axis that the viewer sees already, or "". It keeps the axis from switching back and forth when a job
    near a limit comes or goes.
    """
    lengths = sorted(now - job.requested_at for job in jobs)
    if not lengths:
        return shown if shown in AXES else DEFAULT
    needed = lengths[ceil(SHARE * len(lengths)) - 1]
    fitting = _shortest(needed)
    if shown not in AXES or AXES[fitting] >= AXES[shown]:
        return fitting
    return min(shown, _shortest(needed * MARGIN), key=AXES.__getitem__)


def _shortest(needed: timedelta) -> str:
    return next((key for key, length in AXES.items() if needed <= length * BEFORE_NOW), list(AXES)[-1])
