"""Assess whether a running job wastes its machines: idle, stuck, diverged, too late, or without a replica. Pure.

Silence, slow phases and missing evidence are normal, so every bound is generous and also grows with what the same
attempt has shown before. Evidence of another attempt never counts, and without evidence nothing is assumed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise, takewhile
from statistics import fmean, median

from jobs.metrics import Run

FINE, UNKNOWN = "fine", "unknown"
IDLE, STUCK, DIVERGED, HOPELESS, LOST_PEER = "idle", "stuck", "diverged", "hopeless", "lost_peer"
FAULTS = (DIVERGED, LOST_PEER, STUCK, IDLE, HOPELESS)
"""The codes that are shown, the most important first. A job has one code at a time."""

MAX_SILENCE = timedelta(minutes=90)
"""A shorter silence is normal: programs log once an hour, evaluate, and write checkpoints of 20 minutes."""
MAX_IDLE_SILENCE = timedelta(minutes=45)
"""The same if the accelerators were idle all the time."""
MAX_FINAL_SILENCE = timedelta(hours=6)
"""The same after the last step, when the result is evaluated, exported and uploaded."""
USUAL_STEPS, USUAL_PAUSES = 10, 3
"""A silence is long if it takes ten times the usual step and three times the longest pause so far."""
MIN_STEPS = 5
"""Fewer lines with a step, or of a replica, do not show what is usual."""
MAX_IDLE = timedelta(hours=1)
MIN_SHARE, MIN_CPU_SHARE = 0.05, 0.01
"""Accelerators below 5 % are idle. A machine without them is idle below 1 %: one busy thread is 1 % of 96 cores."""
LATENESS = timedelta(minutes=15)
"""Utilization arrives minutes late and is read every ten minutes; older utilization is not known any more."""
MIN_POINTS = 4
USUAL_START_UP = timedelta(minutes=20)
"""Assumed time from RUNNING to the first step if jobs like it show none: packages, data, compilation."""
USUAL_START_UPS = 10
"""A job without a step is idle only after so many times the usual start-up."""
MIN_RUN, MIN_RUN_SHARE = timedelta(minutes=30), 0.05
"""A pace counts after half an hour and a twentieth of the time up to the timeout."""
MARGIN, CERTAIN_MARGIN = 1.05, 1.5
"""The time left by the pace must exceed the time before the timeout by a twentieth; by half it is certain."""
MIN_LOSSES, CERTAIN_LOSSES = 3, 10
"""Lines in a row whose loss is not a finite number. One or two occur with mixed precision, which skips the step."""
LOG_AGE = timedelta(minutes=10)
"""Silence is known only up to the last read of the log, which must not be older."""


@dataclass(frozen=True, slots=True)
class ReplicaLines:
    """The log lines of one replica in the attempt: their number, the first and the last time."""

    name: str
    first: datetime
    last: datetime
    count: int


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is known about the present attempt of a running job.

    `steps` are the times of lines with a step or a metric, of which one of `every` is kept. `losses` are (time, whether
    the loss is finite) of the newest lines with one. `busy` and `cpu` are (time, share), both in order of time.
    `has_accelerators` is None if that is unknown. `run` is the progress, and `times_out_at` when the timeout ends the
    job; either is None if unknown. `usual_start_up` is the time from RUNNING to the first step of jobs like it.
    """

    began: datetime
    log_read_at: datetime | None = None
    lines: Sequence[ReplicaLines] = ()
    steps: Sequence[datetime] = ()
    every: int = 1
    losses: Sequence[tuple[datetime, bool]] = ()
    busy: Sequence[tuple[datetime, float]] = ()
    cpu: Sequence[tuple[datetime, float]] = ()
    has_accelerators: bool | None = None
    run: Run | None = None
    times_out_at: datetime | None = None
    usual_start_up: timedelta = USUAL_START_UP


@dataclass(frozen=True, slots=True)
class Health:
    """The health of a job, since when it holds, and whether it is certain. `facts` are the values of its evidence.

    Facts are JSON: seconds, shares and names, by the code that has them.
    """

    code: str
    since: datetime | None = None
    is_certain: bool = False
    facts: Mapping[str, float | str] = field(default_factory=dict)


