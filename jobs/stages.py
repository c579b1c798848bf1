"""The stages of the sweep: what keeps the rows right, besides handing out what is due.

To add one, write a function that handles every row that needs it (`isolation.take_each`) and name it in STAGES. Each
stage has a row of `Upkeep` with its due time, when it last finished and its last error. The doctor, `/readyz` and
`/metrics` read these rows. A stage that raises or hangs delays neither the hand-out nor another stage.

One query asks for all due stages whether they have work, so that an idle sweep is cheap. It decides little: in the
first sweep of every quarter of an hour each due stage runs, and so does one that failed.
"""

import logging
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import BooleanField, Exists, QuerySet, Value
from django.db.models.expressions import RawSQL

from jobs import budgets, explain, messages, observation
from jobs.clock import Clock
from jobs.database import short_lock_waits
from jobs.isolation import describe, is_outage
from jobs.models import Upkeep
from jobs.queue.claims import SWEEP, swept_since
from jobs.requests import imported_drafts
from jobs.upkeep import (
    ask_about_used,
    capped_jobs,
    count_ended,
    due_approvals,
    due_schedules,
    end_lifetimes,
    ended_lifetimes,
    ending_soon,
    expired_claims,
    extend_open_approvals,
    file_jobs,
    open_fallbacks,
    priced_jobs,
    repair,
    repair_starts,
    repair_times,
    seal_audit_log,
    send_seals,
    uncounted,
    unfiled,
    unsent,
    untended,
    used_recently,
    warn_of_ends,
    watch_approvals,
    watch_caps,
    watch_fallbacks,
    watch_schedules,
    watch_spending,
)

logger = logging.getLogger(__name__)

