"""The life of persistent resources: provision, lend replicas to jobs, grow and shrink, reboot, delete.

States: PROVISIONING -> RUNNING (or ERROR) -> REBOOTING, UPDATING -> RUNNING, STOPPING -> gone.
Source: "Persistent resources" pages and PersistentResource in the v1 protos, read 2026-08.
"""

from collections.abc import Callable
from typing import Any

from emulator.capacity import demand
from emulator.capacity.ledger import Ledger
from emulator.lifecycle import words
from emulator.lifecycle.engine import Engine
from emulator.lifecycle.stage import Grant
from emulator.protocol.documents import Document
from emulator.protocol.errors import FAILED_PRECONDITION, ApiError, precondition
from emulator.protocol.timestamps import stamp
from emulator.state.records import Job, Pool

Done = Callable[[Pool, dict[str, Any]], None]


class Pools:
    """Leads every persistent resource. `done` ends the operation under way with `response=` or `error=`."""

    def __init__(self, engine: Engine, ledger: Ledger, done: Done) -> None:
        self._engine, self._ledger, self._done = engine, ledger, done

    # ------------------------------------------------------------ verbs
    def submit(self, pool: Pool) -> None:
        """Take a resource in; it runs when its machines are there."""
        self._state(pool, "PROVISIONING")
        pool.document["createTime"] = pool.document["updateTime"]
        self._engine.store.add(pool)
        self._later(pool, "ready", self._engine.times.provisioning)

    def reboot(self, pool: Pool) -> None:
        """Restart all machines; autoscaled pools come back with their least."""
        if pool.state not in ("RUNNING", "ERROR"):
            raise precondition(f"The PersistentResource {pool.name} is in state {pool.state}; it cannot be rebooted.")
        if self.jobs(pool):
            raise precondition(f"Jobs are running on the PersistentResource {pool.name}.")
        for each in pool.document["resourcePools"]:
            if "autoscalingSpec" in each:
                each["replicaCount"] = each["autoscalingSpec"]["minReplicaCount"]
        self._state(pool, "REBOOTING")
        self._later(pool, "ready", self._engine.times.teardown)

    def update(self, pool: Pool, changed: Document) -> None:
        """Change counts, name or labels; the machines follow."""
        if pool.state != "RUNNING":
            raise precondition(f"The PersistentResource {pool.name} is in state {pool.state}; it cannot be updated.")
        pool.document |= changed
        self._state(pool, "UPDATING")
        self._later(pool, "ready", self._engine.times.starting)

    def delete(self, pool: Pool) -> None:
        """Cancel the jobs that run on it, then let it go."""
        if pool.state in ("REBOOTING", "STOPPING"):
            raise precondition(f"The PersistentResource {pool.name} is in state {pool.state}; it cannot be deleted.")
        for job in self.jobs(pool):
            if not job.is_finished:
                self._engine.cancel(job)
        self._state(pool, "STOPPING")
        pool.timers.clear()
        self._later(pool, "gone", self._engine.times.teardown)

    def jobs(self, pool: Pool) -> list[Job]:
        """Return the unfinished jobs that are to run on a resource."""
        return [
            job
            for job in self._engine.store.all(Job)
            if job.parent == pool.parent and job.spec.get("persistentResourceId") == pool.id and not job.is_finished
        ]

    # ------------------------------------------------------------ what happens
    def fire(self, pool: Pool, key: str) -> None:
        """A timer of a resource is due."""
        if key == "ready":
            self._ready(pool)
        elif key == "shrink":
            self._shrink(pool)
        elif key == "gone":
            self._ledger.free(pool.name)
            self._engine.store.remove(pool)
            self._done(pool, {"response": {"@type": "type.googleapis.com/google.protobuf.Empty"}})
            self._engine.look_again()

    def restore(self, pool: Pool) -> None:
        """Go on after the emulator was gone."""
        for key, due in list(pool.timers.items()):
            self._engine.timers.restore(pool, key, due)
        if pool.state not in ("PROVISIONING", "ERROR"):
            self._ledger.hold(pool.name, self._demand(pool))

    def _demand(self, pool: Pool) -> demand.Demand:
        return demand.of_pools(pool.location, pool.document["resourcePools"])

    def _ready(self, pool: Pool) -> None:
        self._ledger.free(pool.name)
        asked = self._demand(pool)
        if not self._ledger.has_machines(asked) or not self._ledger.has_quota(asked):
            pool.document["error"] = words.stockout(pool.location)["error"]
            self._state(pool, "ERROR")
            self._done(pool, {"error": pool.document["error"]})
            return
        self._ledger.hold(pool.name, asked)
        pool.document.pop("error", None)
        self._state(pool, "RUNNING")
        pool.document.setdefault("startTime", pool.document["updateTime"])
        self._engine.store.save(pool)
        message = f"type.googleapis.com/google.cloud.aiplatform.v1.{pool.message}"
        self._done(pool, {"response": {"@type": message, **pool.document}})
        self._engine.look_again()

    # ------------------------------------------------------------ lending
    def find(self, job: Job) -> Pool | None:
        """Return the resource that a job is to run on."""
        name = f"{job.parent}/persistentResources/{job.spec.get('persistentResourceId', '')}"
        return self._engine.store.get(Pool, name)

    def claim(self, job: Job) -> Grant:
        """Lend replicas to a job; autoscaled pools grow for it, up to their most."""
        pool = self.find(job)
        if pool is None or pool.state in ("ERROR", "STOPPING"):
            text = f"The PersistentResource {job.spec.get('persistentResourceId')} is not available."
            return Grant("never", words.failure(FAILED_PRECONDITION, text))
        if pool.state != "RUNNING":
            return Grant("wait")
        try:
            needs = matches(job, pool)
        except ApiError as problem:  # the resource has changed since the job was accepted, or it is a trial's
            return Grant("never", words.failure(FAILED_PRECONDITION, problem.message))
        sizes = {each["id"]: each for each in pool.document["resourcePools"]}
        is_ready = True
        for identifier, count in needs.items():
            wanted = count + sum(pool.used.get(identifier, {}).values())
            if wanted > int(sizes[identifier]["replicaCount"]):
                if wanted > most(sizes[identifier]):
                    return Grant("wait")
                is_ready = False
        if not is_ready and not self._grow(pool, needs):
            return Grant("wait")
        for identifier, count in needs.items():
            pool.used.setdefault(identifier, {})[job.name] = count
        self._count(pool)
        return Grant("yes", is_ready=is_ready)

    def release(self, job: Job) -> None:
        """Take a job's replicas back; a grown pool shrinks after a while."""
        pool = self.find(job)
        if pool is None:
            return
        for users in pool.used.values():
            users.pop(job.name, None)
        self._count(pool)
        if any("autoscalingSpec" in each for each in pool.document["resourcePools"]):
            self._later(pool, "shrink", self._engine.times.pool_shrink)

    def _grow(self, pool: Pool, needs: dict[str, int]) -> bool:
        before = {each["id"]: each["replicaCount"] for each in pool.document["resourcePools"]}
        for each in pool.document["resourcePools"]:
            wanted = needs.get(each["id"], 0) + sum(pool.used.get(each["id"], {}).values())
            each["replicaCount"] = str(max(wanted, int(each["replicaCount"])))
        self._ledger.free(pool.name)
        asked = self._demand(pool)
        if not (self._ledger.has_machines(asked) and self._ledger.has_quota(asked)):
            for each in pool.document["resourcePools"]:
                each["replicaCount"] = before[each["id"]]
            self._ledger.hold(pool.name, self._demand(pool))
            return False
        self._ledger.hold(pool.name, asked)
        return True

    def _shrink(self, pool: Pool) -> None:
        for each in pool.document["resourcePools"]:
            if "autoscalingSpec" in each:
                used = sum(pool.used.get(each["id"], {}).values())
                each["replicaCount"] = str(max(used, int(each["autoscalingSpec"]["minReplicaCount"])))
        self._ledger.hold(pool.name, self._demand(pool))
        self._engine.store.save(pool)
        self._engine.look_again()

    def _count(self, pool: Pool) -> None:
        for each in pool.document["resourcePools"]:
            used = sum(pool.used.get(each["id"], {}).values())
            each.pop("usedReplicaCount", None)
            if used:
                each["usedReplicaCount"] = str(used)
        self._engine.store.save(pool)

    def _later(self, pool: Pool, key: str, service_seconds: float) -> None:
        self._engine.timers.set(pool, key, self._engine.times.scaled(service_seconds))
        self._engine.store.save(pool)

    def _state(self, pool: Pool, state: str) -> None:
        pool.document["state"] = state
        pool.document["updateTime"] = stamp(self._engine.clock.now())
        self._engine.store.save(pool)


