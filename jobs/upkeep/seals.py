"""Seal the audit log, verify the seals, remove whole sealed spans, and send them to an address outside.

The sweep seals entries that are older than SETTLED, so that no request waits for another one's seal and a transaction
that commits late is not passed over. Each team has a chain of its own. Whoever can write to the database can also write
a new chain, so export the log to another machine: `manage.py audit --export-log FILE`, or `send_seals`.
"""

import json
from collections.abc import Iterable, Iterator
from datetime import date, datetime, timedelta
from itertools import groupby
from typing import Any

from auditlog.models import LogEntry
from django.conf import settings
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models import Exists, Max, OuterRef, QuerySet

from jobs.bounds import digest_of
from jobs.messages.post import post
from jobs.messages.webhook import signed_headers
from jobs.models import AuditSeal, SealedEntry
from jobs.models.seal import SITE

SETTLED = timedelta(minutes=5)
"""Age from which an entry is sealed, longer than any transaction."""
PORTION = 500
"""Entries that one run seals, and one query verifies."""
LATE_KEYS = 10_000
"""Keys before the last sealed one that are searched for entries of transactions that committed late."""
COLUMNS = (
    "pk", "timestamp", "action", "content_type_id", "object_pk", "object_repr", "changes", "actor_email", "remote_addr",
)  # fmt: skip


def seal_audit_log(now: datetime) -> int:
    """Seal the settled entries, at most PORTION of them. Return how many. Repeating it at the same time is harmless."""
    last = SealedEntry.objects.aggregate(last=Max("entry"))["last"] or 0
    is_sealed = Exists(SealedEntry.objects.filter(entry=OuterRef("pk")))
    settled = LogEntry.objects.filter(pk__gt=last - LATE_KEYS, timestamp__lt=now - SETTLED).exclude(is_sealed)
    rows = list(settled.order_by("pk").values(*COLUMNS, "actor_id", "audited_team__team")[:PORTION])
    spans = sorted(rows, key=lambda row: (*_span(row), row["pk"]))
    for (team, _day), span in groupby(spans, key=_span):
        try:
            with transaction.atomic():
                _seal(team, list(span), now)
        except IntegrityError:  # another worker has sealed them at the same time
            continue
    return len(rows)


def _span(row: dict[str, Any]) -> tuple[int, date]:
    """Return the chain and day of an entry: a span has one day at most, so that retention need not wait for others."""
    return row["audited_team__team"] or SITE, row["timestamp"].date()


def _seal(team: int, rows: list[dict[str, Any]], now: datetime) -> None:
    before = AuditSeal.objects.filter(team=team).order_by("-number").first()
    digests = {row["pk"]: _digest(row, row["actor_id"]) for row in rows}
    number, content = (before.number if before else 0) + 1, _content(digests.values())
    seal = AuditSeal.objects.create(
        team=team,
        number=number,
        entries=len(rows),
        last_at=max(row["timestamp"] for row in rows),
        content=content,
        digest=_chained(before.digest if before else "", team, number, len(rows), content),
        sealed_at=now,
    )
    SealedEntry.objects.bulk_create(
        SealedEntry(entry=row["pk"], seal=seal, actor=row["actor_id"], digest=digests[row["pk"]]) for row in rows
    )


def broken_seals() -> Iterator[tuple[AuditSeal, str]]:
    """Yield every seal that does not fit the entries or the seal before it, with what is wrong."""
    before: AuditSeal | None = None
    for seal in AuditSeal.objects.order_by("team", "number").iterator(chunk_size=PORTION):
        if before is None or before.team != seal.team:
            number, digest = 1, ""
        else:
            number, digest = before.number + 1, before.digest
        before = seal
        if seal.number != number:
            yield seal, f"seal {number} of the chain is missing"
        elif seal.digest != _chained(digest, seal.team, seal.number, seal.entries, seal.content):
            yield seal, "its digest does not fit the seal before it"
        elif seal.removed_at is None:
            yield from ((seal, words) for words in _broken_entries(seal))


def _broken_entries(seal: AuditSeal) -> Iterator[str]:
    kept = {row.entry: row for row in seal.sealed_entries.order_by("entry")}
    if len(kept) != seal.entries or _content(row.digest for row in kept.values()) != seal.content:
        yield "the digests of its entries were changed"
        return
    found = {row["pk"]: row for row in LogEntry.objects.filter(pk__in=kept).values(*COLUMNS, "actor_id")}
    people = set(User.objects.filter(pk__in={row.actor for row in kept.values()}).values_list("pk", flat=True))
    for pk, row in kept.items():
        if pk not in found:
            yield f"entry {pk} was deleted"
        elif _digest(found[pk], row.actor) != row.digest:
            yield f"entry {pk} was changed"
        elif found[pk]["actor_id"] != row.actor and (found[pk]["actor_id"] is not None or row.actor in people):
            yield f"the author of entry {pk} was changed"


def removable(before: datetime) -> QuerySet[AuditSeal]:
    """Select the spans whose entries are all older than `before`, and which the export address has, if there is one."""
    found = AuditSeal.objects.filter(removed_at=None, last_at__lt=before)
    return found.exclude(exported_at=None) if settings.AUDIT_EXPORT_URL else found


def remove_spans(pks: list[int], now: datetime) -> None:
    """Remove the entries of sealed spans and keep the seals."""
    sealed = SealedEntry.objects.filter(seal__in=pks)
    LogEntry.objects.filter(pk__in=sealed.values("entry")).delete()
    sealed.delete()
    AuditSeal.objects.filter(pk__in=pks).update(removed_at=now)


def export_log() -> Iterator[str]:
    """Yield the audit log and its seals as lines of JSON: each chain's seals, each followed by its entries."""
    for seal in AuditSeal.objects.order_by("team", "number").iterator(chunk_size=PORTION):
        yield _line({"seal": values_of(seal)})
        for row in entries_of(seal):
            yield _line({"entry": row})


def values_of(seal: AuditSeal) -> dict[str, Any]:
    """Return a seal as it is exported."""
    names = ("team", "number", "entries", "last_at", "content", "digest", "sealed_at", "removed_at")
    return {name: getattr(seal, name) for name in names}


def entries_of(seal: AuditSeal) -> QuerySet[Any, dict[str, Any]]:
    """Return the entries of a seal as they are exported, with the user name of their author."""
    keys = seal.sealed_entries.values("entry")
    rows: QuerySet[Any, dict[str, Any]] = LogEntry.objects.filter(pk__in=keys).order_by("pk")
    return rows.values(*COLUMNS, "actor__username")


def _line(value: dict[str, Any]) -> str:
    return json.dumps(value, default=str, ensure_ascii=False, sort_keys=True)


def _digest(row: dict[str, Any], actor: int | None) -> str:
    """Return the digest of an entry and its author, as the database returns them."""
    values = [row[name] for name in COLUMNS]
    return digest_of(json.dumps([*values, actor], default=_text, sort_keys=True))


def _text(value: object) -> str:
    return value.isoformat() if isinstance(value, datetime) else str(value)


def _content(digests: Iterable[str]) -> str:
    return digest_of("".join(digests))


def _chained(before: str, team: int, number: int, entries: int, content: str) -> str:
    return digest_of(f"{before} {team} {number} {entries} {content}")


MAX_SENT = 20
"""Seals that one run sends.

Each is one POST with its entries, signed like a webhook (`jobs.messages.webhook`) and sent by the same rules
(`jobs.messages.post`: checked public address, TLS, no redirect). The id of a message names the seal, so a receiver
recognizes one that it gets twice.
"""


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
