"""The pools page: the persistent resources of the person's projects, what they have, who uses it and what it costs."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from django.core.paginator import Paginator
from django.db.models import Q
from django.http import HttpResponse
from django.views.decorators.http import require_safe

from dashboard.access import Job, Request, Scope, teams_of, teams_where
from dashboard.access.pools import Pool, holdings_of, looks_at_pools, pools_of
from dashboard.pages.parts.fragments import page_or_fragment
from jobs import cost, lifecycle
from jobs.lifecycle import database_now
from jobs.spec import ResourcePool
from jobs.timeline import Holding

PAGE_SIZE = 25
GONE_FOR = timedelta(days=7)
"""How long one that is gone is still mentioned."""
OLD = timedelta(minutes=10)
"""Twice the longest pause between two looks: what was seen before is told as old."""
PASSING = frozenset({"PROVISIONING", "STOPPING", "REBOOTING", "UPDATING"})


@dataclass(frozen=True, slots=True)
class Part:
    """One pool of a resource. `size` are the replicas there now; it may grow from `least` to `most`.

    `usd_per_hour` is for all of them, None where no price is known.
    """

    index: int
    pool: ResourcePool
    used: int
    size: int
    least: int | None
    most: int
    usd_per_hour: Decimal | None


@dataclass(frozen=True, slots=True)
class Card:
    """One persistent resource. Jobs carry how many replicas they hold; `others` are replicas that no job shown holds.

    `hidden_waiting` counts the waiting jobs that the person may not see. `is_old`: it was not seen for a while.
    """

    pool: Pool
    parts: tuple[Part, ...]
    usd_per_hour: Decimal | None
    running: tuple[tuple[Job, int], ...]
    others: int
    waiting: tuple[Job, ...]
    hidden_waiting: int
    error: str
    may_compose: bool
    is_old: bool


@require_safe
def pools(request: Request) -> HttpResponse:
    """Show the page; htmx asks for its live part again and again."""
    now = database_now()
    scopes = looks_at_pools(request.user)
    lifecycle.want_pools({scope.project for scope in scopes}, now=now)
    return page_or_fragment(request, "pools.html", "live", pools_context(request, scopes, now))


def pools_context(request: Request, scopes: list[Scope], now: datetime) -> dict[str, Any]:
    """Return the cards of one page, what is gone, and the places that were looked at."""
    rows = pools_of(request.user).filter(Q(gone_at=None) | Q(gone_at__gte=now - GONE_FOR))
    page = Paginator(rows.filter(gone_at=None), PAGE_SIZE).get_page(request.GET.get("page"))
    held = holdings_of(request.user, page.object_list)
    projects = frozenset(teams_where(request.user, "request").order_by().values_list("project", flat=True))
    cards = [_card(found, projects, now) for found in held.values()]
    return {
        "now": now,
        "page": page,
        "cards": cards,
        "gone": list(rows.filter(gone_at__isnull=False).order_by("-gone_at", "pk")[:PAGE_SIZE]),
        "scopes": scopes,
        "silent": [scope for scope in scopes if scope.failing_since is not None],
        "odd": [scope for scope in scopes if scope.failing_since is None and scope.trouble],
        "looked_at": min((scope.answered_at for scope in scopes if scope.answered_at), default=None),
        "team": teams_of(request.user).first(),
        "is_quiet": not any(card.running or card.waiting or card.pool.state in PASSING for card in cards),
    }


def _card(held: Holding, projects: frozenset[str], now: datetime) -> Card:
    parts = tuple(_part(held, index) for index in range(len(held.parts)))
    shown = {job: sum(counts.values()) for job, counts in held.running.items() if _is_shown(job)}
    waiting = [job for job in held.waiting if _is_shown(job)]
    return Card(
        pool=held.pool,
        parts=parts,
        usd_per_hour=_sum(part.usd_per_hour for part in parts) if parts else None,
        running=tuple(shown.items()),
        others=max(0, sum(part.used for part in parts) - sum(shown.values())),
        waiting=tuple(waiting),
        hidden_waiting=len(held.waiting) - len(waiting),
        error=_error(held.pool),
        may_compose=held.pool.project in projects,
        is_old=now - held.pool.seen_at > OLD,
    )


def _is_shown(job: Job) -> bool:
    return bool(getattr(job, "is_shown", False))


def _part(held: Holding, index: int) -> Part:
    pool = held.parts[index]
    scaling = pool.autoscaling_spec
    least = scaling.min_replica_count if scaling is not None else None
    size = max(0, pool.replica_count if pool.replica_count is not None else least or 0)
    shape = cost.shape_of(pool.machine_spec, pool.disk_spec)
    rate = cost.hourly(cost.PriceBook.load(), shape, region=held.pool.region, price_key="standard").usd_per_hour
    return Part(
        index=index,
        pool=pool,
        used=held.used(index),
        size=size,
        least=least,
        most=pool.most_replicas,
        usd_per_hour=None if rate is None else rate * size,
    )


def _sum(amounts: Iterable[Decimal | None]) -> Decimal | None:
    """The sum, or None where one of them is not known."""
    found = list(amounts)
    known = [amount for amount in found if amount is not None]
    return sum(known, Decimal(0)) if len(known) == len(found) else None


def _error(pool: Pool) -> str:
    """What Vertex AI says is wrong with it: a google.rpc.Status, present in STOPPING and ERROR only."""
    error = pool.body.get("error") if isinstance(pool.body, dict) else None
    message = error.get("message") if isinstance(error, dict) else error
    return str(message or "")[:1000]
