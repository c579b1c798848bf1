"""Asking who you are once more, before an action with which the thief of a session could stay or spend.

A session remembers when its person last proved who they are. If that is longer ago than TRAINBOARD_CONFIRM_MINUTES, a
view with the decorator shows a page that asks for the password and posts the same form again, so that nothing typed is
lost. A person without a password signs in at their provider again. Behind Identity-Aware Proxy nothing is asked: the
proxy decides how long a sign-in lasts.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.conf import settings
from django.contrib.auth import authenticate
from django.contrib.auth.signals import user_logged_in
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext as _

from dashboard.access.roles import Request

CONFIRMED_AT = "confirmed_at"
"""Session key of the time, in seconds since 1970, at which the person last proved who they are."""
PASSWORD = "confirm_password"  # noqa: S105 - the name of a field
View = Callable[..., HttpResponse]


def connect() -> None:
    """Connect the signal that records the time of a sign-in. Called once, when the site is ready."""
    user_logged_in.connect(_record, dispatch_uid="confirmation.record")


def confirm(request: HttpRequest) -> None:
    """Record that the person has just proved who they are."""
    request.session[CONFIRMED_AT] = timezone.now().timestamp()


def is_confirmed(request: HttpRequest) -> bool:
    """Return whether the person has proved who they are recently, or cannot be asked."""
    age = timezone.now().timestamp() - request.session.get(CONFIRMED_AT, 0)
    return bool(settings.IAP_AUDIENCE) or 0 <= age <= settings.CONFIRM_AGE.total_seconds()


def confirmed(needs: Callable[..., bool] = lambda *_args, **_kwargs: True) -> Callable[[View], View]:
    """Decorate a view: ask for the password before a POST for which `needs(request, *args, **kwargs)` is true."""

    def decorate(view: View) -> View:
        @wraps(view)
        def checked(request: Request, *args: Any, **kwargs: Any) -> HttpResponse:
            if request.method != "POST" or is_confirmed(request) or not needs(request, *args, **kwargs):
                return view(request, *args, **kwargs)
            password, errors = request.POST.get(PASSWORD), []
            if password:
                name = request.user.get_username()
                if authenticate(request, username=name, password=password, confirms_link=True) is not None:
                    confirm(request)
                    return view(request, *args, **kwargs)
                errors = [_("This is not the password of your account.")]
            typed = [(key, value) for key, values in request.POST.lists() for value in values]
            context = {
                "typed": [pair for pair in typed if pair[0] not in (PASSWORD, "csrfmiddlewaretoken")],
                "errors": errors,
                "has_password": settings.PASSWORD_SIGN_IN and request.user.has_usable_password(),
            }
            return render(request, "registration/confirm.html", context, status=422 if errors else 200)

        return checked

    return decorate


def by_admin(request: Request, **_: Any) -> bool:
    """Return whether a site admin posts: what they change may apply at once, without a second person."""
    return request.user.is_superuser


def _record(request: HttpRequest | None, **_: Any) -> None:
    if request is not None and getattr(request, "session", None) is not None:
        confirm(request)