def most(each: Document) -> int:
    """Return how many replicas a resource pool may have."""
    return int(each.get("autoscalingSpec", {}).get("maxReplicaCount") or each["replicaCount"])


def matches(job: Job, pool: Pool) -> dict[str, int]:
    """Return `{resource pool id: replicas}` for a job whose worker pools all have their like; ApiError 400 if not.

    Machine and disk must be equal, and no more replicas may be asked for than the pool can have at most.
    """
    needs: dict[str, int] = {}
    for index, worker in job.pools:
        like = [each for each in pool.document["resourcePools"] if _is_like(worker, each)]
        if not like:
            text = f"worker_pool_specs[{index}] matches no resource pool of the PersistentResource {pool.id}"
            raise precondition(f"{text}: machine_spec and disk_spec must be equal.")
        count = int(worker.get("replicaCount", "1"))
        fits = [each for each in like if needs.get(each["id"], 0) + count <= most(each)]
        if not fits:
            text = f"worker_pool_specs[{index}] asks for {count} replicas, more than the PersistentResource {pool.id}"
            raise precondition(f"{text} can have.")
        needs[fits[0]["id"]] = needs.get(fits[0]["id"], 0) + count
    return needs


def _is_like(worker: Document, each: Document) -> bool:
    return worker.get("machineSpec") == each.get("machineSpec") and worker.get("diskSpec") == each.get("diskSpec")
