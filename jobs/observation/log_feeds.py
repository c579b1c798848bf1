"""Read the logs of a project in a worker and keep the newest lines, so that no page has to wait for Cloud Logging.

Each turn of a feed reads once what Vertex AI itself logs about all jobs of the project, which shows restarts. It also
reads once for each of the few jobs whose turn it is (`jobs.observation.log_turns`). Cloud Logging allows about sixty
reads a minute and project, so not every running job is read all the time.
"""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db.models import Q

from jobs import vertex
from jobs.clients import client
from jobs.models import Job, LogFeed, LogLine
from jobs.models.job import JobQuerySet
from jobs.observation import (
    cadence,
    checkpoints,
    health,
    log_metrics,
    log_turns,
    machine_usage,
    restarts,
    starts,
    wait_reports,
)
from jobs.observation.child_jobs import poll_tuning_jobs
from jobs.observation.failures import record_failure
from jobs.observation.log_sources import replica_name
from jobs.observation.set_aside import SetAside
from jobs.queue import claims, rate_limit
from jobs.vertex import wire
from jobs.vertex.logs import SERVICE, TAKEN_AWAY

KEPT_LINES = 2_000
"""Number of newest lines of replicas kept per job. The whole log stays in Cloud Logging."""
LINES_PER_READ = 1_000
LATENESS = timedelta(seconds=45)
"""Cloud Logging stores lines late and out of order, so each read begins this long before the newest known line.

Lines that were read before are not kept twice.
"""
WANTED_FOR = timedelta(minutes=2)
"""How long a job's log is followed after somebody viewed it."""
AFTERMATH = timedelta(minutes=2)
"""Lines still arrive for about a minute after a job's end (vertex-facts 10.4)."""


def follow_log(job: Job, *, now: datetime) -> None:
    """Follow the job's log for a while, because somebody views it."""
    if job.log_complete or not job.remote_name:
        return
    soon = now + WANTED_FOR / 2
    if job.log_wanted_until is not None and job.log_wanted_until >= soon:
        return
    stale = Q(log_wanted_until=None) | Q(log_wanted_until__lt=soon)
    if Job.objects.filter(stale, pk=job.pk).update(log_wanted_until=now + WANTED_FOR):
        claims.wake_feed(job.project, due_at=now)


def read_feed(feed_id: int, *, now: datetime) -> None:
    """Read one project's logs and schedule the next read.

    Do nothing if it is not due or another worker has claimed it.
    """
    feed = claims.claim_poll(LogFeed, feed_id, now)
    if feed is None:
        return
    with record_failure(feed, now=now):
        unread = unread_jobs(feed.project)
        oldest = unread.order_by("submitted_at").values_list("submitted_at", flat=True).first()
        if oldest is None:
            claims.release_poll(feed, due_at=None, answered_at=feed.answered_at)
            return
        watch, aside = cadence.Stopwatch(now), SetAside(str(feed), now=now)
        is_all = _read_service(feed, min(feed.cursor_at or oldest, now), aside, watch, now)
        # The trials of an active pipeline are requested with its state, those of an ended one here.
        ended = unread.filter(kind=Job.Kind.PIPELINE, ended_at__isnull=False)
        tuned = ended.filter(spec__trainingTaskInputs__has_key="studySpec").order_by("pk")
        last_error, unasked = poll_tuning_jobs(feed, tuned, aside, watch, now)
        # The log of a pipeline that tunes is found through its trials, so it is not read before they are known.
        readable = unread.exclude(pk__in=unasked)
        jobs = log_turns.wanted(readable, now)
        jobs += log_turns.next_turns(readable, now, room=log_turns.TAILS_PER_LOOK - len(jobs))
        last_error = _read_tails(feed, jobs, aside, watch, now) or last_error
        pause = settings.POLL_INTERVAL if is_all else timedelta()
        due_at = now + ((last_error and last_error.retry_after) or pause)
        claims.release_poll(feed, due_at=due_at, answered_at=now, last_error=str(last_error or aside.words))


def unread_jobs(project: str) -> JobQuerySet:
    """Return the jobs of a project whose log may still grow."""
    return Job.objects.filter(project=project, log_complete=False, submitted_at__isnull=False).exclude(remote_name="")


