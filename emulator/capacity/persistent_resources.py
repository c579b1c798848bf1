"""The life of persistent resources: provision, reboot, change, delete. `resource_pools` lends their replicas to jobs.

States: PROVISIONING -> RUNNING (or ERROR) -> REBOOTING, UPDATING -> RUNNING, STOPPING -> gone. Source: "Persistent
resources" pages and PersistentResource in the v1 protos, read 2026-08.
"""

from typing import Any

from emulator.capacity.inventory import Inventory
from emulator.capacity.resource_pools import Lending, demand_of
from emulator.lifecycle import messages
from emulator.lifecycle.engine import Engine
from emulator.protocol.documents import Document
from emulator.protocol.errors import precondition
from emulator.state.records import Job, Operation, PersistentResource


class PersistentResources:
    """Manages the life of every persistent resource."""

    def __init__(self, engine: Engine, inventory: Inventory, lending: Lending) -> None:
        self._engine, self._inventory, self._lending = engine, inventory, lending
        self._runtime, self._times = engine.runtime, engine.runtime.times

    # ------------------------------------------------------------ what clients ask for
    def submit(self, resource: PersistentResource) -> None:
        """Start a new persistent resource. It runs once its machines are available."""
        self._runtime.set_state(resource, "PROVISIONING")
        resource.document["createTime"] = resource.document["updateTime"]
        self._runtime.store.add(resource)
        self._set_timer(resource, "ready", self._times.resource)

    def reboot(self, resource: PersistentResource) -> None:
        """Restart all machines. Autoscaled pools restart with their minimum."""
        self._check_state(resource, resource.state in ("RUNNING", "ERROR"), "rebooted")
        if self._jobs(resource):
            raise precondition(f"Jobs are running on the PersistentResource {resource.name}.")
        for pool in resource.document["resourcePools"]:
            if "autoscalingSpec" in pool:
                pool["replicaCount"] = pool["autoscalingSpec"]["minReplicaCount"]
        self._runtime.set_state(resource, "REBOOTING")
        self._set_timer(resource, "ready", self._times.change)

    def update(self, resource: PersistentResource, changed: Document) -> None:
        """Change counts, name or labels. The machines change after a while."""
        self._check_state(resource, resource.state == "RUNNING", "updated")
        resource.document |= changed
        self._runtime.set_state(resource, "UPDATING")
        self._set_timer(resource, "ready", self._times.starting)

    def delete(self, resource: PersistentResource) -> None:
        """Cancel the jobs on a persistent resource, then delete it."""
        self._check_state(resource, resource.state not in ("REBOOTING", "STOPPING"), "deleted")
        for job in self._jobs(resource):
            if not job.is_finished:
                self._engine.cancel(job)
        self._runtime.set_state(resource, "STOPPING")
        resource.timers.clear()
        self._set_timer(resource, "gone", self._times.change)

    def _check_state(self, resource: PersistentResource, is_allowed: bool, what: str) -> None:
        if not is_allowed:
            text = f"The PersistentResource {resource.name} is in state {resource.state}; it cannot be {what}."
            raise precondition(text)

    def _jobs(self, resource: PersistentResource) -> list[Job]:
        """Return the unfinished jobs that name a persistent resource."""
        here = (job for job in self._runtime.store.all(Job) if job.parent == resource.parent and not job.is_finished)
        return [job for job in here if job.spec.get("persistentResourceId") == resource.id]

    # ------------------------------------------------------------ what happens by itself
    def fire(self, resource: PersistentResource, key: str) -> None:
        """Handle a due timer of a persistent resource."""
        if key == "ready":
            self._finish_change(resource)
        elif key == "shrink":
            self._lending.shrink(resource)
            self._engine.admit_waiting()
        elif key == "gone":
            self._inventory.release(resource.name)
            self._runtime.store.remove(resource)
            self._finish_operation(resource, response={"@type": "type.googleapis.com/google.protobuf.Empty"})
            self._engine.admit_waiting()

    def restore(self, resource: PersistentResource) -> None:
        """Continue after a restart of the emulator."""
        self._runtime.timers.restore(resource)
        if resource.state not in ("PROVISIONING", "ERROR"):
            self._lending.allocate(resource)

    def _finish_change(self, resource: PersistentResource) -> None:
        """Complete a creation, reboot or update. The persistent resource runs if there are machines for it."""
        self._inventory.release(resource.name)
        if not self._inventory.has_all(demand_of(resource)):
            resource.document["error"] = messages.stockout(resource.location)["error"]
            self._runtime.set_state(resource, "ERROR")
            self._runtime.store.save(resource)
            self._finish_operation(resource, error=resource.document["error"])
            return
        self._lending.allocate(resource)
        resource.document.pop("error", None)
        self._runtime.set_state(resource, "RUNNING")
        resource.document.setdefault("startTime", resource.document["updateTime"])
        self._runtime.store.save(resource)
        message = f"type.googleapis.com/google.cloud.aiplatform.v1.{resource.message}"
        self._finish_operation(resource, response={"@type": message, **resource.document})
        self._engine.admit_waiting()

    def _finish_operation(self, resource: PersistentResource, **result: Any) -> None:
        operation = self._runtime.store.get(Operation, resource.operation)
        if operation is not None:
            self._runtime.finish_operation(operation, **result)

    def _set_timer(self, resource: PersistentResource, key: str, service_seconds: float) -> None:
        self._runtime.timers.set(resource, key, self._times.scaled(service_seconds))
        self._runtime.store.save(resource)
