"""Log formats: a JSON object per line, or text for people. Both contain the context of the line.

Celery tasks carry the id of the request that caused them in a header, so that a request can be traced into the worker.
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
"""Bound context of each task running in this process. The signals run in the task's own thread."""


class AddContext(logging.Filter):
    """Adds the text ` [request_id=... job_id=...]` with the context to each record, for the line format."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Add `context` to the record. Return True always."""
        known = log_context.bound()
        words = " ".join(f"{name}={known[name]}" for name in log_context.FIELDS if name in known)
        record.context = f" [{words}]" if words else ""
        return True


class JsonFormatter(logging.Formatter):
    """Formats a record as one line of JSON with the field names of Cloud Logging: severity, message, time.

    It contains only these fields, the context of `jobs.log_context` and a traceback. Other attributes that libraries
    attach to records are left out, because they may contain a request with its cookies. Source of the names: Cloud
    Logging, "Structured logging", read 2026-11-22.
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
    """Return Django's LOGGING for a format in `FORMATS` and a level. Raise ImproperlyConfigured for another format."""
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
    """Connect signals that send the request's id with tasks and bind it where they run."""
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
