"""Password reset: Django's views, with an explanation if the site sends no e-mail or has no passwords."""

from typing import Any

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.views import PasswordResetConfirmView, PasswordResetView
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.utils.decorators import method_decorator


@method_decorator(login_not_required, name="dispatch")
class PasswordReset(PasswordResetView):
    """Asks for the address and sends the link. The response does not reveal whether an account has the address."""

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Respond as Django does. Without e-mail or passwords, explain what to do."""
        if not settings.SENDS_EMAIL or not settings.PASSWORD_SIGN_IN:
            return _without_link(request)
        return super().dispatch(request, *args, **kwargs)


@method_decorator(login_not_required, name="dispatch")
class PasswordResetConfirm(PasswordResetConfirmView):
    """Sets a new password through the link, unless the site has no sign-in by password."""

    def dispatch(self, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Respond as Django does. Without sign-in by password, show a page that explains so."""
        return super().dispatch(*args, **kwargs) if settings.PASSWORD_SIGN_IN else _without_link(self.request)


def _without_link(request: HttpRequest) -> HttpResponse:
    return render(request, "registration/no_email.html")
