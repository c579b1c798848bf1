"""`manage.py import_catalogue`: compare Compute Engine's machine and accelerator types with the catalogue.

With --apply, record the changes. Exit codes: 0 = done, 1 = the lists could not be read.
"""

import argparse
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from dashboard.management.files import read_pages
from jobs import known_catalogue, vertex
from jobs.catalog import compute
from jobs.catalog.compute import Change, Reading
from jobs.clients import account_of, platform_client
from jobs.clock import database_now

REASON = "manage.py import_catalogue"


class Command(BaseCommand):
    """Prints every machine and accelerator type that is new or differs, and the number of skipped ones per reason."""

    help = (
        "Compare Compute Engine's machine and accelerator types with the catalogue. With --apply, record the changes."
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declare the options."""
        parser.add_argument("--project", default="", help="the Google Cloud project whose lists are read")
        parser.add_argument("--apply", action="store_true", help="record the changes; without it nothing is recorded")
        words = "read a saved response of machineTypes or acceleratorTypes aggregatedList; can be repeated"
        parser.add_argument("--file", action="append", default=[], metavar="ANSWER.json", type=Path, help=words)
        words = "record this doubtful type, or those of a pattern such as 'n5-*'; can be repeated"
        parser.add_argument("--confirm", action="append", default=[], metavar="NAME", help=words)
        words = "remove a recorded type again; the built-in catalogue applies; can be repeated"
        parser.add_argument("--remove", action="append", default=[], metavar="NAME", help=words)

    def handle(self, *_: Any, **options: Any) -> None:
        """Print the differences and record them if requested."""
        known_catalogue.refresh()
        now = database_now()
        if options["remove"]:
            try:
                count = known_catalogue.remove(options["remove"], reason=REASON, now=now)
            except ValueError as error:
                raise CommandError(str(error)) from None
            self.stdout.write(f"{count:,} removed.")
            return
        if not options["file"] and not options["project"]:
            raise CommandError("Give --project, or --file with a saved response.")
        reading = _read_files(options["file"]) if options["file"] else _read_lists(options["project"])
        changes, doubtful = compute.plan(reading, options["confirm"])
        self._table("Changes", changes)
        self._table("Not recorded unless confirmed", doubtful)
        self.stdout.write(f"{len(changes):,} to record, {len(doubtful):,} to confirm.")
        for reason, count in sorted(reading.skipped.items()):
            self.stdout.write(f"Skipped, {reason}: {count:,}")
        if options["apply"]:
            count = known_catalogue.record(changes, reason=REASON, now=now)
            self.stdout.write(f"{count:,} recorded. Their prices are not known until they are imported or recorded.")
        else:
            self.stdout.write("Nothing was recorded. Add --apply to record the changes.")

    def _table(self, title: str, changes: list[Change]) -> None:
        if changes:
            self.stdout.write(f"{title}:")
        for each in changes:
            before = f"{_words(each.old)} -> " if each.old else "new: "
            doubt = f"  ({each.doubt})" if each.doubt else ""
            self.stdout.write(f"  {each.kind} {each.name}  {before}{_words(each.values)}{doubt}")


def _words(values: dict[str, Any]) -> str:
    if "label" in values:
        return str(values["label"])
    gpus = f", {values['gpu_count']} x {values['gpu_type']}" if values["gpu_type"] else ""
    return f"{values['vcpu']} vCPU, {values['memory_gib']} GiB{gpus}"


def _read_files(paths: list[Path]) -> Reading:
    reading = Reading()
    for path, page in read_pages(paths):
        zones = page.get("items") if isinstance(page, dict) else None
        if not isinstance(zones, dict):
            raise CommandError(f"{path} is not a response of aggregatedList: it has no object “items”.")
        for zone in zones.values():
            for collection in known_catalogue.COLLECTIONS:
                listed = zone.get(collection) if isinstance(zone, dict) else None
                reading.add(collection, listed if isinstance(listed, list) else [])
    return reading


def _read_lists(project: str) -> Reading:
    try:
        return known_catalogue.read_lists(platform_client(account_of(project)), project)
    except vertex.VertexError as error:
        raise CommandError(str(error)) from None
