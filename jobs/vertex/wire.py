"""Vertex AI's REST format: paths, queries, and answers as plain values. Pure.

Source: discovery document of aiplatform v1 in google-api-python-client 2.202.0, read 2026-11-21. The tests check every
request against it.
"""

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from jobs import bounds
from jobs.spec import COLLECTIONS

DEFAULT_ENDPOINT = "https://{location}-aiplatform.googleapis.com"
PAGE_SIZE = 100
"""The largest page that list is known to return. Google does not document it."""

MAX_STATE_CHARACTERS = 64
"""Maximum length of a state, that of the columns that store one. The longest known state has 29 characters."""
MAX_NAME_CHARACTERS = 255
"""Maximum length of a resource name, that of the columns that store one. The longest known name has about 120."""

MIN_SETTLED = timedelta(seconds=1)
"""Minimum time from creation to a settled start. A provisional one is at most 0.17 s after creation."""

_CUSTOM_JOB = re.compile("/customJobs/[^/]+\\Z")
_REGION = re.compile(r"[a-z]+(?:-[a-z0-9]+)*\Z")
_PROJECT = re.compile(r"[a-z0-9][a-z0-9:.-]*\Z")
_NAME = re.compile(
    r"projects/[a-z0-9][a-z0-9:.-]*/locations/[a-z]+(?:-[a-z0-9]+)*/(?P<collection>[A-Za-z]+)/[A-Za-z0-9_-]+\Z"
)
# What JSON can express and a database column cannot store: lone surrogates and NUL.
_UNSTORABLE_ESCAPE = re.compile(r"\\u(?:[dD][89a-fA-F]|0000)")


@dataclass(frozen=True, slots=True)
class RemoteJob:
    """One job as Vertex AI describes it.

    `state` is Vertex AI's value (`JOB_STATE_RUNNING`), known or not. Times are aware, in UTC, cut to microseconds, and
    None if absent. Everything except `name` and `state` is read from `raw` on access, which most answers of a list
    never need.
    """

    name: str
    state: str
    raw: dict[str, Any]

    @property
    def display_name(self) -> str:
        """The display name."""
        return text(self.raw.get("displayName"))

    @property
    def labels(self) -> dict[str, str]:
        """The labels, or {} if they are not an object."""
        labels = self.raw.get("labels")
        return {key: text(held) for key, held in labels.items()} if isinstance(labels, dict) else {}

    @property
    def create_time(self) -> datetime | None:
        """When it was created."""
        return moment(self.raw.get("createTime"))

    @property
    def start_time(self) -> datetime | None:
        """The time in `startTime`, which alone does not show that machines ran; see `settled_start`.

        It is set 0.12 to 0.17 s after creation, while a custom job is QUEUED. For a tuning job it is the start of the
        study, and for a training pipeline that of the pipeline. Recorded from the service, February and July 2026.
        """
        return moment(self.raw.get("startTime"))

    @property
    def settled_start(self) -> datetime | None:
        """When the machines of a custom job began to work, or None if `startTime` is provisional, impossible or absent.

        When the job really runs, Vertex AI replaces the provisional time by a whole second, 15 to 768 s after creation
        in 30 recorded jobs of February 2026. No recorded custom job contradicts this; Google does not document it.
        What happens to the time after a restart is not known. Other kinds of jobs have no settled start: that of a
        tuning job which never ran was a whole second too (recorded in July 2026).
        """
        start, created, ended = self.start_time, self.create_time, self.end_time
        if not _CUSTOM_JOB.search(self.name) or start is None or created is None or start.microsecond:
            return None
        is_possible = start - created >= MIN_SETTLED and (ended is None or start <= ended)
        return start if is_possible else None

    @property
    def end_time(self) -> datetime | None:
        """When it ended."""
        return moment(self.raw.get("endTime"))

    @property
    def update_time(self) -> datetime | None:
        """When it last changed."""
        return moment(self.raw.get("updateTime"))

    @property
    def error(self) -> dict[str, Any] | None:
        """`{"code": google.rpc number, "message": str, "details"?: list}`, or None."""
        return rpc_status(self.raw.get("error"))


# ---------------------------------------------------------------- URLs
def collection_url(endpoint: str, kind: str, *, project: str, region: str) -> str:
    """Return the URL to create in or list. Raise ValueError if a part of it is invalid."""
    return f"{parent_url(endpoint, project=project, region=region)}/{COLLECTIONS[kind]}"


def parent_url(endpoint: str, *, project: str, region: str) -> str:
    """Return the URL that contains a region's collections. Raise ValueError if a part of it is invalid."""
    if not _PROJECT.match(project):
        raise ValueError(f"“{project}” is not the id of a Google Cloud project.")
    return f"{_host(endpoint, region)}/v1/projects/{project}/locations/{region}"


