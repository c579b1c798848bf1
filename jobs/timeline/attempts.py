"""Derive the attempts of a job from its events: when each began and why, and which attempt wrote a log line.

A job begins with attempt 1, and each restart of the whole job begins the next one. Inside an attempt a single replica
may be restarted; its starts are counted from 1 in every attempt. The time at which an attempt or start begins belongs
to it.

An attempt begins with the line that the service logs first in every attempt, if the log contains it. The time of the
state change is less exact: it depends on the polls, and the last lines of the previous attempt may be later.

States and log lines of the same restart have different times, and restarts may be seconds apart, as on a persistent
resource. So they are paired by their order, and by what was seen between them, not by how close they are.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from jobs.models import JobEvent
from jobs.states import WAITING_AT_VERTEX, JobState
from jobs.timeline.spans import BILLABLE, SPAN_KINDS, Span, billable, state_spans

ATTEMPT_BEGINS = "Waiting for job to be provisioned."
"""The service's first line of every attempt (vertex-facts 10.4)."""
ATTEMPT_RUNS = "Job is running."
"""The service's line when all replicas of an attempt are running (vertex-facts 10.4)."""
STATE_LAG = timedelta(seconds=30)
"""The state that Vertex AI shows may be this far behind its log: 0.6 to 29 s were recorded (vertex-facts 17)."""
CAUSES = {
    "preempted": gettext_lazy("machine preempted (Spot)"),
    "stockout": gettext_lazy("the region was out of capacity"),
    "internal": gettext_lazy("internal error of Vertex AI"),
    "job_retry": gettext_lazy("a replica kept failing"),
    "maintenance": gettext_lazy("moved by maintenance"),
    "worker_restart": gettext_lazy("Vertex AI had stopped it, as by an eviction"),
    "replica_unknown": gettext_lazy("Vertex AI had stopped it"),
    "worker_exit": gettext_lazy("it had ended with an error"),
}
NO_CAUSE = gettext_lazy("Vertex AI does not say why")
LAST_MOMENT = timedelta(microseconds=1)
"""Lines have microsecond precision. The line about the end of a replica is the last of the start that ended."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt of the whole job. `start` is None for the first, which includes everything before the second.

    `wait` is the time without machines before it ran, or None if unknown. `is_waiting` is true during that wait.
    """

    number: int
    start: datetime | None = None
    cause: str = ""
    wait: timedelta | None = None
    is_waiting: bool = False

    @property
    def key(self) -> str:
        """The name in a URL: "2"."""
        return str(self.number)


@dataclass(frozen=True, slots=True)
class Start:
    """One start of a replica inside an attempt, from 1. `start` is None for the first."""

    replica: str
    attempt: int
    number: int
    start: datetime | None = None
    cause: str = ""

    @property
    def key(self) -> str:
        """The name in a URL: "2.3" is the third start in attempt 2."""
        return f"{self.attempt}.{self.number}"


class Attempts:
    """All attempts of a job in order, and the starts of each replica."""

    def __init__(self, whole: Sequence[Attempt], restarted: Mapping[str, Sequence[tuple[datetime, str]]]) -> None:
        """`restarted` contains each replica's own restarts as (time, cause), in order of time."""
        self.whole = tuple(whole)
        self._moments = [attempt.start for attempt in self.whole if attempt.start is not None]
        self._starts = {replica: self._number(replica, moments) for replica, moments in restarted.items()}

    def of(self, moment: datetime) -> Attempt:
        """Return the attempt that a time belongs to."""
        return self.whole[bisect_right(self._moments, moment)]

    def starts(self, replica: str, attempt: int) -> list[Start]:
        """Return the starts of a replica in an attempt, at least one."""
        found = [each for each in self._starts.get(replica, ()) if each.attempt == attempt]
        return [Start(replica, attempt, 1), *found]

    def start_of(self, replica: str, moment: datetime) -> Start:
        """Return the start of a replica that a time belongs to."""
        starts = self.starts(replica, self.of(moment).number)
        return starts[bisect_right([start.start for start in starts[1:] if start.start is not None], moment)]

    def span(self, key: str, replica: str = "") -> tuple[datetime | None, datetime | None] | None:
        """Return when an attempt ("2") or a start of `replica` ("2.3") begins and ends. None if there is no such one.

        The end is exclusive. An open beginning or end is None.
        """
        number, _, start = key.partition(".")
        attempt = next((each for each in self.whole if each.key == number), None)
        if attempt is None:
            return None
        ends = [*self._moments, None]
        since, until = attempt.start, ends[attempt.number - 1]
        if not start:
            return since, until
        starts = self.starts(replica, attempt.number)
        place = next((place for place, each in enumerate(starts) if each.key == key), None)
        if place is None:
            return None
        return starts[place].start or since, starts[place + 1].start if place + 1 < len(starts) else until

    def _number(self, replica: str, moments: Sequence[tuple[datetime, str]]) -> tuple[Start, ...]:
        counts: dict[int, int] = defaultdict(lambda: 1)
        found = []
        for moment, cause in moments:
            attempt = self.of(moment).number
            counts[attempt] += 1
            found.append(Start(replica, attempt, counts[attempt], moment, cause))
        return tuple(found)


