"""Poll all persistent resources of one project and region at once, and save what Vertex AI returns as rows.

Their list supports neither a filter nor a field mask and is short, so each poll reads all of it. A resource that is
missing from a complete list is gone, but its row stays. A failure is recorded on the scope, and the rows stay as they
were.
"""

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime, timedelta
from functools import partial

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet

from jobs import storable, vertex
from jobs.catalog import REGIONS
from jobs.clients import account_of, client
from jobs.models import Job, PersistentResource, ResourceChange, Scope, Team
from jobs.models.team import TeamQuerySet
from jobs.observation import cadence
from jobs.observation.failures import record_failure
from jobs.observation.observe import ANOTHER_PROBE, PAGE_TRIES
from jobs.observation.resource_sizes import record_sizes
from jobs.observation.set_aside import SetAside
from jobs.queue import claims, rate_limit
from jobs.states import RUNNING, WAITING
from jobs.strategies.persistent import STRATEGY

KIND = Scope.Kind.PERSISTENT_RESOURCE
IDLE_PAUSE = timedelta(minutes=5)
"""Time between two polls of a scope where no job of ours uses a persistent resource and nobody views one."""
USING = WAITING | RUNNING
COLUMNS = ("display_name", "state", "state_since", "body", "seen_at", "gone_at")
"""Columns that are written when an answer shows a change."""
Place = tuple[str, str]
"""Project and region."""


def observe_resources(scope_id: int, *, now: datetime) -> None:
    """Poll one scope and schedule the next poll. Do nothing if it is not due or another worker has claimed it."""
    scope = claims.claim_poll(Scope, scope_id, now)
    if scope is None:
        return
    with record_failure(scope, now=now):
        _watch_regions_of_jobs(scope.project, now)
        with cadence.call_seconds(scope.failures) as patience:
            if not patience:
                claims.postpone_poll(scope, due_at=now + ANOTHER_PROBE)
                return
            listed = _list(scope, patience, now)
        found = {each.resource_id: each for each in listed if each is not None}
        odd, aside = listed.count(None), SetAside(str(scope), now=now)
        _keep(scope, found, aside, is_complete=not odd, now=now)
        last_error = (
            f"{odd} entries of the list are not persistent resources and were left out." if odd else aside.words
        )
        claims.release_poll(scope, due_at=_next_poll(scope, now), answered_at=now, last_error=last_error)


def watch_resources(now: datetime) -> int:
    """Make sure that the scopes of all teams are polled, and return how many were not. Makes two small queries.

    A team's scopes are its projects in its usual region and in the regions that its policy lists. A region in which
    only a job uses a persistent resource is woken with the job, and checked by every poll of its project.
    """
    watched = set(Scope.objects.filter(kind=KIND, due_at__isnull=False).values_list("project", "region"))
    missing = sorted(_places_of(Team.objects.all()) - watched)
    for place in missing:
        _wake(place, now)
    return len(missing)


def follow_resources(projects: Collection[str], *, region: str = "", now: datetime) -> None:
    """Poll soon, because somebody views the resources of these projects, in `region` if it is given.

    Writes at most once per poll interval. Writes nothing while Vertex AI fails, so that its pauses are kept.
    """
    if not region.isprintable():  # a form accepts any text as a region
        return
    scopes = Scope.objects.filter(kind=KIND, project__in=projects)
    rows = list(scopes.filter(region=region) if region else scopes)
    if region in REGIONS and not rows:
        for project in projects:
            _wake((project, region), now)
    poll_soon(rows, now=now)


def poll_soon(scopes: Iterable[Scope], *, now: datetime) -> None:
    """Poll these scopes soon, like `follow_resources`, but without another query. They were read just now."""
    for row in scopes:
        is_old = row.answered_at is None or row.answered_at < now - settings.POLL_INTERVAL
        if is_old and not row.failures and (row.due_at is None or row.due_at > now):  # checked again by the update
            Scope.objects.filter(pk=row.pk, due_at=row.due_at, failures=0).update(due_at=now)


def _list(scope: Scope, patience: float, now: datetime) -> list[vertex.RemoteResource | None]:
    """Return the entries of every page. Each page has to arrive within the timeout and renews the claim."""
    watch = cadence.Stopwatch(now)
    pages = client(account_of(scope.project)).persistent_resources(
        project=scope.project,
        region=scope.region,
        before_page=partial(rate_limit.spend, rate_limit.reads(scope.project, scope.region), now=now),
        tries=PAGE_TRIES,
    )
    listed: list[vertex.RemoteResource | None] = []
    while True:
        with vertex.at_most(patience):
            page = next(pages, None)
        if page is None:
            return listed
        listed += page
        claims.keep_poll(scope, now=watch.now)


