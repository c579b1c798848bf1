"""The response to a user who lacks the permission for an action."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.core.exceptions import PermissionDenied

from jobs.errors import NotPermitted


@contextmanager
def forbidding() -> Iterator[None]:
    """Return 403 with the message of a NotPermitted raised inside."""
    try:
        yield
    except NotPermitted as refusal:
        raise PermissionDenied(str(refusal)) from None
