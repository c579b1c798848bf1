"""The language and time zone of whoever reads a page: chosen on the account page, else those of browser and site."""

from collections.abc import Callable
from functools import cache
from zoneinfo import ZoneInfo, available_timezones

from django.conf import settings
from django.contrib.auth.models import AnonymousUser, User
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils import timezone, translation

from jobs.models import Profile

API = "/api/v1/"
FILES = (".csv", ".json", ".txt")
"""Addresses for programs and files to keep, which are answered in English."""


class ReaderMiddleware:
    """Has pages drawn in the language and the time zone of the person; it stands after all that decide who that is.

    Both are in the profile, which `SignInBackend.get_user` reads with the person of the session: no query more.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Answer in the zone and language that were chosen.

        Else in the site's zone, also where this machine does not know the one chosen, and in the language of Django's
        LocaleMiddleware, which is what the browser asks for.
        """
        profile = profile_of(request.user)
        is_chosen = profile.language in dict(settings.LANGUAGES)
        language = profile.language if is_chosen else translation.get_language() or settings.LANGUAGE_CODE
        if request.path.startswith(API) or request.path.endswith(FILES):
            language = "en"
            translation.activate(language)  # also for the lines of a stream, which are written after this returns
        zone = ZoneInfo(profile.time_zone) if profile.time_zone in zone_names() else None
        with timezone.override(zone), translation.override(language):
            response = self.get_response(request)
        response.headers.setdefault("Content-Language", language)
        return response


def profile_of(user: User | AnonymousUser) -> Profile:
    """Return what a person has chosen; an empty profile where they have none."""
    try:
        return user.profile if isinstance(user, User) else Profile()
    except Profile.DoesNotExist:
        return Profile()


@cache
def zone_names() -> frozenset[str]:
    """Return the names of the IANA zones that people may choose: places, and UTC."""
    places = {name for name in available_timezones() if "/" in name and not name.startswith("Etc/")}
    return frozenset(places | {"UTC"})
