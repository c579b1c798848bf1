"""What must hold, from outside: the rows of the database are compared with what happened at Google and the receiver."""

import json
from collections import Counter, defaultdict
from datetime import timedelta
from decimal import Decimal
from itertools import pairwise
from typing import TYPE_CHECKING
from uuid import UUID

from django.db import transaction
from django.db.models import Q, Sum

from jobs import stages, states
from jobs.clock import DatabaseClock
from jobs.models import (
    CostEntry,
    Delivery,
    FallbackAttempt,
    Job,
    JobEvent,
    Message,
    ResourceChange,
    ScheduleRun,
    UnmatchedJob,
    Upkeep,
)
from jobs.outbox import ENDS
from jobs.states import FINISHED, JobState
from jobs.upkeep.audit import audit
from tests.simulation.kernel import EPOCH
from tests.simulation.site.google import Life
from tests.simulation.site.process import moment_of
from tests.support.ledger import kept_sums, sums_of_entries

if TYPE_CHECKING:
    from tests.simulation.site.run import SiteSimulation

MAX_CREATES = 40
"""Calls to create the job of one request; without back-off an outage alone would bring more."""
SETTLED_SECONDS = 300
"""A change at Google that is younger need not be known."""


def problem_of(run: "SiteSimulation") -> str:
    """Return what is wrong after everything was quiet, in a sentence, or ""."""
    if run.queue.failures:
        return f"A task failed: {run.queue.failures[0]}"
    if run.overlooked:
        return run.overlooked
    if run.google.overlaps and not run.was_restored:
        return run.google.overlaps[0]
    finders = (
        *(_of_jobs, _of_starts, _of_requests, _of_attempts, _of_schedules, _of_resources),
        *(_of_money, _of_messages, _of_rows),
    )
    for find in finders:
        if problem := find(run):
            return problem
    return ""


def overlooked_work() -> str:
    """Return a problem if a stage of the sweep would do something although its own question finds no work, or "".

    Every stage runs in a transaction that is rolled back.
    """
    clock = DatabaseClock()
    for stage in stages.STAGES:
        asked = [*stages.questions(stage, clock.now())]
        if not asked:
            continue
        answers = Upkeep.objects.values_list(*asked).first()
        if answers is None:  # the first sweep makes the rows; until then each stage is due
            return ""
        has_work = any(answers)
        with transaction.atomic():
            done = stage.run(clock)
            transaction.set_rollback(True)
        if done and not has_work:
            return f"The stage {stage.name} had work ({done}) that its question does not find."
    return ""


# ---------------------------------------------------------------- jobs
def _of_jobs(run: "SiteSimulation") -> str:
    now = run.kernel.seconds
    lives: dict[str, list[Life]] = defaultdict(list)
    for life in run.google.lives:
        if life.request:
            lives[life.request].append(life)
    unmatched = set(UnmatchedJob.objects.values_list("remote_name", flat=True))
    known = {str(job.pk): job for job in Job.objects.all()}
    for key, created in lives.items():
        live = [life.name for life in created if life.is_live(now)]
        if len(live) > 1:
            return f"{key} has {len(live)} live jobs after everything was quiet."
        if key not in known and live and not run.was_restored:
            return f"{live[0]} runs for a request that the database does not know."
    for job in known.values():
        created = lives[str(job.pk)]
        problem = "" if job.is_adopted else _of_end(job, created, run) or _of_copies(job, created, unmatched, run)
        if problem:
            return problem
        if (count := run.google.creates.get(str(job.pk), 0)) > MAX_CREATES:
            return f"{job} took {count} calls to create it."
    return ""


def _of_end(job: Job, created: list[Life], run: "SiteSimulation") -> str:
    """Return what is wrong with the end of a request."""
    now = run.kernel.seconds
    if job.state in {JobState.APPROVED, JobState.SUBMITTING}:
        return f"{job} is still {job.state}, last error: {job.last_error!r}, due at {job.due_at}."
    live = [life.name for life in created if life.is_live(now)]
    if job.state in {JobState.WITHDRAWN, JobState.SUBMIT_FAILED, JobState.REJECTED, JobState.AWAITING_APPROVAL}:
        return f"{job} is {job.state} and {live} are live." if live else ""
    life = next((life for life in created if life.name == job.remote_name), None)
    if life is None:
        return f"{job} is {job.state} and follows no job."
    if job.pk in run.people.cancelled and life.is_live(now):
        return f"The cancellation of {job} was accepted, and its job is still live."
    told = states.from_vertex(life.state(now))
    is_fresh = life.is_live(now) or life.over_at > now - SETTLED_SECONDS
    return "" if job.state == told or is_fresh else f"{job} is {job.state}, its job is {told}."


