"""`manage.py doctor`: check all requirements for running jobs, and print how to repair those that fail."""

import argparse
import json
from typing import Any

from django.core.management.base import BaseCommand
from django.utils import timezone

from jobs import doctor
from jobs.clock import database_now


class Command(BaseCommand):
    """Prints one line per check. The exit code is 1 if one fails, 0 with warnings only."""

    help = (
        "Check credentials, permissions, services, buckets, Redis, the database and more. Exit with 1 if a check fails."
    )
    requires_system_checks = []

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declare the options."""
        parser.add_argument("--json", action="store_true", help="print all checks as one JSON object")
        parser.add_argument("--all", action="store_true", help="also show the checks that passed")

    def handle(self, *_: Any, **options: Any) -> None:
        """Run all checks with the credentials of this process."""
        checks = doctor.examine(database_now(), machine_now=timezone.now)
        counts = {status.value: sum(check.status is status for check in checks) for status in doctor.Status}
        if options["json"]:
            whole = {"counts": counts, "checks": [check.as_dict() for check in checks]}
            self.stdout.write(json.dumps(whole, ensure_ascii=False, indent=2))
        else:
            for check in checks:
                if options["all"] or check.status is not doctor.Status.PASS:
                    self.stdout.write(f"{check.status.upper():4}  {check.group}: {check.name}. {check.detail}")
                    if check.repair:
                        self.stdout.write(f"      {check.repair}")
            self.stdout.write(f"{counts['pass']} passed, {counts['warn']} warnings, {counts['fail']} failed.")
        if counts["fail"]:
            raise SystemExit(1)
