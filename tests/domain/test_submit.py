"""Tests that a job is submitted once: whatever fails, there is one remote job, or none and a reason."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import User

from jobs import steps
from jobs.clients import MAX_CALL
from jobs.models import Job, Policy, Scope
from jobs.queue.claims import LEASE
from jobs.submission.submit import CONSISTENCY_WINDOW, LOOK_UP_INTERVAL
from tests.domain.conftest import Cloud, RequestJob

pytestmark = pytest.mark.both_databases


class TestSubmit:
    def test_creates_the_job_with_our_labels_and_enters_vertex_s_state(
        self, request_job: RequestJob, cloud: Cloud
    ) -> None:
        job = request_job(labels={"phase": "two"})

        steps.advance(job.pk, clock=cloud.clock)

        (remote,) = cloud.jobs()
        job.refresh_from_db()
        assert remote["labels"] == {
            "phase": "two",
            "trainboard_job": str(job.pk),
            "trainboard_instance": "trainboard",
        }
        assert remote["jobSpec"]["scheduling"]["strategy"] == "SPOT"
        assert job.remote_name == remote["name"]
        assert job.state in {"queued", "pending"}
        assert (job.claim, job.due_at, job.attempted_at) == (None, None, None)

    def test_makes_sure_that_somebody_looks_after_it(self, request_job: RequestJob, cloud: Cloud) -> None:
        job = request_job()

        steps.advance(job.pk, clock=cloud.clock)

        scope = Scope.objects.get()
        assert (scope.project, scope.region, scope.kind) == (job.project, job.region, job.kind)
        assert scope.due_at is not None

    def test_a_second_worker_does_nothing(self, request_job: RequestJob, cloud: Cloud) -> None:
        job = request_job()

        steps.advance(job.pk, clock=cloud.clock)
        steps.advance(job.pk, clock=cloud.clock)

        assert len(cloud.jobs()) == 1

    def test_a_job_that_waits_for_approval_is_not_submitted(self, request_job: RequestJob, cloud: Cloud) -> None:
        job = request_job(hours=10)
        Job.objects.update(due_at=cloud.now)

        steps.advance(job.pk, clock=cloud.clock)

        assert cloud.jobs() == []
        assert Job.objects.get().state == "awaiting_approval"

    def test_a_policy_that_changed_meanwhile_still_counts(self, request_job: RequestJob, cloud: Cloud) -> None:
        job = request_job()
        Policy.objects.update(regions=["europe-west4"])

        steps.advance(job.pk, clock=cloud.clock)

        job.refresh_from_db()
        assert job.state == "submit_failed"
        assert "and refused it:" in job.events.latest("id").message
        assert cloud.jobs() == []


class TestDoubt:
    @pytest.mark.parametrize("fault", ["lost", "truncated"])
    def test_a_lost_answer_is_looked_up_and_adopted(self, request_job: RequestJob, cloud: Cloud, fault: str) -> None:
        job = request_job()
        cloud.fail("customJobs.create", fault)

        steps.advance(job.pk, clock=cloud.clock)
        assert Job.objects.get().state == "submitting"
        cloud.forward(minutes=1)
        steps.advance(job.pk, clock=cloud.clock)

        (remote,) = cloud.jobs()
        job.refresh_from_db()
        assert job.remote_name == remote["name"]
        assert job.events.filter(kind="submit_adopted").count() == 1
        assert job.submit_attempts == 1
        entered = job.events.get(to_state="pending").occurred_at
        assert entered == cloud.moment(remote["updateTime"]) > cloud.moment(remote["createTime"])

    @pytest.mark.parametrize("fault", ["reset", "503", "html", "409"])
    def test_a_try_that_never_arrived_is_repeated_only_when_that_is_certain(
        self, request_job: RequestJob, cloud: Cloud, fault: str
    ) -> None:
        job = request_job()
        began = cloud.now
        cloud.fail("customJobs.create", fault)
        steps.advance(job.pk, clock=cloud.clock)

        while cloud.now < began + MAX_CALL + CONSISTENCY_WINDOW:
            assert cloud.jobs() == []
            assert Job.objects.get().state == "submitting"
            assert Job.objects.get().last_error
            cloud.forward(seconds=10)
            steps.advance(job.pk, clock=cloud.clock)
        cloud.forward(minutes=6)
        steps.advance(job.pk, clock=cloud.clock)

        job.refresh_from_db()
        assert len(cloud.jobs()) == 1
        assert job.submit_attempts == 2
        assert job.remote_name

    def test_a_job_that_a_lagging_list_left_out_is_adopted_soon_after_a_list_shows_it(
        self, request_job: RequestJob, cloud: Cloud
    ) -> None:
        job = request_job()
        cloud.fail("customJobs.create", "lost")
        steps.advance(job.pk, clock=cloud.clock)
        cloud.fail("customJobs.list", "stale", seconds=20)
        cloud.forward(seconds=5)

        steps.advance(job.pk, clock=cloud.clock)

        job.refresh_from_db()
        assert (job.state, job.due_at) == ("submitting", cloud.now + LOOK_UP_INTERVAL)
        cloud.forward(seconds=LOOK_UP_INTERVAL.total_seconds())
        steps.advance(job.pk, clock=cloud.clock)
        job.refresh_from_db()
        assert (job.remote_name, job.submit_attempts) == (cloud.jobs()[0]["name"], 1)

    def test_a_look_up_that_fails_keeps_the_doubt(self, request_job: RequestJob, cloud: Cloud) -> None:
        job = request_job()
        cloud.fail("customJobs.create", "lost")
        steps.advance(job.pk, clock=cloud.clock)
        cloud.forward(minutes=1)
        cloud.fail("customJobs.list", "429")

        steps.advance(job.pk, clock=cloud.clock)
        assert Job.objects.get().attempted_at is not None
        cloud.forward(minutes=6)
        steps.advance(job.pk, clock=cloud.clock)

        assert len(cloud.jobs()) == 1

    def test_a_worker_that_died_after_the_call_leaves_one_job(self, request_job: RequestJob, cloud: Cloud) -> None:
        job = request_job()
        cloud.fail("customJobs.create", "lost")
        steps.advance(job.pk, clock=cloud.clock)
        dead_worker_s_claim = {"claim": job.pk, "claimed_until": cloud.now + LEASE, "due_at": cloud.now}
        Job.objects.update(**dead_worker_s_claim)

        steps.advance(job.pk, clock=cloud.clock)
        assert Job.objects.get().state == "submitting", "the claim is still held"
        cloud.forward(seconds=LEASE.total_seconds() + 1)
        steps.advance(job.pk, clock=cloud.clock)

        assert len(cloud.jobs()) == 1
        assert Job.objects.get().remote_name

    def test_of_two_remote_jobs_the_oldest_is_kept_and_the_other_cancelled(
        self, request_job: RequestJob, cloud: Cloud
    ) -> None:
        job = request_job()
        cloud.fail("customJobs.create", "lost")
        steps.advance(job.pk, clock=cloud.clock)
        (oldest,) = cloud.jobs()
        cloud.forward(seconds=5)
        younger = cloud.create(oldest | {"displayName": "sent by somebody else"})
        cloud.forward(minutes=1)

        steps.advance(job.pk, clock=cloud.clock)

        job.refresh_from_db()
        assert job.remote_name == oldest["name"]
        assert cloud.cancelled() == [younger["name"]]
        assert cloud.calls()["customJobs.cancel"] == 1

    def test_a_job_cancelled_in_doubt_is_withdrawn_once_it_is_certainly_absent(
        self, request_job: RequestJob, cloud: Cloud, owner: User
    ) -> None:
        job = request_job()
        cloud.fail("customJobs.create", "503")
        steps.advance(job.pk, clock=cloud.clock)
        steps.cancel(Job.objects.get(), by=owner, clock=cloud.clock)

        steps.advance(job.pk, clock=cloud.clock)
        assert Job.objects.get().state == "submitting"
        cloud.forward(minutes=6)
        steps.advance(job.pk, clock=cloud.clock)

        assert Job.objects.get().state == "withdrawn"
        assert cloud.jobs() == []

    def test_a_job_cancelled_in_doubt_that_had_arrived_is_cancelled_there(
        self, request_job: RequestJob, cloud: Cloud, owner: User
    ) -> None:
        job = request_job()
        cloud.fail("customJobs.create", "lost")
        steps.advance(job.pk, clock=cloud.clock)
        steps.cancel(Job.objects.get(), by=owner, clock=cloud.clock)

        cloud.forward(minutes=6)
        steps.advance(job.pk, clock=cloud.clock)
        steps.advance(job.pk, clock=cloud.clock)

        (remote,) = cloud.jobs()
        assert cloud.cancelled() == [remote["name"]]
        assert cloud.calls()["customJobs.cancel"] == 1


class TestRefusal:
    @pytest.mark.parametrize("fault", ["400", "404"])
    def test_a_no_ends_the_job_with_vertex_s_words(self, request_job: RequestJob, cloud: Cloud, fault: str) -> None:
        job = request_job()
        cloud.fail("customJobs.create", fault)

        steps.advance(job.pk, clock=cloud.clock)

        job.refresh_from_db()
        assert job.state == "submit_failed"
        assert job.events.latest("id").message.startswith("Vertex AI refused the job: ")
        assert len(job.events.latest("id").message) > len("Vertex AI refused the job: ")

    def test_a_full_rate_is_waited_out_as_long_as_vertex_says(self, request_job: RequestJob, cloud: Cloud) -> None:
        job = request_job()
        cloud.fail("customJobs.create", "429", retry_after=40)

        steps.advance(job.pk, clock=cloud.clock)

        job.refresh_from_db()
        assert job.state == "submitting"
        assert job.attempted_at is None, "a 429 creates nothing"
        assert job.due_at == cloud.now + timedelta(seconds=40)

    def test_an_unreachable_endpoint_is_tried_again_without_doubt(
        self, request_job: RequestJob, cloud: Cloud, unreachable: None
    ) -> None:
        job = request_job()

        steps.advance(job.pk, clock=cloud.clock)

        job.refresh_from_db()
        assert job.state == "submitting"
        assert job.attempted_at is None
        assert job.due_at is not None
        assert job.due_at > cloud.now
        assert job.last_error
