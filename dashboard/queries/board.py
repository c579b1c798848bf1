"""What the board reads: jobs that have not ended and those that have just ended.

A job has ended where `ended_at` is set (`jobs.timeline.facts`), so an index on that column finds both kinds, however
many jobs there ever were.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from django.contrib.auth.models import User
from django.db.models import Case, F, Q, QuerySet, Value, When

from dashboard.access import jobs_of
from dashboard.queries.spending import COLUMNS as SPENDING_COLUMNS
from dashboard.queries.spending import began_before
from jobs import timeline
from jobs.models import Job, JobEvent, Scope
from jobs.models.job import JobQuerySet
from jobs.recent import Recent, Unchanged

COLUMNS = (
    *SPENDING_COLUMNS, "team", "owner", "kind", "display_name", "region", "strategy", "machines",
    "project", "state_since", "requested_at", "approved_at", "submitted_at", "expected_seconds", "estimate_usd",
    "max_usd", "cloned_from", "metrics__ends_at", "revision", "failures", "last_error",
)  # fmt: skip
"""What orders, groups and counts the jobs of the board; those whose rows are drawn anew are read whole."""
DRAWN = (*timeline.SPAN_KINDS, JobEvent.Kind.RESTARTED, JobEvent.Kind.MACHINES_LOST, JobEvent.Kind.EXPLAINED)
EVENT_COLUMNS = ("job", "kind", "from_state", "to_state", "occurred_at", "reason", "detail", "once_key", "message")
DEFERRED = ("metrics__record", "metrics__usage", "metrics__checkpoints")
CHANGING = ("revision", "failures", "trials_counted_at", "last_error", "state")
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


class Listed(NamedTuple):
    """A job of the board, as far as it takes to see whether anything about it has changed."""

    pk: UUID
    owner: str
    """The owner's name, "" where it was not asked for."""
    is_found: bool
    """Whether the search finds the job; true where nothing is searched for."""
    changing: tuple[Any, ...]
    """The values of CHANGING."""


def list_board(
    jobs: QuerySet[Job], ended_since: datetime, *, with_owners: bool = False, search: Q | None = None
) -> list[Listed]:
    """Return the jobs that have not ended, or ended at or after `ended_since`; one query.

    Of more than MAX_JOBS jobs those that the search finds come first, then those that changed last.
    """
    found = Case(When(search, then=1), default=0) if search else Value(1)
    name = F("owner__username") if with_owners else Value("")
    rows = _on_board(jobs, ended_since).select_related(None).annotate(name=name, is_found=found)
    order = ["-is_found", "-state_since"] if search else ["-state_since"]
    values = rows.order_by(*order)[:MAX_JOBS].values_list("pk", "name", "is_found", *CHANGING)
    return [Listed(pk, name, bool(is_found), tuple(changing)) for pk, name, is_found, *changing in values]


def load_listed(jobs: QuerySet[Job], listed: Sequence[Listed], now: datetime) -> dict[UUID, Job]:
    """Return {id: job with COLUMNS} of the listed jobs of `jobs`, in their order; one query, none if none has changed.

    What this process has loaded in the last KEPT_SECONDS is not loaded again while it is unchanged, whoever asked for
    it. The jobs are shared, so nothing may be set on them.
    """
    loaded = {each.pk: job for each in listed if (job := _kept.get(each.pk, each.changing, now)) is not None}
    missing = {each.pk: each for each in listed if each.pk not in loaded}
    if missing:
        rows = jobs.filter(pk__in=list(missing)).select_related(None).select_related("metrics").only(*COLUMNS)
        for job in rows:
            _kept.keep(job.pk, missing[job.pk].changing, job, now)
            loaded[job.pk] = job
    return {each.pk: loaded[each.pk] for each in listed if each.pk in loaded}


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
