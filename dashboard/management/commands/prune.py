"""`manage.py prune`: remove old rows, as a worker does once a day."""

import argparse
from collections import Counter
from typing import Any

from django.core.management.base import BaseCommand
from django.db import connection

from jobs import database
from jobs.clock import database_now
from jobs.upkeep import retention

OLD_TABLES = ("jobs_committed", "jobs_dayspend", "jobs_jobspend", "jobs_monthspend", "jobs_resourcespend")
"""Nothing refers to them since the migration 0086. A later version removes them everywhere."""


class Command(BaseCommand):
    """Prints one line per kind of row with the number removed, or with --dry-run the number that would be removed."""

    help = "Remove old events, log lines, sessions and other old rows. Safe while the site runs. See docs/running.md."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declare the options, of which one may be given."""
        one = parser.add_mutually_exclusive_group()
        one.add_argument(
            "--dry-run", action="store_true", help="count the rows that would be removed, and remove nothing"
        )
        words = "drop the tables that the ledger has replaced, and nothing else; versions before it then cannot run"
        one.add_argument("--old-tables", action="store_true", help=words)

    def handle(self, *_: Any, **options: Any) -> None:
        """Remove or count all old rows, or drop the old tables."""
        if options["old_tables"]:
            with connection.cursor() as cursor:
                for name in OLD_TABLES:
                    cursor.execute(f"DROP TABLE IF EXISTS {name}")
            self.stdout.write(f"{len(OLD_TABLES)} tables dropped, if they were there: {', '.join(OLD_TABLES)}")
            return
        now, counts = database_now(), Counter[str]()
        with database.unlimited():
            for name, count, days in list(retention.old_rows(now)) if options["dry_run"] else []:
                after = "" if days is None else f" (older than {days} days)"
                self.stdout.write(f"{name}: {count:,} would be removed{after}")
            for name, count in retention.prune(now) if not options["dry_run"] else ():
                counts[name] += count
        for name, count in counts.items():
            self.stdout.write(f"{name}: {count:,} removed")
        if not options["dry_run"] and not counts:
            self.stdout.write("Nothing is old enough to be removed.")
