"""How many restarts of each sort a job has used of those that Vertex AI grants, and which rule grants them."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from jobs.models import Job, JobEvent
from jobs.strategies import STRATEGIES

LIFECYCLE = "Understand the custom training service, read 2026-11-21"


@dataclass(frozen=True, slots=True)
class Grant:
    """A sort of restart: `of` is how many Vertex AI grants, None where it does not count them."""

    name: str
    used: int
    of: int | None
    rule: str
    source: str = LIFECYCLE

    @property
    def left(self) -> int | None:
        """How many are left; None where they are not counted."""
        return None if self.of is None else max(self.of - self.used, 0)


def ledger(job: Job, events: Sequence[JobEvent]) -> tuple[Grant, ...]:
    """List the grants that apply to the job, then those that were used without being counted.

    A cause that was learned later (an `explained` event) replaces the one that was guessed. Restarts of a replica count
    anew with every restart of the whole job.
    """
    learned = {row.detail["restart"]: row.reason for row in events if row.kind == JobEvent.Kind.EXPLAINED}
    restarts = [row for row in events if row.kind == JobEvent.Kind.RESTARTED]
    whole = [row for row in restarts if not row.detail.get("replica")]
    causes = Counter(learned.get(row.once_key, row.reason) for row in whole)
    return (_capacity(job, causes), *_of_the_job(causes), *_of_replicas(restarts, whole), *_uncounted(restarts, causes))


def _capacity(job: Job, causes: Counter[str]) -> Grant:
    strategy = STRATEGIES.get(job.strategy)
    if strategy is not None and strategy.preemptible:
        return Grant("Spot preemptions", causes["preempted"], strategy.restart_allowance, strategy.restart_rule)
    rule = "A job that finds no machines in its region is tried again at most three times."
    return Grant("no machines", causes["stockout"], 3, rule)


def _of_the_job(causes: Counter[str]) -> list[Grant]:
    return [
        Grant(
            "job retries", causes["job_retry"], 3, "A job whose replicas keep failing is retried at most three times."
        ),
        Grant("internal errors", causes["internal"], 2, "After an internal error a job is tried three times in all."),
    ]


def _of_replicas(restarts: Sequence[JobEvent], whole: Sequence[JobEvent]) -> list[Grant]:
    since = max((row.occurred_at for row in whole), default=None)
    exits = Counter(
        row.detail["replica"]
        for row in restarts
        if row.reason == "worker_exit" and (since is None or row.occurred_at > since)
    )
    rule = "A replica that ends with an error is started again on its host at most five times, then the job is retried."
    return [Grant(replica, used, 5, rule) for replica, used in sorted(exits.items())]


def _uncounted(restarts: Sequence[JobEvent], causes: Counter[str]) -> list[Grant]:
    moved = sum(row.reason == "maintenance" for row in restarts)
    found = [Grant("maintenance", moved, None, "Maintenance moves a replica to another machine; nothing counts it.")]
    found.append(Grant("no cause known", causes["unknown"], None, "Vertex AI does not say why it restarted the job."))
    return [grant for grant in found if grant.used]
