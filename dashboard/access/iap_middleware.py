"""Middleware for a site behind Google Identity-Aware Proxy. The signed header of a request determines its user."""

import logging
from collections.abc import Callable

from django.conf import settings
from django.contrib.auth import login
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.utils.translation import gettext_lazy as _

from dashboard.access import iap
from dashboard.access.addresses import client_address
from jobs.clock import database_now
from jobs.people.audit import acting
from jobs.people.identities import NotAdmitted, find_user, record_sign_in

log = logging.getLogger(__name__)
HEALTH = frozenset({"/healthz", "/readyz"})
BACKEND = "dashboard.access.sign_in.SignInBackend"
"""The authentication backend that loads the user of a session."""


class ProxyMiddleware:
    """Signs in the user that the proxy names, on each request. Does nothing unless TRAINBOARD_IAP_AUDIENCE is set.

    It comes after AuthenticationMiddleware. A session of another user ends, because only the header identifies the
    user.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Return the response.

        Refuse a request without a valid header with 401, and one without an account with 403.
        """
        if not settings.IAP_AUDIENCE or request.path in HEALTH:
            return self.get_response(request)
        try:
            claims = iap.verify(request.META.get(iap.HEADER, ""))
            user = find_user(claims, now=database_now())
        except iap.NotVerified as reason:
            log.warning("refused a request: its token %s", reason)
            return render(request, "registration/refused.html", {"why": NOT_SIGNED}, status=401)
        except iap.NoKeys as reason:
            log.error("refused a request: %s", reason)
            return render(request, "registration/refused.html", {"why": NO_KEYS}, status=503)
        except NotAdmitted as reason:
            return render(request, "registration/refused.html", {"why": str(reason)}, status=403)
        if not request.user.is_authenticated or request.user.pk != user.pk:
            with acting(user, client_address(request)):
                record_sign_in(claims, now=database_now())
            login(request, user, backend=BACKEND)
        return self.get_response(request)


NOT_SIGNED = _("This site is reached through Google Identity-Aware Proxy, and this request was not signed by it.")
NO_KEYS = _("The keys of Google Identity-Aware Proxy cannot be read at the moment. Try again in a minute.")
