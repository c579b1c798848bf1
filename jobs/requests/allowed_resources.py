"""The Google Cloud resources that a team's settings allow it to use."""

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime

from jobs.allowed_resources import Allowed
from jobs.cache import Recent
from jobs.models import AllowedResource, Team
from jobs.spec.cloud_storage import bucket_of

Key = tuple[int, str, str, bool]
"""A team's id, default project and default bucket, and whether its lists are closed."""


def allowed_of(team: Team) -> Allowed:
    """Return what `team` may use: its default project and the resources in its settings. Makes one query."""
    return _load(_key(team))


def recent_allowed(team: Team, now: datetime) -> Allowed:
    """Return `allowed_of`, at most ten seconds old. Used for previews, which are rendered again on every keystroke."""
    return _recent.get(_key(team), now)


def projects_of(teams: Sequence[Team]) -> dict[int, list[str]]:
    """Return {id of a team: its projects, the default one first, then by name}. Makes one query."""
    found = {team.pk: [team.project] for team in teams}
    further = AllowedResource.objects.filter(team__in=found, kind=AllowedResource.Kind.PROJECT).order_by("name")
    for pk, name in further.values_list("team_id", "name"):
        found[pk] += [name] if name not in found[pk] else []
    return found


def kept_project(team: Team, project: str) -> str:
    """Return what a draft, template or schedule stores as its project: "" for the team's default project.

    So it follows the default project when an admin changes that.
    """
    return "" if project == team.project else project


def _key(team: Team) -> Key:
    return team.pk, team.project, team.bucket, team.is_closed


def _load(of: Key) -> Allowed:
    team, project, folder, is_closed = of
    names: defaultdict[str, set[str]] = defaultdict(set)
    for kind, name in AllowedResource.objects.filter(team=team).values_list("kind", "name"):
        names[kind].add(name)
    kinds = AllowedResource.Kind
    return Allowed(
        projects=frozenset({project} | names[kinds.PROJECT]),
        buckets=frozenset(names[kinds.BUCKET] | ({bucket_of(folder)} if is_closed and folder else set())),
        service_accounts=frozenset(names[kinds.SERVICE_ACCOUNT]),
        networks=frozenset(names[kinds.NETWORK]),
        keys=frozenset(names[kinds.KEY]),
        is_closed=is_closed,
    )


_recent: Recent[Key, Allowed] = Recent(lambda of, _now: _load(of))
_recent.forget_when_saved(AllowedResource)