def job_url(endpoint: str, kind: str, name: str) -> str:
    """Return the URL of the job `name`. Raise ValueError if that is not a valid name for `kind`."""
    if not is_name(kind, name):
        raise ValueError(f"“{name}” is not the name of a job in {COLLECTIONS[kind]}.")
    return f"{_host(endpoint, name.split('/')[3])}/v1/{name}"


def is_name(kind: str, name: object) -> bool:
    """Return whether `name` has the form `projects/P/locations/L/{collection of kind}/ID`."""
    parts = _NAME.match(name) if isinstance(name, str) else None
    return bool(parts and parts["collection"] == COLLECTIONS[kind] and len(parts[0]) <= MAX_NAME_CHARACTERS)


def _host(endpoint: str, region: str) -> str:
    if not _REGION.match(region):
        raise ValueError(f"“{region}” is not the name of a region.")
    return (endpoint or DEFAULT_ENDPOINT).rstrip("/").replace("{location}", region)


def list_query(filter: str, fields: Sequence[str]) -> dict[str, str]:  # noqa: A002 - Google's word
    """Return the query of a list call. `fields` are names of the resource in camelCase; if empty, all are returned."""
    query = {"pageSize": str(PAGE_SIZE), "filter": filter, "readMask": ",".join(fields)}
    return {name: value for name, value in query.items() if value}


# ---------------------------------------------------------------- answers
def decode(content: bytes) -> Any:
    """Return strictly parsed JSON. Raise ValueError for invalid JSON, NaN, numbers out of range, and too deep nesting.

    NUL and unpaired surrogates, which JSON can escape and PostgreSQL cannot store, become U+FFFD.
    """
    try:
        text = content.decode("utf-8")
        value = json.loads(text, parse_constant=_refuse_constant, parse_float=_finite)
        return _storable(value) if _UNSTORABLE_ESCAPE.search(text) else value
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def remote_job(kind: str, value: object) -> RemoteJob:
    """Return one job. Raise ValueError if the value has no name of its kind, and so is not a job.

    Other unexpected values (an unknown state, an impossible time) are kept raw or left empty.
    """
    if not isinstance(value, dict) or not is_name(kind, value.get("name")):
        raise ValueError(f"not a member of {COLLECTIONS[kind]}")
    unspecified = "PIPELINE_STATE_UNSPECIFIED" if kind == "training_pipeline" else "JOB_STATE_UNSPECIFIED"
    return RemoteJob(name=value["name"], state=state_word(value.get("state")) or unspecified, raw=value)


def rpc_status(value: object) -> dict[str, Any] | None:
    """Return a google.rpc.Status, or None if there is none."""
    if not value:
        return None
    if not isinstance(value, dict):
        return {"code": 2, "message": text(value)}
    status: dict[str, Any] = {"code": whole(value.get("code")) or 0, "message": text(value.get("message"))}
    return status | ({"details": value["details"]} if isinstance(value.get("details"), list) else {})


def page(kind_key: str, value: object) -> tuple[list[Any], str]:
    """Return (items under `kind_key`, token of the next page or ""). Raise ValueError if it is not a page."""
    if not isinstance(value, dict):
        raise ValueError("not a page of a list")
    items, token = value.get(kind_key) or [], value.get("nextPageToken") or ""
    if not isinstance(items, list) or not isinstance(token, str):
        raise ValueError("not a page of a list")
    return items, token


def moment(value: object) -> datetime | None:
    """Return an RFC 3339 timestamp, cut to microseconds, as an aware datetime in UTC, or None if it is not one.

    Also return None for a time that is impossible for a job, such as year 1, which not every time zone can represent.
    """
    if not isinstance(value, str) or "T" not in value:
        return None
    try:
        return bounds.utc_moment(datetime.fromisoformat(value))
    except ValueError:
        return None


def timestamp(value: datetime) -> str:
    """Return an aware datetime in the format of Google's filters: `2026-11-21T08:00:00.123456Z`."""
    return value.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def state_word(value: object) -> str:
    """Return a state as Vertex AI writes it, cut to the length of its column, so that it equals the stored value."""
    return bounds.bounded(text(value), MAX_STATE_CHARACTERS)


def quoted(value: str) -> str:
    """Return `value` as a string of Google's filter language."""
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


def whole(value: object) -> int | None:
    """Return an integer, which may be written as a string (int64 in proto3 JSON), or None if it is not one."""
    if isinstance(value, str) and re.fullmatch(r"-?[0-9]{1,19}", value):
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def mapping(value: object) -> Mapping[str, Any]:
    """Return `value` if it is a JSON object, else an empty one."""
    return value if isinstance(value, dict) else {}


def text(value: object) -> str:
    """Return text unchanged, "" for None, and anything else as its JSON."""
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value)


def _storable(value: Any) -> Any:
    if isinstance(value, str):
        return bounds.clean(value)
    if isinstance(value, list):
        return [_storable(item) for item in value]
    if isinstance(value, dict):
        return {_storable(key): _storable(item) for key, item in value.items()}
    return value


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text[:20]} is out of range")
    return value