def _read_service(feed: LogFeed, after: datetime, aside: SetAside, watch: cadence.Stopwatch, now: datetime) -> bool:
    """Keep the service's new lines, and record the restarts they show and how far the log has been read.

    Return False if more lines are waiting: thousands of jobs that begin together write more than one read returns.
    """
    since, read = min(after, now - LATENESS), partial(_service_lines, feed, aside, now)
    limit, entries = LINES_PER_READ, read(since, LINES_PER_READ)
    if since < after and len(entries) == limit:  # too many lines: read the new ones first
        since, entries = after, read(after, limit)
    while len(entries) == limit and entries[-1].timestamp <= after:  # more lines at one time than one read returns
        limit *= 4
        entries = read(since, limit)
    numbers = {entry.job_id for entry in entries}
    # Many jobs may be unread, so that of all of them only the numbers are loaded.
    rows = unread_jobs(feed.project).values_list("pk", "log_sources").iterator() if numbers else ()
    keys = {number: pk for pk, sources in rows for number in sources if number in numbers}
    jobs = Job.objects.in_bulk(list(set(keys.values())))
    ours = {number: jobs[pk] for number, pk in keys.items() if pk in jobs}
    news = _news([(ours[entry.job_id], entry) for entry in entries if entry.job_id in ours], since)
    _keep(news, aside)
    for job in {job for job, _ in news}:
        claims.renew_poll(feed, now=watch.now)
        with aside.item(f"restarts of job {job.pk}"):
            _record_runs(job, now)
    newest = max([after, *(entry.timestamp for entry in entries if entry.timestamp <= now)])
    LogFeed.objects.filter(pk=feed.pk, claim=feed.claim).update(cursor_at=newest)
    return len(entries) < limit


def _news(found: list[tuple[Job, vertex.LogEntry]], since: datetime) -> list[tuple[Job, vertex.LogEntry]]:
    """Leave out the lines that are already kept, which are most of the overlap."""
    jobs = {job for job, _ in found}
    is_of_service = Q(replica__endswith=SERVICE) | Q(message__startswith=TAKEN_AWAY)
    lines = LogLine.objects.filter(is_of_service, job__in=jobs, timestamp__gte=since)
    kept = set(lines.values_list("job_id", "timestamp", "insert_id"))
    return [(job, entry) for job, entry in found if (job.pk, entry.timestamp, entry.insert_id) not in kept]


def _service_lines(feed: LogFeed, aside: SetAside, now: datetime, after: datetime, limit: int) -> list[vertex.LogEntry]:
    before_page = _spending(feed.project, now)
    newest = unread_jobs(feed.project).order_by("-submitted_at").values_list("acts_as", flat=True).first()
    return client(newest or "").service_log(
        feed.project, after=after, limit=limit, before_page=before_page, on_odd=partial(_set_aside, aside)
    )


def _set_aside(aside: SetAside, entry: object, reason: str) -> None:
    aside.put(f"entry {wire.text(wire.mapping(entry).get('insertId'))}", reason)


def _read_tails(
    feed: LogFeed, jobs: list[Job], aside: SetAside, watch: cadence.Stopwatch, now: datetime
) -> vertex.VertexError | None:
    """Read the newest lines of each job in turn, assess the jobs, and return the last failure."""
    read = list[UUID]()
    last_error = _read_each(feed, jobs, aside, watch, now, read)
    health.assess_each(read, aside.item, now=now)
    return last_error


def _read_each(
    feed: LogFeed, jobs: list[Job], aside: SetAside, watch: cadence.Stopwatch, now: datetime, read: list[UUID]
) -> vertex.VertexError | None:
    """Read the newest lines of each job in turn and return the last failure. A failed read does not stop the others.

    End early if the rate limit or the time of the read is used up, or another worker has claimed the feed. Add the keys
    of the jobs to assess to `read`: those whose log was read in full, as silence is not known of any other.
    """
    last_error: vertex.VertexError | None = None
    for job in jobs:
        if watch.has_run_out or not claims.renew_poll(feed, now=watch.now):
            break
        known, is_turn = aside.count, log_turns.is_turn(job, now)
        try:
            with vertex.at_most(cadence.PATIENCE_SECONDS if last_error is None else cadence.PROBE_SECONDS):
                entries, moments = _tail(job, aside, now)
        except rate_limit.OverRateLimit as error:
            return error
        except vertex.VertexError as error:
            last_error = error
            Job.objects.filter(pk=job.pk).update(log_read_at=now)  # the turn is over
        else:
            with aside.item(f"log of job {job.pk}"):
                _keep_tail(job, entries, moments, aside, now)
            if is_turn and aside.count == known:
                read.append(job.pk)
            if log_turns.is_watched(job, now) or job.ended_at is not None:
                checkpoints.list_checkpoints(job, now=now)
                machine_usage.read_usage(job, now=now)
            else:
                machine_usage.read_usage(job, now=now, pause=machine_usage.UNWATCHED_PAUSE)
    return last_error


