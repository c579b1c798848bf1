"""Access control: refuse requests of other web sites, and if it is required, requests without the credential.

A new credential is created at each start. It is required if the system does not report the owner of a connection
(`emulator.socket_owners`). Clients send it as a bearer token, or use the address `http://HOST:PORT/_access/CREDENTIAL`.
"""

import hmac
import ipaddress
import re
import secrets
from pathlib import Path

from starlette.datastructures import Headers
from starlette.types import Scope

from emulator.protocol.errors import ApiError
from emulator.state import private

FILE = "credential"
PREFIX = "/_access/"
PREFIX_KEY = "emulator.prefix"
"""Scope key: the prefix of the path that contained the credential."""
HOST = re.compile(r"(?:\[([0-9a-fA-F:.]+)\]|([0-9.]+)|[lL][oO][cC][aA][lL][hH][oO][sS][tT])(?::[0-9]{1,5})?")


class Credential:
    """A secret of this start, in a file that only this user can read."""

    def __init__(self, state: Path) -> None:
        """Create a credential. `state` is the emulator's folder."""
        self._secret = secrets.token_urlsafe(32)
        self.file = state / FILE
        private.write_file(self.file, self._secret.encode())

    @property
    def prefix(self) -> str:
        """The prefix of a path that contains the credential."""
        return PREFIX + self._secret

    def matches(self, text: str) -> bool:
        """Return whether a text is the credential."""
        return hmac.compare_digest(text.encode(), self._secret.encode())

    def error(self) -> ApiError:
        """Return the error for a request without the credential."""
        return ApiError(
            403,
            "This emulator serves only the user who started it, and this system does not report the owner of a "
            f"connection. Send the content of the file {FILE} in the emulator's state folder, which is new at each "
            f"start, as a bearer token (Authorization: Bearer ...), or put {PREFIX} and this content before the path.",
        )


def remove_old_credential(state: Path) -> None:
    """Remove the credential of an earlier start."""
    (state / FILE).unlink(missing_ok=True)


def check_request(scope: Scope, credential: Credential | None) -> None:
    """Remove the credential from a request's path. Raise ApiError 403 for a request that is not permitted."""
    headers = Headers(scope=scope)
    _refuse_other_sites(headers, scope["method"])
    if credential is None:
        return
    secret, _, rest = str(scope["path"]).removeprefix(PREFIX).partition("/")
    if scope["path"].startswith(PREFIX) and credential.matches(secret):
        scope["path"], scope[PREFIX_KEY] = f"/{rest}", credential.prefix
        return
    scheme, _, token = headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not credential.matches(token.strip()):
        raise credential.error()


def _refuse_other_sites(headers: Headers, method: str) -> None:
    """Refuse requests that a page of another site makes this user's browser send.

    This includes a site whose host name resolves to this machine. The Host header is read here, because Starlette uses
    the server's own address if it cannot parse the header.
    """
    host = headers.get("host")
    if host is not None and not is_loopback(host):
        raise ApiError(403, "The emulator answers requests to loopback addresses only.")
    origin = headers.get("origin")
    if origin is not None and origin != f"http://{host}":
        raise ApiError(403, "The emulator answers no requests from other origins.")
    # Sec-Fetch-*: Fetch Metadata Request Headers, W3C. Following a link here is harmless, because a GET changes
    # nothing.
    is_from_elsewhere = headers.get("sec-fetch-site", "none") not in ("none", "same-origin")
    is_link = method == "GET" and headers.get("sec-fetch-mode") == "navigate"
    if is_from_elsewhere and not (is_link and headers.get("sec-fetch-dest") == "document"):
        raise ApiError(403, "The emulator answers no requests from other origins.")


def is_loopback(host: str) -> bool:
    """Return whether a Host header names this machine by an address that no name server can assign to others."""
    match = HOST.fullmatch(host)
    if match is None:
        return False
    try:
        return host.lower().startswith("localhost") or ipaddress.ip_address(match[1] or match[2]).is_loopback
    except ValueError:
        return False
