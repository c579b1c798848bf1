"""Record the daily cost of persistent resources: each job's share for its team, idle time for the team of the creator.

`timeline.resource_bill` computes the bill of each period of one size. The last days are computed again every few
minutes, because the end of a job may be observed late. Earlier days stay as recorded.
"""

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime, time, timedelta

from django.db import transaction
from django.db.models import F, Q, QuerySet

from jobs import timeline
from jobs.budgets.groups import ALL, Group, groups_of_job
from jobs.budgets.ledger import Line, load_lines, lock_teams, write
from jobs.budgets.resource_cost import DAY, ResourceCost, cost_of_resource
from jobs.isolation import take_each
from jobs.models import CostEntry, Dimension, Job, PersistentResource, ResourceChange, ResourceSize
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
SHARED: tuple[Group, ...] = (ALL, (str(Dimension.STRATEGY), STRATEGY.key))
"""The groups of everything that a persistent resource costs."""


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
    # The midnight (UTC) from which the bill is computed now.
    earliest = now - DAY * MAX_DAYS
    since = earliest if resource.billed_until is None else min(resource.billed_until, now) - DAY * AGAIN_DAYS
    since = datetime.combine(max(since, earliest).astimezone(UTC).date(), time(), UTC)
    sizes = list(ResourceSize.objects.filter(**place).order_by("pk"))
    ran = Q(started_at__isnull=False) & (Q(ended_at=None) | Q(ended_at__gt=since))
    jobs = Job.objects.filter(ran, project=resource.project, region=resource.region, strategy=STRATEGY.key)
    jobs = jobs.defer("estimate", "error", "log_sources").order_by("started_at", "pk")
    on_it = [job for job in jobs if timeline.resource_id_of(job) == resource.resource_id]
    wanted = _lines(resource, cost_of_resource(sizes, on_it, since, now, _creators(resource, sizes)))
    name = f"{resource.region}/{resource.resource_id}"
    entries = CostEntry.objects.filter(project=resource.project, resource=name, day__gte=since.date())
    with transaction.atomic():
        lock_teams({line.team_id for line in wanted} | set(entries.order_by().values_list("team_id", flat=True)))
        held = PersistentResource.objects.select_for_update(no_key=True).filter(pk=resource.pk)
        if not held.filter(billed_until=resource.billed_until).exists():
            return False
        write(load_lines(entries), wanted, now)
        held.update(billed_until=now)
    return True


def _lines(resource: PersistentResource, cost: ResourceCost) -> Counter[Line]:
    """Return the cost of each team by day: of each job, and of idle time."""
    found, project, name = Counter[Line](), resource.project, f"{resource.region}/{resource.resource_id}"
    for (job, day), micros in cost.of_jobs.items():
        own = [group for group in groups_of_job(job) if group[0] in (Dimension.PERSON, Dimension.LABEL)]
        found[Line(job.team_id, project, job.pk, name, CostEntry.Kind.SHARE, day, (*SHARED, *own))] += micros
    idle = (str(Dimension.RESOURCE), f"{resource.resource_id} in {resource.region}")
    for ((team, person), day), micros in cost.of_idle.items():
        groups = (*SHARED, idle, *([(str(Dimension.PERSON), str(person))] if person is not None else []))
        if team is not None:
            found[Line(team, project, None, name, CostEntry.Kind.IDLE, day, groups)] += micros
    return found


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
