"""Tests of the database as queue: due rows are found, even after everything else was lost."""

from datetime import timedelta
from typing import Any

import pytest

from dashboard.celery import app
from jobs import steps, tasks
from jobs.models import Job, Scope
from jobs.queue.claims import JOB_LEASE
from jobs.submission.adapters import DatabaseStore
from jobs.upkeep import repair
from tests.domain.conftest import Cloud, RequestJob

pytestmark = pytest.mark.both_databases


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
