"""Persistent resources for tests, created through the emulator's REST API, and jobs that run on them."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from jobs.models import PersistentResource, Scope
from jobs.observation.resource_sizes import record_sizes
from tests.support import samples
from tests.support.running_emulator import Running

DISK = {"bootDiskType": "pd-ssd", "bootDiskSizeGb": 100}


@dataclass
class Resources:
    """The persistent resources of one project and region. `forward` advances the clocks."""

    emulator: Running
    forward: Callable[..., object]
    parent: str = "/v1/projects/vision-research/locations/us-central1/persistentResources"

    def create(
        self,
        name: str,
        *,
        machine: dict[str, Any] = samples.A100,
        replicas: int = 2,
        most: int = 0,
        wait: bool = True,
    ) -> None:
        """Create a resource with one pool. `most` enables autoscaling up to that size. `wait` waits until it runs."""
        pool: dict[str, Any] = {"machineSpec": machine, "diskSpec": DISK, "replicaCount": str(replicas)}
        if most:
            pool["autoscalingSpec"] = {"minReplicaCount": "1", "maxReplicaCount": str(most)}
        self.emulator.call("POST", f"{self.parent}?persistentResourceId={name}", {"resourcePools": [pool]})
        if wait:
            self.forward(minutes=30)

    def delete(self, name: str) -> None:
        """Delete a resource. The deletion completes later."""
        self.emulator.call("DELETE", f"{self.parent}/{name}")

    def reboot(self, name: str) -> None:
        """Reboot the machines of a resource."""
        self.emulator.call("POST", f"{self.parent}/{name}:reboot", {})


def seen(
    name: str = "night-shift", *, used: int = 0, replicas: int = 4, now: datetime, **changes: Any
) -> PersistentResource:
    """Write the row of a running resource with `replicas` machines, `used` of them in use, last seen at `now`.

    `changes` are columns. `pools` replaces the resource pools in the body, and `body` adds to it.
    """
    pool = {"machineSpec": samples.A100, "diskSpec": DISK, "replicaCount": str(replicas), "usedReplicaCount": str(used)}
    state = changes.setdefault("state", "RUNNING")
    body = {"state": state, "resourcePools": changes.pop("pools", [pool])} | changes.pop("body", {})
    columns = {"project": "vision-research", "region": "us-central1", "state_since": now} | changes
    row, _ = PersistentResource.objects.update_or_create(
        resource_id=name,
        project=columns.pop("project"),
        region=columns.pop("region"),
        defaults=columns | {"body": body, "seen_at": now},
    )
    return row


def sized(name: str = "night-shift", *, now: datetime, **changes: Any) -> PersistentResource:
    """Write the row of a resource like `seen`, and its size from `now` on, as a poll does."""
    row = seen(name, now=now, **changes)
    scope = Scope(kind="persistent_resource", project=row.project, region=row.region)
    record_sizes(scope, [row], [], now)
    return row
