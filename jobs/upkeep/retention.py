"""Remove rows that are no longer needed, in small portions while workers run.

Never removed are unfinished jobs, approvals, trials, and all events of a job on which its states, restarts, attempts
and costs depend. They stay as long as the job's row. So timelines, costs and `manage.py audit` show the same before and
after.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.contrib.sessions.models import Session
from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet

from jobs import explain, known_advice, known_images
from jobs.models import (
    AdviceReading,
    Delivery,
    Discovery,
    Draft,
    ExternalJob,
    ImageReading,
    Job,
    JobEvent,
    LogLine,
    Message,
    PersistentResource,
    RetentionSetting,
    SetAsideItem,
)
from jobs.observation import cadence
from jobs.observation.failures import record_failure
from jobs.queue import claims
from jobs.requests import imported_drafts
from jobs.states import FINISHED
from jobs.strategies.persistent import STRATEGY
from jobs.upkeep.seals import removable, remove_spans
from jobs.vertex.logs import SERVICE

Kind = RetentionSetting.Kind
DEFAULT_DAYS: dict[str, int] = {
    Kind.EVENTS: 365,
    Kind.LOG_LINES: 90,
    Kind.DISCOVERIES: 30,
    Kind.SET_ASIDE: 30,
    Kind.MESSAGES: 90,
    Kind.PERSISTENT_RESOURCES: 180,
    Kind.AUDIT_LOG: 1_095,
}
PORTION = 1_000
"""Rows removed in one transaction. It takes a fraction of a second, so that no worker has to wait for long."""
INTERVAL = timedelta(days=1)
INTERVAL_WHEN_CUT_SHORT = timedelta(minutes=10)
NAME = "prune"


@dataclass(frozen=True, slots=True)
class Selection:
    """Rows to remove. `days` is None if something other than a number of days decides."""

    name: str
    rows: QuerySet[Any]
    days: int | None = None
    remove: Callable[[list[Any], datetime], object] | None = None


def days_kept() -> dict[str, int]:
    """Return how many days each kind is kept: the value set by an administrator, else the default."""
    return DEFAULT_DAYS | dict(RetentionSetting.objects.values_list("kind", "days"))


def prune_when_due(now: datetime) -> None:
    """Remove old rows if the last run was a day ago. Do nothing if another worker has claimed it.

    A run takes a minute and a half at most. The rest is removed ten minutes later.
    """
    held = claims.claim_upkeep(NAME, now)
    if held is None:
        return
    watch, counts = cadence.Stopwatch(now), dict[str, int]()
    with record_failure(held, now=now):
        for name, count in prune(now):
            counts[name] = counts.get(name, 0) + count
            claims.keep_poll(held, now=watch.now)
            if watch.has_run_out:
                break
        pause = INTERVAL_WHEN_CUT_SHORT if watch.has_run_out else INTERVAL
        claims.release_poll(held, due_at=now + pause, answered_at=now, result=counts)


def prune(now: datetime) -> Iterator[tuple[str, int]]:
    """Remove old rows. Yield the name and number of rows of each portion. Repeating it is harmless."""
    for selection in selections(now):
        while count := _remove_portion(selection, now):
            yield selection.name, count


def old_rows(now: datetime) -> Iterator[tuple[str, int, int | None]]:
    """Yield what `prune` would remove: its name, the number of rows, and the days they are kept. Change nothing."""
    for selection in selections(now):
        yield selection.name, selection.rows.count(), selection.days


def selections(now: datetime) -> list[Selection]:
    """Return the old rows in the order in which they are removed: the jobs of a discovery before the discovery."""
    days = days_kept()
    before = {kind: now - timedelta(days=count) for kind, count in days.items()}
    ended = {"job__state__in": FINISHED, "job__ended_at__isnull": False}
    lines = LogLine.objects.filter(**ended, job__ended_at__lt=before[Kind.LOG_LINES], job__log_complete=True)
    idle = {"due_at": None, "claim": None, "asked_at__lt": before[Kind.DISCOVERIES]}
    routed = Message.objects.filter(created_at__lt=before[Kind.MESSAGES], routed_at__isnull=False)
    routed = routed.exclude(Exists(Delivery.objects.filter(message=OuterRef("pk"), state=Delivery.State.WAITING)))
    found = ExternalJob.objects.filter(**{f"discovery__{name}": value for name, value in idle.items()})
    return [
        Selection(
            "events",
            JobEvent.objects.filter(**ended, kind__in=JobEvent.PASSING, job__ended_at__lt=before[Kind.EVENTS]),
            days[Kind.EVENTS],
            lambda pks, _: JobEvent.objects.forget_passing(pks),
        ),
        Selection("log lines", lines.exclude(replica__endswith=SERVICE), days[Kind.LOG_LINES], _forget_lines),
        Selection("found jobs", found, days[Kind.DISCOVERIES]),
        Selection("discoveries", Discovery.objects.filter(**idle), days[Kind.DISCOVERIES]),
        Selection(
            "set aside items", SetAsideItem.objects.filter(last_at__lt=before[Kind.SET_ASIDE]), days[Kind.SET_ASIDE]
        ),
        Selection(
            "persistent resources",
            _unused(PersistentResource.objects.filter(gone_at__lt=before[Kind.PERSISTENT_RESOURCES])),
            days[Kind.PERSISTENT_RESOURCES],
        ),
        Selection("messages", routed, days[Kind.MESSAGES]),
        Selection("audit log", removable(before[Kind.AUDIT_LOG]), days[Kind.AUDIT_LOG], remove_spans),
        Selection("images", ImageReading.objects.filter(asked_at__lt=now - known_images.KEPT)),
        Selection("advice", AdviceReading.objects.filter(asked_at__lt=now - known_advice.KEPT)),
        Selection("drafts", Draft.objects.filter(created_at__lt=now - imported_drafts.KEPT_FOR)),
        Selection("sessions", Session.objects.filter(expire_date__lt=now)),
    ]


def _unused(pools: QuerySet[PersistentResource]) -> QuerySet[PersistentResource]:
    """Leave out resources in a region where an unfinished job uses a persistent resource."""
    using = Job.objects.unfinished().filter(
        strategy=STRATEGY.key, project=OuterRef("project"), region=OuterRef("region")
    )
    return pools.exclude(Exists(using))


def _remove_portion(selection: Selection, now: datetime) -> int:
    with transaction.atomic():
        pks = list(selection.rows.order_by().values_list("pk", flat=True)[:PORTION])
        if pks and selection.remove is not None:
            selection.remove(pks, now)
        elif pks:
            selection.rows.model._base_manager.filter(pk__in=pks).delete()
    return len(pks)


def _forget_lines(pks: list[int], now: datetime) -> None:
    """Remove log lines, and record on their jobs that lines are missing."""
    lines = LogLine.objects.filter(pk__in=pks)
    jobs = set(lines.order_by().values_list("job_id", flat=True))
    lines.delete()
    explain.forget_lines(jobs)
    Job.objects.filter(pk__in=jobs).update(log_kept_from=now)
