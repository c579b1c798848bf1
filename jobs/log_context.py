"""What is being worked for right now: the request, person, job and task that a line of the log belongs to."""

import re
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from types import MappingProxyType

FIELDS = ("request_id", "user_id", "job_id", "task_id")
_WELL_FORMED = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{7,63}")
_TRACE = re.compile(r"[0-9a-f]{2}-(?P<id>[0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}(?:-.*)?", re.DOTALL)
_bound: ContextVar[Mapping[str, str]] = ContextVar("bound", default=MappingProxyType({}))


def bound() -> Mapping[str, str]:
    """Return what is known now, by the names in `FIELDS`."""
    return _bound.get()


@contextmanager
def bind(**fields: object) -> Iterator[None]:
    """Let lines of the log inside the block carry `fields` (names in `FIELDS`); empty values change nothing."""
    token = _bound.set({**_bound.get(), **{name: str(value) for name, value in fields.items() if value}})
    try:
        yield
    finally:
        _bound.reset(token)


def request_id_from(given: str, traceparent: str) -> str:
    """Return the id for a request: `given` where it is well-formed, the trace's id, or a new one.

    Well-formed: 8 to 64 letters, digits, dots, hyphens and underscores, so that no line of a log can be forged.
    `traceparent` is read as W3C Trace Context writes it (https://www.w3.org/TR/trace-context/, read 2026-11-23), where
    a trace id of zeros is invalid.
    """
    if _WELL_FORMED.fullmatch(given):
        return given
    trace = _TRACE.fullmatch(traceparent)
    is_valid = trace is not None and trace["id"].strip("0") and not traceparent.startswith("ff")
    return trace["id"] if trace is not None and is_valid else uuid.uuid4().hex
