"""Pages of lists: their size, and opaque tokens that belong to one request."""

import base64
import binascii
import hashlib
import json

from emulator.protocol.errors import invalid

MAX_PAGE = 100


def _digest(bound: tuple[str, ...]) -> str:
    return hashlib.sha256("\0".join(bound).encode()).hexdigest()[:16]


def token(position: list[object], *bound: str) -> str:
    """Return an opaque token for a place in a list; `bound`: the request's other parameters."""
    return base64.urlsafe_b64encode(json.dumps([_digest(bound), *position]).encode()).decode().rstrip("=")


def position(text: str, *bound: str) -> list[object] | None:
    """Read a token back; None if empty, ApiError 400 if it is none or belongs to another request."""
    if not text:
        return None
    try:
        digest, *found = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    except (ValueError, binascii.Error, TypeError):
        raise invalid("The page token is not valid.") from None
    if digest != _digest(bound):
        raise invalid("The page token belongs to a request with other parameters.")
    return list(found)


def page_size(text: str, *, usual: int = MAX_PAGE, most: int = MAX_PAGE) -> int:
    """Read a page size: nothing or 0 = usual, more than most = most; ApiError 400 for nonsense."""
    try:
        size = int(text or 0)
    except ValueError:
        raise invalid(f"Invalid value at 'page_size' (TYPE_INT32), \"{text}\"") from None
    if size < 0:
        raise invalid("The page size must not be negative.")
    return min(size or usual, most)
