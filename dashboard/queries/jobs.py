"""Events, attempts, trials and metrics of jobs, runs of schedules, and jobs made outside."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from django.contrib.auth.models import User
from django.db.models import Count, Max, Q, QuerySet, Subquery

from dashboard.access import jobs_of
from dashboard.queries.paging import BY_NUMBER, cursor_at, parse_cursor
from jobs import timeline
from jobs.metrics import Record, Series, Totals
from jobs.models import (
    Discovery,
    ExternalJob,
    FallbackAttempt,
    Job,
    JobEvent,
    JobMetrics,
    Schedule,
    ScheduleRun,
    ShownJob,
    hide_in,
)

MAX_EVENTS = 300
"""Maximum events of a job from which its timeline is drawn, far more than restarts create."""
FIRST_EVENTS = 50
"""If a job has more events, this many are its first ones, which show its start. The others are its latest."""


MAX_READ = 500
"""Maximum events that one request reads for a list."""
MAX_ENTRIES = 100
"""Maximum rows that a page shows. Each represents one event or several consecutive similar ones."""


@dataclass(frozen=True, slots=True)
class EventPage:
    """Some events of a job, oldest first. `older` is the cursor for earlier ones, "" if there are none.

    `last` is the number of the job's event that was recorded last.
    """

    events: list[JobEvent]
    older: str
    last: int | None


@dataclass(frozen=True, slots=True)
class EntryPage:
    """Some events of a job as rows of a table, oldest first. `older` is as in `EventPage`."""

    entries: Sequence[timeline.Entry]
    older: str


def list_events(job: Job, newest: EventPage | None = None) -> list[JobEvent]:
    """Return the events for the job's timeline, oldest first, with secrets hidden that the viewer may not see.

    Failures that were retried or repaired are omitted, events that a correction revokes, and the middle of more than
    MAX_EVENTS. One query, none if `newest` contains all events of the job.
    """
    if newest is not None and not newest.older and len(newest.events) <= MAX_EVENTS:
        return timeline.holding(event for event in newest.events if event.kind not in JobEvent.PASSING)
    needed = job.events.without_passing()
    last = needed.order_by("-occurred_at", "-pk").values("pk")[:MAX_EVENTS]
    first = needed.order_by("occurred_at", "pk").values("pk")[:FIRST_EVENTS]
    rows = JobEvent.objects.filter(pk__in=last).union(JobEvent.objects.filter(pk__in=first))
    events = list(rows.order_by("occurred_at", "id"))
    if len(events) > MAX_EVENTS:
        events = events[:FIRST_EVENTS] + events[FIRST_EVENTS - MAX_EVENTS :]
    hide_in(events, ["message", "detail"], job)
    return timeline.holding(events)


def list_newest_events(job: Job, before: str = "") -> EventPage:
    """Return the latest MAX_READ events of every kind before a cursor, with secrets hidden as in `list_events`.

    One query.
    """
    last = JobEvent.objects.filter(job=job).order_by().values("job").annotate(last=Max("pk")).values("last")
    rows = job.events.select_related("actor").annotate(last=Subquery(last))
    cursor = parse_cursor(before, int)
    if cursor is not None:
        earlier = Q(occurred_at__lt=cursor.at) | Q(occurred_at=cursor.at, pk__lt=cursor.pk)
        rows = rows.filter(earlier, occurred_at__lte=cursor.at)
    events = list(rows.order_by("-occurred_at", "-pk")[: MAX_READ + 1])[::-1]
    older = str(cursor_at(events[1], "occurred_at")) if len(events) > MAX_READ else ""
    events = events[-MAX_READ:]
    hide_in(events, ["message", "detail"], job)
    return EventPage(events, older, getattr(events[-1], "last", None) if events else None)


def list_events_after(job: Job, after: int, limit: int) -> list[JobEvent]:
    """Return at most `limit` events recorded after the event with number `after`, in the order of recording. One query.

    An event that occurred earlier but was recorded later comes later, so that a polling client misses none.
    """
    events = list(job.events.filter(pk__gt=after).select_related("actor").order_by(BY_NUMBER)[:limit])
    hide_in(events, ["message", "detail"], job)
    return events


def entries_of(page: EventPage) -> EntryPage:
    """Return the latest MAX_ENTRIES rows of a table of events."""
    entries = timeline.entries(page.events)
    shown = entries[-MAX_ENTRIES:]
    is_whole = len(shown) == len(entries)
    return EntryPage(shown, page.older if is_whole else str(cursor_at(shown[0].first, "occurred_at")))


def get_last_team(user: User) -> int | None:
    """Return the id of the team for which the person requested their last job, None before the first. One query."""
    mine = jobs_of(user).filter(owner=user).order_by("-requested_at", "pk")
    return mine.values_list("team", flat=True).first()


def get_last_event(job: Job) -> int | None:
    """Return the number of the event that was recorded last. One query.

    The events are also counted, so that the database reads the job's events. For the maximum alone, PostgreSQL may scan
    the events of all jobs backwards.
    """
    last: int | None = job.events.aggregate(last=Max("pk"), number=Count("pk"))["last"]
    return last


def list_attempts(job: Job) -> list[FallbackAttempt]:
    """Return the attempts of the request that a job belongs to, in order. One query.

    No query if the job was loaded with its `attempt` and has none.
    """
    own = getattr(job, "attempt", None)
    if own is None:
        return []
    rows = FallbackAttempt.objects.filter(fallback=own.fallback_id).select_related("job", "fallback")
    return list(rows.defer("job__spec", "job__estimate", "job__error").order_by("number"))


def get_study(job: Job) -> timeline.Study | None:
    """Return the job's study with the observed trials, at most its maxTrialCount. One query.

    Return None, without a query, for a job that is not a tuning job.
    """
    if timeline.study_spec(job) is None:
        return None
    trials = list(job.trials.all())
    hide_in(trials, ["infeasible_reason", "job_error"], job)
    return timeline.study(job, trials)


@dataclass(frozen=True, slots=True)
class Measured:
    """Known data about a job's training. Empty if its log was not read or has no metrics."""

    record: Record = field(default_factory=Record)
    row: JobMetrics | None = None
    checkpoints: tuple[datetime, ...] = ()
    usage: Record = field(default_factory=Record)

    @property
    def series(self) -> list[Series]:
        """The metrics that have a value, in the order of their first appearance."""
        return [each for each in self.record.series if each.last is not None]


