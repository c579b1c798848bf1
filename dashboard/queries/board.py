"""The data of the board: jobs that have not ended and jobs that ended recently.

A job has ended if `ended_at` is set (`jobs.timeline.facts`). An index on that column finds both kinds, whatever the
total number of jobs.
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
from dashboard.queries.forecast import list_unfinished
from jobs import timeline
from jobs.budgets import month_of, period_of, sum_open, unrecorded_micros
from jobs.budgets.groups import Group
from jobs.cache import Recent, Unchanged
from jobs.cost import from_micros
from jobs.models import Budget, Job, JobEvent, SavedView, Scope, SpendSum, Team
from jobs.models.job import JobQuerySet
from jobs.requests import MAX_VIEWS

COLUMNS = (
    "state", "hourly_usd", "started_at", "ended_at", "running_seconds", "running_since", "waited_again_seconds",
    "waiting_again_since", "parallel_trials", "trial_seconds", "trials_running", "trials_counted_at",
    "cancel_requested_at", "custom_job_state", "team", "owner", "kind", "display_name", "region", "strategy",
    "machines", "project", "state_since", "requested_at", "approved_at", "submitted_at", "expected_seconds",
    "estimate_usd", "max_usd", "cloned_from", "metrics__ends_at", "revision", "failures", "last_error", "wait_error",
    "cost_micros", "cost_until", "restarts",
    "health__code", "health__since", "health__is_certain", "health__facts", "health__assessed_at",
    "health__restarts", "health__running_since", "health__fine_until", "health__asked_at", "health__answer_hours",
)  # fmt: skip
"""Columns for ordering, grouping and counting the jobs of the board. Jobs whose rows are redrawn are loaded in full."""
DRAWN = (*timeline.SPAN_KINDS, JobEvent.Kind.RESTARTED, JobEvent.Kind.MACHINES_LOST, JobEvent.Kind.EXPLAINED)
EVENT_COLUMNS = ("job", "kind", "from_state", "to_state", "occurred_at", "reason", "detail", "once_key", "message")
DEFERRED = ("metrics__record", "metrics__usage", "metrics__checkpoints")
SUMS = ("revision", "failures", "cost_micros")
"""Columns of which a sum changes with every change. `revision` grows with every event."""
NEWEST = ("requested_at", "trials_counted_at")
STATE = ", ".join(["COUNT(*)", *(f"MAX({name})" for name in NEWEST), *(f"COALESCE(SUM({name}), 0)" for name in SUMS)])
CHANGING = (*SUMS, "trials_counted_at", "last_error", "state")
"""Columns of which at least one changes whenever something that the board shows of a job changes."""
MAX_JOBS = 1_000
"""Maximum jobs on a board. Of more, those that changed last are shown."""
KEPT_SECONDS = 60
"""Cached jobs are loaded again after this time, because metrics change their expected ends."""
MAX_KEPT = 5_000
"""Maximum jobs that a process caches, about 3 kB each."""
MAX_EVENTS = 4_000
"""Maximum events of all rows of a page: fifty rows with eighty changes each in the hours that are drawn."""


MAX_SCOPES = 1_000
"""Maximum scopes that are shown as failing. Of more, those that have failed for longest."""


def jobs_on_board(user: User, who: str) -> JobQuerySet:
    """Return the jobs of `who`: "mine", "all" or the id of a team.

    Jobs that the person may not see are never included.
    """
    jobs = jobs_of(user)
    if who == "mine":
        return jobs.filter(owner=user)
    return jobs if who == "all" else jobs.filter(team=int(who))


class BoardJob(NamedTuple):
    """A job of the board with COLUMNS. It is cached and shared, so do not modify it."""

    job: Job
    owner: str
    """The owner's name, "" if it was not requested."""
    is_found: bool
    """Whether the job matches the search. True without a search."""