PREFIX = "sweep:"
WHOLE = SWEEP
"""The row of completed sweeps: everything was handed out, and every due stage was begun."""
LEASE = timedelta(minutes=1)
"""How long a stage may run before the next sweep runs it too. Every stage may run twice at once."""
MIN_LATE = timedelta(minutes=1)
AGAIN = timedelta(seconds=55)
"""The longest pause after which a stage that failed runs again, or after which one without work is asked again."""
QUICK = 3
"""A stage that runs at least every third sweep is asked at each."""
IN_ANY_CASE = timedelta(minutes=15)
"""The first sweep of each of these spans runs every due stage, whatever the answer about its work."""
MIN_DOWNTIME = timedelta(minutes=10)
"""Without a sweep for so long, the site counts as having been down."""
SETTLED = timedelta(minutes=2)
"""After a pause, nothing is begun or deleted for so long only because its time has come."""


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage. `name` has at most 26 characters; `every` is the number of sweeps from one run to the next.

    `find_work` and `find_always` return selections that are all empty if the stage has nothing to do. Those of
    `find_always` are the same at any time, so that their SQL is made once. Without either the stage always runs.
    """

    name: str
    run: Callable[[Clock], object]
    find_work: Callable[[datetime], Sequence[QuerySet[Any]]] | None = None
    find_always: Callable[[], Sequence[QuerySet[Any]]] | None = None
    every: int = 1

    @property
    def interval(self) -> timedelta:
        """The time between two runs."""
        return self.every * settings.SWEEP_INTERVAL


@dataclass(frozen=True, slots=True)
class StageState:
    """What is known of a stage or of a hand-out."""

    name: str
    finished_at: datetime | None
    """When it last finished without an error; None if it never has."""
    failing_since: datetime | None
    failures: int
    """Failures in a row."""
    last_error: str
    is_late: bool
    """Whether it has not finished for far longer than its interval."""


def at_now(step: Callable[[datetime], object]) -> Callable[[Clock], object]:
    """Return a stage's function for a step that only needs the database's time."""
    return lambda clock: step(clock.now())


def settled(step: Callable[[datetime], object]) -> Callable[[Clock], object]:
    """Return a stage's function for a step that nobody can take back, and that only the time causes.

    The step waits until sweeps have run without a pause for SETTLED: after a pause, the database's clock may have
    stepped forward and may soon be set right.
    """

    def run(clock: Clock) -> None:
        now = clock.now()
        since = swept_since(now)
        if since is None or now - since >= SETTLED:
            step(now)

    return run


STAGES = (
    Stage("further attempts", watch_fallbacks, find_always=lambda: [open_fallbacks()]),
    Stage("schedules", settled(watch_schedules), find_work=lambda now: [due_schedules(now)]),
    Stage("messages", at_now(messages.route_messages), find_always=lambda: [messages.unrouted()]),
    Stage("ended jobs", at_now(count_ended), find_always=uncounted),
    Stage("families", at_now(file_jobs), find_always=lambda: [unfiled()]),
    Stage("caps", at_now(watch_caps), find_always=lambda: [capped_jobs()], every=2),
    Stage("spending", at_now(watch_spending), find_work=lambda now: [priced_jobs(now)], every=2),
    Stage("budgets", at_now(budgets.watch_budgets), every=2),
    Stage("approvals", at_now(watch_approvals), find_work=lambda now: [due_approvals(now)], every=2),
    Stage("repair", at_now(repair), find_work=expired_claims, find_always=untended, every=6),
    Stage("repair of times", at_now(repair_times), every=36),
    Stage("persistent resources", at_now(observation.watch_resources), every=6),
    Stage("lifetimes of resources", settled(end_lifetimes), find_work=lambda now: [ended_lifetimes(now)], every=12),
    Stage("explanations", at_now(explain.explain_ended), find_always=explain.explained_otherwise, every=24),
    Stage("seals of the audit log", at_now(seal_audit_log), every=24),
    Stage("long waits", at_now(messages.watch_waits), every=60),
    Stage("ends of resources", at_now(warn_of_ends), find_work=lambda now: [ending_soon(now)], every=60),
    Stage("reports", at_now(messages.report_when_due), every=60),
    Stage("drafts", at_now(imported_drafts.expire), find_work=lambda now: [imported_drafts.expired(now)], every=60),
    Stage("repair of starts", at_now(repair_starts), every=120),
    Stage("advice on machines", at_now(ask_about_used), find_work=lambda now: [used_recently(now)], every=720),
    Stage("export of the audit log", at_now(send_seals), find_work=lambda _now: [unsent()], every=24),
)
"""In the order in which they run if several are due at once."""


def sweep(clock: Clock, hand_outs: Mapping[str, Callable[[datetime], object]]) -> None:
    """Hand out what is due, then run the stages that are due, each in a guard of its own.

    `hand_outs` are functions by the name under which a failure is reported. An exception in one is recorded and delays
    nothing else. Raise an outage of the database.
    """
    now = clock.now()
    rows = _load_rows(now)
    with short_lock_waits():
        _allow_for_downtime(rows, now)
        failed = sum(not _hand_out(name, step, rows, now) for name, step in hand_outs.items())
        due = [stage for stage in STAGES if _is_due(stage, rows[stage.name], now)]
        idle = _finish_idle(due, rows, now)
        for stage in due:
            if stage.name not in idle:
                _run(stage, rows[stage.name], clock, now)
        if not failed:
            Upkeep.objects.filter(pk=rows[WHOLE].pk).update(answered_at=now)


def states(now: datetime) -> tuple[StageState, list[StageState]]:
    """Return the state of the whole sweep, and that of every stage and of every hand-out that fails. One query.

    The whole sweep finishes when everything is handed out and every due stage was begun.
    """
    rows = {row.name.removeprefix(PREFIX): row for row in _rows()}
    intervals = {stage.name: stage.interval for stage in STAGES}
    names = [*intervals, *(name for name in rows if name not in intervals and name != WHOLE and rows[name].failures)]
    whole = _state(WHOLE, rows.get(WHOLE), settings.SWEEP_INTERVAL, now)
    return whole, [_state(name, rows.get(name), intervals.get(name), now) for name in names]


def _state(name: str, row: Upkeep | None, interval: timedelta | None, now: datetime) -> StageState:
    if row is None:
        return StageState(name, None, None, 0, "", is_late=True)
    allowed = max(MIN_LATE, 4 * interval) if interval is not None else timedelta.max
    # A time in the future is from before the database's clock was set back.
    is_late = row.answered_at is None or abs(now - row.answered_at) > allowed
    return StageState(name, row.answered_at, row.failing_since, row.failures, row.last_error, is_late=is_late)


def _rows() -> list[Upkeep]:
    return list(Upkeep.objects.filter(name__startswith=WHOLE).order_by("pk"))


def _load_rows(now: datetime) -> dict[str, Upkeep]:
    """Return the row of every stage, of the whole sweep, and of the hand-outs that ever failed."""
    rows = {row.name.removeprefix(PREFIX): row for row in _rows()}
    missing = [name for name in (WHOLE, *(stage.name for stage in STAGES)) if name not in rows]
    if missing:
        new = [Upkeep(name=WHOLE) if name == WHOLE else Upkeep(name=PREFIX + name, due_at=now) for name in missing]
        Upkeep.objects.bulk_create(new, ignore_conflicts=True)
        rows = {row.name.removeprefix(PREFIX): row for row in _rows()}
    return rows


def _hand_out(name: str, step: Callable[[datetime], object], rows: dict[str, Upkeep], now: datetime) -> bool:
    """Hand out one kind of rows. Return False, and record why, if that failed. Success is written after a failure."""
    row = rows.get(name)
    try:
        step(now)
    except Exception as error:
        if is_outage(error):
            raise
        logger.exception("the sweep could not hand out %s", name)
        row = row or Upkeep.objects.get_or_create(name=PREFIX + name)[0]
        Upkeep.objects.filter(pk=row.pk).update(**_failed(row, error, now))
        return False
    if row is not None and row.failures:
        Upkeep.objects.filter(pk=row.pk).update(**_worked(now))
    return True


def _allow_for_downtime(rows: Mapping[str, Upkeep], now: datetime) -> None:
    """Postpone the end of open approvals by the time in which no sweep ran, because nobody may have seen them then.

    The row of the whole sweep keeps up to when this was done, so that a sweep that is killed does not do it twice.
    """
    done_until = rows[WHOLE].due_at
    ran = [at for row in rows.values() for at in (row.answered_at, done_until) if at is not None and at <= now]
    if not ran or now - max(ran) < MIN_DOWNTIME:
        return
    try:
        with transaction.atomic():
            if Upkeep.objects.filter(pk=rows[WHOLE].pk, due_at=done_until).update(due_at=now):
                extend_open_approvals(max(ran), now)
    except Exception as error:
        if is_outage(error):
            raise
        logger.exception("open approvals were not extended by the time in which no sweep ran")


def _is_due(stage: Stage, row: Upkeep, now: datetime) -> bool:
    """Return whether a stage is due and no other sweep runs it."""
    # A due time or claim beyond what is ever written is left over from before the database's clock was set back.
    is_due = row.due_at is None or not now < row.due_at <= now + stage.interval
    return is_due and (row.claimed_until is None or not now < row.claimed_until <= now + LEASE)


def _finish_idle(due: Iterable[Stage], rows: Mapping[str, Upkeep], now: datetime) -> set[str]:
    """Record the due stages that have nothing to do as finished, and return their names. Two to four queries.

    The next sweep asks about them again, about a stage that seldom runs the first one after its interval, or AGAIN. If
    the question fails, no stage counts as idle: each runs in its own guard.
    """
    asked = [stage for stage in due if _may_be_idle(stage, rows[stage.name], now)]
    if not asked:
        return set()
    try:
        parts = [(stage, has_work) for stage in asked for has_work in questions(stage, now)]
        answers = Upkeep.objects.values_list(*(has_work for _, has_work in parts)).get(pk=rows[WHOLE].pk)
    except Exception as error:
        if is_outage(error):
            raise
        logger.exception("the sweep could not ask which stages have nothing to do")
        return set()
    busy = {stage.name for (stage, _), has_work in zip(parts, answers, strict=True) if has_work}
    idle = [stage for stage in asked if stage.name not in busy]
    asked_again = dict[datetime, list[int]]()
    for stage in idle:
        pause = settings.SWEEP_INTERVAL / 2 if stage.every <= QUICK else min(AGAIN, _next_due(stage, now) - now)
        asked_again.setdefault(now + pause, []).append(rows[stage.name].pk)
    for due_at, keys in asked_again.items():
        Upkeep.objects.filter(pk__in=keys, claim=None).update(due_at=due_at, answered_at=now)
    return {stage.name for stage in idle}


def questions(stage: Stage, now: datetime) -> Iterator[Exists | RawSQL]:
    """Yield conditions of which none holds if the stage has nothing to do."""
    if stage.find_always is not None:
        yield from _questions_at_any_time(stage.find_always)
    if stage.find_work is not None:
        yield from (Exists(rows.order_by()) for rows in stage.find_work(now))


@cache
def _questions_at_any_time(find_always: Callable[[], Sequence[QuerySet[Any]]]) -> list[RawSQL]:
    """Return the conditions as SQL. It is kept, because idle sweeps would spend most of their time on making it."""
    made = [rows.order_by().values(one=Value(1))[:1].query.sql_with_params() for rows in find_always()]
    return [RawSQL(f"EXISTS ({sql})", values, BooleanField()) for sql, values in made]  # noqa: S611 - no input is in it


def _may_be_idle(stage: Stage, row: Upkeep, now: datetime) -> bool:
    """Return whether a stage may have nothing to do.

    It finished in this span without failing, and no other sweep has left its claim there.
    """
    return (
        (stage.find_work is not None or stage.find_always is not None)
        and row.answered_at is not None
        and row.answered_at.timestamp() // IN_ANY_CASE.total_seconds() == now.timestamp() // IN_ANY_CASE.total_seconds()
        and not row.failures
        and row.claim is None
    )


def _next_due(stage: Stage, now: datetime) -> datetime:
    """Return half a sweep early, so that a stage for every sweep is not skipped because one came a moment early."""
    return now + stage.interval - settings.SWEEP_INTERVAL / 2


def _run(stage: Stage, row: Upkeep, clock: Clock, now: datetime) -> None:
    """Run a stage, unless another sweep has begun it meanwhile. An exception is recorded on its row."""
    token = uuid.uuid4()
    as_read = Upkeep.objects.filter(pk=row.pk, due_at=row.due_at, claim=row.claim)
    if not as_read.update(claim=token, claimed_until=now + LEASE):
        return
    try:
        stage.run(clock)
    except Exception as error:
        if is_outage(error):
            raise
        # The rows that failed have their own tracebacks in the log, and a stage that goes on failing needs one only.
        logger.warning("the stage %s of the sweep failed: %s", stage.name, describe(error), exc_info=not row.failures)
        result = _failed(row, error, now) | {"due_at": min(_next_due(stage, now), now + AGAIN)}
    else:
        result = _worked(clock.now()) | {"due_at": _next_due(stage, now)}
    Upkeep.objects.filter(pk=row.pk, claim=token).update(claim=None, claimed_until=None, **result)


def _failed(row: Upkeep, error: Exception, now: datetime) -> dict[str, object]:
    since = row.failing_since or now
    return {"failing_since": since, "failures": row.failures + 1, "last_error": describe(error)}


def _worked(now: datetime) -> dict[str, object]:
    return {"answered_at": now, "failing_since": None, "failures": 0, "last_error": ""}
