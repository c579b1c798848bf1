"""Sign-in with an OpenID Connect provider: the redirect to it, and the claims in its signed answer.

Authlib creates and checks state, nonce and the PKCE challenge, and validates ID tokens (OpenID Connect Core 1.0,
3.1.3.7). This module adds limits and decides which claims are used.
"""

import logging
import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

import requests
from authlib.common.errors import AuthlibBaseError
from authlib.integrations.django_client import DjangoIntegration, DjangoOAuth2App
from authlib.integrations.requests_client import OAuth2Session
from django.conf import settings
from django.contrib.auth.signals import user_logged_in
from django.dispatch import receiver
from django.http import HttpRequest, HttpResponseRedirect
from joserfc.errors import JoseError

from dashboard.access import iap
from dashboard.access.openid_claims import GOOGLE, BadClaims, read_claims
from dashboard.access.sign_in import TooManySignIns
from dashboard.sign_in_providers import Provider
from jobs.people.identities import Claims
from jobs.people.openid import MAX_SECONDS, NotReadable, read_metadata
from jobs.vertex.deadline import BoundedAdapter, at_most

log = logging.getLogger(__name__)
SKEW_SECONDS = 30
METADATA_SECONDS = 3600
"""How long a discovery document and its keys are used before they are loaded again."""
RETRY_SECONDS = 30
"""How long to wait before the document of a provider is requested again after a failure."""
MAX_AT_ONCE = 2
"""Maximum concurrent calls to providers per process, which has four threads."""
WAIT_SECONDS = 1
"""How long a further call waits for its turn."""
MAX_OPEN = 5
"""Maximum sign-ins that one browser can have begun. The oldest is dropped when there are more."""
OPEN_SECONDS = 3600
OPEN = "provider_sign_ins"
"""Session key: [provider key, state] of each sign-in that was begun."""
VISIT = "provider_visit"
"""Session key: the name under which failures of this browser are counted."""
_calls = threading.BoundedSemaphore(MAX_AT_ONCE)


class ProviderDown(Exception):
    """The provider cannot be reached, is too slow, or sends an unusable answer. The message is for the log."""


class Cancelled(Exception):
    """The person declined to sign in at the provider."""


class NotSignedIn(Exception):
    """The answer belongs to no sign-in begun in this browser, or is not properly signed. The message is for the log."""


class _Session(OAuth2Session):  # type: ignore[misc]  # Authlib has no annotations
    """An Authlib session whose calls have a time limit and follow no redirects."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, default_timeout=MAX_SECONDS, **kwargs)
        self.mount("https://", BoundedAdapter())
        self.mount("http://", BoundedAdapter())

    def request(self, *args: Any, **kwargs: Any) -> Any:
        """Send a request."""
        return super().request(*args, **kwargs | {"allow_redirects": False})


class _App(DjangoOAuth2App):  # type: ignore[misc]  # Authlib has no annotations
    client_cls = _Session


class Apps:
    """Authlib's client objects of the providers, with documents and keys. The threads of a process share them."""

    def __init__(self) -> None:
        self._apps: dict[Provider, tuple[Any, float]] = {}
        self._failed: dict[Provider, tuple[str, float]] = {}
        self._lock = threading.Lock()

    def find(self, provider: Provider) -> Any:
        """Return the client object of a provider.

        Return the old one while its document cannot be loaded or another thread loads it. Raise ProviderDown if there
        is none. Raise TooManySignIns if another thread loads the first one.
        """
        app, good_until = self._apps.get(provider, (None, 0.0))
        reason, retry_at = self._failed.get(provider, ("", 0.0))
        now = time.monotonic()
        if now >= good_until and now >= retry_at:
            if self._lock.acquire(blocking=False):
                try:
                    app = _make(provider)
                    self._apps[provider] = (app, now + METADATA_SECONDS)
                except NotReadable as error:
                    reason = str(error)
                    self._failed[provider] = (reason, now + RETRY_SECONDS)
                    log.error("the sign-in provider %s cannot be used: %s", provider.key, reason)
                finally:
                    self._lock.release()
            elif app is None:
                raise TooManySignIns
        if app is None:
            raise ProviderDown(reason)
        return app


apps = Apps()


def find_provider(key: str) -> Provider | None:
    """Return the provider with this key, or None."""
    return next((each for each in settings.SIGN_IN_PROVIDERS if each.key == key), None)


def name_of(issuer: str) -> str:
    """Return the name of the provider for pages: the configured name, else its issuer."""
    if issuer == iap.PROVIDER:
        return "Google Identity-Aware Proxy"
    return next((each.name for each in settings.SIGN_IN_PROVIDERS if each.issuer == issuer), issuer)


