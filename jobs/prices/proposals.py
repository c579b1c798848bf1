"""Price changes that the daily import found but did not write; an admin accepts or ignores them."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.utils.translation import gettext as _

from jobs.catalog import PriceRow
from jobs.cost.price_changes import Change
from jobs.errors import NotPermitted
from jobs.models import Upkeep
from jobs.prices.imports import record_import
from jobs.prices.record import UPKEEP

MAX_PROPOSALS = 200
"""Limit of stored proposals; the import of the next day finds the others again."""
_TEXTS = ("region", "resource", "strategy", "basis", "source", "note")


def store_proposals(changes: Iterable[Change]) -> list[dict[str, Any]]:
    """Return changes as JSON for the row of the import."""
    kept = sorted(changes, key=lambda change: change.name)[:MAX_PROPOSALS]
    return [
        {name: getattr(each.row, name) for name in _TEXTS}
        | {
            "usd": str(each.row.usd_per_hour),
            "old_usd": str(each.old.usd_per_hour) if each.old else "",
            "as_of": str(each.row.as_of),
            "doubt": each.doubt,
        }
        for each in kept
    ]


def proposals(row: Upkeep | None) -> list[Change]:
    """Return the proposals of the last import, sorted by name."""
    return [_proposal(each) for each in (row.result.get("proposals", []) if row else [])]


def accept(names: Iterable[str], *, reason: str, by: User, now: datetime) -> int:
    """Record the proposals with these names as prices; return how many still existed.

    Raise NotPermitted unless `by` is a site admin, ValueError without a reason.
    """
    if not by.is_superuser:
        raise NotPermitted(_("Only an admin of this site records prices."))
    if not reason.strip():
        raise ValueError(_("Accepting prices needs a reason."))
    wanted = frozenset(names)
    with transaction.atomic():
        row = Upkeep.objects.select_for_update().filter(name=UPKEEP).first()
        kept = row.result.get("proposals", []) if row else []
        chosen = [each for each in map(_proposal, kept) if each.name in wanted]
        if row is None or not chosen:
            return 0
        row.result["proposals"] = [each for each in kept if _proposal(each).name not in wanted]
        row.save(update_fields=["result"])
        return record_import(chosen, reason=reason.strip(), by=by, now=now)


def _proposal(kept: dict[str, Any]) -> Change:
    row = PriceRow(
        **{name: kept[name] for name in _TEXTS},
        usd_per_hour=Decimal(kept["usd"]),
        as_of=date.fromisoformat(kept["as_of"]),
        is_official=True,
        origin="import",
    )
    old = replace(row, usd_per_hour=Decimal(kept["old_usd"])) if kept["old_usd"] not in ("", "None") else None
    return Change(row, old, kept["doubt"])
