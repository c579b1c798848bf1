"""Who may change the settings of a team, and of the site."""

from django.contrib.auth.models import User

from jobs.errors import NotPermitted
from jobs.models import Membership, Role, Team


def check_is_lead(by: User, team: Team) -> None:
    """Raise NotPermitted unless `by` is a lead of the team or a site admin."""
    if not by.is_active or not (
        by.is_superuser or Membership.objects.filter(team=team, user=by, role=Role.LEAD).exists()
    ):
        raise NotPermitted(f"Only a lead of {team.name} or a site admin changes its settings.")


def check_is_admin(by: User) -> None:
    """Raise NotPermitted unless `by` is a site admin."""
    if not (by.is_active and by.is_superuser):
        raise NotPermitted("Only an admin of this site may do this.")
