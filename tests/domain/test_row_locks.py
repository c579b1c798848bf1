"""Tests of row locks on PostgreSQL: a step that read the row too early would overwrite what another transaction wrote.

Each test holds a row, lets a step run in another thread until it waits for the row, changes the row and commits. A step
without its lock decides by what it read before. SQLite has one lock for all writes, so it cannot show the difference.
"""

import os
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import timedelta
from typing import Any, TypeVar
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.db import connection, transaction
from django.db.models import QuerySet

from jobs import requests, transitions
from jobs.models import Approval, Installation, Job, Schedule, Team, Trial
from jobs.queue import installation
from jobs.requests import schedules
from jobs.requests.schedule_runs import run_now
from jobs.requests.schedules import NotUsable, Times
from jobs.states import JobState
from jobs.submission import delete_job
from jobs.submission.adapters import DatabaseStore
from jobs.submission.ports import Change
from jobs.upkeep.approvals import watch_approvals
from jobs.upkeep.start_repair import repair_starts
from jobs.vertex import RemoteJob
from tests.domain.conftest import RequestJob
from tests.domain.test_start_repair import Past, of_trial
from tests.support import samples, waiting
from tests.support.clock import Clock

Answer = TypeVar("Answer")
pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.both_databases,
    pytest.mark.skipif(not os.environ.get("DATABASE_URL", "").startswith("postgres"), reason="SQLite locks no rows"),
]
WAITS = "SELECT count(*) FROM pg_locks WHERE NOT granted AND pg_backend_pid() = ANY (pg_blocking_pids(pid))"
MAX_SECONDS = 15.0


def meanwhile(rows: "QuerySet[Any]", change: Callable[[], object], step: Callable[[], Answer]) -> Answer:
    """Hold the rows until `step` waits for them in another thread, change them and commit; return the step's result."""

    def run() -> Answer:
        try:
            return step()
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            assert list(rows.select_for_update().order_by("pk"))
            answer = pool.submit(run)
            wait_for_lock(answer)
            change()
        return answer.result()


def wait_for_lock(answer: "Future[Any]") -> None:
    """Return when another connection waits for this one, or when the step has ended without."""

    def waits_or_has_ended() -> bool:
        if answer.done():
            return True
        with connection.cursor() as cursor:
            cursor.execute(WAITS)
            return bool(cursor.fetchone()[0])

    waiting.until(waits_or_has_ended, seconds=MAX_SECONDS, every=0.02, what="waiting for a lock")


def test_a_step_writes_nothing_after_another_worker_has_claimed_the_job(request_job: RequestJob, clock: Clock) -> None:
    job, store = request_job(), DatabaseStore(clock.clock)
    claimed = store.claim(job.pk)
    assert claimed is not None
    rows = Job.objects.filter(pk=job.pk)

    written = meanwhile(
        rows,
        lambda: rows.update(claim=uuid4()),
        lambda: store.apply(claimed, lambda _job, _now: Change(columns={"last_error": "late"})),
    )

    assert written is None
    assert rows.get().last_error == ""


def test_a_transition_from_a_state_that_another_worker_has_changed_is_none(
    request_job: RequestJob, clock: Clock
) -> None:
    job = request_job()
    rows = Job.objects.filter(pk=job.pk)

    def change(row: Job, to: JobState) -> bool:
        return transitions.transition(row, to, now=clock.now, reason="test", message=f"It is {to}.")

    was_changed = meanwhile(
        rows,
        lambda: change(rows.get(), JobState.WITHDRAWN),
        lambda: change(job, JobState.SUBMITTING),
    )

    assert not was_changed
    assert rows.get().state == JobState.WITHDRAWN
    assert job.events.filter(kind="state").order_by("pk").values_list("to_state", flat=True).last() == "withdrawn"


def test_an_adopted_job_that_changes_ends_when_its_request_follows_it(request_job: RequestJob, clock: Clock) -> None:
    name = "projects/p/locations/r/customJobs/1"
    job, other, store = request_job(key="ours"), request_job(key="adopted"), DatabaseStore(clock.clock)
    rows = Job.objects.filter(pk=other.pk)
    rows.update(state=JobState.PENDING, remote_name=name, is_adopted=True)
    remote = RemoteJob(name, "JOB_STATE_PENDING", {"createTime": clock.now.isoformat()})
    Job.objects.filter(pk=job.pk).update(state=JobState.SUBMITTING)

    meanwhile(
        rows,
        lambda: rows.update(state=JobState.RUNNING),
        lambda: store.apply(job, lambda _job, _now: Change(remote=remote), needs_claim=False),
    )

    assert rows.get().state == JobState.LOST
    assert Job.objects.get(pk=job.pk).remote_name == name


