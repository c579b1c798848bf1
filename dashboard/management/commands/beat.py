"""`manage.py beat`: request a sweep of the database every few seconds."""

from typing import Any

from django.core.management.base import BaseCommand

from dashboard.management import processes


class Command(BaseCommand):
    """Becomes Celery's beat."""

    help = "Request a sweep of the database every few seconds. A site needs one."
    requires_system_checks = []

    def handle(self, *_: Any, **_options: Any) -> None:
        """Replace this process with beat."""
        processes.become(processes.beat())
