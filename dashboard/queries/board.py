"""What the board reads: jobs that have not ended and those that have just ended.

A job has ended where `ended_at` is set (`jobs.timeline.facts`), so an index on that column finds both kinds, however
many jobs there ever were.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from django.contrib.auth.models import User
from django.db.models import Case, Count, F, Max, Q, QuerySet, Sum, Value, When

from dashboard.access import jobs_of
from dashboard.queries.spending import COLUMNS as SPENDING_COLUMNS
from dashboard.queries.spending import began_before
from jobs import timeline
from jobs.cache import Recent, Unchanged
from jobs.models import Job, JobEvent, Scope
from jobs.models.job import JobQuerySet

COLUMNS = (
    *SPENDING_COLUMNS, "team", "owner", "kind", "display_name", "region", "strategy", "machines",
    "project", "state_since", "requested_at", "approved_at", "submitted_at", "expected_seconds", "estimate_usd",
    "max_usd", "cloned_from", "metrics__ends_at", "revision", "failures", "last_error",
)  # fmt: skip
"""What orders, groups and counts the jobs of the board; those whose rows are drawn anew are read whole."""
DRAWN = (*timeline.SPAN_KINDS, JobEvent.Kind.RESTARTED, JobEvent.Kind.MACHINES_LOST, JobEvent.Kind.EXPLAINED)
EVENT_COLUMNS = ("job", "kind", "from_state", "to_state", "occurred_at", "reason", "detail", "once_key", "message")
DEFERRED = ("metrics__record", "metrics__usage", "metrics__checkpoints")
SUMS = ("revision", "failures")
"""Columns that only grow; `revision` does with every event."""
NEWEST = ("requested_at", "trials_counted_at")
CHANGING = (*SUMS, "trials_counted_at", "last_error", "state")
"""Columns of which one differs after anything that the board shows of a job has changed."""
MAX_JOBS = 1_000
"""Jobs of one board; of more, those that changed last."""
KEPT_SECONDS = 60
"""Expected ends, which metrics move, are read anew after that."""
MAX_KEPT = 5_000
"""Jobs that a process keeps, about 3 kB each."""
MAX_EVENTS = 4_000
"""Events of all rows of one page: fifty rows with eighty changes each in the hours that are drawn."""


MAX_SCOPES = 200
"""Scopes that fail at the same time; of more, those that have failed for longest."""


def jobs_on_board(user: User, who: str) -> JobQuerySet:
    """Return the jobs of `who`: "mine", "all", or the id of a team; never those that the person may not see."""
    jobs = jobs_of(user)
    if who == "mine":
        return jobs.filter(owner=user)
    return jobs if who == "all" else jobs.filter(team=int(who))


class BoardJob(NamedTuple):
    """A job of the board with COLUMNS. Others read the same job, so nothing may be set on it."""

    job: Job
    owner: str
    """The owner's name, "" where it was not asked for."""
    is_found: bool
    """Whether the search finds the job; true where nothing is searched for."""


def list_board(
    jobs: QuerySet[Job], ended_since: datetime, now: datetime, *, with_owners: bool = False, search: Q | None = None
) -> list[BoardJob]:
    """Return the jobs that have not ended, or ended at or after `ended_since`; two queries, one if none has changed.

    Of more than MAX_JOBS jobs those that the search finds come first, then those that changed last. A job that this
    process has loaded in the last KEPT_SECONDS, for whomever, is not loaded again while it is unchanged.
    """
    found = Case(When(search, then=1), default=0) if search else Value(1)
    name = F("owner__username") if with_owners else Value("")
    rows = _on_board(jobs, ended_since).select_related(None).annotate(name=name, is_found=found)
    order = ["-is_found", "-state_since"] if search else ["-state_since"]
    listed = list(rows.order_by(*order)[:MAX_JOBS].values_list("pk", "name", "is_found", *CHANGING))
    loaded = _load_changed(jobs, {pk: tuple(changing) for pk, _, _, *changing in listed}, now)
    return [BoardJob(loaded[pk], name, bool(is_found)) for pk, name, is_found, *_ in listed if pk in loaded]


