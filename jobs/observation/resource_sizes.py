"""The sizes of persistent resources over time: one row for each change, so that their whole life can be billed.

Vertex AI returns neither earlier sizes nor earlier states, so what was observed is kept with the prices of that time.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from django.db.models import Max

from jobs import cost, timeline
from jobs.models import PersistentResource, ResourceChange, ResourceSize, Scope, Team
from jobs.prices import current_book
from jobs.strategies import KnownResource


def record_sizes(scope: Scope, rows: Iterable[PersistentResource], missing: Sequence[str], now: datetime) -> None:
    """Write a row for each resource of a scope that differs from its newest row. The caller has locked the resources.

    `rows` were listed. `missing` are the names of resources that were listed before and are not any more. Makes one
    query if nothing has changed.
    """
    of_place = ResourceSize.objects.filter(project=scope.project, region=scope.region)
    newest = of_place.order_by().values("resource_id").annotate(last=Max("pk")).values("last")
    known = {row.resource_id: row for row in ResourceSize.objects.filter(pk__in=newest)}
    found = [_size(row, known.get(row.resource_id), now) for row in rows]
    found += [_gone(known[name], now) for name in missing if name in known and known[name].is_up]
    changed = [size for size in found if size is not None]
    creators = _creators(scope, {size.resource_id for size in changed}) if changed else {}
    for size in changed:
        size.team_id = creators[size.resource_id]
    ResourceSize.objects.bulk_create(changed)


def _size(row: PersistentResource, last: ResourceSize | None, now: datetime) -> ResourceSize | None:
    """Return the size of a resource now. Return None if it is unchanged, was never up or has an unreadable body."""
    known, is_up = timeline.known_resource(row), row.is_billed
    if known is None or (last is None and not is_up):
        return None
    pools = _pools(known)
    if last is not None and (last.is_up, last.resource_pools) == (is_up, pools):
        return None
    at = now
    if is_up and (last is None or not last.is_up):
        started = timeline.started_at(known)
        at = started if started is not None and started <= now and (last is None or started > last.at) else now
    return ResourceSize(
        project=row.project, region=row.region, resource_id=row.resource_id, at=at, is_up=is_up, resource_pools=pools,
        replica_usd=_prices(known), recorded_at=now,
    )  # fmt: skip


def _gone(last: ResourceSize, now: datetime) -> ResourceSize:
    return ResourceSize(
        project=last.project, region=last.region, resource_id=last.resource_id, at=now, is_up=False,
        resource_pools=last.resource_pools, replica_usd=last.replica_usd, recorded_at=now,
    )  # fmt: skip


def _pools(known: KnownResource) -> list[dict[str, Any]]:
    """Return the billed part of the resource pools, as REST.

    An autoscaling pool has at least its minimum of replicas.
    """
    found = []
    for pool in known.resource.resource_pools:
        scaling = pool.autoscaling_spec
        least = scaling.min_replica_count if scaling is not None else None
        size = max(0, pool.replica_count if pool.replica_count is not None else least or 0)
        machine = pool.machine_spec.model_dump(mode="json", by_alias=True, exclude_defaults=True)
        disk = pool.disk_spec.model_dump(mode="json", by_alias=True, exclude_defaults=True)
        found.append({"machineSpec": machine, "diskSpec": disk, "replicaCount": str(size)})
    return found


def _prices(known: KnownResource) -> list[str | None]:
    book = current_book()
    found: list[str | None] = []
    for pool in known.resource.resource_pools:
        shape = cost.shape_of(pool.machine_spec, pool.disk_spec)
        price = cost.hourly(book, shape, region=known.region, price_key="standard").usd_per_hour
        found.append(None if price is None else str(price))
    return found


def _creators(scope: Scope, names: set[str]) -> dict[str, int | None]:
    """Return the team that created each resource: the one that requested it here, else the only team of the project."""
    teams = Team.objects.owning(scope.project, "pk")
    found: dict[str, int | None] = dict.fromkeys(names, teams.pop() if len(teams) == 1 else None)
    changes = ResourceChange.objects.filter(
        project=scope.project, region=scope.region, resource_id__in=names, action=ResourceChange.Action.CREATE
    ).exclude(outcome=ResourceChange.Outcome.REFUSED)
    found.update(changes.order_by("asked_at", "pk").values_list("resource_id", "team"))
    return found
