"""Import Google's prices once a day if this site has credentials. Small changes are applied at once.

Spot prices change up to once a day, so an import that waited for a person would leave all of them outdated. Changes
that could come from a wrong match wait for an admin on the prices page. These are changes of more than a quarter, and
those that `jobs.cost.price_changes` marks as doubtful.
"""

from datetime import datetime, timedelta
from decimal import Decimal

from jobs import prices, vertex
from jobs.clients import billing_client
from jobs.cost.price_changes import Change
from jobs.observation.cadence import Stopwatch
from jobs.observation.failures import record_failure
from jobs.prices.record import UPKEEP
from jobs.queue import claims

INTERVAL = timedelta(days=1)
MAX_AUTOMATIC_PERCENT = Decimal(25)
"""Spot prices changed by up to 14.3 % in seven weeks of 2026 (us-central1, five machines). Larger changes wait."""
REASON = "Daily import from Google's price list."


def import_when_due(now: datetime) -> None:
    """Import prices if the last import was a day ago.

    Do nothing on a site that makes no external calls (`billing_client`), or if another worker has claimed the import.
    If credentials are missing, the row records that and the import is tried again the next day.
    """
    client = billing_client()
    if client is None:
        return
    held = claims.claim_upkeep(UPKEEP, now)
    if held is None:
        return
    watch = Stopwatch(now)
    with record_failure(held, now=now):
        try:
            reading = prices.read_catalog(client, before_page=lambda: claims.keep_poll(held, now=watch.now))
        except vertex.AuthFailed as error:
            claims.release_poll(held, due_at=now + INTERVAL, answered_at=held.answered_at, last_error=str(error))
            return
        found = prices.plan_import(reading, now=now)
        small = [change for change in found.changes if not is_large(change)]
        large = [*found.doubtful, *(change for change in found.changes if is_large(change))]
        result = {
            "recorded": prices.record_import(small, reason=REASON, by=None, now=now),
            "unchanged": found.unchanged,
            "waiting": len(large),
            "proposals": prices.store_proposals(large),
            "skipped": dict(reading.skipped),
        }
        claims.release_poll(held, due_at=now + INTERVAL, answered_at=now, result=result)


def is_large(change: Change) -> bool:
    """Return whether an admin has to confirm a change before it is applied."""
    return change.percent is not None and abs(change.percent) > MAX_AUTOMATIC_PERCENT
