"""Figures for operators: jobs by state, delays of sending and observation, approvals, and cost per hour."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from django.db.models import Count, Min, Q, Sum

from dashboard.queries.readiness import observe_lag
from jobs.models import (
    Approval,
    Delivery,
    Discovery,
    Heartbeat,
    Installation,
    Job,
    LastSeen,
    LogFeed,
    MetricCount,
    ResourceChange,
    Scope,
    UnmatchedJob,
)
from jobs.stages import StageState
from jobs.stages import states as stage_states
from jobs.states import LOCAL, RUNNING, JobState
from jobs.upkeep.heartbeats import last_step

LAST_HOUR = timedelta(hours=1)
MAX_SUBMISSIONS = 1_000
"""Maximum submissions of the last hour whose duration is measured. The latest are used."""
OTHER = "other"
"""Represents all states unknown to us, so that the number of labels is bounded."""


@dataclass(frozen=True, slots=True)
class Operations:
    """Current figures. Times are in seconds, 0 if nothing waits."""

    active: dict[str, int]
    """Jobs that have not ended, by state."""
    ended: dict[str, int]
    """Jobs that ended in the last hour, by state."""
    due: int
    due_seconds: float
    """How long the oldest due step of a job has been due."""
    unseen_seconds: float
    """Time since the least recently seen job was seen."""
    failing_scopes: int
    approvals: int
    approval_seconds: float
    """How long the oldest open approval has waited."""
    messages_waiting: int
    """Deliveries of messages that are due and not sent."""
    messages_failed: int
    """Deliveries that were given up and not sent again."""
    usd_per_hour: Decimal
    submit_seconds: tuple[float, ...]
    """For each submission of the last hour, the time from its approval until Vertex AI had it."""
    observe_lag_seconds: float
    """How long the oldest due poll has been due."""
    queue_depth: dict[str, int]
    """Number of rows whose next step is due, by kind of work."""
    heartbeat_seconds: dict[str, float]
    """Time since the latest heartbeat, of beat and of a worker for each queue."""
    sweep_seconds: float | None
    """Time since the last completed sweep; None if there was none."""
    stages: Sequence[StageState]
    """The stages of the sweep, and each hand-out that fails."""
    unmatched: int
    """Jobs at Vertex AI that carry our label, have not ended and belong to no request."""
    duplicates: int
    """Further jobs at Vertex AI for one request that have not ended."""
    restored_seconds: float | None
    """Time since the database was found or marked to be restored or replaced; None if it never was."""
    clock_step_seconds: float
    """The last step of the database's clock within the last hour, 0 if there was none."""
    counts: Mapping[str, Mapping[str, float]]
    """Counts of the processes, by metric and labels; see `jobs.counts`."""


def get_operations(now: datetime) -> Operations:
    """Return the figures of the whole site. 21 queries, none of which reads what ended before the last hour."""
    unfinished = Job.objects.filter(ended_at=None)
    due = Job.objects.filter(due_at__lte=now).aggregate(number=Count("pk"), oldest=Min("due_at"))
    seen = LastSeen.objects.filter(job__in=unfinished.exclude(state__in=LOCAL)).aggregate(oldest=Min("at"))
    approvals = Approval.objects.filter(decision="", job__state=JobState.AWAITING_APPROVAL)
    asked = approvals.aggregate(number=Count("pk"), oldest=Min("asked_at"))
    running = unfinished.filter(state__in=RUNNING).aggregate(usd=Sum("hourly_usd"))
    return Operations(
        active=_by_state(unfinished.values_list("state").annotate(Count("pk"))),
        ended=_by_state(Job.objects.filter(ended_at__gte=now - LAST_HOUR).values_list("state").annotate(Count("pk"))),
        due=due["number"],
        due_seconds=_age(due["oldest"], now),
        unseen_seconds=_age(seen["oldest"], now),
        failing_scopes=Scope.objects.filter(failing_since__isnull=False).count(),
        approvals=asked["number"],
        approval_seconds=_age(asked["oldest"], now),
        messages_waiting=Delivery.objects.filter(state=Delivery.State.WAITING, due_at__lte=now).count(),
        messages_failed=Delivery.objects.filter(state=Delivery.State.DEAD).count(),
        usd_per_hour=running["usd"] or Decimal(0),
        submit_seconds=_submit_seconds(now),
        observe_lag_seconds=observe_lag(now).total_seconds(),
        queue_depth={"jobs": due["number"], **_depths(now)},
        heartbeat_seconds=_heartbeats(now),
        **_of_sweeps(now),
        counts=_counts(),
    )


def _of_sweeps(now: datetime) -> dict[str, Any]:
    whole, states = stage_states(now)
    unmatched, duplicate = Count("pk", filter=Q(job=None)), Count("pk", filter=Q(job__isnull=False))
    restored = Installation.objects.exclude(restored_reason="").values_list("trusted_since", flat=True).first()
    return {
        "sweep_seconds": None if whole.finished_at is None else _age(whole.finished_at, now),
        "stages": states,
        **UnmatchedJob.objects.filter(ended_at=None).aggregate(unmatched=unmatched, duplicates=duplicate),
        "clock_step_seconds": last_step(now, LAST_HOUR).total_seconds(),
        "restored_seconds": None if restored is None else _age(restored, now),
    }


def _depths(now: datetime) -> dict[str, int]:
    """Return the number of due rows of each kind besides jobs. The database is the queue; Redis only holds hints."""
    kinds = {"scopes": Scope, "log_feeds": LogFeed, "discoveries": Discovery, "resource_changes": ResourceChange}
    return {name: model._default_manager.filter(due_at__lte=now).count() for name, model in kinds.items()}


def _heartbeats(now: datetime) -> dict[str, float]:
    ages: dict[str, float] = {}
    for part, queues, at in Heartbeat.objects.values_list("part", "queues", "at"):
        for name in [part] if part == Heartbeat.Part.BEAT else [f"worker {queue}" for queue in queues.split(",")]:
            ages[name] = min(ages.get(name, float("inf")), _age(at, now))
    return ages


def _counts() -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {}
    for metric, labels, value in MetricCount.objects.values_list("metric", "labels", "value"):
        found.setdefault(metric, {})[labels] = value
    return found


def _by_state(rows: Iterable[tuple[str, int]]) -> dict[str, int]:
    known: Counter[str] = Counter()
    for state, number in rows:
        known[state if state in set(JobState) else OTHER] += number
    return dict(known)


def _submit_seconds(now: datetime) -> tuple[float, ...]:
    newest = Job.objects.filter(requested_at__gte=now - LAST_HOUR, submitted_at__isnull=False, is_adopted=False)
    rows = newest.order_by("-requested_at").values_list("approved_at", "submitted_at")[:MAX_SUBMISSIONS]
    return tuple(max((sent - allowed).total_seconds(), 0.0) for allowed, sent in rows if allowed and sent)


def _age(moment: datetime | None, now: datetime) -> float:
    return max((now - moment).total_seconds(), 0.0) if moment is not None else 0.0
