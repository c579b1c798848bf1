"""Who gets machines: implements `lifecycle.stage.Capacity` over the ledger.

Standard and Spot jobs that find none meet a stockout; Flex-start waits until all of its nodes are free at once;
quota that others use up is waited for in QUEUED. Demand above a limit itself is refused when the job is created.
"""

import random

from emulator.capacity import demand
from emulator.capacity.demand import Demand
from emulator.capacity.ledger import Ledger
from emulator.lifecycle import words
from emulator.lifecycle.stage import Grant
from emulator.protocol.errors import RESOURCE_EXHAUSTED
from emulator.protocol.timestamps import seconds
from emulator.state.records import Job

DEFAULT_WAIT = "86400s"


class Grants:
    """Answers jobs."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger

    def demand(self, job: Job) -> Demand:
        """Return what a job asks for."""
        return demand.of_pools(job.location, [pool for _, pool in job.pools], job.strategy)

    def take(self, job: Job, now: float) -> Grant:  # noqa: ARG002
        """Ask for all machines of a job."""
        asked = self.demand(job)
        over = self.ledger.over_quota(asked)
        if over:
            return Grant("never", words.failure(RESOURCE_EXHAUSTED, words.quota(over)))
        if not self.ledger.has_quota(asked):
            return Grant("wait")
        if not self.ledger.has_machines(asked):
            return Grant("wait-pending" if job.strategy == "FLEX_START" else "stockout")
        self.ledger.hold(job.name, asked)
        return Grant("yes")

    def give_back(self, job: Job) -> None:
        """Return a job's machines."""
        self.ledger.free(job.name)

    def restore(self, job: Job) -> None:
        """Write down what a job holds that an earlier emulator had granted."""
        if job.holds_capacity:
            self.ledger.hold(job.name, self.demand(job))

    def waiting_limit(self, job: Job) -> float | None:
        """Return the Flex-start job's `maxWaitDuration`: a day if unset, 0 = without end. Real seconds."""
        if job.strategy != "FLEX_START":
            return None
        return seconds(job.scheduling.get("maxWaitDuration", DEFAULT_WAIT)) or None

    def reclaim_seconds(self, job: Job) -> float | None:
        """Draw after how long a Spot job is reclaimed, if the plan says so; repeatable by the plan's seed."""
        plan = self.ledger.plan.get("reclaim", {})
        if job.strategy != "SPOT" or not plan.get("mean_seconds"):
            return None
        dice = random.Random(f"{plan.get('seed', 0)}/{job.seq}/{job.preemptions}")  # noqa: S311
        return dice.expovariate(1 / float(plan["mean_seconds"]))
