"""Tests of the database as queue: due rows are found, even after everything else was lost."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User

from dashboard.celery import app
from jobs import steps, tasks
from jobs.models import Installation, Job, ResourceChange, Scope
from jobs.queue import installation
from jobs.queue.claims import JOB_LEASE
from jobs.requests import fallbacks
from jobs.submission.adapters import DatabaseStore
from jobs.upkeep import repair
from tests.domain.conftest import Cloud, RequestJob

pytestmark = pytest.mark.both_databases
NOW = datetime(2026, 3, 2, tzinfo=UTC)


class TestDue:
    def test_oldest_first_and_nothing_that_is_held(self, request_job: RequestJob, cloud: Cloud) -> None:
        jobs = [request_job() for _ in range(3)]
        for age, job in enumerate(jobs):
            Job.objects.filter(pk=job.pk).update(due_at=cloud.now - timedelta(minutes=age))
        Job.objects.filter(pk=jobs[1].pk).update(claimed_until=cloud.now + timedelta(minutes=1))

        assert steps.due_jobs(cloud.now) == [jobs[2].pk, jobs[0].pk]

    def test_what_may_run_unseen_or_is_to_be_cancelled_waits_behind_no_crowd(
        self, request_job: RequestJob, cloud: Cloud
    ) -> None:
        jobs = []
        for _ in range(5):
            jobs.append(request_job())
            cloud.forward(seconds=1)
        *new, doubtful, running = jobs
        Job.objects.filter(pk=doubtful.pk).update(state="submitting", attempted_at=cloud.now)
        Job.objects.filter(pk=running.pk).update(state="running", cancel_requested_at=cloud.now, due_at=cloud.now)

        order = steps.due_jobs(cloud.now)

        assert order == [doubtful.pk, new[0].pk, running.pk, new[1].pk, new[2].pk]

    def test_the_future_is_not_due(self, request_job: RequestJob, cloud: Cloud) -> None:
        request_job()

        assert steps.due_jobs(cloud.now - timedelta(seconds=1)) == []

    def test_a_job_that_another_worker_holds_is_not_claimed(self, request_job: RequestJob, cloud: Cloud) -> None:
        job, store = request_job(), DatabaseStore(cloud.clock)

        assert store.claim(job.pk) is not None
        assert store.claim(job.pk) is None
        assert job.pk not in steps.due_jobs(cloud.now)

        cloud.forward(seconds=JOB_LEASE.total_seconds())
        assert store.claim(job.pk) is not None


class TestSteps:
    def test_a_job_without_a_step_is_released(self, submitted: Job, cloud: Cloud) -> None:
        Job.objects.update(due_at=cloud.now)
        events = submitted.events.count()

        steps.advance(submitted.pk, clock=cloud.clock)

        submitted.refresh_from_db()
        assert (submitted.due_at, submitted.claim, submitted.failures) == (None, None, 0)
        assert submitted.events.count() == events

    @pytest.mark.parametrize(
        ("columns", "step"),
        [
            ({"state": "approved", "cancel_requested_at": NOW}, "submit"),
            ({"state": "submitting"}, "submit"),
            ({"state": "running", "remote_name": "r", "cancel_requested_at": NOW}, "send_cancel"),
            ({"state": "running", "remote_name": "r"}, None),
            ({"state": "awaiting_approval", "cancel_requested_at": NOW}, None),
            ({"state": "succeeded", "remote_name": "r", "cancel_requested_at": NOW}, None),
            ({"state": "succeeded", "remote_name": "r", "deletion_requested_at": NOW}, "send_delete"),
            ({"state": "succeeded", "remote_name": "r", "deletion_requested_at": NOW, "deleted_at": NOW}, None),
            ({"state": "succeeded", "remote_name": "r", "submit_attempts": 2}, "check"),
        ],
    )
    def test_the_row_decides_the_step(self, columns: dict[str, Any], step: str | None) -> None:
        found = steps.step_for(Job(**columns))

        assert (found.__name__ if found is not None else None) == step

    def test_a_poll_of_one_scope_is_none_of_another(self, submitted: Job, cloud: Cloud) -> None:
        common = {"project": submitted.project, "region": submitted.region, "due_at": cloud.forward(minutes=1)}
        resources = Scope.objects.create(kind="persistent_resource", **common)
        jobs = Scope.objects.get(kind="custom_job")

        steps.observe(resources.pk, clock=cloud.clock)

        resources.refresh_from_db()
        assert (resources.answered_at, resources.failures) == (cloud.now, 0)
        assert Scope.objects.get(pk=jobs.pk).answered_at == jobs.answered_at

    def test_a_scope_that_is_not_due_is_left_alone(self, submitted: Job, cloud: Cloud) -> None:
        scope = Scope.objects.get(kind="custom_job")
        Scope.objects.update(due_at=cloud.forward(minutes=1))

        for _ in range(2):
            steps.observe(scope.pk, clock=cloud.clock)

        scope.refresh_from_db()
        assert (scope.answered_at, scope.failures) == (cloud.now, 0)

    def test_a_cancellation_counts_once_unless_it_stops_further_attempts(
        self, submitted: Job, cloud: Cloud, owner: User, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        assert steps.cancel(submitted, by=owner, clock=cloud.clock)
        assert not steps.cancel(submitted, by=owner, clock=cloud.clock)

        monkeypatch.setattr(fallbacks, "stop_attempts", lambda *_, **__: True)
        assert steps.cancel(submitted, by=owner, clock=cloud.clock)

    def test_of_two_sweeps_that_read_the_row_at_once_one_counts(
        self, submitted: Job, cloud: Cloud, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        other = cloud.forward(seconds=10)
        monkeypatch.setattr(installation, "load_trust", lambda *_: Installation.objects.update(swept_at=other))

        assert not steps.begin_sweep(cloud.now, interval=timedelta(seconds=5))

    def test_an_ended_change_of_a_resource_is_not_due(self, submitted: Job, cloud: Cloud, settings: Any) -> None:
        common = {
            "team": submitted.team, "asked_by": submitted.owner, "asked_at": cloud.now, "due_at": cloud.now,
            "project": "p", "region": "r", "action": "reboot",
        }  # fmt: skip
        ResourceChange.objects.create(resource_id="a", ended_at=cloud.now, **common)
        still_open = ResourceChange.objects.create(resource_id="b", **common)

        assert steps.due_resource_changes(cloud.now) == [still_open.pk]
        settings.INSTANCE = "staging"
        assert steps.due_resource_changes(cloud.now) == []


class TestRepair:
    def test_an_approved_job_without_a_next_step_gets_one(self, request_job: RequestJob, cloud: Cloud) -> None:
        job = request_job()
        Job.objects.update(due_at=None)

        assert repair(cloud.now) == 1
        assert steps.due_jobs(cloud.now) == [job.pk]

    def test_a_remote_job_that_nobody_watches_is_watched_again(self, request_job: RequestJob, cloud: Cloud) -> None:
        job = request_job()
        steps.advance(job.pk, clock=cloud.clock)
        Scope.objects.update(due_at=None)

        assert repair(cloud.now) == 1
        assert steps.due_scopes(cloud.now) == [Scope.objects.get().pk]

    def test_a_healthy_house_needs_none(self, request_job: RequestJob, cloud: Cloud) -> None:
        steps.advance(request_job().pk, clock=cloud.clock)

        assert repair(cloud.now) == 0


class TestTasks:
    def test_the_tasks_have_the_names_that_the_schedule_uses(self, settings: Any) -> None:
        assert tasks.sweep.name == settings.CELERY_BEAT_SCHEDULE["sweep"]["task"]
        assert {tasks.advance.name, tasks.observe.name} == {"jobs.tasks.advance", "jobs.tasks.observe"}

    @pytest.mark.django_db(transaction=True)
    def test_the_sweep_hands_out_what_is_due(
        self, request_job: RequestJob, cloud: Cloud, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        app.control.purge()  # hints that other tests gave and nobody took would count as a long queue
        job = request_job()
        handed_out = []
        monkeypatch.setattr(tasks.advance, "apply_async", lambda **options: handed_out.append(options["kwargs"]))

        tasks.sweep()

        assert [each["job_id"] for each in handed_out] == [str(job.pk)]

    def test_a_nudge_waits_for_the_commit(
        self, request_job: RequestJob, monkeypatch: pytest.MonkeyPatch, django_capture_on_commit_callbacks: Any
    ) -> None:
        job = request_job()
        sent = []
        monkeypatch.setattr(tasks.advance, "apply_async", lambda **options: sent.append(options["kwargs"]))

        with django_capture_on_commit_callbacks(execute=True):
            tasks.enqueue_job(job.pk)
            assert sent == []

        assert [each["job_id"] for each in sent] == [str(job.pk)]
