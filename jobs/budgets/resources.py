"""Record the daily cost of persistent resources: each job's share for its team, idle time for the team of the creator.

`timeline.resource_bill` computes the bill of each period of one size. The last days are computed again every few
minutes, because the end of a job may be observed late. Earlier days stay as recorded.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

from django.db import transaction
from django.db.models import F, Q, QuerySet

from jobs import timeline
from jobs.budgets.groups import Group, groups_of_job, month_of
from jobs.budgets.record import add_sums, lock_teams, sums_of
from jobs.budgets.resource_cost import DAY, ResourceCost, cost_of_resource
from jobs.isolation import take_each
from jobs.models import Dimension, Job, PersistentResource, ResourceChange, ResourceSize, ResourceSpend
from jobs.strategies.persistent import STRATEGY

INTERVAL = timedelta(minutes=5)
"""Time between two computations of a resource's cost."""
SETTLED_WITHIN = timedelta(hours=1)
"""How long the bill is updated after a resource is gone."""
AGAIN_DAYS = 1
"""Whole days before the last computation that are computed again."""
MAX_DAYS = 400
"""Costs of a resource from more days ago are not computed."""
PORTION = 20
OUTAGE = timedelta(days=7)
"""The longest time for which Trainboard may be unable to delete a resource: Vertex AI never deletes one by itself."""
Key = tuple[int, bool]
"""A team, and whether it pays for idle time."""


def watch_resources(now: datetime) -> int:
    """Update the cost of up to PORTION resources; return how many."""
    due = due_resources(now).order_by(F("billed_until").asc(nulls_first=True), "pk")
    return take_each(
        due[:PORTION], lambda resource: record_resource(resource, now), what="costs of a persistent resource"
    )


def due_resources(now: datetime) -> QuerySet[PersistentResource]:
    """Select the resources whose cost was not recorded for a while, or not since they were deleted."""
    is_old = Q(billed_until=None) | Q(billed_until__lte=now - INTERVAL) | Q(billed_until__gt=now + INTERVAL)
    is_open = Q(gone_at=None) | Q(billed_until=None) | Q(billed_until__lt=F("gone_at") + SETTLED_WITHIN)
    return PersistentResource.objects.filter(is_old & is_open)


def record_resource(resource: PersistentResource, now: datetime) -> bool:
    """Record the cost of a resource until now; return False if another worker has done so meanwhile."""
    place = {"project": resource.project, "region": resource.region, "resource_id": resource.resource_id}
    paid = ResourceSpend.objects.filter(**place)
    # The midnight (UTC) from which the bill is computed now.
    earliest = now - DAY * MAX_DAYS
    since = earliest if resource.billed_until is None else min(resource.billed_until, now) - DAY * AGAIN_DAYS
    since = datetime.combine(max(since, earliest).astimezone(UTC).date(), time(), UTC)
    if paid.filter(of_groups=None).exists():  # recorded before persons and labels were: compute the whole month
        since = min(since, datetime.combine(month_of(now), time(), UTC))
    sizes = list(ResourceSize.objects.filter(**place).order_by("pk"))
    ran = Q(started_at__isnull=False) & (Q(ended_at=None) | Q(ended_at__gt=since))
    jobs = Job.objects.filter(ran, project=resource.project, region=resource.region, strategy=STRATEGY.key)
    jobs = jobs.defer("estimate", "error", "log_sources").order_by("started_at", "pk")
    on_it = [job for job in jobs if timeline.resource_id_of(job) == resource.resource_id]
    counted = _rows(cost_of_resource(sizes, on_it, since, now, _creators(resource, sizes)))
    with transaction.atomic():
        lock_teams({team for team, _ in counted} | set(paid.values_list("team_id", flat=True)))
        held = PersistentResource.objects.select_for_update(no_key=True).filter(pk=resource.pk)
        if not held.filter(billed_until=resource.billed_until).exists():
            return False
        before = {(row.team_id, row.is_idle): row for row in paid}
        after = [
            ResourceSpend(**place, team_id=key[0], is_idle=key[1], **_merged(before.get(key), counted.get(key), since))
            for key in sorted(before.keys() | counted.keys())
        ]
        for row in after:
            row.committed_cents = _committed_cents(place, row.team_id, now) if row.is_idle else 0
        _store(before.values(), after)
        held.update(billed_until=now)
    return True


def commit_resource(change: ResourceChange, now: datetime) -> None:
    """Commit what an approved resource may still cost until its lifetime ends, in the transaction that allows it.

    `record_resource` lowers it as time passes. The caller has locked the team.
    """
    place = {"project": change.project, "region": change.region, "resource_id": change.resource_id}
    paid = ResourceSpend.objects.filter(**place, is_idle=True, team=change.team_id)
    before = list(paid)
    row = ResourceSpend(**place, team_id=change.team_id, is_idle=True, **_merged(next(iter(before), None), None, now))
    row.committed_cents = _committed_cents(place, change.team_id, now)
    _store(before, [row])