def _keep(
    scope: Scope, found: dict[str, vertex.RemoteResource], aside: SetAside, *, is_complete: bool, now: datetime
) -> None:
    """Write the listed resources. Raise ClaimLost and write nothing if another worker has claimed the scope."""
    with transaction.atomic():
        claims.keep_poll(scope, now=now)
        rows = {
            row.resource_id: row
            for row in PersistentResource.objects.filter(project=scope.project, region=scope.region)
        }
        updated = [_updated_row(scope, rows.get(each.resource_id), each, now) for each in found.values()]
        news = [row for row in updated if _is_news(row, rows.get(row.resource_id))]
        aside.store(news, _write, name=lambda row: row.resource_id)
        same = found.keys() - {row.resource_id for row in news}
        PersistentResource.objects.filter(pk__in=[rows[name].pk for name in same]).update(seen_at=now)
        gone = [row for name, row in rows.items() if is_complete and name not in found and row.gone_at is None]
        PersistentResource.objects.filter(pk__in=[row.pk for row in gone]).update(gone_at=now)
        record_sizes(scope, updated, [row.resource_id for row in gone], now)
        _settle_creations(scope, found)


def _settle_creations(scope: Scope, found: dict[str, vertex.RemoteResource]) -> None:
    """Settle creations of which nobody knows whether they arrived, by the label of what has their name now."""
    of_scope = {"project": scope.project, "region": scope.region, "resource_id__in": list(found)}
    creations = ResourceChange.objects.filter(**of_scope, action=ResourceChange.Action.CREATE)
    for change in creations.filter(outcome=ResourceChange.Outcome.UNKNOWN):
        if change.has_made(found[change.resource_id].raw):
            creations.filter(pk=change.pk).update(outcome=ResourceChange.Outcome.ACCEPTED)
        elif change == ResourceChange.find_maker(change.project, change.region, change.resource_id):
            change.disown()


def _write(rows: Sequence[PersistentResource]) -> None:
    key = ["project", "region", "resource_id"]
    PersistentResource.objects.bulk_create(rows, update_conflicts=True, unique_fields=key, update_fields=COLUMNS)


def _updated_row(
    scope: Scope, known: PersistentResource | None, remote: vertex.RemoteResource, now: datetime
) -> PersistentResource:
    """Return the row for an answer. A resource that comes back after it was gone starts a new state."""
    state = remote.state
    is_same = known is not None and known.gone_at is None and known.state == state
    row = PersistentResource(
        project=scope.project,
        region=scope.region,
        resource_id=remote.resource_id,
        display_name=remote.display_name,
        state=state,
        state_since=known.state_since if known is not None and is_same else now,
        body=remote.raw,
        seen_at=now,
        gone_at=None,
    )
    storable.fit(row)  # before it is compared with the saved row
    return row


def _is_news(row: PersistentResource, known: PersistentResource | None) -> bool:
    """Return whether an answer shows any change of the resource."""
    return known is None or any(getattr(row, name) != getattr(known, name) for name in COLUMNS if name != "seen_at")


def _next_poll(scope: Scope, now: datetime) -> datetime | None:
    """Return when to poll next: soon while jobs of ours use a resource, rarely for a team's scope, else None."""
    if _jobs_on_resources(scope.project).filter(region=scope.region).exists():
        return now + settings.POLL_INTERVAL
    is_a_teams = (scope.project, scope.region) in _places_of(Team.objects.allowed_in(scope.project))
    return now + max(IDLE_PAUSE, settings.POLL_INTERVAL) if is_a_teams else None


def _jobs_on_resources(project: str) -> QuerySet[Job]:
    """Return the jobs of a project that use a persistent resource or soon will."""
    return Job.objects.unfinished().filter(strategy=STRATEGY.key, project=project, state__in=USING)


def _watch_regions_of_jobs(project: str, now: datetime) -> None:
    used = set(_jobs_on_resources(project).order_by().values_list("region", flat=True))
    if not used:
        return
    watched = Scope.objects.filter(project=project, kind=KIND, due_at__isnull=False)
    for region in sorted(used.difference(watched.values_list("region", flat=True))):
        _wake((project, region), now)


def _places_of(teams: TeamQuerySet) -> set[Place]:
    rows = teams.of_each_project("default_region", "policy__regions")
    return {(project, region) for project, usual, listed in rows for region in _regions(usual, listed)}


def _regions(usual: str, listed: object) -> set[str]:
    """Return the regions of a team. Entries of the policy that are not known regions are left out."""
    named = (
        {each for each in listed if isinstance(each, str) and each in REGIONS} if isinstance(listed, list) else set()
    )
    return named | {usual} - {""}


def _wake(place: Place, now: datetime) -> None:
    project, region = place
    claims.wake_scope(project=project, region=region, kind=KIND, due_at=now)
