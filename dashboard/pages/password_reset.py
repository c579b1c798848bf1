"""A forgotten password: Django's own views, with an answer where the site sends no e-mail or has no passwords."""

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
    """Asks for the address and sends the link; the answer is the same whether an account has it or not."""

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Answer as Django does; without e-mail or passwords, with what to do."""
        if not settings.SENDS_EMAIL or not settings.PASSWORD_SIGN_IN:
            return _without_link(request)
        return super().dispatch(request, *args, **kwargs)


@method_decorator(login_not_required, name="dispatch")
class PasswordResetConfirm(PasswordResetConfirmView):
    """Takes a new password from whoever has the link; nothing where nobody signs in with one."""

    def dispatch(self, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Answer as Django does; without passwords, with a page about that."""
        return super().dispatch(*args, **kwargs) if settings.PASSWORD_SIGN_IN else _without_link(self.request)


def _without_link(request: HttpRequest) -> HttpResponse:
    return render(request, "registration/no_email.html")
