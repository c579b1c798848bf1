"""Tests of the life of a real training job through the whole running site."""

import os
import re
from collections.abc import Callable
from pathlib import Path

import grpc
import pytest
from google.cloud import aiplatform_v1 as v1

from dashboard.management.supervisor import ports
from tests.support import postgres, redis, waiting
from tests.support.journey import QUICK, finished, run_example, states
from tests.support.person import Person
from tests.support.stack import Stack

pytestmark = pytest.mark.stack


class TestTheExample:
    def test_is_requested_approved_trained_and_counted(self, person: Callable[[str], Person]) -> None:
        engineer, job = run_example(person, **QUICK)

        timeline = finished(engineer, job)

        seen = states(timeline)
        assert timeline["state"] == "succeeded", timeline
        assert seen[:3] == ["awaiting_approval", "approved", "submitting"]
        assert seen[-1] == "succeeded"
        assert "running" in seen
        moments = [event["occurred_at"] for event in timeline["events"]]
        assert moments == sorted(moments)
        actors = {event["to_state"]: event["actor"] for event in timeline["events"] if event["kind"] == "state"}
        assert actors["awaiting_approval"] == "engineer"
        assert actors["approved"] == "approver"
        assert actors["succeeded"] is None
        page = waiting.until(
            lambda: page.text if "accuracy" in (page := engineer.open(job)).text else "",
            seconds=20,
            what="the metric in the log",
        )
        assert "accuracy" in page
        assert engineer.cost(job) > 0

    def test_is_invisible_to_another_team(self, person: Callable[[str], Person]) -> None:
        job = person("engineer").request_example(**QUICK)
        stranger = person("stranger")

        answer = stranger.session.get(stranger.address + job, timeout=20)

        assert answer.status_code == 404
        assert job not in stranger.open("/").text

    def test_is_not_approved_by_who_requested_it(self, person: Callable[[str], Person]) -> None:
        engineer = person("engineer")
        job = engineer.request_example(**QUICK)

        assert f"{job}decide/" not in engineer.open("/approvals/").text
        assert engineer.timeline(job)["state"] == "awaiting_approval"


def test_tells_both_addresses_of_the_emulator(stack: Stack) -> None:
    said = "\n".join(stack.log)
    over_http = re.search(r"emulator listening on (http://127\.0\.0\.1:\d+)$", said, re.MULTILINE)
    over_grpc = re.search(r"gRPC on (localhost:\d+), certificate (\S+)$", said, re.MULTILINE)
    assert over_http is not None
    assert over_grpc is not None

    trusted = grpc.ssl_channel_credentials(Path(over_grpc[2]).read_bytes())
    parent = "projects/vision-demo/locations/us-central1"
    with grpc.secure_channel(over_grpc[1], trusted) as channel:
        listing = channel.unary_unary("/google.cloud.aiplatform.v1.PersistentResourceService/ListPersistentResources")
        request = v1.ListPersistentResourcesRequest(parent=parent)
        listing(v1.ListPersistentResourcesRequest.serialize(request), timeout=20)


def test_runs_on_the_servers_of_a_team(tmp_path: Path) -> None:
    """PostgreSQL and Debian's Redis instead of the embedded ones, both through one address each."""
    database = Path(f"{os.environ['TRAINBOARD_TEST_STATE']}-team")  # short, and open to the user postgres
    with postgres.running(database), redis.running("system") as broker:
        servers = {"DATABASE_URL": postgres.url(database), "REDIS_URL": broker}
        stack = Stack(tmp_path / "state", ports.choose("127.0.0.1"), TRAINBOARD_EMULATOR_SPEED="300", **servers)
        try:
            stack.start()
            engineer, approver = (Person(stack.address).sign_in(name) for name in ("engineer", "approver"))
            job = engineer.request_example(**QUICK)
            approver.decide(job)

            assert finished(engineer, job)["state"] == "succeeded"
            assert stack.part("redis") is None
            assert set(engineer.open("/readyz?for=all").json().values()) == {"ok"}
            counted = ('trainboard_api_calls_total{code="2xx",service="Vertex AI"}', "submission_seconds_count 1.0")
            waiting.until(lambda: all(each in engineer.open("/metrics").text for each in counted), seconds=25)
            assert stack.stop() == 0
            for each in (engineer, approver):
                each.close()
        finally:
            stack.close()
    assert not (tmp_path / "state" / "trainboard.sqlite3").exists()


def test_says_which_port_is_taken_and_who_runs_here(stack: Stack, tmp_path: Path) -> None:
    port = stack.address.rpartition(":")[2]

    elsewhere = Stack(tmp_path, int(port))
    with pytest.raises(AssertionError, match=rf"uses port {port} on 127\.0\.0\.1\. .* PORT=\d+ make up"):
        elsewhere.start()
    here = Stack(Path(stack.environment["TRAINBOARD_STATE"]), ports.choose("127.0.0.1"))
    with pytest.raises(AssertionError, match=f"Trainboard already runs .* at {stack.address} "):
        here.start()
