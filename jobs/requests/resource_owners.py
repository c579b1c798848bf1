"""The team that a persistent resource belongs to, and who may change it.

Teams that share a project do not change each other's machines.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from django.contrib.auth.models import User
from django.utils.translation import gettext as _

from jobs.errors import NotAllowed, NotPermitted
from jobs.models import PersistentResource, ResourceChange, Role, Team
from jobs.permissions import role_of
from jobs.spec import Finding, Severity
from jobs.texts import Text, translatable
from jobs.translations import translated
from jobs.vertex import wire

Action = ResourceChange.Action
OF_OTHER_TEAM = translatable("This persistent resource belongs to another team of the project.")


def owner_of(project: str, region: str, resource_id: str) -> int | None:
    """Return the key of the team that asked for a resource. None: every team of its project may change it.

    A team to which the project no longer belongs owns nothing in it, so that others can delete what it left. Makes
    three queries.
    """
    place = {"project": project, "region": region, "resource_id": resource_id}
    bodies = PersistentResource.objects.existing().filter(**place).values_list("body", flat=True)
    rows = ResourceChange.objects.filter(**place, outcome__in=ResourceChange.MADE).order_by("-asked_at", "-pk")
    owner = asker_of(rows.defer("body", "findings", "message"), next(iter(bodies), {}))
    return owner if owner in Team.objects.owning(project, "pk") else None


def asker_of(newest_first: Iterable[ResourceChange], body: Mapping[str, Any]) -> int | None:
    """Return the key of the team that asked for a resource by the changes that Vertex AI may have made, or None.

    One that was made outside Trainboard belongs to the team that has first made it larger here. `body` is the resource.
    """
    created_at = wire.moment(body.get("createTime"))
    owner: int | None = None
    for change in newest_first:
        if change.action == Action.DELETE and (created_at is None or created_at > change.asked_at):
            break  # what was asked before was about an earlier resource of this name
        if change.action == Action.CREATE:
            return owner if change.is_disowned else change.team_id
        if change.needs:
            owner = change.team_id
    return owner


def may_change(by: User, team: Team) -> bool:
    """Return whether `by` may change the persistent resources of a team's projects, as its approvers and leads may."""
    return role_of(by, team_id=team.pk) in {Role.APPROVER, Role.LEAD}


def check_may_change(by: User, team: Team, project: str, region: str, resource_id: str, *, is_new: bool) -> None:
    """Raise NotPermitted unless `by` may make or change a resource for `team`."""
    if team.pk not in Team.objects.owning(project, "pk"):
        raise NotPermitted(translated(_not_of_team(project, team)))
    if not may_change(by, team):
        raise NotPermitted(_("Only approvers and leads of %(team)s change persistent resources.") % {"team": team})
    if not is_new and owner_of(project, region, resource_id) not in (None, team.pk):
        raise NotPermitted(translated(OF_OTHER_TEAM))


def check_still_may_change(change: ResourceChange) -> None:
    """Raise NotAllowed if whoever asked for an allowed change may not ask for it any more."""
    team, by = change.team, change.asked_by
    if team.pk not in Team.objects.owning(change.project, "pk"):
        raise _refusal("project_not_allowed", _not_of_team(change.project, team))
    if not may_change(by, team):
        words = {"person": by.get_username(), "team": str(team)}
        message = translatable("%(person)s may no longer change persistent resources of %(team)s.", **words)
        raise _refusal("requester_left", message)
    owner = owner_of(change.project, change.region, change.resource_id)
    if change.action != Action.CREATE and owner not in (None, team.pk):
        raise _refusal("resource_of_other_team", OF_OTHER_TEAM)


def _refusal(code: str, message: Text) -> NotAllowed:
    return NotAllowed([Finding(code, Severity.ERROR, "", message)])


def _not_of_team(project: str, team: Team) -> Text:
    return translatable("%(project)s is not a project of %(team)s.", project=project, team=str(team))
