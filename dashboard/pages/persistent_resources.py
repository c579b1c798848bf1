"""Persistent resources of the user's projects: their pools, the jobs that use them, and their cost."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any, NamedTuple

from django.contrib.auth.models import User
from django.db.models import Q
from django.http import HttpResponse
from django.views.decorators.http import require_safe

from dashboard.access import Request, can, teams_by_own_project, teams_by_project, teams_of
from dashboard.access.loaders import resources_of
from dashboard.pages.parts.fragments import page_or_fragment
from dashboard.queries.persistent_resources import (
    Changes,
    Counted,
    find_changeable,
    get_holdings,
    list_changes,
    list_resource_scopes,
    list_resources,
)
from jobs import budgets, cost, observation, timeline
from jobs.clock import display_now
from jobs.models import Job, PersistentResource, ResourceChange, Scope
from jobs.prices import recent_book
from jobs.requests.resource_requests import may_approve
from jobs.spec import ResourcePool
from jobs.timeline import Holding

PAGE_SIZE = 25
PERIOD = timedelta(hours=24)
"""Period for which the page shows the jobs on each resource."""
GONE_PERIOD = timedelta(days=7)
"""How long a resource that no longer exists stays listed."""
MAX_AGE = timedelta(minutes=10)
"""Twice the longest poll interval. A resource last seen earlier is shown as old."""
MAX_SHARES = 8
"""Maximum jobs on one card with a share of the bill."""
TRANSIENT = frozenset({"PROVISIONING", "STOPPING", "REBOOTING", "UPDATING"})


@dataclass(frozen=True, slots=True)
class PoolRow:
    """One resource pool with `size` replicas now, autoscaled from `least` to `most`.

    `usd_per_hour` is the price of all replicas, or None if it is not known; `price` has the lines of one replica, and
    `prices_as_of`, the date of the main one.
    """

    index: int
    resource_pool: ResourcePool
    used: int
    size: int
    least: int | None
    most: int
    usd_per_hour: Decimal | None
    price: Mapping[str, Any]

    @property
    def prices_as_of(self) -> date | None:
        """The date of the main price."""
        as_of: date | None = self.price["prices_as_of"]
        return as_of


@dataclass(frozen=True, slots=True)
class Card:
    """One persistent resource. Each job has its number of replicas; `others` counts replicas that no shown job holds.

    `hidden_waiting` counts waiting jobs that the user may not see. `is_old` is set if the resource was not seen
    recently.
    """

    resource: PersistentResource
    pools: tuple[PoolRow, ...]
    usd_per_hour: Decimal | None
    running: tuple[tuple[Job, int], ...]
    others: int
    waiting: tuple[Job, ...]
    hidden_waiting: int
    error: str
    may_compose: bool
    may_change: bool
    is_old: bool
    usage: timeline.Usage
    bill: budgets.ResourceCost | None
    """Cost of the period for the sizes that the resource had, divided among jobs; None if a price is not known."""
    shares: tuple[tuple[Job, Decimal], ...]
    """The largest shares among jobs that the user may see."""
    ends: datetime | None = None
    """When Trainboard deletes the resource; None if it has no lifetime."""

    @property
    def is_drawn(self) -> bool:
        """Whether the timeline shows anything: the resource was billed, or a job used it."""
        return bool(self.usage.up) or any(lane.holds for lane in self.usage.lanes)

    @property
    def rest_usd(self) -> Decimal:
        """Total share of all other jobs."""
        of_jobs = self.bill.total_usd - self.bill.idle_usd if self.bill is not None else Decimal(0)
        return of_jobs - sum(usd for _, usd in self.shares)


class May(NamedTuple):
    """Projects in which the user may request jobs, and the persistent resources that they may change, by place."""

    compose: Collection[str]
    change: Collection[tuple[str, str, str]]


class Change(NamedTuple):
    """A change of a persistent resource, and what the user may decide about it: approve, reject or withdraw."""

    row: ResourceChange
    acts: Collection[str]


@dataclass(frozen=True, slots=True)
class Strip:
    """Totals of the resources on one page. Amounts are None if a price is not known.

    `resources` counts those billed now, and `usd_per_hour` is their total price. `prices` are those of all pools.
    """

    resources: int
    usd_per_hour: Decimal | None
    idle_usd: Decimal | None
    used: int
    size: int
    waiting: int
    prices: list[Mapping[str, Any]]


@require_safe
def persistent_resources(request: Request) -> HttpResponse:
    """Show the page. htmx polls its live part."""
    now = display_now()
    scopes = list_resource_scopes(request.user)
    observation.poll_soon(scopes, now=now)
    return page_or_fragment(request, "persistent_resources.html", "live", resources_context(request, scopes, now))


def resources_context(request: Request, scopes: list[Scope], now: datetime) -> dict[str, Any]:
    """Return the cards of one page, the resources that no longer exist, and the polled scopes."""
    rows = resources_of(request.user).filter(Q(gone_at=None) | Q(gone_at__gte=now - GONE_PERIOD))
    listed = list_resources(rows, request.GET.get("page", ""), PAGE_SIZE)
    held, counted = get_holdings(request.user, listed.rows, now - PERIOD, now)
    book = recent_book(now)
    own, changes = teams_by_own_project(request.user, "approve"), list_changes(request.user, now, listed.rows)
    may = May(teams_by_project(request.user, "request"), find_changeable(own, listed.rows, changes))
    cards = [_card(may, changes, holding, book, counted[key], now) for key, holding in held.items()]
    return {
        "now": now,
        "page": listed.page,
        "cards": cards,
        "changes": [Change(row, _acts(row, request.user)) for row in changes.shown],
        "may_create": bool(own),
        "strip": _strip(cards),
        "period": PERIOD,
        "gone": listed.gone,
        "scopes": scopes,
        "silent": [scope for scope in scopes if scope.failing_since is not None],
        "odd": [scope for scope in scopes if scope.failing_since is None and scope.last_error],
        "looked_at": min((scope.answered_at for scope in scopes if scope.answered_at), default=None),
        "team": next(iter(teams_of(request.user)), None),
        "is_quiet": not any(card.running or card.waiting or card.resource.state in TRANSIENT for card in cards),
    }


def _acts(change: ResourceChange, user: User) -> tuple[str, ...]:
    if not change.awaits_approval:
        return ()
    if change.asked_by_id == user.pk:
        return ("withdraw",)
    if not can(user, "approve", change.team):
        return ()
    return ("approve", "reject") if may_approve(change, user) else ("reject",)


def _strip(cards: Sequence[Card]) -> Strip:
    billed = [card for card in cards if card.resource.is_billed]
    pools = [pool for card in billed for pool in card.pools]
    return Strip(
        resources=len(billed),
        usd_per_hour=_sum(card.usd_per_hour for card in billed),
        idle_usd=_sum(card.bill.idle_usd if card.bill else None for card in cards),
        used=sum(pool.used for pool in pools),
        size=sum(pool.size for pool in pools),
        waiting=sum(len(card.waiting) + card.hidden_waiting for card in cards),
        prices=[pool.price for card in cards for pool in card.pools],
    )


def _card(may: May, changes: Changes, held: Holding, book: cost.PriceBook, counted: Counted, now: datetime) -> Card:
    pools = tuple(_pool_row(held, index, book) for index in range(len(held.resource_pools)))
    shown = {job: sum(counts.values()) for job, counts in held.running.items() if _is_shown(job)}
    waiting = [job for job in held.waiting if _is_shown(job)]
    used, paid = counted
    place = (held.resource.project, held.resource.region, held.resource.resource_id)
    return Card(
        resource=held.resource,
        pools=pools,
        usd_per_hour=_sum(pool.usd_per_hour for pool in pools) if pools else None,
        running=tuple(shown.items()),
        others=max(0, sum(pool.used for pool in pools) - sum(shown.values())),
        waiting=tuple(waiting),
        hidden_waiting=len(held.waiting) - len(waiting),
        error=_error(held.resource),
        may_compose=held.resource.project in may.compose,
        may_change=place in may.change,
        ends=changes.ends.get(place),
        is_old=now - held.resource.seen_at > MAX_AGE,
        usage=used,
        bill=paid if paid.is_known and pools else None,
        shares=tuple(share for share in paid.shares if _is_shown(share[0]))[:MAX_SHARES],
    )


def _is_shown(job: Job) -> bool:
    return bool(getattr(job, "is_shown", False))


def _pool_row(held: Holding, index: int, book: cost.PriceBook) -> PoolRow:
    pool = held.resource_pools[index]
    scaling = pool.autoscaling_spec
    least = scaling.min_replica_count if scaling is not None else None
    size = max(0, pool.replica_count if pool.replica_count is not None else least or 0)
    shape = cost.shape_of(pool.machine_spec, pool.disk_spec)
    rate = cost.hourly(book, shape, region=held.resource.region, price_key="standard")
    return PoolRow(
        index=index,
        resource_pool=pool,
        used=held.used(index),
        size=size,
        least=least,
        most=pool.most_replicas,
        usd_per_hour=None if rate.usd_per_hour is None else rate.usd_per_hour * size,
        price={"lines": [line.as_dict() for line in rate.lines], "prices_as_of": rate.prices_as_of},
    )


def _sum(amounts: Iterable[Decimal | None]) -> Decimal | None:
    """Return the sum, or None if any amount is None."""
    listed = list(amounts)
    known = [amount for amount in listed if amount is not None]
    return sum(known, Decimal(0)) if len(known) == len(listed) else None


def _error(row: PersistentResource) -> str:
    """Return the message of the resource's error, a google.rpc.Status that is present in STOPPING and ERROR only."""
    error = row.body.get("error") if isinstance(row.body, dict) else None
    message = error.get("message") if isinstance(error, dict) else error
    return str(message or "")[:1000]
