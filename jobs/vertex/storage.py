"""Objects in Cloud Storage: build requests and read their answers. Pure.

Source: discovery document of storage v1 (objects.list: prefix, fields, maxResults, pageToken; objects.delete), read
2026-11-22.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import quote

from jobs.bounds import parse_digits
from jobs.vertex import wire

DEFAULT_ENDPOINT = "https://storage.googleapis.com"
MAX_PAGE_SIZE = 1_000
FIELDS = "items(name,updated,size),nextPageToken"


@dataclass(frozen=True, slots=True)
class StoredObject:
    """One object: its name inside the bucket, when it was last written, and its size in bytes."""

    name: str
    updated: datetime
    size: int


def list_path(folder: str) -> tuple[str, dict[str, str]]:
    """Return the path and the query that list the objects below a folder, gs://bucket/path."""
    bucket, _, path = folder.removeprefix("gs://").partition("/")
    prefix = f"{path.rstrip('/')}/" if path.strip("/") else ""
    query = {"prefix": prefix, "maxResults": str(MAX_PAGE_SIZE), "fields": FIELDS}
    return f"/storage/v1/b/{quote(bucket, safe='')}/o", query


def object_path(bucket: str, name: str) -> str:
    """Return the path of one object."""
    return f"/storage/v1/b/{quote(bucket, safe='')}/o/{quote(name, safe='')}"


def stored_object(value: Any) -> StoredObject | None:
    """Return one object, or None if it has no name or no time."""
    item = wire.mapping(value)
    name, updated = item.get("name"), wire.moment(item.get("updated"))
    size = str(item.get("size", "0"))
    if not isinstance(name, str) or updated is None:
        return None
    return StoredObject(name, updated, parse_digits(size) or 0)