def committed_usd_of(place: Sequence[str], team_id: int) -> Decimal:
    """Return what is committed for a resource, given as project, region and id, in the budgets of a team."""
    project, region, resource_id = place
    rows = ResourceSpend.objects.filter(
        project=project, region=region, resource_id=resource_id, team=team_id, is_idle=True
    )  # fmt: skip
    return Decimal(rows.values_list("committed_cents", flat=True).first() or 0) / 100


def _store(before: Iterable[ResourceSpend], after: Sequence[ResourceSpend]) -> None:
    """Write rows, and add the differences to the sums."""
    for model, sums in sums_of(before, after).items():
        add_sums(model, sums)
    key = ["team", "project", "region", "resource_id", "is_idle"]
    ResourceSpend.objects.bulk_create(
        after, update_conflicts=True, unique_fields=key, update_fields=["days", "of_groups", "committed_cents"]
    )


def _committed_cents(place: Mapping[str, str], team_id: int, now: datetime) -> int:
    """Return what a resource may still cost until its lifetime ends, and for OUTAGE longer, in US cents."""
    changes = ResourceChange.objects.filter(**place, team=team_id, allowed_at__isnull=False)
    allowed = list(changes.exclude(outcome=ResourceChange.Outcome.REFUSED).order_by("asked_at", "pk"))
    created = [number for number, change in enumerate(allowed) if change.action == ResourceChange.Action.CREATE]
    since = allowed[created[-1] :] if created else []
    gone = PersistentResource.objects.filter(**place, gone_at__isnull=False)
    if not since or gone.filter(gone_at__gte=since[0].asked_at).exists():
        return 0
    hourly = next((change.usd_per_hour for change in reversed(since) if change.usd_per_hour is not None), None)
    ends = [_lifetime_end(change) for change in since if change.lifetime_hours is not None]
    if hourly is None or not ends:
        return 0
    left = max(max(ends) + OUTAGE - now, timedelta())
    return int(hourly * 100 * (left // timedelta(seconds=1)) / 3600)


def _lifetime_end(change: ResourceChange) -> datetime:
    if change.deletes_at is not None:
        return change.deletes_at
    assert change.allowed_at is not None
    return change.allowed_at + timedelta(hours=change.lifetime_hours or 0)


def _creators(resource: PersistentResource, sizes: Sequence[ResourceSize]) -> dict[int, int]:
    """Return who requested each resource here, by key of a size; resources created elsewhere are left out."""
    asked = list(
        ResourceChange.objects.filter(
            project=resource.project, region=resource.region, resource_id=resource.resource_id,
            action=ResourceChange.Action.CREATE,
        ).exclude(outcome=ResourceChange.Outcome.REFUSED).order_by("asked_at", "pk")
    )  # fmt: skip
    found = {}
    for size in sizes:
        before = [each for each in asked if each.asked_at <= size.recorded_at and each.team_id == size.team_id]
        if before:
            found[size.pk] = before[-1].asked_by_id
    return found


def _rows(cost: ResourceCost) -> dict[Key, ResourceSpend]:
    """Return the spending of each team by day, and by day for each person and label."""
    rows: dict[Key, ResourceSpend] = {}
    for (job, day), cents in cost.of_jobs.items():
        groups = [group for group in groups_of_job(job) if group[0] in (Dimension.PERSON, Dimension.LABEL)]
        _add(rows, (job.team_id, False), groups, day, cents)
    for ((team, person), day), cents in cost.of_idle.items():
        if team is not None:
            _add(rows, (team, True), [(str(Dimension.PERSON), str(person))] if person is not None else [], day, cents)
    return rows


def _add(rows: dict[Key, ResourceSpend], key: Key, groups: Sequence[Group], day: date, cents: int) -> None:
    if not cents:
        return
    row = rows.setdefault(key, ResourceSpend(team_id=key[0], is_idle=key[1], days={}, of_groups={}))
    row.days[day.isoformat()] = row.days.get(day.isoformat(), 0) + cents
    assert row.of_groups is not None
    for dimension, value in groups:
        days = row.of_groups.setdefault(dimension, {}).setdefault(value, {})
        days[day.isoformat()] = days.get(day.isoformat(), 0) + cents


def _merged(before: ResourceSpend | None, counted: ResourceSpend | None, since: datetime) -> dict[str, Any]:
    """Return the columns of a row: old values for days before `since`, new ones for the others."""
    old, new = (before or ResourceSpend(of_groups={})), (counted or ResourceSpend(of_groups={}))
    groups: dict[str, dict[str, dict[str, int]]] = {}
    for kept, source in ((True, old), (False, new)):
        for dimension, value, days in source.list_groups():
            part = {day: cents for day, cents in days.items() if not kept or day < since.date().isoformat()}
            if part:
                groups.setdefault(dimension, {}).setdefault(value, {}).update(part)
    days = {day: cents for day, cents in old.days.items() if day < since.date().isoformat()}
    return {"days": days | new.days, "of_groups": groups}
