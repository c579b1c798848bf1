"""Accounts: activation and admin rights, set by site admins; time zone and language; rules of first sign-ins."""

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from jobs.models import Profile, Role, SignInRule, Team
from jobs.people.members import NotChanged
from jobs.permissions import check_is_admin

ACTIONS = ("activate", "deactivate", "make_admin", "remove_admin", "link")
MAX_RULES = 500


@transaction.atomic
def change_account(user_id: int, action: str, *, by: User) -> User:
    """Apply one of ACTIONS to an account.

    Raise NotPermitted unless `by` is a site admin, NotChanged if the action is not possible. `link` lets the next
    sign-in by a provider with the account's e-mail address take over the account, once.
    """
    check_is_admin(by)
    user = User.objects.select_for_update().filter(pk=user_id).first()
    if user is None or action not in ACTIONS:
        raise NotChanged(_("There is no such account or action."))
    if user.pk == by.pk and action in ("deactivate", "remove_admin"):
        raise NotChanged(_("Ask another admin to do this, so that the site always has an admin."))
    if action == "link":
        profile = Profile.objects.get_or_create(user=user)[0]
        profile.links_next_sign_in = True
        profile.save(update_fields=["links_next_sign_in"])
    elif action in ("activate", "deactivate"):
        user.is_active = action == "activate"
        user.save(update_fields=["is_active"])
    else:
        user.is_superuser = user.is_staff = action == "make_admin"
        user.save(update_fields=["is_superuser", "is_staff"])
    return user


def set_reader(user: User, *, time_zone: str, language: str) -> None:
    """Set the time zone (IANA name) and the language (code) of the pages of a person.

    The caller has checked both. "" means the site's time zone, and the language that the browser asks for.
    """
    profile = Profile.objects.get_or_create(user=user)[0]
    if (profile.time_zone, profile.language) != (time_zone, language):
        profile.time_zone, profile.language = time_zone, language
        profile.save(update_fields=["time_zone", "language"])


def add_rule(source: str, value: str, team: Team, role: str, *, by: User) -> SignInRule:
    """Let people whose first sign-in has this domain or group join a team. Raise NotPermitted or NotChanged."""
    check_is_admin(by)
    value = value.strip().lower() if source == SignInRule.Source.DOMAIN else value.strip()
    if source not in SignInRule.Source.values or role not in Role.values or not value or len(value) > 255:
        raise NotChanged(_("A rule needs a domain or a group, a team and a role."))
    if SignInRule.objects.count() >= MAX_RULES:
        raise NotChanged(_("There are at most %(limit)s rules.") % {"limit": MAX_RULES})
    try:
        with transaction.atomic():
            return SignInRule.objects.create(source=source, value=value, team=team, role=role)
    except IntegrityError:
        raise NotChanged(
            _("There is already a rule for %(value)s and %(team)s.") % {"value": value, "team": team.name}
        ) from None


def remove_rule(pk: int, *, by: User) -> None:
    """Remove a rule; people who joined by it stay. Raise NotPermitted unless `by` is a site admin."""
    check_is_admin(by)
    for rule in SignInRule.objects.filter(pk=pk):
        rule.delete()
