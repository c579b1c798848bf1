"""The events, attempts and trials of jobs, and where Vertex AI does not answer for them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.contrib.auth.models import User
from django.db.models import Count, Max, Q, Subquery

from dashboard.access import jobs_of
from dashboard.queries.paging import BY_NUMBER, Cursor, parse_cursor
from jobs import timeline
from jobs.models import FallbackAttempt, Job, JobEvent, Scope, hide_in

MAX_EVENTS = 300
"""Events of one job that its timeline is drawn from: far more than restarts make."""
FIRST_EVENTS = 50
"""Of a job that has more: so many are its first ones, which show its start; the others are its newest."""


MAX_READ = 500
"""Events that one request reads to list them."""
MAX_ENTRIES = 100
"""Rows of them that a page shows; each stands for one event or several alike in a row."""


@dataclass(frozen=True, slots=True)
class EventPage:
    """Some events of a job, oldest first; `older` is the cursor of those before, "" where there are none.

    `last` is the number of the job's event that was recorded last.
    """

    events: list[JobEvent]
    older: str
    last: int | None


@dataclass(frozen=True, slots=True)
class EntryPage:
    """Some events of a job as rows of a table, oldest first; `older` as of `EventPage`."""

    entries: Sequence[timeline.Entry]
    older: str


def list_events(job: Job, newest: EventPage | None = None) -> list[JobEvent]:
    """Return what the job's timeline is drawn from, oldest first, with the secrets hidden that its viewer may not see.

    Left out is what failed and was repeated or repaired, and of more than MAX_EVENTS the middle. One query; none where
    `newest`, the newest events of the job, holds all of them.
    """
    if newest is not None and not newest.older and len(newest.events) <= MAX_EVENTS:
        return [event for event in newest.events if event.kind not in JobEvent.PASSING]
    needed = job.events.without_passing()
    last = needed.order_by("-occurred_at", "-pk").values("pk")[:MAX_EVENTS]
    first = needed.order_by("occurred_at", "pk").values("pk")[:FIRST_EVENTS]
    rows = JobEvent.objects.filter(pk__in=last).union(JobEvent.objects.filter(pk__in=first))
    events = list(rows.order_by("occurred_at", "id"))
    if len(events) > MAX_EVENTS:
        events = events[:FIRST_EVENTS] + events[FIRST_EVENTS - MAX_EVENTS :]
    hide_in(events, ["message", "detail"], job)
    return events


def list_newest_events(job: Job, before: str = "") -> EventPage:
    """Return the newest MAX_READ events of every kind before a cursor, with secrets hidden as `list_events` does.

    One query.
    """
    last = JobEvent.objects.filter(job=job).order_by().values("job").annotate(last=Max("pk")).values("last")
    rows = job.events.select_related("actor").annotate(last=Subquery(last))
    cursor = parse_cursor(before, int)
    if cursor is not None:
        earlier = Q(occurred_at__lt=cursor.at) | Q(occurred_at=cursor.at, pk__lt=cursor.pk)
        rows = rows.filter(earlier, occurred_at__lte=cursor.at)
    events = list(rows.order_by("-occurred_at", "-pk")[: MAX_READ + 1])[::-1]
    older = _cursor_at(events[1]) if len(events) > MAX_READ else ""
    events = events[-MAX_READ:]
    hide_in(events, ["message", "detail"], job)
    return EventPage(events, older, getattr(events[-1], "last", None) if events else None)


def list_events_after(job: Job, after: int, limit: int) -> list[JobEvent]:
    """Return at most `limit` events that were recorded after the one with the number `after`, in that order; one query.

    What happened earlier and was learned later comes later, so that who asks again and again misses none.
    """
    events = list(job.events.filter(pk__gt=after).select_related("actor").order_by(BY_NUMBER)[:limit])
    hide_in(events, ["message", "detail"], job)
    return events


def entries_of(page: EventPage) -> EntryPage:
    """Return the newest MAX_ENTRIES rows that a table shows of some events."""
    entries = timeline.entries(page.events)
    shown = entries[-MAX_ENTRIES:]
    if len(shown) == len(entries):
        return EntryPage(shown, page.older)
    return EntryPage(shown, _cursor_at(page.events[-sum(entry.count for entry in shown)]))


def _cursor_at(event: JobEvent) -> str:
    return str(Cursor(event.occurred_at, event.pk))


def get_last_team(user: User) -> int | None:
    """Return the id of the team for which the person requested their last job; None before the first; one query."""
    mine = jobs_of(user).filter(owner=user).order_by("-requested_at", "pk")
    return mine.values_list("team", flat=True).first()


def get_last_event(job: Job) -> int | None:
    """Return the number of the event that was recorded last; one query.

    They are counted too, so that the database reads the job's events: for the largest number alone PostgreSQL may walk
    back through the events of all jobs.
    """
    last: int | None = job.events.aggregate(last=Max("pk"), number=Count("pk"))["last"]
    return last


def list_failing_scopes(jobs: Iterable[Job]) -> list[Scope]:
    """Return the scopes of these jobs for which Vertex AI does not answer now.

    One query; none where the jobs were loaded `with_silence` and Vertex AI answers for all of them.
    """
    scopes = {
        (job.project, job.region, job.kind)
        for job in jobs
        if job.is_remote and not job.is_finished and getattr(job, "is_scope_silent", True)
    }
    if not scopes:
        return []
    wanted = Q()
    for project, region, kind in sorted(scopes):
        wanted |= Q(project=project, region=region, kind=kind)
    return list(Scope.objects.filter(wanted, failing_since__isnull=False).order_by("failing_since", "pk"))


def list_attempts(job: Job) -> list[FallbackAttempt]:
    """Return the attempts of the request that a job belongs to, the first one first; one query.

    None where the job was loaded with its `attempt` and has none.
    """
    own = getattr(job, "attempt", None)
    if own is None:
        return []
    rows = FallbackAttempt.objects.filter(fallback=own.fallback_id).select_related("job", "fallback")
    return list(rows.defer("job__spec", "job__estimate", "job__error").order_by("number"))


def get_study(job: Job) -> timeline.Study | None:
    """Return the job's study with the trials that were seen, at most its maxTrialCount; one query.

    None, and no query, for a job that is no tuning job.
    """
    if timeline.study_spec(job) is None:
        return None
    trials = list(job.trials.all())
    hide_in(trials, ["infeasible_reason", "job_error"], job)
    return timeline.study(job, trials)
