"""The audit log in pages, newest first, of the site or of one team. Each page is read from an index."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from auditlog.models import LogEntry
from django.db.models import Q, QuerySet

PAGE = 50
MAX_SEARCHED = 5_000
"""Entries that one page of a search reads. The next page continues after them."""
MAX_EXPORTED = 50_000
ACTIONS = {0: "created", 1: "changed", 2: "deleted", 3: "sign-in"}
SIGN_INS = "sign-in"
"""The kind of entries about sign-ins. They are entries about people with an action of their own."""


@dataclass(frozen=True, slots=True)
class Filters:
    """Filters of entries: words in the change or the object's name, a kind of object, an author."""

    text: str = ""
    kind: str = ""
    actor: str = ""

    def __bool__(self) -> bool:
        return bool(self.text or self.kind or self.actor)


@dataclass(frozen=True, slots=True)
class AuditPage:
    """One page. `older` is the key before which the next page begins, None on the last one."""

    entries: Sequence[LogEntry]
    older: int | None
    is_first: bool


def entries_of(team: int | None) -> "QuerySet[Any]":
    """Return the entries about a team, or about the site if `team` is None, newest first. The caller limits them."""
    every: QuerySet[Any] = LogEntry.objects.select_related("actor", "content_type").defer(
        "serialized_data", "changes_text"
    )
    if team is not None:
        every = every.filter(audited_team__team=team)
    return every.order_by("-pk" if team is None else "-audited_team__entry_id")


def list_entries(team: int | None, filters: Filters, *, before: int | None) -> AuditPage:
    """Return a page of entries older than the key `before`. A search reads at most MAX_SEARCHED entries.

    At most two queries, and one more for a search.
    """
    key = "pk" if team is None else "audited_team__entry_id"
    rows = entries_of(team)
    if before is not None:
        rows = rows.filter(**{f"{key}__lt": before})
    if not filters:
        found = list(rows[: PAGE + 1])
        return AuditPage(found[:PAGE], found[PAGE - 1].pk if len(found) > PAGE else None, before is None)
    last = next(iter(rows.values_list("pk", flat=True)[MAX_SEARCHED : MAX_SEARCHED + 1]), None)
    within = rows if last is None else rows.filter(**{f"{key}__gt": last})
    found = list(within.filter(_condition(filters))[: PAGE + 1])
    if len(found) > PAGE:
        return AuditPage(found[:PAGE], found[PAGE - 1].pk, before is None)
    return AuditPage(found, None if last is None else last + 1, before is None)


def iterate_entries(team: int | None, filters: Filters) -> Iterator[LogEntry]:
    """Yield the newest MAX_EXPORTED matching entries, read page by page."""
    return islice(_pages(team, filters), MAX_EXPORTED)


def _pages(team: int | None, filters: Filters) -> Iterator[LogEntry]:
    before = None
    while True:
        page = list_entries(team, filters, before=before)
        yield from page.entries
        if page.older is None:
            return
        before = page.older


def changes_of(entry: LogEntry) -> list[tuple[str, str, str]]:
    """Return (field, before, after) of an entry as stored. Secrets were hidden when the entry was written."""
    changes = entry.changes if isinstance(entry.changes, Mapping) else {}
    found = []
    for name, pair in changes.items():
        before, after = pair if isinstance(pair, list | tuple) and len(pair) == 2 else ("", pair)
        found.append((name, _stored(before), _stored(after)))
    return [each for each in found if each[1] or each[2]]


def _stored(value: object) -> str:
    return "" if value in (None, "None") else str(value)


def _condition(filters: Filters) -> Q:
    condition = Q()
    for word in filters.text.split():
        condition &= Q(object_repr__icontains=word) | Q(changes__icontains=word)
    if filters.kind == SIGN_INS:
        condition &= Q(action=LogEntry.Action.ACCESS)
    elif filters.kind:
        condition &= Q(content_type__model=filters.kind)
    if filters.actor:
        condition &= Q(actor__username=filters.actor)
    return condition