def _load_changed(jobs: QuerySet[Job], values: dict[UUID, tuple[Any, ...]], now: datetime) -> dict[UUID, Job]:
    """Return the jobs with these values of CHANGING; those that are kept with them are not read."""
    loaded = {pk: job for pk, changing in values.items() if (job := _kept.get(pk, changing, now)) is not None}
    missing = [pk for pk in values if pk not in loaded]
    rows = jobs.filter(pk__in=missing).select_related(None).select_related("metrics").only(*COLUMNS)
    for job in rows if missing else ():
        _kept.keep(job.pk, values[job.pk], job, now)
        loaded[job.pk] = job
    return loaded


def get_board_state(
    jobs: QuerySet[Job], ended_since: datetime, listed: Sequence[BoardJob] | None = None
) -> tuple[object, ...]:
    """Return values of which at least one differs after any job of the board has changed.

    One query of one row; none where `listed` is what `list_board` returned. Of a board that MAX_JOBS cuts, the two
    differ.
    """
    if listed is not None:
        rows = [each.job for each in listed]
        newest = (max(filter(None, (getattr(job, name) for job in rows)), default=None) for name in NEWEST)
        return (len(rows), *newest, *(sum(getattr(job, name) for job in rows) for name in SUMS))
    on_board = _on_board(jobs, ended_since).select_related(None)
    figures = on_board.aggregate(Count("pk"), *map(Max, NEWEST), *(Sum(name, default=0) for name in SUMS))
    return tuple(figures.values())


def load_jobs(jobs: JobQuerySet, keys: Sequence[UUID]) -> list[Job]:
    """Return the jobs with these keys and their approvals, in the order of the keys; one query, none for no key."""
    if not keys:
        return []
    loaded = jobs.select_related("approval__decided_by", "metrics", "attempt__fallback")
    found = {job.pk: job for job in loaded.filter(pk__in=keys).defer(*DEFERRED)}
    return [found[key] for key in keys if key in found]


def list_silent(jobs: Iterable[Job], now: datetime) -> list[Scope]:
    """Return the scopes of these jobs for which Vertex AI did not answer at most ten seconds before `now`."""
    scopes = {(job.project, job.region, job.kind) for job in jobs if not job.is_finished and job.is_remote}
    return [each for each in _silent.get(None, now) if (each.project, each.region, each.kind) in scopes]


def _load_silent(_: None, __: datetime) -> list[Scope]:
    return list(Scope.objects.filter(failing_since__isnull=False).order_by("failing_since", "pk")[:MAX_SCOPES])


_silent: Recent[None, list[Scope]] = Recent(_load_silent)
_silent.forget_when_saved(Scope)
_kept: Unchanged[UUID, Job] = Unchanged(seconds=KEPT_SECONDS, max_kept=MAX_KEPT)


def list_board_events(
    rows: Iterable[Job], since: datetime, billed: Iterable[Job], day: datetime
) -> tuple[dict[UUID, list[JobEvent]], dict[UUID, list[JobEvent]]]:
    """Return the changes of state and restarts of each of `rows` since a moment, and what `sum_spending` needs.

    That are the changes of state since `day` of those `billed` jobs that began before it. All in order; one query.
    """
    drawn: dict[UUID, list[JobEvent]] = {job.pk: [] for job in rows}
    changes: dict[UUID, list[JobEvent]] = {job.pk: [] for job in began_before(billed, day)}
    of_rows = JobEvent.objects.filter(job__in=list(drawn), kind__in=DRAWN, occurred_at__gte=since)
    newest = of_rows.order_by("-occurred_at", "-pk").values("pk")[:MAX_EVENTS]
    events = JobEvent.objects.filter(pk__in=newest).only(*EVENT_COLUMNS)
    if changes:
        counted = JobEvent.objects.filter(job__in=list(changes), kind__in=timeline.SPAN_KINDS, occurred_at__gte=day)
        events = events.union(counted.only(*EVENT_COLUMNS))
    for event in sorted(events, key=lambda each: (each.occurred_at, each.pk)):
        if event.job_id in drawn and event.occurred_at >= since:
            drawn[event.job_id].append(event)
        if event.job_id in changes and event.kind in timeline.SPAN_KINDS and event.occurred_at >= day:
            changes[event.job_id].append(event)
    return drawn, changes


def _on_board(jobs: QuerySet[Job], ended_since: datetime) -> QuerySet[Job]:
    return jobs.filter(Q(ended_at=None) | Q(ended_at__gte=ended_since))
