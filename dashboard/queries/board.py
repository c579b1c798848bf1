"""What the board reads: jobs that have not ended and those that have just ended.

A job has ended where `ended_at` is set (`jobs.timeline.facts`), so an index on that column finds both kinds, however
many jobs there ever were.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any, NamedTuple
from uuid import UUID

from django.contrib.auth.models import User
from django.db import connection
from django.db.models import Case, F, OuterRef, Q, QuerySet, Subquery, Value, When
from django.utils.dateparse import parse_datetime

from dashboard.access import jobs_of, teams_of
from jobs import timeline
from jobs.budgets import month_of
from jobs.budgets.groups import Group
from jobs.cache import Recent, Unchanged
from jobs.models import Budget, Job, JobEvent, MonthSpend, Scope, Team
from jobs.models.job import JobQuerySet

COLUMNS = (
    "state", "hourly_usd", "started_at", "ended_at", "running_seconds", "running_since", "parallel_trials",
    "trial_seconds", "trials_running", "trials_counted_at", "custom_job_state", "team", "owner", "kind",
    "display_name", "region", "strategy", "machines", "project", "state_since", "requested_at", "approved_at",
    "submitted_at", "expected_seconds", "estimate_usd", "max_usd", "cloned_from", "metrics__ends_at", "revision",
    "failures", "last_error",
)  # fmt: skip
"""What orders, groups and counts the jobs of the board; those whose rows are drawn anew are read whole."""
DRAWN = (*timeline.SPAN_KINDS, JobEvent.Kind.RESTARTED, JobEvent.Kind.MACHINES_LOST, JobEvent.Kind.EXPLAINED)
EVENT_COLUMNS = ("job", "kind", "from_state", "to_state", "occurred_at", "reason", "detail", "once_key", "message")
DEFERRED = ("metrics__record", "metrics__usage", "metrics__checkpoints")
SUMS = ("revision", "failures")
"""Columns that only grow; `revision` does with every event."""
NEWEST = ("requested_at", "trials_counted_at")
STATE = ", ".join(["COUNT(*)", *(f"MAX({name})" for name in NEWEST), *(f"COALESCE(SUM({name}), 0)" for name in SUMS)])
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
    on_board = jobs.filter(Q(ended_at=None) | Q(ended_at__gte=ended_since))
    rows = on_board.select_related(None).annotate(name=name, is_found=found)
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
    user: User, who: str, ended_since: datetime, listed: Sequence[BoardJob] | None = None
) -> tuple[object, ...]:
    """Return values of which at least one differs after any job of the board of `who` has changed.

    One query of one row; none where `listed` is what `list_board` returned of `jobs_on_board`. Of a board that MAX_JOBS
    cuts, the two differ. It is SQL, because every open board asks it every few seconds, and composing it from models
    took a third of the answer.
    """
    if listed is not None:
        rows = [each.job for each in listed]
        newest = (max(filter(None, (getattr(job, name) for job in rows)), default=None) for name in NEWEST)
        return (len(rows), *newest, *(sum(getattr(job, name) for job in rows) for name in SUMS))
    since = connection.ops.adapt_datetimefield_value(ended_since)
    conditions, parameters = ["(ended_at IS NULL OR ended_at >= %s)"], list[Any]([since])
    if not user.is_superuser:
        teams = [team.pk for team in teams_of(user)]
        conditions.append(f"team_id IN ({', '.join(['%s'] * len(teams)) or 'NULL'})")
        parameters += teams
    if who != "all":
        conditions.append("owner_id = %s" if who == "mine" else "team_id = %s")
        parameters.append(user.pk if who == "mine" else int(who))
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {STATE} FROM jobs_job WHERE {' AND '.join(conditions)}", parameters)  # noqa: S608
        count, *figures = cursor.fetchone()
    moments = (parse_datetime(f"{each}Z") if isinstance(each, str) else each for each in figures[: len(NEWEST)])
    return (count, *moments, *map(int, figures[len(NEWEST) :]))


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


def list_board_events(jobs: Iterable[Job], since: datetime) -> dict[UUID, list[JobEvent]]:
    """Return the changes of state and restarts of each job since a moment, in order; one query.

    Of more than MAX_EVENTS those that occurred last.
    """
    events: dict[UUID, list[JobEvent]] = {job.pk: [] for job in jobs}
    found = JobEvent.objects.filter(job__in=list(events), kind__in=DRAWN, occurred_at__gte=since)
    for event in reversed(found.order_by("-occurred_at", "-pk").only(*EVENT_COLUMNS)[:MAX_EVENTS] if events else ()):
        events[event.job_id].append(event)
    return events


@dataclass(frozen=True, slots=True)
class MonthSpent:
    """What a group of jobs has cost in a month, and the budget that it is held against; None without one."""

    month: date
    usd: Decimal
    limit_usd: Decimal | None


def get_month_spent(teams: Sequence[Team], group: Group, today: date) -> MonthSpent:
    """Return what a group of jobs of these teams has cost in the month of a day; the budget of one team; one query."""
    month, (dimension, value) = month_of(today), group
    of_group = {"team": OuterRef("pk"), "dimension": dimension, "value": value}
    cents = MonthSpend.objects.filter(**of_group, month=month).values("cents")[:1]
    limit = Budget.objects.filter(**of_group, closed_at=None).values("amount_usd")[:1]
    rows = Team.objects.filter(pk__in=[team.pk for team in teams]).annotate(
        cents=Subquery(cents), limit=Subquery(limit)
    )
    found = list(rows.values_list("cents", "limit"))
    usd = Decimal(sum(spent or 0 for spent, _ in found)) / 100
    return MonthSpent(month, usd, limit_usd=found[0][1] if len(found) == 1 else None)
