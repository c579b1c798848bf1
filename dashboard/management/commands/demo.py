"""`manage.py demo`: put back the demo's people and teams while `manage.py up` runs."""

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from dashboard.management.demo import people
from dashboard.management.supervisor import claim


class Command(BaseCommand):
    """Creates what is missing; changes nothing that is there."""

    help = "Create the demo's people and teams that are missing, while `manage.py up` serves them on loopback."
    requires_system_checks = []

    def handle(self, *_: Any, **__: Any) -> None:
        """Ask the running `up` where it listens; refuse when none runs or others can reach it."""
        site = claim.running(settings.STATE_DIR)
        if site is None:
            raise CommandError("No `manage.py up` runs on this state folder; it creates the demo's people itself.")
        try:
            new = people.create(str(site.get("host", "an unknown address")))
        except people.NotLoopback as refusal:
            raise CommandError(str(refusal)) from None
        self.stdout.write(f"Created: {', '.join(new)}." if new else "Everybody is there already.")
