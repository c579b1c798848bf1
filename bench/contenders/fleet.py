"""Settings shared by both sides of the race: the place of the jobs, and how long and how often they are polled."""

from datetime import UTC, datetime, timedelta

REGION, PROJECT = "us-central1", "vision-research"
CYCLES = 3
WATCH_SECONDS = 62.0
INTERVAL = timedelta(seconds=20)
SUBMISSIONS = 100
THREADS = 4
"""Threads of one worker."""
AHEAD_SECONDS = 600.0
"""Seconds by which the emulator's clock, and so ours, is ahead of the real one, after all its jobs were started."""


def clock() -> datetime:
    """Return the current time of the emulator."""
    return datetime.now(UTC) + timedelta(seconds=AHEAD_SECONDS)
