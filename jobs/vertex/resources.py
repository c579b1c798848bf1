"""Persistent resources as Vertex AI lists them. Pure.

Source: PersistentResourceService and PersistentResource in google-cloud-aiplatform 2.7.0, read 2026-11-21.
"""

import re
from dataclasses import dataclass
from typing import Any

from jobs.vertex import wire

COLLECTION = "persistentResources"
_NAME = re.compile(
    r"projects/[a-z0-9][a-z0-9:.-]*/locations/(?P<region>[a-z0-9-]+)/persistentResources/"
    r"(?P<id>[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?)\Z"
)


@dataclass(frozen=True, slots=True)
class RemoteResource:
    """One persistent resource. `state` is Vertex AI's own word, whether or not we know it; `raw` its whole JSON."""

    resource_id: str
    display_name: str
    state: str
    raw: dict[str, Any]


def resources_url(endpoint: str, *, project: str, region: str) -> str:
    """Return the address of a region's list; raises ValueError when a part of it cannot be one."""
    return f"{wire.parent_url(endpoint, project=project, region=region)}/{COLLECTION}"


def remote_resource(value: object, *, region: str) -> RemoteResource | None:
    """Read one entry of the list of `region`; None when it is no persistent resource of it."""
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
