"""Permissions: roles in a team, site admins, and adopted jobs that are read only."""

from django.contrib.auth.models import User
from django.utils.translation import gettext as _

from jobs.errors import NotPermitted
from jobs.models import Job, Membership, Role, Team

REQUESTING = frozenset({Role.ENGINEER, Role.APPROVER, Role.LEAD})
"""Roles that may request jobs and edit what a team stores for requests."""


def role_of(by: User, *, team_id: int) -> str | None:
    """Return a person's role in a team; None if deactivated or no member. A superuser is a lead of every team."""
    if by.is_superuser:
        return Role.LEAD if User.objects.filter(pk=by.pk, is_active=True).exists() else None
    rows = Membership.objects.filter(team=team_id, user=by, user__is_active=True)
    return rows.values_list("role", flat=True).first()


def is_lead(by: User, *, team_id: int) -> bool:
    """Return whether a person is a lead of a team."""
    return role_of(by, team_id=team_id) == Role.LEAD


def check_is_lead(by: User, team: Team) -> None:
    """Raise NotPermitted unless `by` is a lead of the team or a site admin."""
    if not is_lead(by, team_id=team.pk):
        raise NotPermitted(_("Only a lead of %(team)s or a site admin changes its settings.") % {"team": team.name})


def check_is_admin(by: User) -> None:
    """Raise NotPermitted unless `by` is a site admin."""
    if not (by.is_active and by.is_superuser):
        raise NotPermitted(_("Only an admin of this site may do this."))


def may_request(by: User, *, team_id: int) -> bool:
    """Return whether a person is a member of a team whose role may request jobs."""
    return role_of(by, team_id=team_id) in REQUESTING


def check_may_request(by: User, team: Team) -> None:
    """Raise NotPermitted unless `by` is a member of `team` whose role may request jobs."""
    if not may_request(by, team_id=team.pk):
        raise NotPermitted(_("Only engineers, approvers and leads of %(team)s request jobs for it.") % {"team": team})


def check_is_ours(job: Job) -> None:
    """Raise NotPermitted for an adopted job."""
    if job.is_adopted:
        raise NotPermitted(
            _("This job was created outside Trainboard and is read only here. Its creator can change it at Vertex AI.")
        )