def begin(request: HttpRequest, provider: Provider, *, redirect_uri: str) -> HttpResponseRedirect:
    """Return the redirect to the provider, and store state, nonce and code verifier. Raise ProviderDown."""
    app = apps.find(provider)
    sent = app.create_authorization_url(redirect_uri)
    app.save_authorize_data(request, redirect_uri=redirect_uri, **sent)
    request.session.setdefault(VISIT, secrets.token_hex(4))
    begun = [*request.session.get(OPEN, []), [provider.key, sent["state"]]]
    for key, state in begun[:-MAX_OPEN]:
        DjangoIntegration(key).clear_state_data(request.session, state)
    request.session[OPEN] = begun[-MAX_OPEN:]
    if not request.user.is_authenticated:
        request.session.set_expiry(OPEN_SECONDS)
    return HttpResponseRedirect(sent["url"])


@receiver(user_logged_in, dispatch_uid="openid.forget")
def _forget_at_sign_in(request: HttpRequest | None, **_: Any) -> None:
    """Remove unfinished provider sign-ins. Connected where pages are served: workers do not load Authlib."""
    if OPEN in getattr(request, "session", {}):
        forget(cast("HttpRequest", request))


def forget(request: HttpRequest) -> None:
    """Remove unfinished provider sign-ins from the session, and give it the normal lifetime again."""
    for key, state in request.session.pop(OPEN, []):
        DjangoIntegration(key).clear_state_data(request.session, state)
    request.session.pop(VISIT, None)
    request.session.set_expiry(None)


def finish(request: HttpRequest, provider: Provider) -> Claims:
    """Return the claims that the provider signed about the person who returns from it.

    Raise Cancelled, NotSignedIn and ProviderDown.
    """
    if refusal := request.GET.get("error"):
        # Anybody can write this text; %r keeps line breaks out of the log.
        log.info("the sign-in provider %s answered with the error %.60r", provider.key, refusal)
        raise Cancelled
    state = request.GET.get("state", "")
    if [provider.key, state] not in request.session.get(OPEN, []) or not request.GET.get("code"):
        raise NotSignedIn("the state is not that of a sign-in which this browser has begun")
    with _called(provider):
        app = apps.find(provider)
        issuer = {"essential": True, "value": app.server_metadata["issuer"]}
        audience = {"essential": True, "value": provider.client_id}
        token = app.authorize_access_token(
            request, claims_options={"iss": issuer, "aud": audience}, leeway=SKEW_SECONDS
        )
        signed = token.get("userinfo")
        if not signed:
            raise NotSignedIn("the answer has no ID token")
        return read_claims(provider, signed | _user_info(app, provider, token, signed))


@contextmanager
def _called(provider: Provider) -> Iterator[None]:
    """Limit the duration and the number of calls to a provider.

    Raise TooManySignIns if too many are under way. Convert other errors to NotSignedIn or ProviderDown.
    """
    if not _calls.acquire(timeout=WAIT_SECONDS):
        raise TooManySignIns
    try:
        with at_most(MAX_SECONDS):
            yield
    except (JoseError, AuthlibBaseError, BadClaims) as error:
        raise NotSignedIn(f"{type(error).__name__}: {error}"[:200]) from None
    except (requests.RequestException, OSError) as error:
        raise ProviderDown(f"{provider.issuer}: {type(error).__name__}") from None
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise ProviderDown(f"{provider.issuer} returned an unreadable answer: {type(error).__name__}") from None
    finally:
        _calls.release()


def _make(provider: Provider) -> Any:
    """Load the provider's document and return Authlib's client object for it. Raise NotReadable."""
    return _App(
        DjangoIntegration(provider.key),
        provider.key,
        client_id=provider.client_id,
        client_secret=provider.client_secret,
        client_kwargs={"scope": provider.scopes, "code_challenge_method": "S256"},
        **read_metadata(provider.issuer),
    )


def _user_info(app: Any, provider: Provider, token: Any, signed: dict[str, Any]) -> dict[str, Any]:
    """Return the answer of the provider's UserInfo endpoint, or {} if it is not needed or does not exist.

    It is needed if the ID token lacks the address or the groups. Google's ID tokens contain everything that its
    UserInfo endpoint returns. Raise NotSignedIn if its `sub` differs from that of the ID token, as OpenID Connect Core
    1.0 (section 5.3) requires.
    """
    is_whole = "email" in signed and (provider.issuer == GOOGLE or provider.groups_claim in signed)
    if is_whole or "userinfo_endpoint" not in app.server_metadata:
        return {}
    userinfo = dict(app.userinfo(token=token))
    if userinfo.get("sub") != signed.get("sub"):
        raise NotSignedIn("the UserInfo endpoint returned another sub than the ID token")
    return userinfo
