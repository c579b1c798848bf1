"""Persistent resources as Vertex AI lists them. Pure.

Source: PersistentResourceService and PersistentResource in google-cloud-aiplatform 2.7.0, read 2026-11-21.
"""

import re
from dataclasses import dataclass
from typing import Any

from jobs.vertex import wire

COLLECTION = "persistentResources"
_ID = re.compile(r"[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?")
_NAME = re.compile(
    r"projects/[a-z0-9][a-z0-9:.-]*/locations/(?P<region>[a-z0-9-]+)/persistentResources/"
    r"(?P<id>[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?)\Z"
)


@dataclass(frozen=True, slots=True)
class RemoteResource:
    """One persistent resource. `state` is Vertex AI's value, known or not. `raw` is the whole JSON."""

    resource_id: str
    display_name: str
    state: str
    raw: dict[str, Any]


RESOURCE_CALLS = {
    "create": ("POST", ""),
    "resize": ("PATCH", ""),
    "reboot": ("POST", ":reboot"),
    "delete": ("DELETE", ""),
}
"""From a change of a persistent resource to the HTTP method and the custom verb after its name."""


def resources_url(endpoint: str, *, project: str, region: str, resource_id: str = "") -> str:
    """Return the URL of a region's list, or of one resource. Raise ValueError if a part of it is invalid."""
    if resource_id and not _ID.fullmatch(resource_id):
        raise ValueError(f"{resource_id!r} is not the id of a persistent resource")
    url = f"{wire.parent_url(endpoint, project=project, region=region)}/{COLLECTION}"
    return f"{url}/{resource_id}" if resource_id else url


def remote_resource(value: object, *, region: str) -> RemoteResource | None:
    """Return an entry of the list of `region`, or None if it is not a persistent resource of that region."""
    if not isinstance(value, dict):
        return None
    name = value.get("name")
    parts = _NAME.match(name) if isinstance(name, str) else None
    if parts is None or parts["region"] != region:
        return None
    return RemoteResource(
        resource_id=parts["id"],
        display_name=wire.text(value.get("displayName")),
        state=wire.state_word(value.get("state")) or "STATE_UNSPECIFIED",
        raw=value,
    )
