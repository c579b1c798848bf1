"""The request, user, job and task that log lines belong to."""

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
    """Return the current fields, by the names in `FIELDS`."""
    return _bound.get()


@contextmanager
def bind(**fields: object) -> Iterator[None]:
    """Add `fields` (names in `FIELDS`) to log lines inside the block; empty values change nothing."""
    token = _bound.set({**_bound.get(), **{name: str(value) for name, value in fields.items() if value}})
    try:
        yield
    finally:
        _bound.reset(token)


def request_id_from(given: str, traceparent: str) -> str:
    """Return the id of a request: `given` if it is well-formed, else the trace's id, else a new one.

    A well-formed id has 8 to 64 letters, digits, dots, hyphens and underscores, so it cannot forge a log line.
    `traceparent` follows W3C Trace Context (https://www.w3.org/TR/trace-context/, read 2026-11-23), in which a trace id
    of zeros is invalid.
    """
    if _WELL_FORMED.fullmatch(given):
        return given
    trace = _TRACE.fullmatch(traceparent)
    is_valid = trace is not None and trace["id"].strip("0") and not traceparent.startswith("ff")
    return trace["id"] if trace is not None and is_valid else uuid.uuid4().hex
