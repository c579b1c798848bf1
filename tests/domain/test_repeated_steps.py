"""Tests of retries after failures: cancellations, look-ups, creates, and steps with a bug."""

from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import User

from jobs import steps, timeline
from jobs.models import Job
from jobs.submission.adapters import VertexRemote
from jobs.upkeep import repair
from jobs.upkeep.audit import audit
from tests.domain.conftest import Cloud, RequestJob, look

pytestmark = pytest.mark.both_databases


class TestCancellation:
    def test_one_refusal_does_not_count_as_sent(self, submit: Any, cloud: Cloud, owner: User) -> None:
        job = submit("long")
        cloud.fail("customJobs.cancel", "400")
        assert steps.cancel(job, by=owner, clock=cloud.clock)
        steps.advance(job.pk, clock=cloud.clock)
        job.refresh_from_db()
        assert job.cancel_sent_at is None

        cloud.forward(seconds=10)
        steps.advance(job.pk, clock=cloud.clock)

        job.refresh_from_db()
        assert job.cancel_sent_at == cloud.now
        assert cloud.cancelled() == [job.remote_name]

    def test_one_during_the_create_is_not_overwritten(
        self, request_job: RequestJob, cloud: Cloud, owner: User, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        job, create = request_job(), VertexRemote.create

        def meanwhile(self: VertexRemote, row: Job, *, within: float) -> Any:
            assert steps.cancel(Job.objects.get(pk=row.pk), by=owner, clock=cloud.clock)
            return create(self, row, within=within)

        monkeypatch.setattr(VertexRemote, "create", meanwhile)
        steps.advance(job.pk, clock=cloud.clock)
        steps.advance(job.pk, clock=cloud.clock)

        job.refresh_from_db()
        assert cloud.cancelled() == [job.remote_name]
        assert cloud.calls()["customJobs.cancel"] == 1

    def test_one_that_is_not_carried_out_is_repeated_and_may_be_asked_for_again(
        self, submit: Any, cloud: Cloud, owner: User, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        job = submit("long")
        monkeypatch.setattr(VertexRemote, "cancel", lambda *_: None)  # taken, and nothing happens
        steps.cancel(job, by=owner, clock=cloud.clock)
        assert not steps.cancel(job, by=owner, clock=cloud.clock), "it is on its way"
        for _ in range(3):
            steps.advance(job.pk, clock=cloud.clock)
            job.refresh_from_db()
            assert job.due_at is not None
            cloud.forward(seconds=(job.due_at - cloud.now).total_seconds())

        assert job.events.filter(kind="cancel_sent").latest("pk").message.startswith("The job had not")
        assert steps.cancel(job, by=owner, clock=cloud.clock)
        assert list(audit(cloud.now)) == []


class TestTrouble:
    def test_a_row_that_is_gone_after_its_create_ends_the_step(
        self, request_job: RequestJob, cloud: Cloud, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A restore while the answer was on its way. A row of the same request then finds the job."""
        job, create, hidden = request_job(), VertexRemote.create, uuid4()

        def meanwhile(self: VertexRemote, row: Job, *, within: float) -> Any:
            remote = create(self, row, within=within)
            Job.objects.filter(pk=row.pk).update(id=hidden)
            return remote

        monkeypatch.setattr(VertexRemote, "create", meanwhile)
        steps.advance(job.pk, clock=cloud.clock)
        Job.objects.filter(pk=hidden).update(id=job.pk)
        cloud.forward(minutes=5)
        steps.advance(job.pk, clock=cloud.clock)

        job.refresh_from_db()
        assert [job.remote_name] == [each["name"] for each in cloud.jobs()]

    def test_an_outage_costs_few_look_ups(self, request_job: RequestJob, cloud: Cloud) -> None:
        job = request_job()
        cloud.fail("customJobs.create", "lost")
        steps.advance(job.pk, clock=cloud.clock)
        cloud.fail("customJobs.list", "503", times=1000)

        look_ups = 0
        for _ in range(6 * 30):
            cloud.forward(seconds=10)
            look_ups += len(steps.due_jobs(cloud.now))
            steps.advance(job.pk, clock=cloud.clock)

        assert 8 <= look_ups <= 20

    def test_every_reason_for_which_a_try_failed_stays_in_the_timeline(
        self, request_job: RequestJob, cloud: Cloud
    ) -> None:
        job = request_job()
        for fault in ("429", "503"):
            cloud.fail("customJobs.create", fault, retry_after=120)
            steps.advance(job.pk, clock=cloud.clock)
            cloud.forward(minutes=2)
        while Job.objects.get().state == "submitting":
            cloud.forward(seconds=30)
            steps.advance(job.pk, clock=cloud.clock)

        told = list(job.events.filter(kind="trouble").order_by("pk").values_list("reason", flat=True))
        assert told[:2] == ["ratelimited", "unavailable"]
        job.refresh_from_db()
        assert timeline.first_wait(job, cloud.now) >= timedelta(minutes=4)

    def test_a_fault_of_ours_is_told_once_and_tried_ever_more_seldom(
        self, request_job: RequestJob, cloud: Cloud
    ) -> None:
        job = request_job()
        Job.objects.update(spec=["nonsense"])
        pauses = []
        for _ in range(5):
            steps.advance(job.pk, clock=cloud.clock)
            job.refresh_from_db()
            assert job.due_at is not None
            pauses.append((job.due_at - cloud.now).total_seconds())
            cloud.forward(seconds=pauses[-1])
            repair(cloud.now)

        assert pauses == [4, 8, 16, 32, 64]
        assert job.events.filter(reason="internal_fault").count() == 1
        assert "cannot be read" in job.last_error
        assert list(audit(cloud.now)) == []

    def test_a_lost_job_that_vertex_ai_knows_again_goes_on(self, submit: Any, cloud: Cloud) -> None:
        job = submit("long")
        cloud.fail("customJobs.list", "stale", seconds=10_000, times=17)
        cloud.fail("customJobs.get", "404", times=17)
        for _ in range(17):
            cloud.forward(minutes=1)
            look(cloud)
        job.refresh_from_db()
        assert job.state == "lost"

        for _ in range(3):
            cloud.forward(minutes=1)
            look(cloud)

        job.refresh_from_db()
        assert job.state == "running"
        assert job.ended_at is None
        assert list(audit(cloud.now)) == []
