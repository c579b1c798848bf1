"""What of Google Cloud a team may use, as its settings say."""

from collections import defaultdict

from jobs.allowed_resources import Allowed
from jobs.models import AllowedResource, Team


def allowed_of(team: Team) -> Allowed:
    """Return what `team` may use: its default project and what its settings add; one query."""
    names: defaultdict[str, set[str]] = defaultdict(set)
    for kind, name in AllowedResource.objects.filter(team=team).values_list("kind", "name"):
        names[kind].add(name)
    kinds = AllowedResource.Kind
    return Allowed(
        projects=frozenset({team.project} | names[kinds.PROJECT]),
        buckets=frozenset(names[kinds.BUCKET]),
        service_accounts=frozenset(names[kinds.SERVICE_ACCOUNT]),
    )
