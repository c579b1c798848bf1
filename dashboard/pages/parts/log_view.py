"""The kept log as a page shows it: which lines the address asks for, where an attempt begins, what is new."""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from django.db.models import QuerySet

from dashboard.access import Job, JobEvent, LogLine, attempt_beginnings, log_lines, log_replicas
from dashboard.drawing.figures import duration, utc
from jobs import timeline
from jobs.timeline import Attempt


@dataclass(frozen=True, slots=True)
class Entry:
    """A line and what is said above it: that an attempt, or a replica once more, begins here."""

    line: LogLine
    headings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Run:
    """New lines that stand one after the other, behind one that is shown already."""

    after: LogLine
    entries: tuple[Entry, ...]


class LogView:
    """The lines of a job that `replica` and `attempt` of an address leave; what they name wrongly counts as not named.

    `replica` is a name, or the words that several names begin with: `trial 3`. `attempt` is `2`, or with one replica
    `2.3`: its third start in attempt 2.
    """

    def __init__(self, job: Job, events: Iterable[JobEvent], now: datetime, *, replica: str, attempt: str) -> None:
        rows = list(events)
        is_restarted = any(row.kind == JobEvent.Kind.RESTARTED for row in rows)
        beginnings = attempt_beginnings(job) if is_restarted else []
        self.job, self.replicas = job, log_replicas(job)
        self.attempts = timeline.attempts(rows, now, beginnings=beginnings)
        self.replica = replica if replica in {*self.replicas, *self.groups, *job.log_sources.values()} else ""
        self.attempt, self.since, self.until = self._span(attempt)

    @property
    def groups(self) -> list[str]:
        """The words that names of several replicas begin with, such as `trial 3`."""
        return list(dict.fromkeys(name.rpartition(" ")[0] for name in self.replicas if " " in name))

    @property
    def shows_replica(self) -> bool:
        """Whether a line has to say who wrote it."""
        return len(self.replicas) > 1 and self.replica not in self.replicas

    @cached_property
    def lines(self) -> QuerySet[LogLine]:
        """The lines that the filters leave."""
        return log_lines(self.job, replica=self.replica, since=self.since, until=self.until)

    @property
    def replica_choices(self) -> list[tuple[str, str]]:
        """What can be chosen: (value, words)."""
        chosen = [self.replica] if self.replica and self.replica not in self.replicas else []
        groups = [(name, f"{name}, all of it") for name in dict.fromkeys([*self.groups, *chosen])]
        names = [(name, "service (Vertex AI itself)" if name == "service" else name) for name in self.replicas]
        return [*groups, *names]

    @property
    def attempt_choices(self) -> list[tuple[str, str]]:
        """What can be chosen: attempts, and the starts of the chosen replica inside each; () without a restart."""
        found = []
        for attempt in self.attempts.whole:
            starts = self.attempts.starts(self.replica, attempt.number)
            found.append((attempt.key, f"attempt {attempt.key}" + (f": {attempt.cause}" if attempt.cause else "")))
            if len(starts) > 1:
                found += [(each.key, f"attempt {attempt.key}, start {each.number}") for each in starts]
        return found if len(found) > 1 else []

    def entries(self, lines: Sequence[LogLine], before: LogLine | None) -> list[Entry]:
        """Say above each line what begins there; `before` is the line in front of the first, if there is one."""
        found = []
        starts: dict[str, str] = {}
        last = self.attempts.of(before.timestamp) if before is not None else None
        if before is not None:
            starts[before.replica] = self.attempts.start_of(before.replica, before.timestamp).key
        for line in lines:
            headings = []
            attempt = self.attempts.of(line.timestamp)
            if attempt != last and len(self.attempts.whole) > 1:
                headings.append(heading_of(attempt))
            start = self.attempts.start_of(line.replica, line.timestamp)
            known = starts.get(line.replica, "" if before is None else start.key)
            if start.number > 1 and known != start.key:
                headings.append(f"{line.replica} begins again, start {start.number}: {start.cause}")
            found.append(Entry(line, tuple(headings)))
            last, starts[line.replica] = attempt, start.key
        return found

    def runs(self, lines: Sequence[LogLine], before: LogLine | None, *, after: int) -> list[Run] | None:
        """Return where the lines that came after the one with the number `after` belong among those that are shown.

        `lines` holds both, and begins with one that is shown. None where a new line changes what is said above a line
        that is shown, so that all has to be drawn anew.
        """
        entries = self.entries(lines, before)
        shown = [entry for entry in entries if entry.line.pk <= after]
        if self.entries([entry.line for entry in shown], before) != shown:
            return None
        return list(_runs(entries, after))

    @property
    def shape(self) -> str:
        """Tell, in a few letters, everything on which the lines' surroundings depend."""
        told = [(each.start, each.cause, each.is_waiting) for each in self.attempts.whole]
        starts = [self.attempts.starts(name, each.number) for name in self.replicas for each in self.attempts.whole]
        known = repr((told, starts, self.replicas, self.job.log_kept_from))
        return hashlib.blake2s(known.encode(), digest_size=6).hexdigest()

    def _span(self, attempt: str) -> tuple[str, datetime | None, datetime | None]:
        for key in (attempt, attempt.partition(".")[0]):
            span = self.attempts.span(key, self.replica)
            if span is not None:
                return key, *span
        return "", None, None


def heading_of(attempt: Attempt) -> str:
    """Return what stands where an attempt begins: its number, why the one before ended, how long machines missed."""
    words = f"Attempt {attempt.number}"
    if attempt.start is None:
        return words
    words += f" — {attempt.cause}"
    if attempt.is_waiting:
        return f"{words}, without machines since {utc(attempt.start):%H:%M:%S} UTC"
    return words if attempt.wait is None else f"{words}, after {duration(attempt.wait)} without machines"


def as_text(entries: Iterable[Entry]) -> Iterator[str]:
    """Yield the lines of a text file; what begins stands after a number sign."""
    for entry in entries:
        yield from (f"# {heading}" for heading in entry.headings)
        line = entry.line
        yield f"{utc(line.timestamp):%Y-%m-%dT%H:%M:%S.%fZ} {line.severity} {line.replica} {line.message}"


def _runs(entries: Sequence[Entry], after: int) -> Iterator[Run]:
    anchor: LogLine | None = None
    run: list[Entry] = []
    for entry in entries:
        if entry.line.pk > after:
            run.append(entry)
            continue
        if run and anchor is not None:
            yield Run(anchor, tuple(run))
        anchor, run = entry.line, []
    if run and anchor is not None:
        yield Run(anchor, tuple(run))
