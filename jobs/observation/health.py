"""Assess a running job after its log was read, and store the result.

The evidence changes only when the log or the utilization of a job is read, so jobs are assessed then, as often as the
turns of `jobs.observation.log_turns` read it. What follows from a fault is policy (`jobs.observation.health_policy`).
"""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Count, Max, Min

from jobs.explain import circumstances_of, times_out_at
from jobs.metrics import Run
from jobs.models import Job, JobEvent, JobHealth, JobMetrics, LogLine
from jobs.models.job import JobQuerySet
from jobs.observation import health_policy
from jobs.observation.machine_usage import BUSY, CPU
from jobs.requests.learned_figures import usual_start_up
from jobs.timeline import warning_of
from jobs.timeline.health import (
    DIVERGED,
    FAULTS,
    MAX_IDLE,
    MAX_IDLE_SILENCE,
    UNKNOWN,
    USUAL_START_UP,
    Evidence,
    Health,
    ReplicaLines,
    health_of,
)
from jobs.timeline.resource_holdings import find_submission
from jobs.vertex.logs import SERVICE

MAX_UNSEEN = timedelta(minutes=15)
"""A job that Vertex AI has not reported for longer may have ended."""
MAX_LOSS_LINES = 60
"""Newest lines that are searched for a loss."""
MAX_REPLICAS = 1_000
MAX_LOSS_CHARACTERS = 2_000
"""Characters of a line that are searched."""
_LOSS = re.compile(
    r"(?<![a-z0-9_/.])((?:[a-z0-9_/.]{1,40}[_/. ])?loss)['\"]?\s{0,4}(?:[:=]|is\s)?\s{0,8}(?:tensor\()?"
    r"([-+]?(?:nan|inf(?:inity)?)\b|[-+]?\.?\d)"
)
_OF_OTHERS = re.compile(r"best|min|prev|last|low|init")
"""Losses that are compared with, such as a best loss that begins as infinity."""
COLUMNS = (
    "team", "kind", "spec", "state", "strategy", "project", "region", "machines", "expected_seconds", "log_sources",
    "started_at", "ended_at", "running_since", "running_seconds", "trial_seconds", "cancel_requested_at", "restarts",
    "metrics__record", "metrics__usage", "last_seen__at",
    "health__code", "health__since", "health__assessed_at", "health__restarts", "health__running_since",
)  # fmt: skip
"""What is read of every running job. A job is wide, and nearly all are healthy: one with a fault is loaded in full."""
DEFERRED = ("estimate", "error", "explanation", "metrics__checkpoints")


def assess(pk: UUID, *, now: datetime) -> None:
    """Assess a job whose log was just read, and record its fault."""
    assess_each([pk], lambda _: nullcontext(), now=now)


def assess_each(keys: Sequence[UUID], guard: Callable[[str], AbstractContextManager[Any]], *, now: datetime) -> None:
    """Assess jobs whose logs were just read, each within `guard(name)`, which keeps an error from the others.

    Two queries for all, and one or two for each that is healthy.
    """
    jobs = list(_rows().only(*COLUMNS).filter(pk__in=keys)) if keys else ()
    kinds = (JobEvent.Kind.RESTARTED, JobEvent.Kind.MACHINES_LOST)
    events = JobEvent.objects.filter(job__in=keys, kind__in=kinds).order_by() if jobs else JobEvent.objects.none()
    began_again = dict(events.values_list("job").annotate(Max("occurred_at")))
    for job in jobs:
        with guard(f"health of job {job.pk}"):
            _assess(job, began_again.get(job.pk), now)


def _rows() -> JobQuerySet:
    return Job.objects.select_related("metrics", "last_seen", "health")


def _assess(job: Job, began_again: datetime | None, now: datetime) -> None:
    before: JobHealth | None = getattr(job, "health", None)
    evidence = evidence_of(job, began_again, now) if _is_assessed(job, now) else None
    found = health_of(evidence, now) if evidence is not None else Health(UNKNOWN)
    if evidence is None or found.code not in FAULTS:
        if before is not None and before.code:
            nothing: dict[str, Any] = {"code": "", "since": None, "facts": {}, "asked_at": None}
            JobHealth.objects.filter(pk=before.pk).update(**nothing, assessed_at=now)
            health_policy.clear(job, before, now)
        return
    attempt, job = _attempt_of(job), _rows().select_related("team").defer(*DEFERRED).get(pk=job.pk)
    if attempt != _attempt_of(job):  # the evidence is that of another attempt
        return
    before = getattr(job, "health", None)
    is_same = before is not None and before.code == found.code and _attempt_of(before) == _attempt_of(job)
    since = found.since
    if before is not None and before.since is not None and is_same and found.code == DIVERGED:
        since = min(since or now, before.since)  # its first lines may not be searched any more
    values: dict[str, Any] = {
        "code": found.code,
        "since": since,
        "is_certain": found.is_certain,
        "facts": dict(found.facts),
    }
    values |= {"assessed_at": now, "restarts": job.restarts, "running_since": job.running_since}
    was_shown = is_same and warning_of(job, before.assessed_at or now) is not None if before is not None else False
    values |= {} if is_same else {"asked_at": None}
    with transaction.atomic():
        row, _ = JobHealth.objects.update_or_create(job=job, defaults=values)  # locked until the end
        job.health = row
        health_policy.follow(job, evidence, now, was_shown=was_shown)


