"""Tests of faults on demand: what fails, when, and what happened nevertheless."""

import http.client
import json
import urllib.error
import urllib.parse
from typing import Any

import pytest

from emulator.scenarios.faults import Faults
from tests.support.running_emulator import Running
from tests.unit.emulator.conftest import JOBS, job_body


def answer(emulator: Running, verb: str = "GET", path: str = JOBS, body: Any = None) -> tuple[int, bytes, Any]:
    """Send a request; return status, body and headers."""
    connection = http.client.HTTPConnection(urllib.parse.urlsplit(emulator.url).netloc, timeout=10)
    try:
        connection.request(verb, path, None if body is None else json.dumps(body))
        reply = connection.getresponse()
        return reply.status, reply.read(), reply.headers
    finally:
        connection.close()


class TestKinds:
    """Each kind of fault as a client sees it."""

    @pytest.mark.parametrize(
        ("kind", "status"),
        [
            ("400", "INVALID_ARGUMENT"),
            ("403", "PERMISSION_DENIED"),
            ("404", "NOT_FOUND"),
            ("409", "ABORTED"),
            ("429", "RESOURCE_EXHAUSTED"),
            ("500", "INTERNAL"),
            ("503", "UNAVAILABLE"),
            ("504", "DEADLINE_EXCEEDED"),
        ],
    )
    def test_a_status_comes_in_the_envelope(self, scripted: Running, kind: str, status: str) -> None:
        scripted.fault(kind, times=1)
        code, body, headers = answer(scripted)

        assert code == int(kind)
        assert json.loads(body)["error"]["status"] == status
        assert "Retry-After" not in headers
        assert answer(scripted)[0] == 200

    def test_retry_after_is_sent_when_asked_for(self, scripted: Running) -> None:
        scripted.fault("429", retry_after=7)

        assert answer(scripted)[2]["Retry-After"] == "7"

    def test_html_is_no_json(self, scripted: Running) -> None:
        scripted.fault("html")
        code, body, headers = answer(scripted)

        assert (code, body[:9]) == (503, b"<!DOCTYPE")
        assert headers["Content-Type"].startswith("text/html")

    def test_truncated_json_cannot_be_read(self, scripted: Running) -> None:
        scripted.call("POST", JOBS, job_body())
        scripted.fault("truncated")
        code, body, _ = answer(scripted)

        assert code == 200
        with pytest.raises(ValueError, match=r"."):
            json.loads(body)

    def test_reset_breaks_the_connection_before_anything_happens(self, scripted: Running) -> None:
        scripted.fault("reset", "customJobs.create", times=1)

        with pytest.raises((ConnectionError, http.client.RemoteDisconnected)):
            answer(scripted, "POST", JOBS, job_body())
        assert scripted.call("GET", JOBS) == {}

    def test_lost_does_the_work_and_breaks_the_connection(self, scripted: Running) -> None:
        scripted.fault("lost", "customJobs.create", times=1)

        with pytest.raises((ConnectionError, http.client.RemoteDisconnected)):
            answer(scripted, "POST", JOBS, job_body())
        assert len(scripted.call("GET", JOBS)["customJobs"]) == 1

    def test_a_stale_list_lacks_the_newest_jobs_and_nothing_else_is_stale(self, scripted: Running) -> None:
        old = scripted.call("POST", JOBS, job_body())
        scripted.advance(30)
        new = scripted.call("POST", JOBS, job_body())
        scripted.fault("stale", seconds=20)

        assert [job["name"] for job in scripted.call("GET", JOBS)["customJobs"]] == [old["name"]]
        assert scripted.call("GET", f"/v1/{new['name']}")["name"] == new["name"]
        scripted.advance(20)
        assert len(scripted.call("GET", JOBS)["customJobs"]) == 2

    def test_slow_comes_late(self, scripted: Running) -> None:
        scripted.fault("slow", seconds=5)
        connection = http.client.HTTPConnection(urllib.parse.urlsplit(scripted.url).netloc, timeout=0.3)

        connection.request("GET", JOBS)
        with pytest.raises(TimeoutError):
            connection.getresponse()
        connection.close()


class TestPlans:
    """Which calls a plan strikes."""

    def test_counts_and_skips(self) -> None:
        faults = Faults()
        faults.add({"kind": "503", "method": "customJobs.*", "after": 1, "times": 2})

        struck = [faults.find("customJobs.get") is not None for _ in range(4)]

        assert struck == [False, True, True, False]
        assert faults.find("entries.list") is None

    def test_probability_is_repeatable(self) -> None:
        runs = []
        for _ in range(2):
            faults = Faults()
            faults.add({"kind": "500", "probability": 0.3, "seed": 7})
            runs.append([faults.find("x") is not None for _ in range(200)])

        assert runs[0] == runs[1]
        assert 30 < sum(runs[0]) < 90

    @pytest.mark.parametrize("plan", [{}, {"kind": "418"}, {"kind": "503", "nonsense": 1}, []])
    def test_refuses_what_is_no_plan(self, scripted: Running, plan: Any) -> None:
        with pytest.raises(urllib.error.HTTPError) as refused:
            scripted.call("POST", "/_emulator/faults", plan)

        refused.value.close()
        assert refused.value.code == 400

    def test_control_calls_are_never_struck(self, scripted: Running) -> None:
        scripted.fault("503")
        assert answer(scripted)[0] == 503
        scripted.forget_faults()

        assert answer(scripted)[0] == 200

    def test_truth_counts_the_calls_that_came_through(self, scripted: Running) -> None:
        scripted.fault("reset", "customJobs.list", times=1)
        for _ in range(3):
            try:
                answer(scripted)
            except (ConnectionError, http.client.RemoteDisconnected):
                continue

        assert scripted.truth()["calls"]["customJobs.list"] == 2


class TestStrangers:
    """What a web page elsewhere could send."""

    @pytest.mark.parametrize("headers", [{"Host": "evil.example"}, {"Origin": "https://evil.example"}])
    def test_are_refused(self, scripted: Running, headers: dict[str, str]) -> None:
        connection = http.client.HTTPConnection(urllib.parse.urlsplit(scripted.url).netloc, timeout=10)
        connection.request("POST", JOBS, json.dumps(job_body()), headers)
        reply = connection.getresponse()
        reply.read()
        connection.close()

        assert reply.status == 403
        assert scripted.call("GET", JOBS) == {}
