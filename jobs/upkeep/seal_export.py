"""Send the sealed audit log to an address outside, so that nobody who can write to the database can rewrite it unseen.

Each seal is one POST with its entries, signed like a webhook (`jobs.messages.webhook`) and sent by the same rules
(`jobs.messages.post`: checked public address, TLS, no redirect). The id of a message names the seal, so a receiver
recognizes one that it gets twice.
"""

import json
from datetime import datetime

from django.conf import settings
from django.db.models import QuerySet

from jobs.messages.post import post
from jobs.messages.webhook import signed_headers
from jobs.models import AuditSeal
from jobs.upkeep.seals import entries_of, values_of

MAX_SENT = 20
"""Seals that one run sends."""


def unsent() -> QuerySet[AuditSeal]:
    """Select the seals that the configured address does not have yet, none if there is no address."""
    rows = AuditSeal.objects.filter(exported_at=None, removed_at=None).order_by("pk")
    return rows if settings.AUDIT_EXPORT_URL else rows.none()


def send_seals(now: datetime) -> int:
    """Send the oldest seals. Return how many. Raise SendFailed for the first that is refused; it is tried again later.

    A seal is marked after the receiver has accepted it, so it may be sent twice and is never left out.
    """
    sent = 0
    for seal in unsent()[:MAX_SENT]:
        data = {"seal": values_of(seal), "entries": list(entries_of(seal))}
        body = json.dumps(
            {"type": "trainboard.audit_seal", "timestamp": seal.sealed_at, "data": data},
            default=str, ensure_ascii=False, sort_keys=True,
        ).encode()  # fmt: skip
        uid = f"audit-{seal.team}-{seal.number}"
        headers = signed_headers([settings.AUDIT_EXPORT_SECRET], uid=uid, now=now, body=body)
        post(settings.AUDIT_EXPORT_URL, body, headers)
        AuditSeal.objects.filter(pk=seal.pk).update(exported_at=now)
        sent += 1
    return sent
