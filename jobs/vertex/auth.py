"""Authentication: credentials, and the sessions that use them."""

import ipaddress
import json
import threading
from collections.abc import MutableMapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import google.auth
from google.auth import impersonated_credentials
from google.auth.credentials import AnonymousCredentials
from google.auth.exceptions import (
    DefaultCredentialsError,
    GoogleAuthError,
    InvalidOperation,
    RefreshError,
    TransportError,
)
from google.auth.transport.requests import AuthorizedSession, Request
from requests import PreparedRequest, Session

from jobs.vertex.deadline import BoundedAdapter

SCOPE = "https://www.googleapis.com/auth/cloud-platform"
IAM_ENDPOINT = "https://iamcredentials.googleapis.com"
GENERATE_PATH = "/v1/projects/-/serviceAccounts/{}:generateAccessToken"
"""Path of the IAM Credentials API (its discovery document v1, projects.serviceAccounts.generateAccessToken)."""


def is_plain(url: str) -> bool:
    """Return whether `url` is not encrypted."""
    return urlsplit(url).scheme == "http"


def is_loopback(url: str) -> bool:
    """Return whether `url` is on this machine."""
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def checked_endpoint(url: str, credentials: Any) -> str:
    """Return `url` without a final slash. Raise ValueError if it is not a valid base URL.

    Explicit credentials are sent unencrypted only to this machine.
    """
    try:
        parts = urlsplit(url)
        usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable or parts.username or parts.query or parts.fragment:
        raise ValueError(f"“{url}” is not a valid address of Vertex AI.")
    if is_plain(url) and not is_loopback(url) and not isinstance(credentials, AnonymousCredentials | None):
        raise ValueError(f"Credentials would be sent unencrypted to {parts.hostname}. Use https.")
    return url.rstrip("/")


class FileToken(AnonymousCredentials):
    """A bearer token that an emulator writes into a file each time it starts.

    Without the file there are no credentials.
    """

    def __init__(self, file: Path) -> None:
        super().__init__()
        self._file = file

    def before_request(self, request: Any, method: str, url: str, headers: MutableMapping[str, str]) -> None:  # noqa: ARG002 - google-auth's signature
        """Add the current token of the file."""
        try:
            headers["Authorization"] = f"Bearer {self._file.read_text().strip()}"
        except FileNotFoundError:  # the emulator accepts calls without a token
            return


class Wallet:
    """The credentials of one client, shared by its threads and looked up at the first call.

    With `acts_as`, the address of a service account, they are tokens of that account. Google's IAM Credentials API at
    `iam_endpoint` issues them for our own credentials. google-auth requests a new token before one expires.
    """

    def __init__(
        self, credentials: Any = None, token_file: str = "", acts_as: str = "", iam_endpoint: str = ""
    ) -> None:
        self._given, self._acts_as = credentials, acts_as
        self._iam_endpoint = checked_endpoint(iam_endpoint or IAM_ENDPOINT, credentials)
        self._asks_iam = bool(iam_endpoint)
        self._local = FileToken(Path(token_file)) if token_file else AnonymousCredentials()
        self._found: Any = None
        self._lock = threading.Lock()

    def for_url(self, url: str) -> Any:
        """Return the credentials for `url`: the given ones, none over plain HTTP, or this machine's own.

        An emulator on this machine gets the token of the token file, if there is one. It knows no service accounts, so
        their tokens are sent over plain HTTP only to this machine, and only if `iam_endpoint` was set. Raise
        google.auth.exceptions.DefaultCredentialsError if this machine has none.
        """
        is_impersonated = bool(self._acts_as) and (self._asks_iam or not is_plain(url))
        if is_plain(url) and self._given is None and not (is_impersonated and is_loopback(url)):
            return self._local if is_loopback(url) else AnonymousCredentials()
        if self._given is not None and not is_impersonated:
            return self._given
        with self._lock:
            if self._found is None:
                own = self._given if self._given is not None else _default()
                if is_impersonated:
                    asked_at = self._iam_endpoint + GENERATE_PATH.format(self._acts_as)
                    own = impersonated_credentials.Credentials(
                        own, self._acts_as, [SCOPE], iam_endpoint_override=asked_at
                    )
                self._found = own
        return self._found


def _default() -> Any:
    try:
        return google.auth.default(scopes=[SCOPE])[0]
    except (AttributeError, TypeError, KeyError) as error:  # google-auth 2.62.2 fails on JSON that is no object
        raise DefaultCredentialsError("the key file is not valid") from error


class _TokenRequest(Request):
    """google-auth's request for a token, which also detects answers of a proxy or portal instead of Google."""

    def __call__(self, url: str, method: str = "GET", *args: Any, **kwargs: Any) -> Any:
        """Send the request.

        Raise RefreshError for a success that is not a JSON object, on which google-auth would fail.
        """
        response = super().__call__(url, method, *args, **kwargs)
        if method == "POST" and response.status < 300 and not _is_object(response.data):
            raise RefreshError("the token service did not return a token")
        return response


def _is_object(content: bytes) -> bool:
    try:
        return isinstance(json.loads(content), dict)
    except (ValueError, RecursionError):
        return False


def words_for(error: GoogleAuthError) -> str:
    """Return a message for people about what is wrong with the credentials and what to do about it."""
    if isinstance(error, InvalidOperation):
        return "The server requires credentials, but Trainboard sends none to a plain HTTP address."
    if isinstance(error, DefaultCredentialsError):
        return (
            "This machine has no usable Google credentials: run `gcloud auth application-default login` here, or name"
            " a key file in GOOGLE_APPLICATION_CREDENTIALS."
        )
    if isinstance(error, TransportError):
        return "Google's token service could not be reached."
    if str(error.args[0] if error.args else "").startswith("Unable to acquire impersonated credentials"):
        return (
            "Google issued no access token for the service account that Trainboard acts as for this team. "
            "`manage.py doctor` shows which permission is missing and how to grant it."
        )
    return f"Google issued no access token for our credentials: {str(error.args[0] if error.args else error)[:300]}"


def session(credentials: Any, *, direct: bool) -> AuthorizedSession:
    """Return a new session for one thread. It makes no retries, ignores netrc and, if `direct`, uses no proxy.

    After a 401, google-auth fetches a new token and sends the request again, at most twice. This is safe for a create,
    because a 401 means that nothing was done (google-auth 2.62.2, transport/requests.py, read 2026-11-21).
    """
    token_session = _bounded(Session())
    token_session.max_redirects = 0
    authorized: AuthorizedSession = _bounded(AuthorizedSession(credentials, auth_request=_TokenRequest(token_session)))
    authorized.auth = _as_it_is  # otherwise requests would replace the token with a password from ~/.netrc
    for each in (token_session, authorized):
        each.trust_env = not direct
    authorized.headers["User-Agent"] = "trainboard"
    return authorized


def _bounded(http: Any) -> Any:
    for scheme in ("http://", "https://"):
        http.mount(scheme, BoundedAdapter())
    return http


def _as_it_is(request: PreparedRequest) -> PreparedRequest:
    return request
