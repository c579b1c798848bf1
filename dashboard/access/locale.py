"""The language and time zone of the reader: chosen on the account page, else those of the browser and the site."""

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
"""Endings of URLs for programs and downloads, which are answered in English."""


class ReaderMiddleware:
    """Renders pages in the language and time zone of the user. It comes after all middleware that identifies the user.

    Both are in the profile, which `SignInBackend.get_user` loads with the user, so this needs no further query.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Return the response in the chosen time zone and language.

        The default is the time zone of the site, also if the chosen one is not known on this machine, and the language
        that Django's LocaleMiddleware found in the browser's preferences.
        """
        profile = profile_of(request.user)
        is_chosen = profile.language in dict(settings.LANGUAGES)
        language = profile.language if is_chosen else translation.get_language() or settings.LANGUAGE_CODE
        if request.path.startswith(API) or request.path.endswith(FILES):
            language = "en"
            translation.activate(language)  # also for lines of a streaming response, written later
        zone = ZoneInfo(profile.time_zone) if profile.time_zone in zone_names() else None
        with timezone.override(zone), translation.override(language):
            response = self.get_response(request)
        response.headers.setdefault("Content-Language", language)
        return response


def profile_of(user: User | AnonymousUser) -> Profile:
    """Return the profile of a person. Return an empty one if there is none."""
    try:
        return user.profile if isinstance(user, User) else Profile()
    except Profile.DoesNotExist:
        return Profile()


@cache
def zone_names() -> frozenset[str]:
    """Return the names of the IANA time zones that people may choose: places, and UTC."""
    places = {name for name in available_timezones() if "/" in name and not name.startswith("Etc/")}
    return frozenset(places | {"UTC"})
