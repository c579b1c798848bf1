"""What the race's two sides agree on: where the jobs are, and how long and how often they are watched."""

from datetime import UTC, datetime, timedelta

REGION, PROJECT = "us-central1", "vision-research"
CYCLES = 3
WATCH_SECONDS = 62.0
INTERVAL = timedelta(seconds=20)
SUBMISSIONS = 100
THREADS = 4
"""Of one worker."""
AHEAD_SECONDS = 600.0
"""By how much the emulator's clock, and so ours, is ahead of the wall's: all its jobs have been let run."""


def clock() -> datetime:
    """Return the present moment of the emulator."""
    return datetime.now(UTC) + timedelta(seconds=AHEAD_SECONDS)
