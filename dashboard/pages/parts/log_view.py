"""The kept log as a page shows it: the lines selected by the address, where attempts begin, and new lines."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from django.db.models import QuerySet
from django.utils.translation import gettext as _

from dashboard.drawing.figures import duration, local, utc, zone
from dashboard.queries.logs import (
    LEVELS,
    SERVICE,
    filter_lines,
    get_attempt_times,
    list_replicas,
    shown_lines,
    sort_replicas,
)
from jobs import timeline
from jobs.bounds import parse_digits
from jobs.models import Job, JobEvent, LogLine
from jobs.timeline import Attempt

MAX_WORDS = 200
LOOKS = {"wrap": "no", "height": "full"}
"""Parameters of the address that change how the log looks, with the value that does so."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A line and the headings above it, for the start of an attempt or a restart of a replica."""

    line: LogLine
    headings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Run:
    """Consecutive new lines, and the line already shown that they follow."""

    after: LogLine
    entries: tuple[Entry, ...]


class LogView:
    """The lines of a job that the parameters of an address select. Unknown values select everything.

    `replica` is a name, or the first words of several names, such as `trial 3`. `attempt` is `2`, or with one replica
    `2.3`, its third start in attempt 2.
    """

    def __init__(
        self,
        job: Job,
        events: Iterable[JobEvent],
        now: datetime,
        asked: Mapping[str, str],
        tries: timeline.Attempts | None = None,
        replicas: Iterable[str] | None = None,
    ) -> None:
        """Read the parameters.

        `tries` and `replicas` are the job's attempts and its log's replicas, if already loaded.
        """
        rows = list(events)
        is_restarted = any(row.kind == JobEvent.Kind.RESTARTED for row in rows)
        self.job, self.replicas = job, list_replicas(job) if replicas is None else sort_replicas(replicas)
        if tries is None or not is_restarted:
            tries = timeline.attempts(rows, now, **(get_attempt_times(job) if is_restarted else {}))
        self.attempts = tries
        replica = asked.get("replica", "")
        self.replica = replica if replica in {*self.replicas, *self.groups, *job.log_sources.values()} else ""
        self.attempt, self.since, self.until = self._span(asked.get("attempt", ""))
        self.words = asked.get("find", "")[:MAX_WORDS].strip()
        self.level = asked.get("level", "") if asked.get("level") in LEVELS else ""
        self.looks = {name: value for name, value in LOOKS.items() if asked.get(name) == value}
        middle = parse_digits(asked.get("line", ""))
        if "line" not in asked and not any(self.chosen.values()) and job.is_finished and job.log_complete:
            failure = (job.explanation or {}).get("failure")
            middle = failure["key"] or None if failure else None
        self.middle = None if middle is None else self.lines.filter(pk=middle).first()

    @property
    def groups(self) -> list[str]:
        """Common first words of several replicas' names, such as `trial 3`."""
        return list(dict.fromkeys(name.rpartition(" ")[0] for name in self.replicas if " " in name))

    @property
    def shows_replica(self) -> bool:
        """Whether each line names its replica."""
        return len(self.replicas) > 1 and self.replica not in self.replicas

    @cached_property
    def lines(self) -> QuerySet[LogLine]:
        """The lines that match the filters."""
        return filter_lines(
            self.job,
            replica=self.replica,
            since=self.since,
            until=self.until,
            words=self.words,
            level=self.level,
        )

    @property
    def chosen(self) -> dict[str, str]:
        """The query of an address that selects the same lines with the same look."""
        found = {"find": self.words, "level": self.level, **self.looks}
        return {"replica": self.replica, "attempt": self.attempt} | {name: each for name, each in found.items() if each}

    @property
    def replica_choices(self) -> list[tuple[str, str]]:
        """Choices of replicas: (value, label)."""
        chosen = [self.replica] if self.replica and self.replica not in self.replicas else []
        groups = [
            (name, _("%(name)s, all replicas") % {"name": name}) for name in dict.fromkeys([*self.groups, *chosen])
        ]
        names = [(name, _("service (Vertex AI)") if name == SERVICE else name) for name in self.replicas]
        return [*groups, *names]

    @property
    def level_choices(self) -> list[tuple[str, str]]:
        """Choices of the minimum severity."""
        return [(level, _("%(level)s and above") % {"level": level.lower()}) for level in LEVELS]

    @property
    def attempt_choices(self) -> list[tuple[str, str]]:
        """Choices of attempts, and of the starts of the selected replica within each; [] without a restart."""
        choices = []
        for attempt in self.attempts.whole:
            starts = self.attempts.starts(self.replica, attempt.number)
            label = _("attempt %(number)s") % {"number": attempt.key}
            choices.append((attempt.key, f"{label}: {attempt.cause}" if attempt.cause else label))
            if len(starts) > 1:
                choices += [
                    (each.key, _("attempt %(number)s, start %(start)s") % {"number": attempt.key, "start": each.number})
                    for each in starts
                ]
        return choices if len(choices) > 1 else []

    def entries(self, lines: Sequence[LogLine], before: LogLine | None) -> list[Entry]:
        """Return the lines as the viewer may see them, with their headings. `before` is the line before the first."""
        entries = []
        starts: dict[str, str] = {}
        last = self.attempts.of(before.timestamp) if before is not None else None
        if before is not None:
            starts[before.replica] = self.attempts.start_of(before.replica, before.timestamp).key
        for line in shown_lines(self.job, lines, words=self.words):
            headings = []
            attempt = self.attempts.of(line.timestamp)
            if attempt != last and len(self.attempts.whole) > 1:
                headings.append(format_heading(attempt))
            start = self.attempts.start_of(line.replica, line.timestamp)
            known = starts.get(line.replica, "" if before is None else start.key)
            if start.number > 1 and known != start.key:
                known_start = {"replica": line.replica, "number": start.number, "cause": start.cause}
                headings.append(_("%(replica)s restarted, start %(number)s: %(cause)s") % known_start)
            entries.append(Entry(line, tuple(headings)))
            last, starts[line.replica] = attempt, start.key
        return entries

    def runs(self, lines: Sequence[LogLine], before: LogLine | None, *, after: int) -> list[Run] | None:
        """Return the runs of new lines, whose numbers are above `after`.

        `lines` contains shown and new lines, and starts with a shown one. Return None if a new line changes a heading
        above a shown line, so that the whole part has to be rendered again.
        """
        entries = self.entries(lines, before)
        shown = [entry for entry in entries if entry.line.pk <= after]
        if self.entries([entry.line for entry in shown], before) != shown:
            return None
        return list(_runs(entries, after))

    @property
    def shape(self) -> str:
        """Return a hash of everything that determines the headings and filters around the lines."""
        attempts = [(each.start, each.cause, each.is_waiting) for each in self.attempts.whole]
        starts = [self.attempts.starts(name, each.number) for name in self.replicas for each in self.attempts.whole]
        known = repr((attempts, starts, self.replicas, self.job.log_kept_from))
        return hashlib.blake2s(known.encode(), digest_size=6).hexdigest()

    def _span(self, attempt: str) -> tuple[str, datetime | None, datetime | None]:
        for key in (attempt, attempt.partition(".")[0]):
            span = self.attempts.span(key, self.replica)
            if span is not None:
                return key, *span
        return "", None, None


def format_heading(attempt: Attempt) -> str:
    """Return the heading of an attempt: its number, why the previous one ended, and its wait for machines."""
    known = {"number": attempt.number, "cause": attempt.cause}
    if attempt.start is None:
        return _("Attempt %(number)s") % known
    if attempt.is_waiting:
        known["time"] = f"{local(attempt.start):%H:%M:%S} {zone(attempt.start)}"
        return _("Attempt %(number)s — %(cause)s, waiting for machines since %(time)s") % known
    if attempt.wait is None:
        return _("Attempt %(number)s — %(cause)s") % known
    return _("Attempt %(number)s — %(cause)s, after %(length)s without machines") % (
        known | {"length": duration(attempt.wait)}
    )


def format_text(entries: Iterable[Entry]) -> Iterator[str]:
    """Yield the lines of a text file. Headings start with a number sign."""
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