def test_a_restore_keeps_what_another_process_writes_of_the_installation(clock: Clock) -> None:
    installation.load_installation(clock.now)
    rows = Installation.objects.filter(pk=1)

    meanwhile(
        rows, lambda: rows.update(instance="elsewhere"), lambda: installation.mark_restored("test", now=clock.now)
    )

    assert rows.get().instance == "elsewhere"
    assert rows.get().restored_reason == "test"


def test_nobody_is_reminded_of_a_request_that_is_answered_meanwhile(
    request_job: RequestJob, clock: Clock, approver: User
) -> None:
    job = request_job(hours=10)
    Approval.objects.filter(job=job).update(remind_at=clock.now)

    meanwhile(
        Job.objects.filter(pk=job.pk),
        lambda: requests.approve(job, by=approver, comment="seen", now=clock.now),
        lambda: watch_approvals(clock.now),
    )

    assert not job.events.filter(kind="reminded").exists()


def test_a_request_that_is_postponed_meanwhile_does_not_expire(request_job: RequestJob, clock: Clock) -> None:
    job = request_job(hours=10)
    questions = Approval.objects.filter(job=job)
    questions.update(expires_at=clock.now)

    meanwhile(
        Job.objects.filter(pk=job.pk),
        lambda: questions.update(expires_at=clock.now + timedelta(hours=1)),
        lambda: watch_approvals(clock.now),
    )

    assert Job.objects.get(pk=job.pk).state == JobState.AWAITING_APPROVAL


def test_a_deletion_that_is_requested_meanwhile_is_requested_once(
    request_job: RequestJob, owner: User, clock: Clock
) -> None:
    job = request_job()
    rows = Job.objects.filter(pk=job.pk)
    rows.update(state=JobState.SUCCEEDED, remote_name="projects/p/locations/r/customJobs/1", ended_at=clock.now)

    was_requested = meanwhile(
        rows,
        lambda: rows.update(deletion_requested_at=clock.now),
        lambda: delete_job(rows.get(), by=owner, now=clock.now),
    )

    assert not was_requested


def test_a_schedule_that_is_deleted_meanwhile_is_not_run(
    request_job: RequestJob, team: Team, owner: User, clock: Clock
) -> None:
    schedule = schedules.create_schedule(
        Times("nightly", "0 6 * * *", "UTC"), submission=samples.submission(**samples.limited(0.1, {})),
        team=Team.objects.get(pk=team.pk), by=owner, expected=timedelta(hours=0.1), now=clock.now,
    )  # fmt: skip
    rows = Schedule.objects.filter(pk=schedule.pk)

    with pytest.raises(NotUsable):
        meanwhile(rows, rows.delete, lambda: run_now(schedule, by=owner, now=clock.now, request_key="k"))

    assert not Job.objects.exists()


def test_a_restart_that_is_recorded_meanwhile_is_taken_back_with_its_false_start(
    request_job: RequestJob, clock: Clock
) -> None:
    past = Past(request_job(), clock).falsely_running().state("queued", 0.4)
    rows = Job.objects.filter(pk=past.job.pk)

    repaired = meanwhile(rows, lambda: past.restarted(0.4), lambda: repair_starts(past.at(60)))

    assert repaired == 1
    assert rows.get().restarts == 0


def test_states_of_a_trial_that_another_sweep_repairs_meanwhile_stay(request_job: RequestJob, clock: Clock) -> None:
    past = Past(request_job(kind="hyperparameter_tuning_job", hours=1), clock)
    trial = of_trial(past, ("", 0), ("running", 0.147213), ("queued", 0.25))
    states = trial.job_states or []
    trials = Trial.objects.filter(pk=trial.pk)

    meanwhile(
        Job.objects.filter(pk=past.job.pk),
        lambda: trials.update(job_states=[states[0], states[2]]),
        lambda: repair_starts(past.at(60)),
    )

    assert trials.get().job_states == [states[0], states[2]]
