"""`manage.py count_jobs`: bring the figures of the history and of spending up to date at once.

Each sweep does this for a few jobs.
"""

from typing import Any

from django.core.management.base import BaseCommand

from jobs import database
from jobs.upkeep import count_all


class Command(BaseCommand):
    """Counts every ended job that is not in the figures, and prints the numbers."""

    help = (
        "Add ended jobs to the figures of the history and of spending. Safe while the site runs. See docs/running.md."
    )

    def handle(self, *_: Any, **__: Any) -> None:
        """Count in portions, each in its own transaction."""
        with database.unlimited():
            total = sum(count_all())
        self.stdout.write(f"{total:,} jobs counted")