def attempts(
    events: Iterable[JobEvent],
    now: datetime,
    *,
    beginnings: Sequence[datetime] = (),
    runs: Sequence[datetime] = (),
) -> Attempts:
    """Return a job's attempts, derived from its events.

    `beginnings` and `runs` are the times of the kept lines `ATTEMPT_BEGINS` and `ATTEMPT_RUNS`.
    """
    rows = list(events)
    learned = {row.detail["restart"]: row.reason for row in rows if row.kind == JobEvent.Kind.EXPLAINED}
    restarts = sorted(
        (row for row in rows if row.kind == JobEvent.Kind.RESTARTED), key=lambda row: (row.occurred_at, row.once_key)
    )
    spans = state_spans(rows)
    parts: dict[str, list[tuple[datetime, str]]] = defaultdict(list)
    for row in restarts:
        if replica := row.detail.get("replica"):
            parts[replica].append((row.occurred_at + LAST_MOMENT, cause_of(row, learned)))
    whole = [row for row in restarts if not row.detail.get("replica")]
    lines = match_in_order([row.occurred_at for row in whole], sorted(beginnings)[1:], running_since(spans))
    found = [Attempt(1)]
    ordered = sorted(
        ((line or row.occurred_at, row) for line, row in zip(lines, whole, strict=True)), key=lambda each: each[0]
    )
    for place, (moment, row) in enumerate(ordered):
        until = ordered[place + 1][0] if place + 1 < len(ordered) else None
        ran = next((run for run in sorted(runs) if run > moment and (until is None or run < until)), None)
        wait, is_waiting = _wait(spans, row.occurred_at, now) if ran is None else (ran - row.occurred_at, False)
        if until is not None and wait is not None:
            wait, is_waiting = max(min(wait, until - row.occurred_at), timedelta()), False
        found.append(Attempt(place + 2, moment, cause_of(row, learned), wait, is_waiting))
    return Attempts(found, parts)


def cause_of(restart: JobEvent, learned: Mapping[str, str]) -> str:
    """Return the cause of a restart in a few words. A cause found later replaces a guess."""
    reason = learned.get(restart.once_key)
    words = str(CAUSES.get(reason or restart.reason, NO_CAUSE))
    if restart.reason in {"worker_exit", "job_retry"} and restart.detail.get("exit_code") is not None:
        one, any_one = _("it had ended with exit code %(code)s"), _("a replica had ended with exit code %(code)s")
        return (one if restart.detail.get("replica") else any_one) % {"code": restart.detail["exit_code"]}
    is_guess = reason is None and not restart.detail.get("is_certain", True)
    return _("most likely %(cause)s") % {"cause": words} if is_guess and words != str(NO_CAUSE) else words


