"""How much time the board's axis covers where the address has no length: it follows the jobs of the board."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from math import ceil

from dashboard.drawing.track import BEFORE_NOW
from jobs.models import Job

AXES = {
    "0.25": timedelta(minutes=15),
    "1": timedelta(hours=1),
    "4": timedelta(hours=4),
    "16": timedelta(hours=16),
    "48": timedelta(hours=48),
    "168": timedelta(days=7),
}
"""Hours that the axis may cover, in order."""
DEFAULT = "16"
"""Of a board without jobs."""
HOURS_HEADER = "X-Shown-Hours"
"""What the live part sends back: the hours that it shows."""
SHARE = 0.9
"""Of the jobs, as many as have to fit; a few that take days do not hide those that take minutes."""
MARGIN = 1.5
"""An axis that is shown becomes shorter only when the jobs would fit even if they took this many times as long."""


def hours_for(jobs: Iterable[Job], now: datetime, shown: str = "") -> str:
    """Return the key in AXES of the shortest axis on which the jobs fit from their request to their end, or to now.

    `shown` is the axis that the reader sees already, "" for none: with it a job that comes or goes near a limit does
    not change the axis to and fro.
    """
    lengths = sorted((job.ended_at or now) - job.requested_at for job in jobs)
    if not lengths:
        return shown if shown in AXES else DEFAULT
    needed = lengths[ceil(SHARE * len(lengths)) - 1]
    fitting = _shortest(needed)
    if shown not in AXES or AXES[fitting] >= AXES[shown]:
        return fitting
    return min(shown, _shortest(needed * MARGIN), key=AXES.__getitem__)


def _shortest(needed: timedelta) -> str:
    return next((key for key, length in AXES.items() if needed <= length * BEFORE_NOW), list(AXES)[-1])