def _attempt_of(row: Job | JobHealth) -> tuple[int, datetime | None]:
    return row.restarts, row.running_since


def _is_assessed(job: Job, now: datetime) -> bool:
    """Return whether the evidence is about this job alone: it runs, is seen, and has one log; no study has one."""
    seen_at = job.seen_at
    is_running = job.running_since is not None and job.ended_at is None and job.cancel_requested_at is None
    is_seen = seen_at is not None and now - seen_at <= MAX_UNSEEN
    return is_running and is_seen and len(job.log_sources) == 1 and job.trial_seconds is None


def evidence_of(job: Job, began_again: datetime | None, now: datetime) -> Evidence:
    """Return what is kept about the present attempt of a running job. Its metrics are loaded. At most three queries.

    `began_again` is when it last restarted, or lost machines, None if it never has.
    """
    assert job.running_since is not None
    began = max(job.running_since, began_again) if began_again is not None else job.running_since
    own = LogLine.objects.filter(job=job, timestamp__gte=began).exclude(replica=SERVICE)
    metrics: JobMetrics | None = getattr(job, "metrics", None)
    record, usage = (metrics.record, metrics.usage) if metrics is not None else ({}, {})
    runs = record.get("runs", ())
    run = Run(**runs[-1]) if runs else None
    steps, every = _steps(record, began.timestamp())
    steps += [_moment(run.until)] if run is not None else []
    # Who is silent matters only if no step came for long. All lines of a long attempt are counted for it.
    is_quiet = bool(steps) and now - max(steps) >= MAX_IDLE_SILENCE
    return Evidence(
        began=began,
        log_read_at=now,
        lines=_lines(own) if is_quiet else (),
        steps=steps,
        every=every,
        losses=list(_losses(own)),
        busy=_shares(usage, BUSY),
        cpu=_shares(usage, CPU),
        has_accelerators=circumstances_of(job).has_accelerator,
        run=run,
        times_out_at=times_out_at(job, now),
        usual_start_up=USUAL_START_UP if steps or now - began < MAX_IDLE else _usual_start_up(job, now),
    )


def _usual_start_up(job: Job, now: datetime) -> timedelta:
    submission = find_submission(job)
    learned = usual_start_up(job, submission, now) if submission is not None else None
    return USUAL_START_UP if learned is None else learned


def _lines(own: Any) -> list[ReplicaLines]:
    rows = own.order_by().values("replica").annotate(first=Min("timestamp"), last=Max("timestamp"), count=Count("pk"))
    listed = rows.order_by("replica").values_list("replica", "first", "last", "count")
    return [ReplicaLines(*row) for row in listed[:MAX_REPLICAS]]


def _losses(own: Any) -> Iterator[tuple[datetime, bool]]:
    """Yield (time, whether it is finite) of each loss in the newest lines, oldest first."""
    newest = own.order_by("-timestamp", "-pk").values_list("timestamp", "message")[:MAX_LOSS_LINES]
    for at, message in reversed(newest):
        for line in message.split("\n", MAX_LOSS_LINES)[:MAX_LOSS_LINES]:
            if (is_finite := has_finite_loss(line)) is not None:
                yield at, is_finite


def has_finite_loss(text: str) -> bool | None:
    """Return whether a line names a loss with a finite number, False if all its losses are not; None without a loss."""
    lower = text[:MAX_LOSS_CHARACTERS].lower()
    if "loss" not in lower:
        return None
    values = [value for name, value in _LOSS.findall(lower) if _OF_OTHERS.search(name) is None]
    return any(value[-1].isdigit() for value in values) if values else None


def _steps(record: dict[str, Any], began: float) -> tuple[list[datetime], int]:
    """Return the times of the metric with most readings in the attempt, and that one of how many is kept."""
    found: tuple[list[float], int] = ([], 1)
    for series in record.get("series", ()):
        times = [at for at, *_ in series["points"] if at >= began]
        if len(times) * series["every"] > len(found[0]) * found[1]:
            found = (times, series["every"])
    return [_moment(at) for at in found[0]], found[1]


def _shares(usage: dict[str, Any], name: str) -> Sequence[tuple[datetime, float]]:
    """Return (time, share) of what Cloud Monitoring reported of a metric, the newest included."""
    series = next((each for each in usage.get("series", ()) if each["name"] == name), None)
    if series is None:
        return ()
    points, last = [tuple(point) for point in series["points"]], series.get("last")
    points += [tuple(last)] if last and (not points or last[0] > points[-1][0]) else []
    return [(_moment(at), share) for at, _, share in points]


def _moment(at: float) -> datetime:
    return datetime.fromtimestamp(at, UTC)
