"""Record prices: those of an admin with a reason, and those of an import. Rows are only added."""

from collections.abc import Iterable
from datetime import date, datetime
from decimal import Decimal

from django.contrib.auth.models import User
from django.db import transaction
from django.utils.translation import gettext as _

from jobs.bounds import is_storable
from jobs.catalog import REGIONS
from jobs.cost import price_keys
from jobs.cost.prices import Key
from jobs.errors import NotPermitted
from jobs.models import Price, Upkeep
from jobs.prices.book import forget_recent

MAX_USD_PER_HOUR = Decimal(1_000_000)
PORTION = 500
UPKEEP = "price import"
"""Name of the row with the next import's due time; recording prices locks it, so that numbers rise."""


def add(rows: Iterable[Price], *, now: datetime) -> int:
    """Write rows in one transaction after another; return how many."""
    Upkeep.objects.get_or_create(name=UPKEEP, defaults={"due_at": now})
    with transaction.atomic():
        Upkeep.objects.select_for_update().get(name=UPKEEP)
        count = len(Price.objects.bulk_create(rows, batch_size=PORTION))
        forget_recent()
    return count


def request_import(*, by: User, now: datetime) -> None:
    """Make the daily import due now. Raise NotPermitted unless `by` is a site admin."""
    if not by.is_superuser:
        raise NotPermitted(_("Only an admin of this site records prices."))
    row, _is_new = Upkeep.objects.get_or_create(name=UPKEEP, defaults={"due_at": now})
    Upkeep.objects.filter(pk=row.pk, due_at__gt=now).update(due_at=now)


def record_price(
    key: Key,
    usd_per_hour: Decimal | None,
    *,
    source: str,
    source_url: str,
    as_of: date,
    is_official: bool,
    reason: str,
    by: User,
    now: datetime,
) -> None:
    """Record a price that applies from now on; `usd_per_hour` is None if the resource is no longer sold this way.

    Raise NotPermitted unless `by` is a site admin. Raise ValueError with a message for people if the price is invalid.
    """
    if not by.is_superuser:
        raise NotPermitted(_("Only an admin of this site records prices."))
    _check(key, usd_per_hour, (source, source_url, reason), as_of, now)
    resource, region, strategy, basis = key
    row = Price(
        region=region,
        resource=resource,
        strategy=strategy,
        basis=basis,
        usd_per_hour=usd_per_hour,
        source=source.strip()[:200],
        source_url=source_url,
        as_of=as_of,
        is_official=is_official,
        origin=Price.Origin.PERSON,
        reason=reason.strip()[:200],
        recorded_by=by,
        recorded_at=now,
    )
    add([row], now=now)


def _check(key: Key, usd: Decimal | None, texts: tuple[str, str, str], as_of: date, now: datetime) -> None:
    """Raise ValueError if the price is invalid; `texts` are its source, the source's address and the reason."""
    resource, region, strategy, basis = key
    if region not in REGIONS or key not in price_keys.keys_in(region):
        raise ValueError(
            _("There is no price of %(resource)s, %(strategy)s, %(basis)s in %(region)s.")
            % {"resource": resource, "strategy": strategy, "basis": basis, "region": region}
        )
    if usd is not None and not 0 < usd < MAX_USD_PER_HOUR:
        raise ValueError(_("A price is more than $0 an hour. Leave it empty if the resource is no longer sold."))
    source, _day, reason = texts
    if not source.strip() or not reason.strip():
        raise ValueError(_("A price needs a source and a reason."))
    if not all(map(is_storable, texts)):
        raise ValueError(_("The text contains a character that cannot be stored."))
    if as_of > now.date():
        raise ValueError(_("The day on which the source held the price is in the future."))
