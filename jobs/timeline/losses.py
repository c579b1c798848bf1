"""The result of each attempt of a job: how long it ran, why it ended, and how much work was lost.

Vertex AI reports nothing about work. The lost work is derived from the first of these that is known: the progress that
the program logged after the restart, or the newest checkpoint in the output folder. If neither is known, the whole
attempt counts as lost.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import pairwise
from statistics import median

from jobs.cost.actual import for_time
from jobs.metrics import Run
from jobs.models import Job, JobEvent
from jobs.texts import translatable as _
from jobs.timeline.attempts import Attempts
from jobs.timeline.replicas import LAST_WORDS
from jobs.timeline.spans import Span, billable, state_spans

BY_PROGRESS = _("from the progress logged after the restart")
BY_CHECKPOINT = _("since the newest checkpoint")
BY_ATTEMPT = _("the whole attempt: it has no known checkpoint of its own")


@dataclass(frozen=True, slots=True)
class Loss:
    """Work that has to be repeated, its cost (None if no price is known), and how it was calculated."""

    time: timedelta
    usd: Decimal | None
    basis: str


@dataclass(frozen=True, slots=True)
class Row:
    """One attempt, which `waited` for machines and `ran` from `since`.

    `cause` is why the next one began, "" for the last. `begun` is when it began to wait, or None for the first.
    """

    number: int
    begun: datetime | None
    waited: timedelta | None
    since: datetime | None
    until: datetime | None
    ran: timedelta
    cause: str
    loss: Loss | None


def attempt_rows(
    job: Job,
    events: Sequence[JobEvent],
    tries: Attempts,
    now: datetime,
    *,
    runs: Sequence[Run] = (),
    checkpoints: Sequence[datetime] = (),
) -> tuple[Row, ...]:
    """Return the attempts of a job with the work that each lost. Trials of a tuning job restart separately.

    `runs` is the progress in the log. `checkpoints` are the times at which the checkpoints in the output folder were
    written, in order.
    """
    spans = state_spans(events)
    work = billable(spans)
    ran_in = _by_attempt(work, tries)
    first_wait = _first_wait(spans, tries)
    rows = []
    for place, attempt in enumerate(tries.whole):
        following = tries.whole[place + 1] if place + 1 < len(tries.whole) else None
        own = ran_in[attempt.number]
        since, until = (own[0].start, own[-1].end) if own else (None, None)
        ran = sum((span.length(now) for span in own), timedelta())
        loss = None
        if following is not None and since is not None:
            resumed_at = next((span.start for span in ran_in[following.number]), None)
            loss = _loss(job, since, until or now, ran, runs, checkpoints, resumed_at=resumed_at)
        waited = attempt.wait if place else first_wait
        cause = following.cause if following else ""
        rows.append(Row(attempt.number, attempt.start, waited, since, until, ran, cause, loss))
    return tuple(rows)


def _by_attempt(work: Sequence[Span], tries: Attempts) -> dict[int, list[Span]]:
    """Return the spans in which machines worked, by attempt.

    If the states show no end of an attempt, because nobody polled the job then, its span is divided where the log shows
    the next attempt.
    """
    found: dict[int, list[Span]] = {each.number: [] for each in tries.whole}
    for span in work:
        found[tries.of(span.start).number].append(span)
    for attempt, following in pairwise(tries.whole):
        own, at = found[attempt.number], following.start
        if not own or at is None or found[following.number] or following.is_waiting:
            continue
        last = own[-1]
        if last.end is None or last.end > at:
            again = at + (following.wait or timedelta())
            own[-1] = replace(last, end=at)
            if last.end is None or last.end > again:
                found[following.number] = [replace(last, start=again)]
    return found


def loss_if_cut(job: Job, rows: Sequence[Row], now: datetime, checkpoints: Sequence[datetime]) -> Loss | None:
    """Return what would be lost if the job were interrupted now, or None if it does not run."""
    last = rows[-1] if rows else None
    if last is None or last.since is None or last.until is not None or job.is_finished:
        return None
    return _loss(job, last.since, now, last.ran, (), checkpoints)


def usual_wait(rows: Sequence[Row]) -> timedelta | None:
    """Return the median wait for machines after the restarts of a job, or None without restarts."""
    waits = [row.waited.total_seconds() for row in rows[1:] if row.waited is not None and row.since is not None]
    return timedelta(seconds=median(waits)) if waits else None


def _loss(
    job: Job,
    since: datetime,
    until: datetime,
    ran: timedelta,
    runs: Sequence[Run],
    checkpoints: Sequence[datetime],
    *,
    resumed_at: datetime | None = None,
) -> Loss:
    """Return what the attempt from `since` to `until` lost. `resumed_at` is when the next one ran, if it has."""
    seconds = lost_seconds([run for run in runs if run.until >= since.timestamp()], until.timestamp())
    if seconds is None and _goes_on(runs, until, resumed_at or until + LAST_WORDS):
        seconds = 0.0
    saved = [at for at in checkpoints if since <= at <= until]
    if seconds is not None:
        time, basis = timedelta(seconds=seconds), BY_PROGRESS
    elif saved:
        time, basis = until - saved[-1], BY_CHECKPOINT
    else:
        time, basis = ran, BY_ATTEMPT
    time = min(time, ran)
    return Loss(time, None if job.hourly_usd is None else for_time(job.hourly_usd, time), basis)


def _goes_on(runs: Sequence[Run], until: datetime, resumed_at: datetime) -> bool:
    """Return whether progress logged before `until` only grew after `resumed_at`, so that no work was repeated."""
    return any(run.since <= until.timestamp() and run.until > resumed_at.timestamp() for run in runs)


def _first_wait(spans: Sequence[Span], tries: Attempts) -> timedelta | None:
    """Return how long the first attempt waited at Vertex AI until it ran or the second began. None while it waits."""
    submitted = next((span.start for span in spans if span.state in ("queued", "pending")), None)
    ends = [span.start for span in billable(spans)[:1]]
    ends += [attempt.start for attempt in tries.whole[1:2] if attempt.start is not None]
    return max(min(ends) - submitted, timedelta()) if ends and submitted is not None else None


def moments_of(checkpoints: Sequence[Sequence[object]]) -> list[datetime]:
    """Return when checkpoints were written, oldest first, from the stored rows (seconds since 1970, ...)."""
    return sorted(
        datetime.fromtimestamp(checkpoint[0], UTC)
        for checkpoint in checkpoints
        if isinstance(checkpoint[0], int | float)
    )


def lost_seconds(runs: Sequence[Run], at: float) -> float | None:
    """Return how much run time was repeated after an interruption at `at`, or None if no run shows it.

    This is the time before `at` in which the previous run went further than where the next run began.
    """
    before = [run for run in runs if run.since <= at]
    after = [run for run in runs if run.since > at]
    if not before or not after or after[0].began > before[-1].reached:
        return None
    run, resumed = before[-1], after[0].began
    whole = run.reached - run.began
    share = (resumed - run.began) / whole if whole > 0 else 0.0
    reached_at = run.since + max(0.0, share) * (run.until - run.since)
    return max(0.0, at - reached_at)
