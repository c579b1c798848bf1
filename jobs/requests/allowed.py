"""What of Google Cloud a team may use, as its settings say."""

from collections import defaultdict
from datetime import datetime

from jobs.allowed_resources import Allowed
from jobs.models import AllowedResource, Team
from jobs.recent import Recent


def allowed_of(team: Team) -> Allowed:
    """Return what `team` may use: its default project and what its settings add; one query."""
    return _load((team.pk, team.project))


def recent_allowed(team: Team, now: datetime) -> Allowed:
    """Return `allowed_of` as it was ten seconds ago at most: for previews, which are drawn again with every key."""
    return _recent.get((team.pk, team.project), now)


def _load(of: tuple[int, str]) -> Allowed:
    team, project = of
    names: defaultdict[str, set[str]] = defaultdict(set)
    for kind, name in AllowedResource.objects.filter(team=team).values_list("kind", "name"):
        names[kind].add(name)
    kinds = AllowedResource.Kind
    return Allowed(
        projects=frozenset({project} | names[kinds.PROJECT]),
        buckets=frozenset(names[kinds.BUCKET]),
        service_accounts=frozenset(names[kinds.SERVICE_ACCOUNT]),
    )


_recent: Recent[tuple[int, str], Allowed] = Recent(lambda of, _now: _load(of))
_recent.forget_when_saved(AllowedResource)
