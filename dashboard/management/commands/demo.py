"""`manage.py demo`: recreate missing demo users and teams while `up` runs. With `--jobs`, request the demo's jobs."""

import argparse
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from dashboard import rehearsal
from dashboard.management.demo import jobs, people
from dashboard.management.supervisor import claim
from jobs.clock import database_now
from jobs.errors import NotAllowed, NotPermitted


class Command(BaseCommand):
    """Creates what is missing and changes nothing else."""

    help = "Create missing users and teams of the demo while `manage.py up` serves the site on loopback."
    requires_system_checks = []

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declare the options."""
        parser.add_argument("--jobs", action="store_true", help="also request six jobs, which run on the emulator")
        parser.add_argument(
            "--close", action="store_true", help="instead remove the public password from the demo's users"
        )

    def handle(self, *_: Any, **options: Any) -> None:
        """Create the people on the host of the running `up`. Refuse if none runs or if others can reach it."""
        if options["close"]:
            closed = people.close()
            self.stdout.write(f"Cannot sign in any more: {', '.join(closed) or 'nobody'}.")
            return
        site = claim.running(settings.STATE_DIR)
        if site is None:
            raise CommandError(
                "`manage.py up` does not run with this state folder. Start it; it creates the demo's users itself."
            )
        if "host" not in site:
            raise CommandError(
                "`manage.py up` is still starting. Try again when it has printed the address of the site."
            )
        try:
            new = people.create(
                str(site["host"]),
                endpoint=rehearsal.EMULATOR if site.get("rehearsal") is True else None,
                reasons=site.get("reached", []),
            )
        except people.NotLoopback as refusal:
            raise CommandError(str(refusal)) from None
        self.stdout.write(f"Created: {', '.join(new)}." if new else "All users of the demo exist.")
        if options["jobs"]:
            self._request_jobs(is_rehearsal=site.get("rehearsal") is True)

    def _request_jobs(self, *, is_rehearsal: bool) -> None:
        if not is_rehearsal:
            raise CommandError("The running site does not use its own emulator, so the demo's jobs would cost money.")
        try:
            requested = jobs.request(database_now())
        except (jobs.MissingPeople, NotAllowed, NotPermitted) as refusal:
            raise CommandError(str(refusal)) from None
        for job in requested:
            self.stdout.write(f"{job.display_name}: {job.get_kind_display()}, {job.state.replace('_', ' ')}")
        if not requested:
            self.stdout.write("The demo's jobs were already requested.")
