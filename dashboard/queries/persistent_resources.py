"""Persistent resources: the scopes in which they are polled, and the jobs that hold their replicas."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cache

from django.contrib.auth.models import User
from django.core.paginator import Page, Paginator
from django.db.models import BooleanField, Exists, ExpressionWrapper, F, OuterRef, Q, QuerySet
from django.utils import timezone

from dashboard.access import in_teams_of, teams_by_project
from jobs import timeline
from jobs.budgets import ResourceCost, cost_of_resource
from jobs.cache import Recent
from jobs.models import Job, PersistentResource, ResourceChange, ResourceSize, Scope, Team
from jobs.models.persistent_resource import PersistentResourceQuerySet
from jobs.requests.resource_owners import asker_of
from jobs.states import RUNNING, WAITING_AT_VERTEX
from jobs.strategies import is_on_resource
from jobs.strategies.persistent import STRATEGY
from jobs.timeline import Holding, Usage

Holdings = dict[tuple[str, str, str], Holding]
"""{(project, region, id): holdings of the resource}. Jobs that the person may not see have is_shown False."""
Counted = tuple[Usage, ResourceCost]
"""The usage of a resource in a period, and its cost."""
COLUMNS = ("display_name", "kind", "project", "region", "state", "strategy", "spec", "secrets", "team_id")
CHANGES_SHOWN = timedelta(days=1)
MAX_CHANGES = 20
HOLDS = WAITING_AT_VERTEX | RUNNING
"""States of jobs that hold replicas or wait for them."""
MAX_JOBS = 2_000
"""Maximum jobs that are checked for current and past holdings."""
MAX_RESOURCES = 1_000
"""Maximum persistent resources of one person's projects that are listed, in pages."""


@dataclass(frozen=True, slots=True)
class Changes:
    """Open and recently ended changes, latest first; by project, region and id, when each resource is to be deleted.

    `made` are all changes of each resource that Vertex AI may have made, latest first.
    """

    shown: list[ResourceChange]
    ends: dict[tuple[str, str, str], datetime]
    made: dict[tuple[str, str, str], list[ResourceChange]]


@dataclass(frozen=True, slots=True)
class ResourcePage:
    """One page of the existing persistent resources: the paginator's `page` and its rows.

    `gone` are resources that no longer exist.
    """

    page: "Page[PersistentResource]"
    rows: list[PersistentResource]
    gone: list[PersistentResource]


def list_resource_scopes(user: User) -> list[Scope]:
    """Return the scopes in which persistent resources of the person's teams are polled, by project and region.

    One query.
    """
    projects = teams_by_project(user)
    scopes = Scope.objects.filter(kind=Scope.Kind.PERSISTENT_RESOURCE, project__in=list(projects))
    return list(scopes.order_by("project", "region"))


def list_resources(rows: PersistentResourceQuerySet, page: str, page_size: int) -> ResourcePage:
    """Return one page of the existing persistent resources, and those that are gone, latest end first. One query.

    At most MAX_RESOURCES are read.
    """
    found = list(rows[:MAX_RESOURCES])
    shown = Paginator([row for row in found if row.gone_at is None], page_size).get_page(page)
    # The key decides between equal moments, because rows cannot be compared.
    gone = sorted((-row.gone_at.timestamp(), row.pk, row) for row in found if row.gone_at is not None)
    return ResourcePage(shown, list(shown.object_list), [row for _, _, row in gone[:page_size]])


def get_holdings_for(user: User, jobs: Iterable[Job]) -> Holdings:
    """Return the holdings of persistent resources if any of these jobs waits for one. At most one query.

    The resources are cached for ten seconds. Loading them needs one more query.
    """
    waiting = [job for job in jobs if is_on_resource(job.strategy) and job.state in WAITING_AT_VERTEX]
    scopes = {(job.project, job.region) for job in waiting}
    if not scopes:
        return {}
    using = _using(user, scopes).filter(ended_at=None, state__in=HOLDS).only(*COLUMNS).order_by("started_at", "pk")
    return timeline.holdings(_recent.get(frozenset(scopes), timezone.now()), list(using))


def get_holdings(
    user: User, resources: Sequence[PersistentResource], since: datetime, now: datetime
) -> tuple[Holdings, dict[tuple[str, str, str], Counted]]:
    """Return current holdings of these persistent resources, and their usage and cost since a time.

    Two queries, none without resources. The lanes of `Usage` are the current ones, its times are those of the
    resource's sizes in the period.

    At most MAX_JOBS jobs are checked: jobs that have not ended, then those that ended last. Each is annotated with
    whether the person may see it.
    """
    scopes = {(row.project, row.region) for row in resources if row.gone_at is None}
    jobs: list[Job] = []
    if scopes:
        ran = Q(ended_at=None) | Q(ended_at__gte=since, started_at__isnull=False)
        rows = _using(user, scopes).filter(ran, kind__in=Job.Kind.values).only(*COLUMNS, "started_at", "ended_at")
        jobs = list(rows.order_by(F("ended_at").desc(nulls_first=True), "-started_at", "pk")[:MAX_JOBS])
    on = [job for job in jobs if job.ended_at is None and job.state in HOLDS]
    on.sort(key=lambda job: (job.started_at is None, job.started_at, job.pk))
    held = timeline.holdings(resources, on)
    ran_on: dict[tuple[str, str, str], list[Job]] = {key: [] for key in held}
    for job in sorted((job for job in jobs if job.started_at), key=lambda job: (job.started_at, job.pk), reverse=True):
        ran_on.get((job.project, job.region, timeline.resource_id_of(job)), []).append(job)
    sizes = _list_sizes(resources, since)
    counted = {}
    for key, holding in held.items():
        usage = timeline.usage(holding, ran_on[key], since, now)
        cost = cost_of_resource(sizes.get(key, ()), ran_on[key], since, now)
        counted[key] = replace(usage, held=cost.held, idle=cost.idle_time, up=cost.up), cost
    return held, counted


