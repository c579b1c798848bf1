"""Lend the replicas of persistent resources to jobs. Autoscaled resource pools grow for them."""

from emulator.capacity import demand
from emulator.capacity.inventory import Inventory
from emulator.lifecycle import messages
from emulator.lifecycle.interfaces import Allocation
from emulator.lifecycle.runtime import Runtime
from emulator.protocol.documents import Document
from emulator.protocol.errors import FAILED_PRECONDITION, ApiError, precondition
from emulator.state.records import Job, PersistentResource


class Lending:
    """Lends replicas and takes them back."""

    def __init__(self, runtime: Runtime, inventory: Inventory) -> None:
        self._runtime, self._inventory = runtime, inventory

    def find(self, job: Job) -> PersistentResource | None:
        """Return the persistent resource that a job names."""
        name = f"{job.parent}/persistentResources/{job.spec.get('persistentResourceId', '')}"
        return self._runtime.store.get(PersistentResource, name)

    def lend(self, job: Job) -> Allocation:
        """Lend replicas to a job. Autoscaled resource pools grow for it, up to their maximum."""
        resource = self.find(job)
        if resource is None or resource.state in ("ERROR", "STOPPING"):
            text = f"The PersistentResource {job.spec.get('persistentResourceId')} is not available."
            return Allocation("never", messages.failure(FAILED_PRECONDITION, text))
        if resource.state != "RUNNING":
            return Allocation("wait")
        try:
            needs = match_pools(job, resource)
        except ApiError as problem:  # the resource has changed since the job was accepted, or the job is a trial
            return Allocation("never", messages.failure(FAILED_PRECONDITION, problem.message))
        pools = {pool["id"]: pool for pool in resource.document["resourcePools"]}
        wanted = {identifier: count + used_replicas(resource, identifier) for identifier, count in needs.items()}
        if any(count > max_replicas(pools[identifier]) for identifier, count in wanted.items()):
            return Allocation("wait")
        is_ready = all(count <= int(pools[identifier]["replicaCount"]) for identifier, count in wanted.items())
        if not is_ready and not self._grow(resource, wanted):
            return Allocation("wait")
        for identifier, count in needs.items():
            resource.used.setdefault(identifier, {})[job.name] = count
        self._update_used_counts(resource)
        return Allocation("yes", is_ready=is_ready)

    def take_back(self, job: Job) -> None:
        """Take a job's replicas back. Autoscaled pools shrink after a while."""
        resource = self.find(job)
        if resource is None:
            return
        for users in resource.used.values():
            users.pop(job.name, None)
        if any("autoscalingSpec" in pool for pool in resource.document["resourcePools"]):
            times = self._runtime.times
            self._runtime.timers.set(resource, "shrink", times.scaled(times.shrink))
        self._update_used_counts(resource)

    def shrink(self, resource: PersistentResource) -> None:
        """Reduce autoscaled pools to the used replicas."""
        for pool in resource.document["resourcePools"]:
            if "autoscalingSpec" in pool:
                used = used_replicas(resource, pool["id"])
                pool["replicaCount"] = str(max(used, int(pool["autoscalingSpec"]["minReplicaCount"])))
        self.allocate(resource)
        self._runtime.store.save(resource)

    def allocate(self, resource: PersistentResource) -> None:
        """Record that a persistent resource has all of its machines."""
        self._inventory.allocate(resource.name, demand_of(resource))

    def _grow(self, resource: PersistentResource, wanted: dict[str, int]) -> bool:
        """Enlarge pools to the requested sizes. Return False if there are not enough machines or quota."""
        pools = resource.document["resourcePools"]
        before = [pool["replicaCount"] for pool in pools]
        for pool in pools:
            pool["replicaCount"] = str(max(wanted.get(pool["id"], 0), int(pool["replicaCount"])))
        self._inventory.release(resource.name)
        has_grown = self._inventory.has_all(demand_of(resource))
        if not has_grown:
            for pool, count in zip(pools, before, strict=True):
                pool["replicaCount"] = count
        self.allocate(resource)
        return has_grown

    def _update_used_counts(self, resource: PersistentResource) -> None:
        for pool in resource.document["resourcePools"]:
            pool.pop("usedReplicaCount", None)
            if used := used_replicas(resource, pool["id"]):
                pool["usedReplicaCount"] = str(used)
        self._runtime.store.save(resource)


def demand_of(resource: PersistentResource) -> demand.Demand:
    """Return the demand of all resource pools of a persistent resource."""
    return demand.of_worker_pools(resource.location, resource.document["resourcePools"])


def used_replicas(resource: PersistentResource, pool_id: str) -> int:
    """Return the number of replicas of a resource pool used by jobs."""
    return sum(resource.used.get(pool_id, {}).values())


def max_replicas(pool: Document) -> int:
    """Return the maximum number of replicas of a resource pool."""
    return int(pool.get("autoscalingSpec", {}).get("maxReplicaCount") or pool["replicaCount"])


def match_pools(job: Job, resource: PersistentResource) -> dict[str, int]:
    """Return `{resource pool id: replicas}` for a job. Raise ApiError 400 if a worker pool matches no resource pool.

    Machine and disk must be equal, and the resource pool must be able to have the requested replicas.
    """
    needs: dict[str, int] = {}
    for index, worker_pool in job.worker_pools:
        equal = [
            pool
            for pool in resource.document["resourcePools"]
            if all(worker_pool.get(name) == pool.get(name) for name in ("machineSpec", "diskSpec"))
        ]
        if not equal:
            text = f"worker_pool_specs[{index}] matches no resource pool of the PersistentResource {resource.id}"
            raise precondition(f"{text}: machine_spec and disk_spec must be equal.")
        count = int(worker_pool.get("replicaCount", "1"))
        fitting = [pool["id"] for pool in equal if needs.get(pool["id"], 0) + count <= max_replicas(pool)]
        if not fitting:
            text = f"worker_pool_specs[{index}] asks for {count} replicas, more than the PersistentResource"
            raise precondition(f"{text} {resource.id} can have.")
        needs[fitting[0]] = needs.get(fitting[0], 0) + count
    return needs
