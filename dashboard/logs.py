"""How lines of the log look: one JSON object each, or text for people; both have what the line belongs to.

Celery tasks carry the id of the request that caused them in a header, so that a click can be followed into the worker.
"""

import json
import logging
from contextlib import ExitStack
from datetime import UTC, datetime
from typing import Any

from celery.signals import before_task_publish, task_postrun, task_prerun
from django.core.exceptions import ImproperlyConfigured

from jobs import log_context

HEADER = "trainboard_request_id"
FORMATS = ("line", "json")
_open: dict[str, ExitStack] = {}
"""What is bound for each task that runs in this process; the signals run in the task's own thread."""


class AddContext(logging.Filter):
    """Gives each record the text ` [request_id=... job_id=...]` of what it belongs to, for the line format."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Add `context` to the record; never leaves one out."""
        known = log_context.bound()
        words = " ".join(f"{name}={known[name]}" for name in log_context.FIELDS if name in known)
        record.context = f" [{words}]" if words else ""
        return True


class JsonFormatter(logging.Formatter):
    """Writes a record as one line of JSON with the names that Cloud Logging reads: severity, message, time.

    Only these fields, what `jobs.log_context` holds and a traceback: nothing that a library attaches to its records,
    which may be a request with its cookies. Source of the names: Cloud Logging, "Structured logging", read 2026-11-22.
    """

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "severity": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
            **log_context.bound(),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=True)


def settings_for(style: str, level: str) -> dict[str, Any]:
    """Return Django's LOGGING for a format in `FORMATS` and a level; raises ImproperlyConfigured for another format."""
    if style not in FORMATS:
        raise ImproperlyConfigured(f"TRAINBOARD_LOG_FORMAT={style!r} is none of {', '.join(FORMATS)}.")
    line = {"format": "{asctime} {levelname} {name}: {message}{context}", "style": "{"}
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "filters": {"context": {"()": AddContext}},
        "formatters": {"line": line, "json": {"()": JsonFormatter}},
        "handlers": {"console": {"class": "logging.StreamHandler", "formatter": style, "filters": ["context"]}},
        "root": {"handlers": ["console"], "level": level},
    }


def follow_requests() -> None:
    """Have tasks that are sent carry the request's id, and bind it where they run."""
    before_task_publish.connect(_send_id, weak=False)
    task_prerun.connect(_begin_task, weak=False)
    task_postrun.connect(_end_task, weak=False)


def _send_id(*, headers: dict[str, Any] | None = None, **_: Any) -> None:
    if headers is not None and (request_id := log_context.bound().get("request_id")):
        headers[HEADER] = request_id


def _begin_task(*, task_id: str, task: Any, kwargs: dict[str, Any] | None = None, **_: Any) -> None:
    given = getattr(task.request, HEADER, "") or (task.request.headers or {}).get(HEADER, "")
    request_id = log_context.request_id_from(str(given), "") if given else ""
    stack = _open[task_id] = ExitStack()
    stack.enter_context(log_context.bind(task_id=task_id, request_id=request_id, job_id=(kwargs or {}).get("job_id")))


def _end_task(*, task_id: str, **_: Any) -> None:
    if (stack := _open.pop(task_id, None)) is not None:
        stack.close()
