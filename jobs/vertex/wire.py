"""How Vertex AI's REST surface names things: paths, queries, and its answers as plain values. Pure.

Source: discovery document of aiplatform v1 in google-api-python-client 2.202.0, read 2026-11-21; the tests hold every
request against it.
"""

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from jobs import bounds
from jobs.spec import COLLECTIONS

DEFAULT_ENDPOINT = "https://{location}-aiplatform.googleapis.com"
PAGE_SIZE = 100
"""The most that list is known to give; Google does not document it."""

MAX_STATE_CHARACTERS = 64
"""Of a state; the longest that is known has 29. As long as the columns that keep one."""
MAX_NAME_CHARACTERS = 255
"""Of a resource name; the longest that is known has about 120. As long as the columns that keep one."""

_REGION = re.compile(r"[a-z]+(?:-[a-z0-9]+)*\Z")
_PROJECT = re.compile(r"[a-z0-9][a-z0-9:.-]*\Z")
_NAME = re.compile(
    r"projects/[a-z0-9][a-z0-9:.-]*/locations/[a-z]+(?:-[a-z0-9]+)*/(?P<collection>[A-Za-z]+)/[A-Za-z0-9_-]+\Z"
)
# What JSON can express and a database column cannot hold: lone surrogates and NUL.
_UNSTORABLE_ESCAPE = re.compile(r"\\u(?:[dD][89a-fA-F]|0000)")


@dataclass(frozen=True, slots=True)
class RemoteJob:
    """One job as Vertex AI describes it.

    `state` is its own word (`JOB_STATE_RUNNING`), whether or not we know it. Moments are aware, in UTC, cut to
    microseconds, None when absent. What is not `name` or `state` is read from `raw` when it is asked for, which
    most answers of a list never are.
    """

    name: str
    state: str
    raw: dict[str, Any]

    @property
    def display_name(self) -> str:
        """What people call it."""
        return text(self.raw.get("displayName"))

    @property
    def labels(self) -> dict[str, str]:
        """Its labels; none where they are no object."""
        labels = self.raw.get("labels")
        return {key: text(held) for key, held in labels.items()} if isinstance(labels, dict) else {}

    @property
    def create_time(self) -> datetime | None:
        """When it was created."""
        return moment(self.raw.get("createTime"))

    @property
    def start_time(self) -> datetime | None:
        """When it first was RUNNING."""
        return moment(self.raw.get("startTime"))

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


# ---------------------------------------------------------------- addresses
def collection_url(endpoint: str, kind: str, *, project: str, region: str) -> str:
    """Return the address to create in or list; raises ValueError when a part of it cannot be one."""
    return f"{parent_url(endpoint, project=project, region=region)}/{COLLECTIONS[kind]}"


def parent_url(endpoint: str, *, project: str, region: str) -> str:
    """Return the address below which a region's collections lie; raises ValueError when a part cannot be one."""
    if not _PROJECT.match(project):
        raise ValueError(f"“{project}” is not the id of a Google Cloud project.")
    return f"{_host(endpoint, region)}/v1/projects/{project}/locations/{region}"


def job_url(endpoint: str, kind: str, name: str) -> str:
    """Return the address of the job called `name`; raises ValueError when no `kind` can be called so."""
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
    """Return the query of a list call; `fields` are names of the resource in camelCase, none = all."""
    query = {"pageSize": str(PAGE_SIZE), "filter": filter, "readMask": ",".join(fields)}
    return {name: value for name, value in query.items() if value}


# ---------------------------------------------------------------- answers
def decode(content: bytes) -> Any:
    """Parse JSON strictly; raises ValueError for anything else, and for what no database could store.

    NUL and half surrogate pairs, which JSON can escape and PostgreSQL cannot store, become U+FFFD.
    """
    try:
        text = content.decode("utf-8")
        value = json.loads(text, parse_constant=_refuse_constant, parse_float=_finite)
        return _storable(value) if _UNSTORABLE_ESCAPE.search(text) else value
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def remote_job(kind: str, value: object) -> RemoteJob:
    """Read one job; raises ValueError when it is not one, which is when it has no name of its kind.

    Anything else that is odd (an unknown state, an impossible time) is kept raw or left empty.
    """
    if not isinstance(value, dict) or not is_name(kind, value.get("name")):
        raise ValueError(f"not a member of {COLLECTIONS[kind]}")
    unspecified = "PIPELINE_STATE_UNSPECIFIED" if kind == "training_pipeline" else "JOB_STATE_UNSPECIFIED"
    return RemoteJob(name=value["name"], state=state_word(value.get("state")) or unspecified, raw=value)


def rpc_status(value: object) -> dict[str, Any] | None:
    """Read a google.rpc.Status; None when there is none."""
    if not value:
        return None
    if not isinstance(value, dict):
        return {"code": 2, "message": text(value)}
    status: dict[str, Any] = {"code": whole(value.get("code")) or 0, "message": text(value.get("message"))}
    return status | ({"details": value["details"]} if isinstance(value.get("details"), list) else {})


def page(kind_key: str, value: object) -> tuple[list[Any], str]:
    """Return (items under `kind_key`, token of the next page or ""); raises ValueError when it is not a page."""
    if not isinstance(value, dict):
        raise ValueError("not a page of a list")
    items, token = value.get(kind_key) or [], value.get("nextPageToken") or ""
    if not isinstance(items, list) or not isinstance(token, str):
        raise ValueError("not a page of a list")
    return items, token


def moment(value: object) -> datetime | None:
    """Read an RFC 3339 timestamp, cut to microseconds, as an aware datetime in UTC; None when it is not one.

    None too for what cannot be a time in the life of a job, such as year 1, which not every time zone can show.
    """
    if not isinstance(value, str) or "T" not in value:
        return None
    try:
        return bounds.utc_moment(datetime.fromisoformat(value))
    except ValueError:
        return None


def timestamp(value: datetime) -> str:
    """Write an aware datetime as Google's filters read it: `2026-11-21T08:00:00.123456Z`."""
    return value.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def state_word(value: object) -> str:
    """Read a state as Vertex AI writes it, cut to what a column holds, so that it equals what was kept of it."""
    return bounds.bounded(text(value), MAX_STATE_CHARACTERS)


def quoted(value: str) -> str:
    """Write `value` as a string of Google's filter language."""
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


def whole(value: object) -> int | None:
    """Read an integer, also when it is written as a string (int64 in proto3 JSON); None when it is not one."""
    if isinstance(value, str) and re.fullmatch(r"-?[0-9]{1,19}", value):
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def mapping(value: object) -> Mapping[str, Any]:
    """Return `value` if it is a JSON object, else an empty one."""
    return value if isinstance(value, dict) else {}


def text(value: object) -> str:
    """Return text as it is, anything else as its JSON, and nothing for None."""
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
