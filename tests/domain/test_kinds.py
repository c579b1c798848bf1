"""Tests of training pipelines and tuning jobs: submitted once, followed to their end, logs read."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from jobs import steps
from jobs.models import Job, LogLine
from tests.domain.conftest import Cloud, RequestJob, look, watch


@pytest.mark.parametrize("kind", ["training_pipeline", "hyperparameter_tuning_job"])
class TestKinds:
    def submitted(self, request_job: RequestJob, cloud: Cloud, kind: str) -> Job:
        job = request_job(kind=kind, hours=0.01)
        steps.advance(job.pk, clock=cloud.clock)
        job.refresh_from_db()
        return job

    def test_is_followed_to_its_end(self, request_job: RequestJob, cloud: Cloud, kind: str) -> None:
        job = self.submitted(request_job, cloud, kind)

        watch(cloud, job, minutes=300, every=60)

        assert job.state == "succeeded"
        assert job.running_seconds > 0
        states = list(job.events.filter(kind="state").order_by("id").values_list("to_state", flat=True))
        assert states[-2:] == ["running", "succeeded"]

    def test_an_answer_that_says_nothing_new_leaves_its_row_alone(
        self, request_job: RequestJob, cloud: Cloud, kind: str
    ) -> None:
        job = self.submitted(request_job, cloud, kind)
        while job.state != "running":
            watch(cloud, job, minutes=1)
        watch(cloud, job, minutes=1)

        cloud.forward(minutes=1)
        with CaptureQueriesContext(connection) as asked:
            look(cloud)

        job.refresh_from_db()
        assert (job.state, job.seen_at) == ("running", cloud.now)
        written = [query["sql"] for query in asked if query["sql"].startswith('UPDATE "jobs_job"')]
        assert [sql for sql in written if "remote_updated_at" in sql] == []

    def test_its_log_is_found_under_the_custom_jobs_that_ran(
        self, request_job: RequestJob, cloud: Cloud, kind: str
    ) -> None:
        job = self.submitted(request_job, cloud, kind)
        watch(cloud, job, minutes=300, every=60)
        for _ in range(6):
            cloud.forward(minutes=1)
            look(cloud)

        job.refresh_from_db()
        assert job.log_sources
        assert job.remote_id not in job.log_sources
        names = set(LogLine.objects.filter(job=job).values_list("replica", flat=True))
        own = "workerpool0-0" if kind == "training_pipeline" else "trial 1 workerpool0-0"
        assert own in names

    def test_a_lost_answer_is_adopted_like_any_other(self, request_job: RequestJob, cloud: Cloud, kind: str) -> None:
        job = request_job(kind=kind, hours=0.01)
        cloud.fail("*.create", "lost")

        steps.advance(job.pk, clock=cloud.clock)
        cloud.forward(minutes=2)
        steps.advance(job.pk, clock=cloud.clock)

        job.refresh_from_db()
        assert job.remote_name
        assert job.submit_attempts == 1
