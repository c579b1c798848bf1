"""Import prices from the Cloud Billing Catalog: plan the changes, and write them."""

from collections.abc import Iterable
from datetime import datetime

from django.contrib.auth.models import User
from django.db.models import Max

from jobs.cost.machine_sums import rows_of
from jobs.cost.price_changes import Change, Comparison, compare
from jobs.cost.sku_patterns import SERVICES
from jobs.cost.skus import Reading
from jobs.models import Price
from jobs.prices.book import current_book
from jobs.prices.record import add
from jobs.vertex import BillingClient
from jobs.vertex.caller import BeforePage, nothing

KEY = ("resource", "region", "strategy", "basis")


def read_catalog(client: BillingClient, *, before_page: BeforePage = nothing) -> Reading:
    """Read the SKUs of every service that bills training. Raise VertexError if a call fails."""
    reading = Reading()
    for service in SERVICES.values():
        for page in client.skus(service, before_page=before_page):
            reading.add(page)
    return reading


def plan_import(reading: Reading, *, now: datetime, confirmed: Iterable[str] = ()) -> Comparison:
    """Compare the prices that were read with the book; `confirmed` are the names of changes to make despite a doubt."""
    rows = rows_of(reading.prices(), as_of=now.date())
    book = current_book()
    imports = Price.objects.filter(origin=Price.Origin.IMPORT)
    newest = imports.order_by().values(*KEY).annotate(newest=Max("id")).values("newest")
    last = imports.filter(id__in=newest).values_list(*KEY, "usd_per_hour")
    imported = {(resource, region, strategy, basis): usd for resource, region, strategy, basis, usd in last}
    return compare(book, rows, imported=imported, confirmed=confirmed)


def record_import(changes: Iterable[Change], *, reason: str, by: User | None, now: datetime) -> int:
    """Write changes as new rows and return how many; `by` is None for the daily task."""
    return add(
        [
            Price(
                region=change.row.region,
                resource=change.row.resource,
                strategy=change.row.strategy,
                basis=change.row.basis,
                usd_per_hour=change.row.usd_per_hour,
                source=change.row.source,
                source_url="https://cloud.google.com/billing/docs/reference/rest/v1/services.skus/list",
                as_of=change.row.as_of or now.date(),
                is_official=True,
                note=change.row.note,
                origin=Price.Origin.IMPORT,
                reason=reason[:200],
                recorded_by=by,
                recorded_at=now,
            )
            for change in changes
        ],
        now=now,
    )
