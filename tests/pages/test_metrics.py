"""Tests of the Prometheus metrics: values, access, and few labels."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from prometheus_client.parser import text_string_to_metric_families
from pytest_django import Settings

from jobs import counts
from jobs.models import Delivery, Job, Message, Scope
from jobs.upkeep.heartbeats import record_heartbeat, store_counts
from tests.pages.conftest import MakeJob, SignIn
from tests.support.clock import Clock


@pytest.fixture(autouse=True)
def _nothing_counted_before() -> None:
    counts.take()


def figures(client: Client, **headers: str) -> dict[str, float]:
    """Return every sample, as "name" or "name{label}"."""
    answer = client.get("/metrics", headers=headers)
    assert answer.status_code == 200
    assert answer.headers["Content-Type"].startswith("text/plain")
    families = text_string_to_metric_families(answer.content.decode())
    samples = [sample for family in families for sample in family.samples]
    return {
        sample.name + (f"{{{','.join(sample.labels.values())}}}" if sample.labels else ""): sample.value
        for sample in samples
    }


def test_say_how_many_jobs_there_are_what_waits_and_what_it_costs(
    client: Client, make_job: MakeJob, clock: Clock
) -> None:
    for state in ("awaiting_approval", "queued", "running", "running", "failed", "JOB_STATE_DREAMING"):
        make_job(state)
    Job.objects.filter(state="running").update(hourly_usd=2)
    Scope.objects.create(project="p", region="r", kind="custom_job", failing_since=clock.now)
    clock.forward(minutes=10)

    found = figures(client)

    assert found["trainboard_jobs{running}"] == 2
    assert found["trainboard_jobs{other}"] == 1
    assert found["trainboard_jobs_ended_in_hour{failed}"] == 1
    assert found["trainboard_approvals_open"] == 1
    assert found["trainboard_approval_age_seconds"] >= 600
    assert found["trainboard_observation_age_seconds"] >= 600
    assert found["trainboard_scopes_failing"] == 1
    assert found["trainboard_usd_per_hour"] == 4
    assert found["trainboard_submit_seconds{0.95}"] > 0


def test_say_what_the_processes_counted_and_when_they_were_heard_of(client: Client, db: None, clock: Clock) -> None:
    counts.count_call("Vertex AI", 200)
    counts.count_call("Vertex AI", 204)
    counts.count_call("Vertex AI", 429)
    counts.count_call("Somebody new", None)
    for seconds in (0.2, 0.5, 7, 5_000):
        counts.count_submission(seconds)
    store_counts()
    counts.count_call("Vertex AI", 503)
    store_counts()
    record_heartbeat("sender@a", "worker", queues=["sending"], now=clock.now)
    clock.forward(seconds=20)
    record_heartbeat("both@b", "worker", queues=["celery", "sending"], now=clock.now)
    record_heartbeat("beat@b", "beat", now=clock.now)
    Scope.objects.create(project="p", region="r", kind="custom_job", due_at=clock.now)
    clock.forward(seconds=30)

    found = figures(client)

    assert found["trainboard_api_calls_total{2xx,Vertex AI}"] == 2
    assert found["trainboard_api_calls_total{429,Vertex AI}"] == found["trainboard_api_calls_total{5xx,Vertex AI}"] == 1
    assert found["trainboard_api_calls_total{none,other}"] == 1
    assert found["trainboard_submission_seconds_bucket{0.5}"] == 2
    assert found["trainboard_submission_seconds_bucket{10}"] == 3
    assert found["trainboard_submission_seconds_bucket{+Inf}"] == found["trainboard_submission_seconds_count"] == 4
    assert found["trainboard_submission_seconds_sum"] == pytest.approx(5_007.7)
    assert found["trainboard_heartbeat_age_seconds{worker sending}"] == 30
    assert found["trainboard_heartbeat_age_seconds{beat}"] == 30
    assert found["trainboard_observe_lag_seconds"] == 30
    assert found["trainboard_queue_depth{scopes}"] == 1


def test_say_how_many_messages_wait_and_were_given_up(
    client: Client, make_job: MakeJob, owner: User, clock: Clock
) -> None:
    make_job("running")
    message = Message.objects.get()
    for state, via in (("waiting", "email"), ("dead", "slack"), ("sent", "browser")):
        Delivery.objects.create(
            message=message, team=message.team, person=owner, via=via, state=state,
            created_at=clock.now, due_at=clock.now, give_up_at=clock.now,
        )  # fmt: skip

    found = figures(client)

    assert (found["trainboard_messages_waiting"], found["trainboard_messages_failed"]) == (1, 1)


def test_of_an_empty_site_are_zero(client: Client, db: None) -> None:
    found = figures(client)

    assert found["trainboard_steps_due"] == found["trainboard_observation_age_seconds"] == 0
    assert not any(name.startswith("trainboard_jobs{") for name in found)


def test_name_nobody_and_nothing(client: Client, make_job: MakeJob, owner: User) -> None:
    job = make_job("running", name="secret-name")

    text = client.get("/metrics").content.decode()

    for word in ("secret-name", owner.username, job.team.name, job.project, str(job.pk)):
        assert word not in text


def test_ask_as_often_for_forty_jobs_as_for_one(
    client: Client, make_job: MakeJob, django_assert_max_num_queries: Any
) -> None:
    for _ in range(10):
        make_job("running")

    with django_assert_max_num_queries(22):  # the clock, and twenty-one
        figures(client)


class TestWhoMayRead:
    def test_only_this_machine_without_a_token(self, client: Client, signed_in: SignIn, stranger: User) -> None:
        assert client.get("/metrics", REMOTE_ADDR="203.0.113.7").status_code == 403
        assert client.get("/metrics", headers={"X-Forwarded-For": "203.0.113.7"}).status_code == 403
        assert signed_in(stranger).get("/metrics", REMOTE_ADDR="203.0.113.7").status_code == 403

    @pytest.mark.parametrize("given", ["", "Bearer", "Bearer wrong", "Basic t0ken", "t0ken", "Bearer \xe9"])
    def test_nobody_without_the_token(self, client: Client, settings: Settings, given: str) -> None:
        settings.METRICS_TOKEN = "t0ken"

        assert client.get("/metrics", headers={"Authorization": given}).status_code == 403

    def test_who_sends_the_token(self, client: Client, settings: Settings, db: None) -> None:
        settings.METRICS_TOKEN = "t0ken"

        assert figures(client, Authorization="Bearer t0ken")["trainboard_steps_due"] == 0

    def test_reading_is_all_that_can_be_done(self, client: Client) -> None:
        assert client.post("/metrics").status_code == 405
