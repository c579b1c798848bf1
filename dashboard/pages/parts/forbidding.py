"""How a page answers somebody who may not do what they ask."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.core.exceptions import PermissionDenied

from jobs.errors import NotPermitted


@contextmanager
def forbidding() -> Iterator[None]:
    """Answer 403 with the words of a NotPermitted that is raised inside."""
    try:
        yield
    except NotPermitted as refusal:
        raise PermissionDenied(str(refusal)) from None