def _tail(job: Job, aside: SetAside, now: datetime) -> tuple[list[vertex.LogEntry], list[datetime]]:
    """Request the newest of a job's new lines. Return them, and the times of those that advance its cursor."""
    numbers, since = list(job.log_sources), _read_until(job, now) - (LATENESS if job.log_cursor_at else timedelta())
    options: dict[str, Any] = {"before_page": _spending(job.project, now), "on_odd": partial(_set_aside, aside)}
    entries = client(job.acts_as).log(
        job.project, job_ids=numbers, after=since, limit=KEPT_LINES, newest=True, **options
    )
    moments = [entry.timestamp for entry in entries]
    if job.is_adopted and job.log_cursor_at is None:  # the feed's cursor may be past the service's earlier lines
        entries += client(job.acts_as).service_log(
            job.project, job_ids=numbers, after=since, limit=LINES_PER_READ, **options
        )
    return entries, moments


def _read_until(job: Job, now: datetime) -> datetime:
    """Return how far the job's log has been read, at most `now`: a line dated in the future must hide no later one."""
    return min(job.log_cursor_at or job.submitted_at or job.requested_at, now)


def _keep_tail(
    job: Job, entries: list[vertex.LogEntry], moments: list[datetime], aside: SetAside, now: datetime
) -> None:
    """Keep a job's new lines, and mark its log as complete if no more can come."""
    after = _read_until(job, now)
    _keep([(job, entry) for entry in entries], aside)
    job.log_cursor_at = max([after, *(moment for moment in moments if moment <= now)])
    job.log_complete = job.ended_at is not None and now - job.ended_at > AFTERMATH
    if len(moments) >= KEPT_LINES and min(moments) > after:  # there were more since the last read
        job.log_kept_from = min(moments)
    if entries or job.log_complete:
        with aside.item(f"restarts of job {job.pk}"):
            _record_runs(job, now)
    if entries:
        with aside.item(f"metrics of job {job.pk}"):
            log_metrics.fold_new_lines(job)
        job.log_kept_from = _forget_oldest(job) or job.log_kept_from
    job.log_read_at = now
    columns = ("log_cursor_at", "log_complete", "log_kept_from", "log_read_at")
    Job.objects.filter(pk=job.pk).update(**{name: getattr(job, name) for name in columns})


def _record_runs(job: Job, now: datetime) -> None:
    starts.record_logged_runs(job, now=now)
    restarts.record_restarts(job, now=now)
    wait_reports.record_logged_report(job, now=now)


def _spending(project: str, now: datetime) -> Callable[[], None]:
    return partial(rate_limit.spend, rate_limit.log_reads(project), now=now)


def _keep(found: list[tuple[Job, vertex.LogEntry]], aside: SetAside) -> None:
    lines = [
        LogLine(
            job=job,
            timestamp=entry.timestamp,
            insert_id=entry.insert_id,
            replica=replica_name(job, entry.job_id, entry.replica),
            machine=entry.machine,
            severity=entry.severity,
            message=entry.message,
        )
        for job, entry in found
    ]
    aside.store(lines, _insert, name=lambda line: f"line {line.insert_id} of job {line.job_id}")


def keep_lines(job: Job, entries: Sequence[vertex.LogEntry], *, now: datetime) -> None:
    """Keep lines of one job that were read elsewhere, and record the restarts that they show."""
    _keep([(job, entry) for entry in entries], SetAside(f"log of job {job.pk}", now=now))
    restarts.record_restarts(job, now=now)


def _insert(lines: Sequence[LogLine]) -> None:
    LogLine.objects.bulk_create(lines, ignore_conflicts=True)


def _forget_oldest(job: Job) -> datetime | None:
    """Delete all but the newest lines. Return the time from which on every line is kept, or None if none was deleted.

    Lines that show restarts are few and are always kept, so that many other lines do not displace them.
    """
    is_of_service = Q(replica=SERVICE) | Q(message__startswith=TAKEN_AWAY)
    lines = LogLine.objects.filter(job=job).exclude(is_of_service)
    newest = lines.order_by("-timestamp", "-pk").values_list("timestamp", flat=True)
    oldest_kept = newest[KEPT_LINES - 1 : KEPT_LINES].first()
    if oldest_kept is None:
        return None
    gone, _ = lines.filter(timestamp__lt=oldest_kept).delete()
    return oldest_kept if gone else None
