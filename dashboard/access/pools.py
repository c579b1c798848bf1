"""Loaders for persistent resources: those of the person's teams' projects, and who holds how much of them."""

from collections.abc import Iterable

from django.contrib.auth.models import User
from django.db.models import BooleanField, ExpressionWrapper, Q
from django.shortcuts import get_object_or_404

from dashboard.access.roles import Request, teams_of
from jobs import timeline
from jobs.models import Job, Pool, Scope
from jobs.models.pool import PoolQuerySet
from jobs.states import RUNNING, WAITING_AT_VERTEX
from jobs.strategies.persistent import STRATEGY
from jobs.timeline import Holding

__all__ = ["Holdings", "Pool", "holdings_for", "holdings_of", "looks_at_pools", "pool_for", "pools_of"]

Holdings = dict[tuple[str, str, str], Holding]
"""{(project, region, id): who holds how much of the resource}; jobs that the person may not see have is_shown False."""
COLUMNS = ("display_name", "kind", "project", "region", "state", "strategy", "spec", "team_id")


def pools_of(user: User) -> PoolQuerySet:
    """Return the persistent resources in the projects of the person's teams, by project, region and id."""
    return Pool.objects.visible_to(user).order_by("project", "region", "resource_id")


def pool_for(request: Request, pk: int) -> Pool:
    """Return one that Vertex AI still had at the last look, or 404 for people outside the teams of its project."""
    return get_object_or_404(pools_of(request.user).existing(), pk=pk)


def looks_at_pools(user: User) -> list[Scope]:
    """Return the places of the person's teams where persistent resources are looked for, by project and region."""
    projects = teams_of(user).values_list("project", flat=True)
    scopes = Scope.objects.filter(kind=Scope.Kind.PERSISTENT_RESOURCE, project__in=projects.order_by())
    return list(scopes.order_by("project", "region"))


def holdings_of(user: User, pools: Iterable[Pool]) -> Holdings:
    """Return who holds these persistent resources; one query, none for no resource."""
    rows = list(pools)
    places = {(row.project, row.region) for row in rows if row.gone_at is None}
    return timeline.holdings(rows, _on_resources(user, places))


def holdings_for(user: User, jobs: Iterable[Job]) -> Holdings:
    """Return the persistent resources of the places where any of these jobs waits for one: two queries, or none."""
    waiting = [job for job in jobs if job.strategy == STRATEGY.key and job.state in WAITING_AT_VERTEX]
    places = {(job.project, job.region) for job in waiting}
    if not places:
        return {}
    return timeline.holdings(Pool.objects.filter(_at(places)), _on_resources(user, places))


def _on_resources(user: User, places: set[tuple[str, str]]) -> list[Job]:
    """The jobs that use a persistent resource of these places, and whether the person may see them."""
    if not places:
        return []
    mine = ExpressionWrapper(Q(team__in=teams_of(user).order_by().values("pk")), BooleanField())
    using = Job.objects.filter(_at(places), strategy=STRATEGY.key, state__in=WAITING_AT_VERTEX | RUNNING)
    rows = using.only(*COLUMNS).annotate(is_shown=mine)
    return list(rows.order_by("started_at", "pk"))


def _at(places: set[tuple[str, str]]) -> Q:
    wanted = Q()
    for project, region in sorted(places):
        wanted |= Q(project=project, region=region)
    return wanted
