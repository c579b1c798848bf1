"""Who may change the settings of a team, and of the site."""

from django.contrib.auth.models import User
from django.utils.translation import gettext as _

from jobs.errors import NotPermitted
from jobs.models import Membership, Role, Team


def check_is_lead(by: User, team: Team) -> None:
    """Raise NotPermitted unless `by` is a lead of the team or a site admin."""
    if not by.is_active or not (
        by.is_superuser or Membership.objects.filter(team=team, user=by, role=Role.LEAD).exists()
    ):
        raise NotPermitted(_("Only a lead of %(team)s or a site admin changes its settings.") % {"team": team.name})


def check_is_admin(by: User) -> None:
    """Raise NotPermitted unless `by` is a site admin."""
    if not (by.is_active and by.is_superuser):
        raise NotPermitted(_("Only an admin of this site may do this."))
