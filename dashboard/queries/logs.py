"""The stored log of a job: its lines by replica and time, and the attempts and exits in them."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Case, Min, OuterRef, Q, QuerySet, Subquery, Value, When

from dashboard.queries.paging import BY_NUMBER
from jobs.bounds import MAX_DIGITS, parse_digits
from jobs.diagnosis import read_exits
from jobs.explain import MAX_ERRORS
from jobs.models import Job, LogFeed, LogLine, ShownJob, hide_in
from jobs.timeline import ATTEMPT_BEGINS, ATTEMPT_RUNS, EXIT, LAST_WORDS, TAKEN, Attempts, ReplicaEnd
from jobs.vertex.logs import SERVICE as SERVICE
from jobs.vertex.logs import TAKEN_AWAY

DIGITS = re.compile(rf"([0-9]{{1,{MAX_DIGITS}}})")
SEVERITIES = ("DEFAULT", "DEBUG", "INFO", "NOTICE", "WARNING", "ERROR", "CRITICAL", "ALERT", "EMERGENCY")
"""google.logging.type.LogSeverity in ascending order (logging/type/log_severity.proto, read 2026-11-22)."""
LEVELS = ("INFO", "WARNING", "ERROR")
"""Severities that a page offers as minimum."""
TEARING_DOWN = "Tearing down training program."
"""Message of the service after the program of a job exited with code 0 (vertex-facts 10.4)."""
ATTEMPT_TIMES = {ATTEMPT_BEGINS: "beginnings", ATTEMPT_RUNS: "runs"}
"""Messages of the service, with the arguments of `timeline.attempts` that their times are."""
MAX_ENDS = 400
"""Maximum lines that report ends. Eight replicas have fewer in all attempts that Vertex AI makes."""
MAX_SERVICE_LINES = 1_000
"""Maximum lines of the service that one request reads: the ends, and two lines per attempt."""


def filter_lines(
    job: Job,
    *,
    replica: str = "",
    since: datetime | None = None,
    until: datetime | None = None,
    words: str = "",
    level: str = "",
) -> QuerySet[LogLine]:
    """Return the stored lines from `since` on and before `until`, oldest first. The caller limits them.

    `replica` is one replica, the first words of the names of several, or "" for all. The message must contain `words`.
    `level` is the minimum severity, one of LEVELS, or "" for all.
    """
    wanted = Q()
    if words:
        wanted &= Q(message__icontains=words)
    if level in LEVELS:
        wanted &= Q(severity__in=SEVERITIES[SEVERITIES.index(level) :])
    if replica:
        wanted &= Q(replica=replica) | Q(replica__startswith=f"{replica} ")
    if since is not None:
        wanted &= Q(timestamp__gte=since)
    if until is not None:
        wanted &= Q(timestamp__lt=until)
    return job.log_lines.filter(wanted).order_by("timestamp", "pk")


def filter_lines_from(lines: QuerySet[LogLine], first: LogLine) -> QuerySet[LogLine]:
    """Return a line and all after it. The caller limits them."""
    return lines.filter(Q(timestamp__gt=first.timestamp) | Q(timestamp=first.timestamp, pk__gte=first.pk))


def list_lines_after(job: Job, after: int, limit: int, **chosen: Any) -> list[LogLine]:
    """Return at most `limit` stored lines that were read after the line with number `after`, in that order. One query.

    `chosen` is as for `filter_lines`. Secrets that the viewer may not see are hidden.
    """
    lines = list(filter_lines(job, **chosen).filter(pk__gt=after).order_by(BY_NUMBER)[:limit])
    return shown_lines(job, lines, words=chosen.get("words", ""))


def shown_lines(job: Job, lines: Iterable[LogLine], *, words: str = "") -> list[LogLine]:
    """Return lines with secrets hidden that the viewer may not see. The rows are not saved.

    A line in which `words` match only hidden text is omitted, so that a search reveals nothing of it.
    """
    found = list(lines)
    if isinstance(job, ShownJob):
        hide_in(found, ["message"], job)
        return [line for line in found if words.casefold() in line.message.casefold()]
    return found


def get_line_before(lines: QuerySet[LogLine], first: LogLine) -> LogLine | None:
    """Return the line directly before a line, None if it is the first. One query."""
    return lines.filter(Q(timestamp__lt=first.timestamp) | Q(timestamp=first.timestamp, pk__lt=first.pk)).last()


def list_lines_around(lines: QuerySet[LogLine], middle: LogLine, limit: int) -> list[LogLine]:
    """Return at most `limit` lines around a line, half of them before it, oldest first. Two queries."""
    is_before = Q(timestamp__lt=middle.timestamp) | Q(timestamp=middle.timestamp, pk__lt=middle.pk)
    before = list(lines.filter(is_before).reverse()[: limit // 2])[::-1]
    return before + list(filter_lines_from(lines, middle)[: limit - len(before)])


def list_newest_lines(lines: QuerySet[LogLine], limit: int) -> list[LogLine]:
    """Return the latest `limit` lines, in ascending order. One query."""
    return list(lines.reverse()[:limit])[::-1]


def list_replicas(job: Job) -> list[str]:
    """Return the names of the replicas that wrote lines, trial 2 before trial 10. One query."""
    return sort_replicas(job.log_lines.order_by().values_list("replica", flat=True).distinct())


def sort_replicas(names: Iterable[str]) -> list[str]:
    """Return the names of replicas in order, trial 2 before trial 10."""
    return sorted(names, key=lambda name: [(parse_digits(part) or 0, part) for part in DIGITS.split(name)])


def _hide_secrets(job: Job, message: str) -> str:
    return str(job.hide(message)) if isinstance(job, ShownJob) else message


@dataclass(frozen=True, slots=True)
class ServiceLog:
    """Facts about a job from the service's lines in the stored log.

    `times` are the times at which attempts begin and run, as arguments of `timeline.attempts`. `ends` are those of
    replicas in order of time. `torn_down_at` is when the service last began to tear the job down. `errors` are its
    latest errors, newest first, None if there were more lines than are read.
    """

    times: dict[str, list[datetime]]
    ends: tuple[ReplicaEnd, ...] = ()
    torn_down_at: datetime | None = None
    errors: tuple[str, ...] | None = ()


def get_service_log(job: Job) -> ServiceLog:
    """Return what the service logged about attempts and ends. One query of at most MAX_SERVICE_LINES lines."""
    is_error = Q(replica=SERVICE, severity="ERROR")
    is_needed = is_error | Q(replica=SERVICE, message__in=[TEARING_DOWN, *ATTEMPT_TIMES])
    rows = job.log_lines.filter(replica=OuterRef("replica"), timestamp__gt=OuterRef("timestamp"))
    later = rows.exclude(message__startswith=TAKEN_AWAY).order_by("timestamp").values("timestamp")
    again_at = Case(When(message__startswith=TAKEN_AWAY, then=Subquery(later[:1])))
    lines = job.log_lines.filter(is_needed | Q(message__startswith=TAKEN_AWAY)).order_by("timestamp", "pk")
    needed = list(lines.values_list("replica", "timestamp", "message", again_at, "severity")[:MAX_SERVICE_LINES])
    ends = [line[:4] for line in needed if line[2] not in ATTEMPT_TIMES][:MAX_ENDS]
    errors = [line[2] for line in needed if line[0] == SERVICE and line[4] == "ERROR"][: -MAX_ERRORS - 1 : -1]
    return ServiceLog(
        _attempt_times((message, at) for replica, at, message, *_ in needed if replica == SERVICE),
        tuple(end for line in ends for end in _parse_ends(*line)),
        max((line[1] for line in needed if line[2] == TEARING_DOWN), default=None),
        tuple(_hide_secrets(job, message) for message in errors) if len(needed) < MAX_SERVICE_LINES else None,
    )


def get_attempt_times(job: Job) -> dict[str, list[datetime]]:
    """Return when the service logged that attempts begin and run, as arguments of `timeline.attempts`. One query.

    It reads as many lines as the job has attempts.
    """
    lines = job.log_lines.filter(replica=SERVICE, message__in=ATTEMPT_TIMES).order_by("timestamp")
    return _attempt_times(lines.values_list("message", "timestamp"))


def _attempt_times(lines: Iterable[tuple[str, datetime]]) -> dict[str, list[datetime]]:
    times: dict[str, list[datetime]] = {name: [] for name in ATTEMPT_TIMES.values()}
    for message, at in lines:
        if message in ATTEMPT_TIMES:
            times[ATTEMPT_TIMES[message]].append(at)
    return times


def get_first_lines(job: Job, tries: Attempts) -> dict[tuple[str, int], datetime]:
    """Return {(replica, number of the attempt): time of the replica's first line in the attempt}. One query."""
    begun = [(attempt.start + LAST_WORDS, attempt.number) for attempt in reversed(tries.whole[1:]) if attempt.start]
    number = Case(*(When(timestamp__gte=at, then=Value(each)) for at, each in begun), default=Value(1))
    written = job.log_lines.annotate(attempt=number).order_by()
    first = written.values_list("replica", "attempt").annotate(first=Min("timestamp"))
    return {(replica, attempt): at for replica, attempt, at in first}


def _parse_ends(replica: str, at: datetime, message: str, again_at: datetime | None) -> Iterator[ReplicaEnd]:
    """Yield the ends that a line reports: its replica was stopped, or replicas exited with a code."""
    if message.startswith(TAKEN_AWAY):
        yield ReplicaEnd(replica, at, TAKEN, f"Vertex AI stopped {replica}.", again_at)
        return
    for end in read_exits(message)[1]:
        yield ReplicaEnd(end.replica, at, EXIT, end.words)


def get_failing_log_feed(job: Job) -> LogFeed | None:
    """Return the log feed of the project while Cloud Logging does not answer, else None.

    One query. None for a log that was read to its end, and if the job was loaded `with_silence` and Cloud Logging
    answers.
    """
    if job.log_complete or not job.remote_name or not getattr(job, "is_feed_silent", True):
        return None
    return LogFeed.objects.filter(project=job.project, failing_since__isnull=False).first()