def health_of(evidence: Evidence, now: datetime) -> Health:
    """Return the health of a running job: FINE with a sign of work and no fault, UNKNOWN without one."""
    if now <= evidence.began:
        return Health(UNKNOWN)
    known = _of_attempt(evidence, now)
    for check in (_diverged, _silent, _idle, _hopeless):
        found = check(known, now)
        if found is not None:
            return found
    works = bool(known.steps) or any(share >= MIN_SHARE for _, share in known.busy)
    return Health(FINE if works else UNKNOWN)


def _of_attempt(evidence: Evidence, now: datetime) -> Evidence:
    """Leave out what belongs to an earlier attempt. A time in the future, of a clock that is ahead, counts as now."""
    began = evidence.began
    whole_minute = began + timedelta(minutes=1)  # a minute of utilization has the time at which it begins
    return replace(
        evidence,
        lines=[replace(each, last=min(each.last, now)) for each in evidence.lines if each.first >= began],
        steps=sorted(min(at, now) for at in evidence.steps if at >= began),
        losses=[each for each in evidence.losses if each[0] >= began],
        busy=[each for each in evidence.busy if whole_minute <= each[0] <= now],
        cpu=[each for each in evidence.cpu if whole_minute <= each[0] <= now],
        run=evidence.run if evidence.run is not None and evidence.run.since >= began.timestamp() else None,
    )


def _diverged(known: Evidence, now: datetime) -> Health | None:
    bad = list(takewhile(lambda each: not each[1], reversed(known.losses)))
    if len(bad) < MIN_LOSSES:
        return None
    return Health(DIVERGED, min(bad[-1][0], now), len(bad) >= CERTAIN_LOSSES, {"lines": len(bad)})


def _silent(known: Evidence, now: datetime) -> Health | None:
    """Return STUCK if no replica wrote a line, LOST_PEER if all but one are silent, or one of them is."""
    is_read = known.log_read_at is not None and now - known.log_read_at <= LOG_AGE
    if not is_read or len(known.steps) * known.every < MIN_STEPS or len(known.steps) < 2:
        return None
    last_step, gaps = known.steps[-1], [(later - at).total_seconds() for at, later in pairwise(known.steps)]
    is_idle, usual = _is_idle_since(known, last_step, now), median(gaps) / known.every
    bound = _silence_bound(known, is_idle=is_idle, usual=usual, longest=max(gaps))
    if now - last_step < bound:
        return None
    facts: dict[str, float | str] = {"usual": round(usual, 1)}
    talking = [each for each in known.lines if now - each.last < bound]
    if not talking:
        last = max([last_step, *(each.last for each in known.lines)])
        return Health(STUCK, last, is_idle, facts)
    worked = [each for each in known.lines if each not in talking and each.count >= MIN_STEPS]
    silent = [each for each in worked if _is_silent(each, last_step, bound, now)]
    if len(silent) + len(talking) < len(known.lines) or not silent:
        return None
    if len(talking) == 1:
        return Health(LOST_PEER, last_step, is_idle, facts | {"talking": talking[0].name})
    return Health(LOST_PEER, last_step, is_idle, facts | {"silent": silent[0].name}) if len(silent) == 1 else None


def _is_silent(lines: ReplicaLines, last_step: datetime, bound: timedelta, now: datetime) -> bool:
    """Return whether a replica wrote regularly up to about the last step, and then far longer than usual did not."""
    usual = (lines.last - lines.first) / max(lines.count - 1, 1)
    return now - lines.last >= max(bound, USUAL_STEPS * usual) and last_step - lines.last < max(usual, LATENESS)


def _silence_bound(known: Evidence, *, is_idle: bool, usual: float, longest: float) -> timedelta:
    is_done = known.run is not None and known.run.reached >= 1
    floor = MAX_FINAL_SILENCE if is_done else MAX_IDLE_SILENCE if is_idle else MAX_SILENCE
    return max(floor, timedelta(seconds=max(USUAL_STEPS * usual, USUAL_PAUSES * longest)))


