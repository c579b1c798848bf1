"""The retry budget: how many restarts of each kind a job has used, how many Vertex AI allows, and by which rule."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from jobs.cost.estimate import MAX_INTERNAL_RETRIES, MAX_JOB_RETRIES, MAX_WORKER_RESTARTS
from jobs.models import Job, JobEvent
from jobs.strategies import STRATEGIES
from jobs.texts import translatable as _

LIFECYCLE = "Understand the custom training service, read 2026-11-21"
SPOT = "Use Spot VMs with training, read 2026-11-21"
CAPACITY, RETRIES, INTERNAL = "capacity", "retries", "internal"
GROUPS = {"preempted": CAPACITY, "stockout": CAPACITY, "job_retry": RETRIES, "internal": INTERNAL}
"""From the cause of a restart of the whole job to the retry budget it uses."""
MAX_CAPACITY_RETRIES = 3
"""The limit for a job that is not Spot; see `LIFECYCLE`."""
OF_REPLICAS = frozenset({"worker_restart", "worker_exit"})
"""Causes of counted restarts of a replica. `worker_exit` is in events of earlier versions."""


@dataclass(frozen=True, slots=True)
class RetryBudget:
    """The retry budget for one kind of restart. `of` is the limit, or None if Vertex AI does not count them."""

    name: str
    used: int
    of: int | None
    rule: str
    source: str = LIFECYCLE

    @property
    def left(self) -> int | None:
        """How many restarts are left, or None if they are not counted."""
        return None if self.of is None else max(self.of - self.used, 0)

    @property
    def is_used_up(self) -> bool:
        """Whether the next such failure ends the job or, for restarts of a replica, retries the whole job."""
        return self.left == 0


def restart_causes(events: Sequence[JobEvent]) -> Counter[str]:
    """Count the restarts of the whole job by cause. A cause found later replaces a guess."""
    learned = {row.detail["restart"]: row.reason for row in events if row.kind == JobEvent.Kind.EXPLAINED}
    return Counter(learned.get(row.once_key, row.reason) for row in _whole(events))


def last_loss(events: Sequence[JobEvent]) -> str:
    """Return the cause of the loss that ended a Spot job, "" if it did not end so. A cause found later replaces it."""
    learned = {row.detail["restart"]: row.reason for row in events if row.kind == JobEvent.Kind.EXPLAINED}
    lost = next((row for row in events if row.kind == JobEvent.Kind.MACHINES_LOST), None)
    return learned.get(lost.once_key, lost.reason) if lost is not None else ""


def restart_limits(job: Job) -> dict[str, int]:
    """Return how often Vertex AI restarts the whole job, for each retry budget."""
    strategy = STRATEGIES.get(job.strategy)
    is_spot = strategy is not None and strategy.preemptible
    capacity = strategy.restart_allowance if strategy is not None and is_spot else MAX_CAPACITY_RETRIES
    return {CAPACITY: capacity, RETRIES: MAX_JOB_RETRIES, INTERNAL: MAX_INTERNAL_RETRIES}


def retry_budget(job: Job, events: Sequence[JobEvent]) -> tuple[RetryBudget, ...]:
    """Return the retry budgets that apply to the job, then the restarts that are not counted.

    The count for a replica starts again with every restart of the whole job. A Spot job that ended because it lost its
    machines has used all its restarts, also those that were not seen.
    """
    causes, limits = restart_causes(events), restart_limits(job)
    used = Counter(dict.fromkeys(limits, 0))
    for cause, count in causes.items():
        used[GROUPS.get(cause, "")] += count
    retries = _(
        "A job is restarted at most three times after exit code 6, 11, 134 or 139, or when a replica has used up its"
        " own restarts. Any other exit code ends it at once."
    )
    internal = _("After an internal error a job is tried three times in all.")
    return (
        _capacity(job, limits[CAPACITY] if last_loss(events) else used[CAPACITY], limits[CAPACITY]),
        RetryBudget(_("job retries"), used[RETRIES], limits[RETRIES], retries),
        RetryBudget(_("internal errors"), used[INTERNAL], limits[INTERNAL], internal),
        *_of_replicas(events),
        *_uncounted(events, causes),
    )


def _whole(events: Sequence[JobEvent]) -> list[JobEvent]:
    return [row for row in events if row.kind == JobEvent.Kind.RESTARTED and not row.detail.get("replica")]


def _capacity(job: Job, used: int, limit: int) -> RetryBudget:
    strategy = STRATEGIES.get(job.strategy)
    if strategy is not None and strategy.preemptible:
        rule = _(
            "A Spot job is restarted at most six times in all, whether its machine was taken back or none was to be"
            " had; the seventh loss ends it."
        )
        return RetryBudget(_("Spot restarts"), used, limit, rule, SPOT)
    rule = _("A job that finds no capacity in its region is tried again at most three times.")
    return RetryBudget(_("capacity retries"), used, limit, rule)


def _of_replicas(events: Sequence[JobEvent]) -> list[RetryBudget]:
    since = max((row.occurred_at for row in _whole(events)), default=None)
    again = Counter(
        row.detail["replica"]
        for row in events
        if row.kind == JobEvent.Kind.RESTARTED
        and row.reason in OF_REPLICAS
        and row.detail.get("replica")
        and (since is None or row.occurred_at > since)
    )
    rule = _(
        "A replica that was evicted, lost its node or failed a health check is started again at most five times; then"
        " the whole job is retried."
    )
    return [RetryBudget(replica, used, MAX_WORKER_RESTARTS, rule) for replica, used in sorted(again.items())]


def _uncounted(events: Sequence[JobEvent], causes: Counter[str]) -> list[RetryBudget]:
    parts = Counter(row.reason for row in events if row.kind == JobEvent.Kind.RESTARTED and row.detail.get("replica"))
    rules = {
        _("maintenance"): _("Maintenance moves a replica to another machine; it counts against no limit."),
        _("replica restarts, cause unknown"): _(
            "Vertex AI restarted a replica. Its log does not name the machines, so an eviction and maintenance look "
            "the same."
        ),
        _("restarts with a worker"): _(
            "restartJobOnWorkerRestart restarts the whole job with each restart of a worker."
        ),
        _("no cause known"): _("Vertex AI does not say why it restarted the job."),
    }
    used = (parts["maintenance"], parts["replica_unknown"], causes["worker_restart"], causes["unknown"])
    found = [RetryBudget(name, count, None, rules[name]) for name, count in zip(rules, used, strict=True)]
    return [budget for budget in found if budget.used]