def _of_copies(job: Job, created: list[Life], unmatched: set[str], run: "SiteSimulation") -> str:
    """Return a problem if a request has several jobs without a known reason, or unreported ones."""
    others = [life for life in created if life.name != job.remote_name]
    is_forgotten = run.was_restored and job.state == JobState.WITHDRAWN and len(created) == 1
    if others and not (run.google.is_late or is_forgotten or run.is_silent):
        return f"{job} was created {len(created)} times although nothing came later than its window."
    is_untold = run.was_restored and (run.google.is_late or run.is_silent or is_forgotten)  # what knew of it is gone
    for life in others:
        has_ended = not life.is_live(run.kernel.seconds)
        checked_at = job.duplicates_checked_at
        is_listed_late = checked_at is not None and life.listed_at > (checked_at - EPOCH).total_seconds()
        if life.name not in unmatched and not (has_ended and (is_untold or is_listed_late)):
            return f"{job} has a second job, {life.name}, that nobody noticed."
    return ""


def _of_starts(run: "SiteSimulation") -> str:
    """No job is recorded as running before its machines ran: `startTime` is provisional while a job waits."""
    lives = {life.name: life for life in run.google.lives}
    for job in Job.objects.filter(started_at__isnull=False).exclude(remote_name=""):
        life = lives[job.remote_name]
        if not life.has_run(run.kernel.seconds):
            return f"{job} is recorded as running since {job.started_at}, and never ran."
        if job.started_at < moment_of(life.runs_at) and not run.steps_clock:
            return f"{job} is recorded as running since {job.started_at}, and ran {life.runs_at:.0f} s after the begin."
    return ""


def _of_requests(run: "SiteSimulation") -> str:
    """Every accepted request is one job, for ever, unless a restore took it back."""
    for key, ids in run.people.accepted.items():
        kept = set(Job.objects.filter(request_key=key).values_list("pk", flat=True))
        if not run.was_restored and kept != ids:
            return f"The request {key} was accepted as {sorted(map(str, ids))} and is {sorted(map(str, kept))}."
        live = [
            life for life in run.google.lives if life.request in set(map(str, ids)) and life.is_live(run.kernel.seconds)
        ]
        if len(live) > 1:
            return f"The request {key} has {len(live)} live jobs, as {sorted(map(str, ids))}."
    return ""


def _of_attempts(run: "SiteSimulation") -> str:
    """A further attempt never runs beside its predecessor."""
    if run.google.is_late or run.was_restored:
        return ""
    attempts: dict[UUID, list[str]] = defaultdict(list)
    for fallback, job in FallbackAttempt.objects.order_by("number").values_list("fallback", "job"):
        attempts[fallback].append(str(job))
    for jobs in attempts.values():
        spans = sorted((life.created_at, life.over_at) for job in jobs for life in run.google.of(job))
        if any(later[0] < earlier[1] for earlier, later in pairwise(spans)):
            return f"Two of the attempts {jobs} ran at once."
    return ""


def _of_schedules(run: "SiteSimulation") -> str:
    """Each due time of a schedule leads to at most one request."""
    rows = ScheduleRun.objects.filter(job__isnull=False).values_list("schedule", "moment")
    if doubles := [row for row, count in Counter(rows).items() if count > 1]:
        return f"A schedule was run twice for one time: {doubles[0]}."
    keys = Job.objects.filter(request_key__startswith="schedule-").values_list("request_key", flat=True)
    live = Counter(key for key in keys for life in run.lives_of_key(key) if life.is_live(run.kernel.seconds))
    return next((f"{key} has {count} live jobs." for key, count in live.items() if count > 1), "")


