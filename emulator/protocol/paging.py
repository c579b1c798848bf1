"""Pages of lists: their size, and opaque tokens that are bound to one request."""

import base64
import binascii
import hashlib
import json

from emulator.protocol.errors import invalid

MAX_PAGE_SIZE = 100


def _digest(bound: tuple[str, ...]) -> str:
    return hashlib.sha256("\0".join(bound).encode()).hexdigest()[:16]


def make_token(position: list[object], *bound: str) -> str:
    """Return an opaque token for a position in a list. `bound` are the request's other parameters."""
    return base64.urlsafe_b64encode(json.dumps([_digest(bound), *position]).encode()).decode().rstrip("=")


def read_token(text: str, *bound: str) -> list[object] | None:
    """Return the position in a token, None if it is empty.

    Raise ApiError 400 if it is invalid or belongs to another request.
    """
    if not text:
        return None
    try:
        digest, *position = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    except (ValueError, binascii.Error, TypeError):
        raise invalid("The page token is not valid.") from None
    if digest != _digest(bound):
        raise invalid("The page token belongs to a request with other parameters.")
    return list(position)


def page_size(text: str, *, default: int = MAX_PAGE_SIZE, maximum: int = MAX_PAGE_SIZE) -> int:
    """Parse a page size. Return `default` for nothing or 0, and at most `maximum`.

    Raise ApiError 400 if it is invalid.
    """
    try:
        size = int(text or 0)
    except ValueError:
        raise invalid(f"Invalid value at 'page_size' (TYPE_INT32), \"{text}\"") from None
    if size < 0:
        raise invalid("The page size must not be negative.")
    return min(size or default, maximum)