def _is_idle_since(known: Evidence, since: datetime, now: datetime) -> bool:
    """Return whether the accelerators are known to have been idle from about `since` until now."""
    points = [each for each in known.busy if each[0] > since + timedelta(minutes=2)]
    is_known = len(points) >= MIN_POINTS and now - points[-1][0] <= LATENESS and points[0][0] - since <= LATENESS
    return is_known and all(share < MIN_SHARE for _, share in points)


def _idle(known: Evidence, now: datetime) -> Health | None:
    """Return IDLE if the accelerators, or the CPU of machines without them, have not worked for long."""
    if known.has_accelerators is None:
        return None
    points, least = (known.busy, MIN_SHARE) if known.has_accelerators else (known.cpu, MIN_CPU_SHARE)
    if known.steps:
        points = [each for each in points if each[0] >= known.steps[0]]
    elif now - known.began < USUAL_START_UPS * known.usual_start_up:
        return None
    idle = list(takewhile(lambda each: each[1] < least, reversed(points)))[::-1]
    if len(idle) < MIN_POINTS or now - idle[-1][0] > LATENESS or _has_gaps(idle):
        return None
    since, busy_cpu = idle[0][0], [share for at, share in known.cpu if at >= idle[0][0]]
    is_cpu_idle = bool(busy_cpu) and fmean(busy_cpu) < MIN_SHARE
    bound = max(MAX_IDLE, USUAL_PAUSES * _longest_idle(points[: -len(idle)], least))
    if known.has_accelerators and busy_cpu and not is_cpu_idle:
        bound = max(bound, 2 * MAX_IDLE)  # it prepares data, evaluates or compiles
    if idle[-1][0] - since < bound or _is_done_for_less(known, since, now):
        return None
    facts: dict[str, float | str] = {"of": "accelerators" if known.has_accelerators else "cpu"}
    is_certain = known.has_accelerators and is_cpu_idle and bool(known.steps)
    return Health(IDLE, since, is_certain, facts | {"share": round(fmean(share for _, share in idle), 4)})


def _has_gaps(points: Sequence[tuple[datetime, float]]) -> bool:
    """Return whether utilization is missing in between: one pause is far longer than the others, which are alike."""
    gaps = [(later[0] - at[0]).total_seconds() for at, later in pairwise(points)]
    return max(gaps) > max(LATENESS.total_seconds(), 3 * median(gaps))


def _longest_idle(points: Sequence[tuple[datetime, float]], least: float) -> timedelta:
    """Return the longest time without work before, after which the job went on."""
    longest, since = timedelta(), None
    for at, share in points:
        since = (since or at) if share < least else None
        longest = max(longest, at - since) if since is not None else longest
    return longest


def _is_done_for_less(known: Evidence, since: datetime, now: datetime) -> bool:
    """Return whether the training is complete, and its end has not taken unusually long yet."""
    return known.run is not None and known.run.reached >= 1 and now - since < MAX_FINAL_SILENCE


def _hopeless(known: Evidence, now: datetime) -> Health | None:
    """Return HOPELESS if neither the recent pace nor that of the whole attempt ends before the timeout."""
    run, limit = known.run, known.times_out_at
    if run is None or limit is None or run.reached >= 1 or limit <= now:
        return None
    length = timedelta(seconds=run.until - run.since)
    pace, left = _best_pace(run), limit.timestamp() - run.until
    if pace is None or left <= 0 or length < max(MIN_RUN, MIN_RUN_SHARE * (limit - known.began)):
        return None
    needed = (1 - run.reached) / pace
    if needed < MARGIN * left:
        return None
    facts = {"needed": round(min(needed, 10.0**9)), "left": round(left), "reached": round(run.reached, 4)}
    since = datetime.fromtimestamp(run.since, UTC)
    return Health(HOPELESS, since, needed >= CERTAIN_MARGIN * left, facts)


def _best_pace(run: Run) -> float | None:
    """Return the higher of the recent progress per second and that of the whole run; None if the run shows none."""
    spans = ((run.since, run.began), (run.middle_at, run.middle))
    paces = [
        (run.reached - began) / (run.until - at) for at, began in spans if at and run.until > at and run.reached > began
    ]
    return max(paces, default=None)
