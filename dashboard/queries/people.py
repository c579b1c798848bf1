"""People of the site for its admins, and the rules of first sign-ins."""

from collections.abc import Sequence

from django.contrib.auth.models import User
from django.db.models import Q

from jobs.models import SignInRule

PAGE = 50


def list_people(text: str, *, after: str) -> tuple[Sequence[User], str]:
    """Return a page of accounts whose name or address begins with `text`, by name, and the last name or ""."""
    found = User.objects.select_related("profile").order_by("username")
    if text:
        found = found.filter(Q(username__istartswith=text) | Q(email__istartswith=text))
    rows = list(found.filter(username__gt=after)[: PAGE + 1] if after else found[: PAGE + 1])
    return rows[:PAGE], rows[PAGE - 1].username if len(rows) > PAGE else ""


def list_rules() -> Sequence[SignInRule]:
    """Return every rule with its team; jobs.people.accounts.MAX_RULES bounds them."""
    return list(SignInRule.objects.select_related("team").order_by("source", "value", "team__name"))


def find_person(pk: int) -> User | None:
    """Return an account by its key."""
    return User.objects.filter(pk=pk).first()
