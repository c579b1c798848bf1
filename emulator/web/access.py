"""Which requests are let in: those of no web page elsewhere, and where it is demanded those that know the credential.

The credential is made at each start. It is demanded where the system does not tell whose connection it is
(`emulator.peers`). Clients send it as a bearer token, or call `http://HOST:PORT/_access/CREDENTIAL` as the address.
"""

import hmac
import ipaddress
import os
import re
import secrets
from pathlib import Path

from starlette.datastructures import Headers
from starlette.types import Scope

from emulator.protocol.errors import ApiError

FILE = "credential"
PREFIX = "/_access/"
BEFORE = "emulator.before"
"""Key of the scope: what stood before the path."""
HOST = re.compile(r"(?:\[([0-9a-fA-F:.]+)\]|([0-9.]+)|[lL][oO][cC][aA][lL][hH][oO][sS][tT])(?::[0-9]{1,5})?")


class Credential:
    """A secret of this start, in a file that only this user can read."""

    def __init__(self, state: Path) -> None:
        """Make it; `state` is the emulator's folder."""
        self._secret = secrets.token_urlsafe(32)
        self.file = state / FILE
        self.file.unlink(missing_ok=True)
        with os.fdopen(os.open(self.file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(self._secret)

    @property
    def prefix(self) -> str:
        """Return the path before all paths that lets a request in."""
        return PREFIX + self._secret

    def fits(self, given: str) -> bool:
        """Tell whether this is it."""
        return hmac.compare_digest(given.encode(), self._secret.encode())

    def refusal(self) -> ApiError:
        """Return what who does not know it is told."""
        return ApiError(
            403,
            "This emulator serves only the user who started it, and this system does not tell whose connection this "
            f"is. Send the content of the file {FILE} in the emulator's state folder, which is new at each start, as a "
            f"bearer token (Authorization: Bearer ...), or put {PREFIX} and this content before the path.",
        )


def forget(state: Path) -> None:
    """Remove the credential of an earlier start."""
    (state / FILE).unlink(missing_ok=True)


def admit(scope: Scope, credential: Credential | None) -> None:
    """Let a request in and take the credential out of its path; ApiError 403 for one that may not be answered."""
    headers = Headers(scope=scope)
    _refuse_other_sites(headers, scope["method"])
    if credential is None:
        return
    begun, _, rest = str(scope["path"]).removeprefix(PREFIX).partition("/")
    if scope["path"].startswith(PREFIX) and credential.fits(begun):
        scope["path"], scope[BEFORE] = f"/{rest}", credential.prefix
        return
    scheme, _, token = headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not credential.fits(token.strip()):
        raise credential.refusal()


def _refuse_other_sites(headers: Headers, method: str) -> None:
    """Refuse what a web page elsewhere could make a browser of this user send, also under a name of its own for us.

    The Host header is read here: Starlette takes the server's own address for one that it cannot read.
    """
    host = headers.get("host")
    if host is not None and not is_loopback(host):
        raise ApiError(403, "The emulator answers requests to loopback addresses only.")
    origin = headers.get("origin")
    if origin is not None and origin != f"http://{host}":
        raise ApiError(403, "The emulator answers no requests from other origins.")
    # Sec-Fetch-*: Fetch Metadata Request Headers, W3C. Following a link here is harmless: a GET changes nothing.
    is_from_elsewhere = headers.get("sec-fetch-site", "none") not in ("none", "same-origin")
    is_link = method == "GET" and headers.get("sec-fetch-mode") == "navigate"
    if is_from_elsewhere and not (is_link and headers.get("sec-fetch-dest") == "document"):
        raise ApiError(403, "The emulator answers no requests from other origins.")


def is_loopback(host: str) -> bool:
    """Tell whether a Host header names this machine by an address that no name server can give to others."""
    found = HOST.fullmatch(host)
    if found is None:
        return False
    try:
        return host.lower().startswith("localhost") or ipaddress.ip_address(found[1] or found[2]).is_loopback
    except ValueError:
        return False