def _list_sizes(
    resources: Sequence[PersistentResource], since: datetime
) -> dict[tuple[str, str, str], list[ResourceSize]]:
    """Return the sizes of the resources since a time, with the one in effect at that time, in order."""
    place = {name: OuterRef(name) for name in ("project", "region", "resource_id")}
    later = ResourceSize.objects.filter(**place, pk__gt=OuterRef("pk"), at__lte=since)
    found: dict[tuple[str, str, str], list[ResourceSize]] = {
        (row.project, row.region, row.resource_id): [] for row in resources
    }
    rows = ResourceSize.objects.filter(
        ~Exists(later), project__in={row.project for row in resources}, region__in={row.region for row in resources},
        resource_id__in={row.resource_id for row in resources},
    )  # fmt: skip
    for size in rows.order_by("pk") if found else ():
        found.get((size.project, size.region, size.resource_id), []).append(size)
    return found


def list_changes(user: User, now: datetime, resources: Sequence[PersistentResource]) -> Changes:
    """Return the changes of persistent resources in the person's projects. One query."""
    made = Q(outcome__in=ResourceChange.MADE, resource_id__in={row.resource_id for row in resources})
    recent = Q(ended_at__gte=now - CHANGES_SHOWN, asked_at__gte=now - 2 * CHANGES_SHOWN) | Q(ended_at=None)
    changes = ResourceChange.objects.filter(recent | made, project__in=list(teams_by_project(user)))
    found = Changes([], {}, {})
    for change in changes.select_related("asked_by", "team").order_by("asked_at", "pk"):
        key = (change.project, change.region, change.resource_id)
        if change.outcome in ResourceChange.MADE:
            found.made.setdefault(key, []).insert(0, change)
            if change.action == ResourceChange.Action.CREATE:
                found.ends.pop(key, None)  # an earlier resource of this id
        if change.deletes_at is not None:
            found.ends[key] = max(change.deletes_at, found.ends.get(key, change.deletes_at))
        if change.ended_at is None or min(change.ended_at, change.asked_at + CHANGES_SHOWN) >= now - CHANGES_SHOWN:
            found.shown.insert(0, change)
    return replace(found, shown=found.shown[:MAX_CHANGES])


def find_changeable(
    own: Mapping[str, Sequence[Team]], rows: Sequence[PersistentResource], changes: Changes
) -> set[tuple[str, str, str]]:
    """Return the places of the resources that belong to a team of `own`, {project: teams}, or to no team.

    Makes one query for each project with a resource of another team.
    """
    found, owning = set(), cache(lambda project: Team.objects.owning(project, "pk"))
    for row in rows:
        place = (row.project, row.region, row.resource_id)
        asker, teams = asker_of(changes.made.get(place, ()), row.body), own.get(row.project, ())
        if teams and (asker in {None, *(team.pk for team in teams)} or asker not in owning(row.project)):
            found.add(place)
    return found


def find_change(user: User, pk: int) -> ResourceChange | None:
    """Return a change in the person's projects, None for any other."""
    changes = ResourceChange.objects.filter(pk=pk, project__in=list(teams_by_project(user)))
    return changes.select_related("team", "asked_by").first()


def _using(user: User, scopes: set[tuple[str, str]]) -> QuerySet[Job]:
    """Select the jobs that use a persistent resource in these scopes. Annotate whether the person may see each."""
    # An admin's condition is empty, of which no expression can be made.
    mine = ExpressionWrapper(in_teams_of(user) or Q(pk__isnull=False), BooleanField())
    return Job.objects.filter(_in_scopes(scopes), strategy=STRATEGY.key).annotate(is_shown=mine)


def _in_scopes(scopes: Collection[tuple[str, str]]) -> Q:
    wanted = Q()
    for project, region in sorted(scopes):
        wanted |= Q(project=project, region=region)
    return wanted


def _load(scopes: Collection[tuple[str, str]], _now: datetime) -> list[PersistentResource]:
    return list(PersistentResource.objects.filter(_in_scopes(scopes)))


_recent: Recent[frozenset[tuple[str, str]], list[PersistentResource]] = Recent(_load)
_recent.forget_when_saved(PersistentResource)
