"""`manage.py import_prices`: compare Google's price list with the price book. With --apply, record the changes.

Exit codes: 0 = done, 1 = Google's list could not be read.
"""

import argparse
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from dashboard.management.files import read_pages
from jobs import prices, vertex
from jobs.clients import billing_client
from jobs.clock import database_now
from jobs.cost.price_changes import Change, Comparison
from jobs.cost.skus import Reading

REASON = "manage.py import_prices"


class Command(BaseCommand):
    """Prints every price that changes with the old one, and the number of skipped SKUs per reason."""

    help = "Compare the prices in the Cloud Billing Catalog with the price book. With --apply, record the changes."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declare the options."""
        parser.add_argument("--apply", action="store_true", help="record the changes; without it nothing is recorded")
        words = "read prices from a saved response of services.skus, or from a JSON list of such pages; can be repeated"
        parser.add_argument("--file", action="append", default=[], metavar="ANSWER.json", type=Path, help=words)
        words = "record this doubtful change, such as us-east1/NVIDIA_L4/spot/compute_engine; can be repeated"
        parser.add_argument("--confirm", action="append", default=[], metavar="PRICE", help=words)

    def handle(self, *_: Any, **options: Any) -> None:
        """Print the differences and record them if requested."""
        reading, now = _read_files(options["file"]) if options["file"] else _read_catalog(), database_now()
        found = prices.plan_import(reading, now=now, confirmed=options["confirm"])
        self._print(found, reading)
        if unknown := set(options["confirm"]) - {change.name for change in found.changes}:
            raise CommandError(f"No price to confirm: {', '.join(sorted(unknown))}. Nothing was recorded.")
        if options["apply"]:
            count = prices.record_import(found.changes, reason=REASON, by=None, now=now)
            self.stdout.write(f"{count:,} recorded.")
        else:
            self.stdout.write("Nothing was recorded. Add --apply to record the changes.")

    def _print(self, found: Comparison, reading: Reading) -> None:
        changes = [change for change in found.changes if not change.is_same]
        self._table("Changes", changes)
        self._table("Not recorded unless confirmed", found.doubtful)
        renewed = len(found.changes) - len(changes)
        self.stdout.write(
            f"{len(changes):,} changed, {renewed:,} the same from a newer or better source,"
            f" {found.unchanged:,} unchanged, {len(found.doubtful):,} to confirm."
        )
        for key in reading.conflicts():
            resource, region, strategy, basis = key
            self.stdout.write(f"SKUs disagree, not imported: {region}/{resource}/{strategy}/{basis}")
        for reason, count in sorted(reading.skipped.items()):
            self.stdout.write(f"SKUs skipped, {reason}: {count:,}")

    def _table(self, title: str, changes: list[Change]) -> None:
        if not changes:
            return
        self.stdout.write(f"{title}:")
        for each in sorted(changes, key=lambda change: change.name):
            old = each.old.usd_per_hour if each.old else None
            percent = "new" if each.percent is None else f"{each.percent:+z.1f} %"
            words = f"  {each.name}  {_amount(old)} -> {_amount(each.row.usd_per_hour)}  {percent}"
            self.stdout.write(f"{words}  ({each.doubt})" if each.doubt else words)


def _amount(usd: Any) -> str:
    return "none" if usd is None else f"{usd:.9f}".rstrip("0").rstrip(".")


def _read_files(paths: list[Path]) -> Reading:
    reading = Reading()
    for path, page in read_pages(paths):
        if not isinstance(page, dict) or not isinstance(page.get("skus"), list):
            raise CommandError(f"{path} is not a response of services.skus: it has no list “skus”.")
        reading.add(page["skus"])
    return reading


def _read_catalog() -> Reading:
    client = billing_client()
    if client is None:
        raise CommandError(
            "This site uses an emulator and sends no requests to Google. Use --file or set TRAINBOARD_BILLING_ENDPOINT."
        )
    try:
        return prices.read_catalog(client)
    except vertex.VertexError as error:
        raise CommandError(str(error)) from None
