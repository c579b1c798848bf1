"""The time zone of whoever reads a page: chosen on the account page, else the site's."""

from collections.abc import Callable
from functools import cache
from zoneinfo import ZoneInfo, available_timezones

from django.contrib.auth.models import AnonymousUser, User
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils import timezone

from jobs.models import Profile


class TimeZoneMiddleware:
    """Has times drawn in the zone of the person; it stands after all that decide who that is.

    The zone is in the profile, which `SignInBackend.get_user` reads with the person of the session: no query more.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Answer in the person's zone, in the site's where none is chosen or this machine does not know it."""
        name = zone_of(request.user)
        with timezone.override(ZoneInfo(name) if name in zone_names() else None):
            return self.get_response(request)


def zone_of(user: User | AnonymousUser) -> str:
    """Return the name of the zone that a person has chosen, "" for the site's."""
    try:
        return user.profile.time_zone if isinstance(user, User) else ""
    except Profile.DoesNotExist:
        return ""


@cache
def zone_names() -> frozenset[str]:
    """Return the names of the IANA zones that people may choose: places, and UTC."""
    places = {name for name in available_timezones() if "/" in name and not name.startswith("Etc/")}
    return frozenset(places | {"UTC"})
