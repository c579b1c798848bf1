"""Add, change and remove the members of a team. A team with leads keeps at least one."""

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from jobs.models import Membership, Role, Team
from jobs.permissions import check_is_lead

POWERFUL = frozenset({Role.APPROVER, Role.LEAD})
"""Roles that a second person has to accept; see `jobs.proposals`."""
LAST_LEAD = gettext_lazy("This is the last lead of the team: make somebody else a lead first.")


class NotChanged(ValueError):
    """The change is not possible; the message gives the reason and what to do."""


def add_member(team: Team, name: str, role: str, *, by: User) -> Membership:
    """Add the person with this user name; return the membership.

    Raise NotPermitted unless `by` is a lead, NotChanged for an unknown person or role and for a member.
    """
    check_is_lead(by, team)
    _check_role(role)
    name = name.strip()
    # An unverified e-mail address does not identify a person.
    user = User.objects.filter(is_active=True, username=name).first()
    if user is None:
        raise NotChanged(
            _("There is no account “%(name)s”. People without an account can be invited by link.")
            % {"name": name[:150]}
        )
    try:
        with transaction.atomic():
            return Membership.objects.create(team=team, user=user, role=role)
    except IntegrityError:
        raise NotChanged(
            _("%(person)s is already a member; change the role below.") % {"person": user.get_username()}
        ) from None


def set_role(team: Team, member_id: int, role: str, *, by: User) -> Membership:
    """Give a member another role, which later sign-ins do not change. Raise NotPermitted or NotChanged."""
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
    """Remove a member, or let one leave. Raise NotPermitted or NotChanged."""
    with transaction.atomic():
        member = _locked(team, member_id)
        if member.user_id != by.pk:
            check_is_lead(by, team)
        if member.role == Role.LEAD:
            _check_other_lead(team, member)
        member.delete()
    return member


def _locked(team: Team, member_id: int) -> Membership:
    """Lock the team and return the member, so that two leads cannot both leave at once.

    On SQLite, writing transactions run one after another anyway (jobs/database.py).
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
