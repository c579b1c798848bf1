"""Members of a team: added, given another role, removed. A team that has leads keeps at least one."""

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from jobs.models import Membership, Role, Team
from jobs.permissions import check_is_lead

LAST_LEAD = gettext_lazy("This is the last lead of the team: make somebody else a lead first.")


class NotChanged(ValueError):
    """The change cannot be made; the message states why and what to do."""


def add_member(team: Team, name: str, role: str, *, by: User) -> Membership:
    """Add the person with this user name; return the membership.

    Raises NotPermitted unless `by` is a lead, NotChanged for an unknown person or role and for a member.
    """
    check_is_lead(by, team)
    _check_role(role)
    user = _find(name.strip())
    try:
        with transaction.atomic():
            return Membership.objects.create(team=team, user=user, role=role)
    except IntegrityError:
        raise NotChanged(
            _("%(person)s is already a member; change the role below.") % {"person": user.get_username()}
        ) from None


def set_role(team: Team, member_id: int, role: str, *, by: User) -> Membership:
    """Give a member another role, which stays whatever groups the person is in; raises NotPermitted or NotChanged."""
    check_is_lead(by, team)
    _check_role(role)
    with transaction.atomic():
        member = _locked(team, member_id)
        if member.role == Role.LEAD and role != Role.LEAD:
            _check_other_lead(team, member)
        member.role, member.granted_by, member.granted_by_group = role, None, ""
        member.save(update_fields=["role", "granted_by", "granted_by_group"])
    return member


def remove_member(team: Team, member_id: int, *, by: User) -> Membership:
    """Remove a member, or let one leave; raises NotPermitted or NotChanged."""
    with transaction.atomic():
        member = _locked(team, member_id)
        if member.user_id != by.pk:
            check_is_lead(by, team)
        if member.role == Role.LEAD:
            _check_other_lead(team, member)
        member.delete()
    return member


def _locked(team: Team, member_id: int) -> Membership:
    """Return the member while the team is locked, so that two leads who leave at once are seen one after the other.

    SQLite's transactions that write are one after the other anyway (jobs/database.py).
    """
    Team.objects.select_for_update().get(pk=team.pk)
    member = Membership.objects.select_related("user", "team").filter(pk=member_id, team=team).first()
    if member is None:
        raise NotChanged(_("This person is no longer in the team."))
    return member


def _check_other_lead(team: Team, member: Membership) -> None:
    leads = Membership.objects.filter(team=team, role=Role.LEAD, user__is_active=True)
    if not leads.exclude(pk=member.pk).exists():
        raise NotChanged(LAST_LEAD)


def _check_role(role: str) -> None:
    if role not in Role.values:
        raise NotChanged(_("A role is one of %(values)s.") % {"values": ", ".join(Role.values)})


def _find(name: str) -> User:
    """Return the active person with this user name; an e-mail address that nobody has checked names nobody."""
    found = User.objects.filter(is_active=True, username=name).first()
    if found is None:
        raise NotChanged(
            _("There is no account “%(name)s”. People without an account can be invited by link.")
            % {"name": name[:150]}
        )
    return found
