"""`manage.py worker`: do the work of some queues, by default of all."""

import argparse
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from dashboard.management import processes


class Command(BaseCommand):
    """Becomes a Celery worker."""

    help = "Observe jobs, send them, and deliver messages. With --queue, only one of these, in a worker of its own."
    requires_system_checks = []

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declare the options."""
        queues = [each.name for each in settings.CELERY_TASK_QUEUES]
        parser.add_argument("--queue", action="append", choices=queues, help="queue to serve; can be repeated")
        parser.add_argument("--name", default="worker", help="name of the worker on this machine (default: worker)")
        parser.add_argument("--threads", type=int, default=4, help="number of threads (default: 4)")

    def handle(self, *_: Any, queue: list[str] | None, name: str, threads: int, **_options: Any) -> None:
        """Replace this process with the worker."""
        queues = queue or [each.name for each in settings.CELERY_TASK_QUEUES]
        processes.become(processes.worker(name, queues=queues, threads=threads))
