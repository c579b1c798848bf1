"""A job's log in Cloud Logging: build requests and read their entries. Pure.

Entries have the resource type `ml_job` with the labels `job_id` (the number, not the whole name) and `task_name`: the
replica (`workerpool0-0`), or `service` for Vertex AI's own lines. Source: gcloud's command_lib/ai/log_util.py and the
discovery document of logging v2 in google-api-python-client 2.202.0, read 2026-11-21.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from jobs import bounds
from jobs.vertex import wire

DEFAULT_ENDPOINT = "https://logging.googleapis.com"
SERVICE = "service"
"""The replica name of Vertex AI's own lines."""
TAKEN_AWAY = "Terminated by service."
"""Beginning of the line that a replica writes when its machine is taken away (vertex-facts 10.4)."""
MAX_PAGE_SIZE = 1_000
"""Entries per page. Cloud Logging refuses a larger page size."""
JOBS_PER_FILTER = 200
"""A filter has at most 20,000 characters, and a job needs up to 60 of them."""


MAX_INSERT_ID_CHARACTERS = 128
"""Limit of the insert id, as long as its column. Longer ids are cut so that they remain distinct."""


MAX_FIGURES = 40
"""Numbers of a structured entry that are appended to its message."""
ABOUT_THE_CALL = frozenset(
    {"lineno", "levelno", "process", "thread", "created", "msecs", "relativeCreated", "line", "pid", "tid", "timestamp"}
)
"""Fields that loggers add about the call, as Python's LogRecord does."""


MAX_MACHINE_CHARACTERS = 128
"""Limit of a VM's name, as long as its column. VM names have at most 63 characters."""


@dataclass(frozen=True, slots=True)
class LogEntry:
    """One line of a job's log. `replica` is `service` for lines of Vertex AI itself. `severity` is Google's name.

    `machine` is the name of the VM that the replica ran on, or "" if the entry does not contain it.
    """

    timestamp: datetime
    insert_id: str
    replica: str
    severity: str
    message: str
    job_id: str
    machine: str = ""


def list_body(
    project: str,
    job_ids: Sequence[str],
    *,
    after: datetime | None,
    limit: int,
    newest: bool = False,
    of_service: bool = False,
) -> dict[str, Any]:
    """Return the body of entries:list for lines from `after` on (inclusive), oldest or newest first.

    If `job_ids` is empty, all jobs of the project are included. `of_service` selects only what Vertex AI itself logs
    about them, and the replicas' own lines about a machine that is taken away.
    """
    jobs = " OR ".join(f"resource.labels.job_id={wire.quoted(job_id)}" for job_id in job_ids)
    terms = ['resource.type="ml_job"']
    if job_ids:
        terms.append(f"({jobs})" if len(job_ids) > 1 else jobs)
    if of_service:
        matching = [f"resource.labels.task_name={wire.quoted(SERVICE)}"]
        matching += [f"{payload}:{wire.quoted(TAKEN_AWAY)}" for payload in ("jsonPayload.message", "textPayload")]
        terms.append(f"({' OR '.join(matching)})")
    if after is not None:
        terms.append(f"timestamp>={wire.quoted(wire.timestamp(after))}")
    return {
        "resourceNames": [f"projects/{project}"],
        "filter": " AND ".join(terms),
        "orderBy": "timestamp desc" if newest else "timestamp asc",
        "pageSize": min(limit, MAX_PAGE_SIZE),
    }


def log_entry(value: object) -> LogEntry | None:
    """Return one entry, or None if it has no time."""
    entry = wire.mapping(value)
    timestamp = wire.moment(entry.get("timestamp")) or wire.moment(entry.get("receiveTimestamp"))
    if timestamp is None:
        return None
    about = wire.mapping(wire.mapping(entry.get("resource")).get("labels"))
    labels = wire.mapping(entry.get("labels"))
    return LogEntry(
        timestamp=timestamp,
        insert_id=bounds.bounded_key(_text(entry.get("insertId")), MAX_INSERT_ID_CHARACTERS),
        replica=_text(about.get("task_name") or labels.get("ml.googleapis.com/task_name")),
        severity=_text(entry.get("severity")) or "DEFAULT",
        message=_message(entry),
        job_id=_text(about.get("job_id") or labels.get("ml.googleapis.com/job_id")),
        machine=bounds.bounded_key(_text(labels.get("compute.googleapis.com/resource_name")), MAX_MACHINE_CHARACTERS),
    )


def _message(entry: Any) -> str:
    payload = entry.get("jsonPayload")
    if isinstance(payload, dict):
        # Numbers that a program logs next to its message are often metrics.
        text = _text(payload.get("message", payload)).rstrip("\n")
        if not isinstance(payload.get("message"), str) or not text:
            return text
        figures = {name: value for name, value in payload.items() if _is_figure(name, value)}
        return f"{text} {_text(dict(list(figures.items())[:MAX_FIGURES]))}" if figures else text
    return _text(entry.get("textPayload") or entry.get("protoPayload")).rstrip("\n")


def _is_figure(name: str, value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and name not in ABOUT_THE_CALL


def _text(value: object) -> str:
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value, ensure_ascii=False)