def get_measured(job: Job) -> Measured:
    """Return the known data about a job's training, with metric names as its viewer may see them.

    One query, none if the job was loaded with its metrics.
    """
    row: JobMetrics | None = getattr(job, "metrics", None)
    if row is None:
        return Measured()
    record = Record.load(row.record, Totals())
    if isinstance(job, ShownJob):
        for series in record.series:
            series.name = job.hide(series.name)
        row.checkpoints_error = job.hide(row.checkpoints_error)
    return Measured(record, row, tuple(timeline.moments_of(row.checkpoints)), Record.load(row.usage, Totals()))


MAX_RUNS = 100


def list_runs(row: Schedule) -> list[ScheduleRun]:
    """Return the latest runs with their jobs. One query."""
    runs = row.runs.select_related("job").defer("job__spec", "job__estimate", "job__error")
    return list(runs.order_by("-moment")[:MAX_RUNS])


def get_discovery(projects: Collection[str], project: str, region: str) -> Discovery | None:
    """Return the last discovery in one of these projects and a region, None if there was none. One query."""
    discoveries = Discovery.objects.filter(project__in=projects, project=project, region=region)
    return discoveries.select_related("asked_by").first()


def filter_external_jobs(discovery: Discovery, name: str) -> QuerySet[ExternalJob]:
    """Return the jobs of a discovery whose name contains `name`, newest first. The caller limits them."""
    jobs = ExternalJob.objects.filter(discovery=discovery).select_related("discovery")
    return (jobs.filter(display_name__icontains=name) if name else jobs).order_by("-created_at", "pk")


def list_external_jobs(projects: Collection[str], keys: list[int]) -> list[ExternalJob]:
    """Return the external jobs with these keys in some projects, oldest first. One query."""
    jobs = ExternalJob.objects.filter(pk__in=keys, discovery__project__in=projects)
    return list(jobs.select_related("discovery").order_by("created_at", "pk"))
