"""`manage.py audit`: check the invariants of all rows and report violations."""

import argparse
import json
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand

from jobs.clock import database_now
from jobs.upkeep.audit import audit, items_set_aside
from jobs.upkeep.seals import export_log
from jobs.upkeep.start_repair import undecided_starts


class Command(BaseCommand):
    """Prints one line per violation as it is found. The exit code is 1 if there is any."""

    help = "Check the invariants of all rows. Exit with 1 if a row violates one. Changes nothing."
    requires_system_checks = []

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declare the options."""
        parser.add_argument("--json", action="store_true", help="print each violation as a JSON object on one line")
        parser.add_argument("--export-log", metavar="FILE", help="write the audit log with its seals as lines of JSON")

    def handle(self, *_: Any, **options: Any) -> None:
        """Check everything."""
        if options["export_log"]:
            with Path(options["export_log"]).open("w", encoding="utf-8") as file:
                file.writelines(f"{line}\n" for line in export_log())
        count = 0
        for broken in audit(database_now()):
            count += 1
            line = f"{broken.row} ({broken.pk}): {broken.words}"
            self.stdout.write(json.dumps(broken.as_dict(), ensure_ascii=False) if options["json"] else line)
        if not count and not options["json"]:
            self.stdout.write("All rows keep their invariants.")
        if (jobs := undecided_starts().only("display_name")) and not options["json"]:
            self.stdout.write("Starts that nothing confirms, since no log shows whether the job ran then:")
            for job in jobs.iterator():
                self.stdout.write(f"  {job} ({job.pk})")
        if (items := items_set_aside()) and not options["json"]:
            self.stdout.write(
                f"Set aside, since they could not be stored or read: {items} (see /admin/jobs/setasideitem/)."
            )
        if count:
            raise SystemExit(1)
