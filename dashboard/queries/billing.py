"""The data of the Cloud Billing page: the latest import of a team, its sums by month and currency, and its jobs."""

from collections.abc import Iterator
from dataclasses import dataclass

from django.db.models import Count, F, Q, Sum
from django.db.models.functions import Abs

from jobs.models import BilledAmount, BillingImport, Team

MAX_ROWS = 100


@dataclass(frozen=True, slots=True)
class Billed:
    """An import: sums per month and currency, and the rows of each sort with the largest differences or costs."""

    row: BillingImport
    months: list[dict[str, object]]
    jobs: list[BilledAmount]
    unknown: list[BilledAmount]
    unlabelled: list[BilledAmount]


def get_billed(team: Team) -> Billed | None:
    """Return the latest import of a team, None if there is none. Five queries."""
    row = BillingImport.objects.filter(team=team).select_related("by").first()
    if row is None:
        return None
    amounts = BilledAmount.objects.filter(billing_import=row)
    is_ours = Q(job__isnull=False)
    months = amounts.values("month", "currency").annotate(
        billed=Sum("cost", filter=is_ours),
        taken_off=Sum("credits"),
        taxes=Sum("tax"),
        ours=Sum("ours_usd"),
        difference=Sum("difference_usd"),
        unmatched=Sum("cost", filter=~is_ours),
        count=Count("job", distinct=True),
    )
    named = amounts.filter(is_ours).select_related("job")
    other = amounts.filter(job=None).order_by("-cost", "pk")
    return Billed(
        row,
        [dict(month) for month in months.order_by("-month", "currency")],
        list(named.order_by(Abs("difference_usd").desc(nulls_last=True), "pk")[:MAX_ROWS]),
        list(other.exclude(label="")[:MAX_ROWS]),
        list(other.filter(label="")[:MAX_ROWS]),
    )


def iterate_billed(row: BillingImport) -> Iterator[BilledAmount]:
    """Yield every amount of an import, read in portions."""
    rows = BilledAmount.objects.filter(billing_import=row).select_related("job")
    return rows.order_by("month", "currency", F("job").asc(nulls_last=True), "pk").iterator(chunk_size=1_000)