def _of_resources(run: "SiteSimulation") -> str:
    """A persistent resource is rebooted at most once for each request, a restore or not."""
    asked = run.people.reboots if run.was_restored else ResourceChange.objects.filter(action="reboot").count()
    return f"{run.google.reboots} reboots for {asked} requests." if run.google.reboots > asked else ""


# ---------------------------------------------------------------- money
def _of_money(run: "SiteSimulation") -> str:
    """Nothing is committed beyond the budget of its time, and what an ended job did not need is free again."""
    jobs = [job for job in Job.objects.exclude(approved_at=None) if not job.is_finished]
    # With a restore or a step of the clock, nobody can tell under which budget a job was approved.
    is_vague = run.was_restored or run.steps_clock
    for number, (since, _) in enumerate(run.people.budgets[:1] if is_vague else run.people.budgets):
        most = max(usd for _, usd in run.people.budgets[number:])
        later = [job for job in jobs if not number or job.approved_at > moment_of(since)]  # type: ignore[operator]
        committed = sum((job.max_usd or Decimal(0) for job in later), Decimal(0))
        if committed > most:
            return f"Jobs approved after second {since:.0f} may spend ${committed}, and the budget is ${most}."
    leaked = Job.objects.filter(state__in=FINISHED, is_counted=False)
    settled = leaked.filter(ended_at__lt=run.kernel.database_now - timedelta(seconds=SETTLED_SECONDS))
    if (job := settled.first()) is not None:
        return f"{job} has ended and still holds its commitment."
    return _of_ledger()


def _of_ledger() -> str:
    """The kept sums are those of the entries, and those of a job are what it has cost."""
    if kept_sums() != sums_of_entries():
        return "The kept sums of spending are not those of the entries."
    entries = dict(CostEntry.objects.filter(kind="run").order_by().values_list("job").annotate(Sum("micros")))
    jobs = Job.objects.exclude(cost_until=None).values_list("pk", "cost_micros")
    wrong = [pk for pk, micros in jobs if entries.get(pk, 0) != (micros or 0)]
    return f"The entries of job {wrong[0]} are not the sum that is kept with it." if wrong else ""


# ---------------------------------------------------------------- messages
def _of_messages(run: "SiteSimulation") -> str:
    """Every end has one message; every message arrives, and only once where nothing failed on its way."""
    now = run.kernel.database_now
    ended = Q(job__is_adopted=False, to_state__in=list(ENDS)) & ~Q(reason__in=["superseded", "approval_expired"])
    told = set(Message.objects.exclude(event=None).values_list("event", flat=True))
    for pk, job, state in JobEvent.objects.filter(ended).values_list("pk", "job", "to_state"):
        if pk not in told:
            return f"Nobody is told that {job} is {state}."
    if (row := Message.objects.filter(routed_at=None, created_at__lt=now - timedelta(minutes=5)).first()) is not None:
        return f"The message “{row}” is sent to nobody."
    late = Delivery.objects.filter(state=Delivery.State.WAITING, due_at__lt=now - timedelta(minutes=5))
    late = late.filter(Q(channel__held_until=None) | Q(channel__held_until__lt=now - timedelta(minutes=5)))
    if (row := late.first()) is not None:
        return f"{row} is late since {row.due_at}."
    for delivery in Delivery.objects.exclude(channel=None).filter(state=Delivery.State.SENT).select_related("message"):
        if not run.receiver.taken.get(f"msg_{delivery.message.uid.hex}"):
            return f"{delivery} never arrived."
    if run.is_undisturbed:
        for uid, count in run.receiver.taken.items():
            if count > 1 and uid not in run.receiver.repeatable:
                return f"The message {uid} was sent {count} times although nothing failed."
    return ""


# ---------------------------------------------------------------- rows
def _of_rows(run: "SiteSimulation") -> str:
    """`manage.py audit` finds nothing, apart from jobs that the judge has accepted as duplicates."""
    for broken in audit(run.kernel.database_now):
        if broken.rule not in run.expected_rules:
            return f"The audit says of {broken.row} ({broken.pk}): {broken.words} [{json.dumps(broken.rule)}]"
    return ""
