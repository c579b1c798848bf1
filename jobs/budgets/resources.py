"""What persistent resources cost, by day: the share of each job to its team, the idle rest to who created the resource.

The bill is that of `timeline.resource_bill` for each stretch of one size. The last days are counted anew every few
minutes, because the end of a job may be learned late; what was counted before them stays.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal

from django.db import transaction
from django.db.models import F, Q

from jobs import timeline
from jobs.budgets.record import add_sums, lock_teams, sums_of
from jobs.models import Job, PersistentResource, ResourceSize, ResourceSpend
from jobs.strategies.persistent import STRATEGY

INTERVAL = timedelta(minutes=5)
"""Between two looks at what a resource has cost."""
SETTLED_WITHIN = timedelta(hours=1)
"""How long after a resource is gone its bill is counted anew."""
DAY = timedelta(days=1)
AGAIN_DAYS = 1
"""Whole days before the last count that are counted again."""
MAX_DAYS = 400
"""What a resource cost before so many days is not counted."""
PORTION = 20
Key = tuple[int, bool]
"""A team, and whether it pays for what stood idle."""


def watch_resources(now: datetime) -> int:
    """Bring up to date what up to PORTION resources have cost; return how many."""
    is_old = Q(billed_until=None) | Q(billed_until__lte=now - INTERVAL) | Q(billed_until__gt=now + INTERVAL)
    is_open = Q(gone_at=None) | Q(billed_until=None) | Q(billed_until__lt=F("gone_at") + SETTLED_WITHIN)
    due = PersistentResource.objects.filter(is_old & is_open).order_by(F("billed_until").asc(nulls_first=True), "pk")
    return sum(record_resource(resource, now) for resource in due[:PORTION])


def record_resource(resource: PersistentResource, now: datetime) -> bool:
    """Record what a resource has cost until now; False where another worker has meanwhile."""
    place = {"project": resource.project, "region": resource.region, "resource_id": resource.resource_id}
    since = _count_from(resource, now)
    cents = _cents_by_day(
        list(ResourceSize.objects.filter(**place).order_by("pk")), _list_jobs(resource, since), since, now
    )
    paid = ResourceSpend.objects.filter(**place)
    with transaction.atomic():
        lock_teams({team for team, _ in cents} | set(paid.values_list("team_id", flat=True)))
        held = PersistentResource.objects.select_for_update(no_key=True).filter(pk=resource.pk)
        if not held.filter(billed_until=resource.billed_until).exists():
            return False
        before = {(row.team_id, row.is_idle): row for row in paid}
        after = [
            ResourceSpend(
                **place, team_id=team, is_idle=is_idle,
                days=_kept(before.get((team, is_idle)), since) | cents.get((team, is_idle), {}),
            )
            for team, is_idle in sorted(before.keys() | cents.keys())
        ]  # fmt: skip
        for model, sums in sums_of(before.values(), after).items():
            add_sums(model, sums)
        key = ["team", "project", "region", "resource_id", "is_idle"]
        ResourceSpend.objects.bulk_create(after, update_conflicts=True, unique_fields=key, update_fields=["days"])
        held.update(billed_until=now)
    return True


def _count_from(resource: PersistentResource, now: datetime) -> datetime:
    """Return the midnight (UTC) from which on the bill is counted now."""
    earliest = now - DAY * MAX_DAYS
    since = earliest if resource.billed_until is None else min(resource.billed_until, now) - DAY * AGAIN_DAYS
    return datetime.combine(max(since, earliest).astimezone(UTC).date(), time(), UTC)


def _list_jobs(resource: PersistentResource, since: datetime) -> list[Job]:
    """Return the jobs that ran on a resource since then."""
    ran = Q(started_at__isnull=False) & (Q(ended_at=None) | Q(ended_at__gt=since))
    jobs = Job.objects.filter(ran, project=resource.project, region=resource.region, strategy=STRATEGY.key)
    rows = jobs.defer("estimate", "error", "log_sources").order_by("started_at", "pk")
    return [job for job in rows if timeline.resource_id_of(job) == resource.resource_id]


def _kept(before: ResourceSpend | None, since: datetime) -> dict[str, int]:
    """Return the days that are not counted again."""
    days: dict[str, int] = before.days if before is not None else {}
    return {day: cents for day, cents in days.items() if day < since.date().isoformat()}


def _cents_by_day(
    sizes: Sequence[ResourceSize], jobs: Sequence[Job], since: datetime, now: datetime
) -> dict[Key, dict[str, int]]:
    """Return what each team owes for each day; the cents of a day are rounded once. Nothing where no price is known."""
    usd: dict[tuple[int, bool, date], Decimal] = defaultdict(Decimal)
    for size, start, end in _stretches(sizes, since, now):
        bill = _bill(size, jobs, start, end)
        for job, share in bill.shares if bill is not None else ():
            usd[job.team_id, False, start.date()] += share
        if bill is not None and size.team_id is not None:
            usd[size.team_id, True, start.date()] += bill.idle
    found: dict[Key, dict[str, int]] = {}
    for (team, is_idle, day), amount in sorted(usd.items()):
        if cents := timeline.to_cents(amount):
            found.setdefault((team, is_idle), {})[day.isoformat()] = cents
    return found


def _stretches(
    sizes: Sequence[ResourceSize], since: datetime, now: datetime
) -> Iterator[tuple[ResourceSize, datetime, datetime]]:
    """Yield each stretch of one size and one day (UTC) in which the resource was up."""
    for place, size in enumerate(sizes):
        following = sizes[place + 1].at if place + 1 < len(sizes) else now
        start, end = max(size.at.astimezone(UTC), since), min(following, now)
        while size.is_up and start < end:
            midnight = datetime.combine(start.date() + DAY, time(), UTC)
            yield size, start, min(midnight, end)
            start = midnight


def _bill(size: ResourceSize, jobs: Sequence[Job], start: datetime, end: datetime) -> timeline.ResourceBill | None:
    """Return the bill of a stretch, None where no price is known."""
    row = PersistentResource(
        project=size.project,
        region=size.region,
        resource_id=size.resource_id,
        body={"resourcePools": size.resource_pools},
    )
    holding = timeline.Holding(row, timeline.known_resource(row))
    prices = {pool: None if usd is None else Decimal(usd) for pool, usd in enumerate(size.replica_usd)}
    return timeline.resource_bill(timeline.usage(holding, jobs, start, end), prices)
