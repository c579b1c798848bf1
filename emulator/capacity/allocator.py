"""Allocate machines to jobs: as a script specifies, from a persistent resource, or from the inventory.

Standard and Spot jobs that find no machines get a stockout. Flex-start jobs wait until all of their nodes are free at
once. Jobs wait in QUEUED for quota in use by others. Demand above a limit itself is refused when the job is created.
"""

import random

from emulator.capacity import demand
from emulator.capacity.inventory import Inventory
from emulator.capacity.resource_pools import Lending
from emulator.lifecycle import messages
from emulator.lifecycle.interfaces import Allocation
from emulator.lifecycle.scripts import script_of
from emulator.protocol.timestamps import parse_duration
from emulator.state.records import Job

DEFAULT_MAX_WAIT = "86400s"


class Allocator:
    """Implements `lifecycle.interfaces.Capacity`."""

    def __init__(self, inventory: Inventory, lending: Lending) -> None:
        self._inventory, self._lending = inventory, lending

    def allocate(self, job: Job) -> Allocation:
        """Allocate all machines of a job if they are free."""
        match script_of(job).capacity:
            case "stockout":
                return Allocation("stockout")
            case "quota":
                return Allocation("never", messages.over_quota([messages.CPU_QUOTA]))
        if "persistentResourceId" in job.spec:
            return self._lending.lend(job)
        wanted = demand.of_job(job)
        over = self._inventory.over_quota(wanted)
        if over:
            return Allocation("never", messages.over_quota(over))
        if not self._inventory.has_quota(wanted):
            return Allocation("wait")
        if not self._inventory.has_machines(wanted):
            return Allocation("wait-pending" if job.strategy == "FLEX_START" else "stockout")
        self._inventory.allocate(job.name, wanted)
        return Allocation("yes")

    def release(self, job: Job) -> None:
        """Release a job's machines."""
        if "persistentResourceId" in job.spec:
            self._lending.take_back(job)
        else:
            self._inventory.release(job.name)

    def restore(self, job: Job) -> None:
        """Record what an earlier emulator process had allocated to a job."""
        if job.holds_capacity:
            self._inventory.allocate(job.name, demand.of_job(job))

    def max_wait_seconds(self, job: Job) -> float | None:
        """Return a Flex-start job's `maxWaitDuration` in real seconds: a day if unset, None if it is 0 (no limit)."""
        if job.strategy != "FLEX_START":
            return None
        return parse_duration(job.scheduling.get("maxWaitDuration", DEFAULT_MAX_WAIT)) or None

    def reclaim_seconds(self, job: Job) -> float | None:
        """Return the random time after which a Spot job is reclaimed, None if the plan has no reclaims.

        The plan's seed makes it repeatable.
        """
        plan = self._inventory.plan.get("reclaim", {})
        if job.strategy != "SPOT" or not plan.get("mean_seconds"):
            return None
        generator = random.Random(f"{plan.get('seed', 0)}/{job.seq}/{job.preemptions}")  # noqa: S311
        return generator.expovariate(1 / float(plan["mean_seconds"]))
