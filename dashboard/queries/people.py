"""People of the site for its admins, and the rules for first sign-ins."""

from collections.abc import Sequence

from django.contrib.auth.models import User
from django.db.models import Q

from jobs.models import SignInRule

PAGE = 50


def list_people(text: str, *, after: str) -> tuple[Sequence[User], str]:
    """Return a page of accounts by name, and the last name, or "" on the last page.

    With `text`, the name or the e-mail address must begin with it.
    """
    found = User.objects.select_related("profile").order_by("username")
    if text:
        found = found.filter(Q(username__istartswith=text) | Q(email__istartswith=text))
    rows = list(found.filter(username__gt=after)[: PAGE + 1] if after else found[: PAGE + 1])
    return rows[:PAGE], rows[PAGE - 1].username if len(rows) > PAGE else ""


def list_rules() -> Sequence[SignInRule]:
    """Return every rule with its team. jobs.people.accounts.MAX_RULES limits their number."""
    return list(SignInRule.objects.select_related("team").order_by("source", "value", "team__name"))


def find_person(pk: int) -> User | None:
    """Return the account with this key, or None."""
    return User.objects.filter(pk=pk).first()
