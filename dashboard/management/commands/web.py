"""`manage.py web`: serve the pages and the API."""

import argparse
from typing import Any

from django.core.management.base import BaseCommand

from dashboard import env
from dashboard.management import processes
from dashboard.management.supervisor import prepare


class Command(BaseCommand):
    """Collects the static files if they have changed, and becomes Granian."""

    help = "Serve the pages and the API. Run migrate first, and worker and beat beside it."
    requires_system_checks = []

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declare the options. PORT and others come from the environment (README)."""
        parser.add_argument(
            "--host", default="127.0.0.1", help="address to listen on (default: 127.0.0.1, this machine only)"
        )
        parser.add_argument("--workers", type=int, default=2, help="number of processes (default: 2)")

    def handle(self, *_: Any, host: str, workers: int, **_options: Any) -> None:
        """Replace this process with the server."""
        port = env.whole("PORT", default=8000, least=1, most=65535)
        prepare.static_files(lambda _line: None)
        processes.become(processes.web(host, port, workers=workers))