def list_board(
    jobs: QuerySet[Job], ended_since: datetime, now: datetime, *, with_owners: bool = False, search: Q | None = None
) -> list[BoardJob]:
    """Return the jobs that have not ended, or ended at or after `ended_since`. Two queries, one if no job has changed.

    If there are more than MAX_JOBS, matches of the search come first, then jobs that changed last. An unchanged job
    that this process loaded within KEPT_SECONDS, for any user, is not loaded again.
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
    """Return the jobs with these values of CHANGING. Jobs cached with the same values are not loaded."""
    loaded = {pk: job for pk, changing in values.items() if (job := _kept.get(pk, changing, now)) is not None}
    missing = [pk for pk in values if pk not in loaded]
    rows = jobs.filter(pk__in=missing).select_related(None).select_related("metrics", "health").only(*COLUMNS)
    rows = rows.annotate(has_offer=Q(approval__requested_spec__isnull=False))
    for job in rows if missing else ():
        _kept.keep(job.pk, values[job.pk], job, now)
        loaded[job.pk] = job
    return loaded


def get_board_state(
    user: User, who: str, ended_since: datetime, listed: Sequence[BoardJob] | None = None
) -> tuple[object, ...]:
    """Return values that change whenever a job on the board of `who` changes.

    One query of one row, none if `listed` is the result of `list_board` for `jobs_on_board`. If the board has more than
    MAX_JOBS jobs, the two results differ. This is SQL, because every open board calls it every few seconds and building
    the query from models took a third of the response time.
    """
    if listed is not None:
        rows = [each.job for each in listed]
        newest = (max(filter(None, (getattr(job, name) for job in rows)), default=None) for name in NEWEST)
        return (len(rows), *newest, *(sum(getattr(job, name) or 0 for job in rows) for name in SUMS))
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
    # SQLite gives the moment of a MAX as text, in UTC and without a zone.
    moments = (parse_datetime(f"{each}Z") if isinstance(each, str) else each for each in figures[: len(NEWEST)])
    return (count, *moments, *map(int, figures[len(NEWEST) :]))


def load_jobs(jobs: JobQuerySet, keys: Sequence[UUID]) -> list[Job]:
    """Return the jobs with these keys and their approvals, in the order of the keys. One query, none without keys."""
    if not keys:
        return []
    loaded = jobs.select_related("approval__decided_by", "metrics", "health", "attempt__fallback")
    found = {job.pk: job for job in loaded.filter(pk__in=keys).defer(*DEFERRED)}
    return [found[key] for key in keys if key in found]


def list_silent(jobs: Iterable[Job], now: datetime) -> list[Scope]:
    """Return the scopes of these jobs for which Vertex AI did not answer, as known at most ten seconds before `now`."""
    scopes = {(job.project, job.region, job.kind) for job in jobs if not job.is_finished and job.is_remote}
    failing = _silent.get(None, now) if scopes else ()
    return [each for each in failing if (each.project, each.region, each.kind) in scopes]


def _load_silent(_: None, __: datetime) -> list[Scope]:
    return list(Scope.objects.filter(failing_since__isnull=False).order_by("failing_since", "pk")[:MAX_SCOPES])


_silent: Recent[None, list[Scope]] = Recent(_load_silent)
_silent.forget_when_saved(Scope)
_kept: Unchanged[UUID, Job] = Unchanged(seconds=KEPT_SECONDS, max_kept=MAX_KEPT)


def list_board_events(jobs: Iterable[Job], since: datetime) -> dict[UUID, list[JobEvent]]:
    """Return the state changes and restarts of each job since a time, in order. One query.

    If there are more than MAX_EVENTS, the latest ones are returned.
    """
    events: dict[UUID, list[JobEvent]] = {job.pk: [] for job in jobs}
    found = JobEvent.objects.filter(job__in=list(events), kind__in=DRAWN, occurred_at__gte=since)
    for event in reversed(found.order_by("-occurred_at", "-pk").only(*EVENT_COLUMNS)[:MAX_EVENTS] if events else ()):
        events[event.job_id].append(event)
    return {pk: timeline.holding(rows) for pk, rows in events.items()}


@dataclass(frozen=True, slots=True)
class MonthSpent:
    """The cost of a group of jobs in a month, and its budget, None without one."""

    month: date
    usd: Decimal
    limit_usd: Decimal | None


def get_month_spent(teams: Sequence[Team], group: Group, jobs: Sequence[Job], now: datetime) -> MonthSpent:
    """Return the cost of a group of jobs of these teams in the month of `now` until then. One query.

    `jobs` are those of the group on the board; of more than MAX_JOBS, all that run are loaded, with another query. The
    budget is included if there is exactly one team.
    """
    keys, month, (dimension, value) = {team.pk for team in teams}, month_of(now), group
    of_group = {"team": OuterRef("pk"), "dimension": dimension, "value": value}
    if len(jobs) < MAX_JOBS:
        running = (job for job in jobs if job.ended_at is None and job.started_at is not None and job.team_id in keys)
        unrecorded = sum(unrecorded_micros(job, now) for job in running)
    else:
        spent = sum_open(list_unfinished([*keys]), now).spent
        unrecorded = sum(spent[key, group] for key in keys)
    micros = SpendSum.objects.filter(**of_group, period=period_of(month)).values("micros")[:1]
    limit = Budget.objects.filter(**of_group, closed_at=None).values("amount_usd")[:1]
    rows = Team.objects.filter(pk__in=keys).annotate(micros=Subquery(micros), limit=Subquery(limit))
    found = list(rows.values_list("micros", "limit"))
    usd = from_micros(sum(spent or 0 for spent, _ in found) + unrecorded)
    return MonthSpent(month, usd, limit_usd=found[0][1] if len(found) == 1 else None)


def list_saved_views(user: User) -> list[SavedView]:
    """Return all views of `user`, then at most MAX_VIEWS views that others share with their teams. One query."""
    teams = [team.pk for team in teams_of(user)]
    is_others = Case(When(owner=user, then=Value(0)), default=Value(1))
    views = SavedView.objects.filter(Q(owner=user) | Q(team__in=teams)).select_related("owner")
    found = list(views.order_by(is_others, "name", "pk")[: 2 * MAX_VIEWS])
    mine = sum(view.owner_id == user.pk for view in found)
    return found[: mine + MAX_VIEWS]