@dataclass(frozen=True, slots=True)
class RestartEvidence:
    """What shows one restart of the whole job: the first line of the new attempt, the state that went back, or both."""

    line_at: datetime | None = None
    state: JobEvent | None = None

    @property
    def at(self) -> datetime:
        """When the restart was observed, in the state if possible."""
        return self.state.occurred_at if self.state is not None else self.begins_at

    @property
    def begins_at(self) -> datetime:
        """When the new attempt began, from the log if possible."""
        known = self.line_at or (self.state.occurred_at if self.state is not None else None)
        assert known is not None
        return known


def restart_evidence(events: Sequence[JobEvent], lines: Sequence[datetime]) -> list[RestartEvidence]:
    """Return each restart of the whole job that its states or its log show, in order.

    `events` are in the order recorded. `lines` are the times of the lines with which the second and later attempts
    begin. Every line is a restart, and so is every return from RUNNING to a wait. The two are the same restart if they
    follow each other and the job was not seen running in between.
    """
    back, latest = list[tuple[datetime, JobEvent]](), datetime.min.replace(tzinfo=UTC)
    for row in events:
        if row.kind not in SPAN_KINDS:
            continue
        latest = max(latest, row.occurred_at)
        if row.from_state in BILLABLE and row.to_state in WAITING_AT_VERTEX:
            back.append((latest, row))
    written = sorted(lines)
    matches = match_in_order([at for at, _ in back], written, running_since(state_spans(events)))
    state_of = {line: row for line, (_, row) in zip(matches, back, strict=True) if line is not None}
    found = [RestartEvidence(line, state_of.get(line)) for line in written]
    found += [RestartEvidence(None, row) for line, (_, row) in zip(matches, back, strict=True) if line is None]
    return sorted(found, key=lambda each: each.begins_at)


def running_since(spans: Sequence[Span]) -> list[datetime]:
    """Return when the job was first seen running in each of its attempts, in order."""
    return [span.start for span in billable(spans) if span.state == JobState.RUNNING]


def match_in_order(
    moments: Sequence[datetime], lines: Sequence[datetime], running: Sequence[datetime]
) -> list[datetime | None]:
    """Return for each moment the line that shows the same restart, or None. All arguments are in order of time.

    Pairs do not cross, and each line is used once. Equal times are always a pair. Otherwise a line belongs to a moment
    only if the job was not seen running (`running`) between the two. Of all possibilities the one with the most pairs
    is returned, and of those the one with the closest.
    """

    def may_match(moment: datetime, line: datetime) -> bool:
        place = bisect_right(running, moment)
        is_after = place == 0 or line > running[place - 1] - STATE_LAG
        return moment == line or (is_after and (place == len(running) or line < running[place]))

    def score(i: int, j: int) -> tuple[int, int, float]:
        equal, pairs, closeness = best[i + 1][j + 1]
        distance = abs((moments[i] - lines[j]).total_seconds())
        return equal + (not distance), pairs + 1, closeness - distance

    # best[i][j]: the best score of moments[i:] and lines[j:]
    best = [[(0, 0, 0.0)] * (len(lines) + 1) for _ in range(len(moments) + 1)]
    for i in reversed(range(len(moments))):
        for j in reversed(range(len(lines))):
            best[i][j] = max(best[i + 1][j], best[i][j + 1])
            if may_match(moments[i], lines[j]):
                best[i][j] = max(best[i][j], score(i, j))
    found: list[datetime | None] = [None] * len(moments)
    i = j = 0
    while i < len(moments) and j < len(lines):
        if may_match(moments[i], lines[j]) and best[i][j] == score(i, j):
            found[i] = lines[j]
            i, j = i + 1, j + 1
        elif best[i][j] == best[i + 1][j]:
            i += 1
        else:
            j += 1
    return found


def _wait(spans: Sequence[Span], moment: datetime, now: datetime) -> tuple[timedelta | None, bool]:
    """Return how long the job had no machines after `moment`, and whether it still has none.

    None if no state shows it.
    """
    later = [span for span in spans if span.end is None or span.end > moment]
    if not later or later[0].state not in WAITING_AT_VERTEX or later[0].start > moment:
        return None, False
    end: datetime | None = moment
    for span in later:
        if span.state not in WAITING_AT_VERTEX:
            break
        end = span.end
    return max((end or now) - moment, timedelta()), end is None
