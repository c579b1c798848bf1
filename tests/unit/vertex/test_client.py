"""Tests of VertexClient against a local server: what it sends, how it reads responses, and how it connects."""

import os
import threading
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from jobs.vertex import NotFound, Refused, Unavailable, VertexClient

NAME = "projects/123/locations/us-central1/customJobs/456"
NAMES = {
    "custom_job": NAME,
    "hyperparameter_tuning_job": NAME.replace("customJobs", "hyperparameterTuningJobs"),
    "training_pipeline": NAME.replace("customJobs", "trainingPipelines"),
}
BODY = {"displayName": "penguins", "jobSpec": {"scheduling": {"maxWaitDuration": "0s"}}}
JOB = {
    "name": NAME,
    "displayName": "penguins",
    "state": "JOB_STATE_RUNNING",
    "labels": {"trainboard_job": "a"},
    "createTime": "2026-11-21T08:00:00.123456789Z",
    "startTime": "2026-11-21T08:03:00Z",
    "updateTime": "2026-11-21T10:04:00.5+02:00",
}


class TestCreate:
    def test_posts_the_body_as_it_is(self, server: Any, client: VertexClient) -> None:
        server.json(JOB)

        client.create("custom_job", project="my-project", region="us-central1", body=BODY)

        (asked,) = server.asked
        assert (asked.method, asked.path) == ("POST", "/v1/projects/my-project/locations/us-central1/customJobs")
        assert asked.body == BODY
        assert "authorization" not in asked.headers

    def test_returns_what_vertex_ai_made_of_it(self, server: Any, client: VertexClient) -> None:
        server.json(JOB | {"state": "JOB_STATE_QUEUED", "surprise": 1})

        job = client.create("custom_job", project="p", region="us-central1", body=BODY)

        assert (job.name, job.display_name, job.state) == (NAME, "penguins", "JOB_STATE_QUEUED")
        assert job.create_time == datetime(2026, 11, 21, 8, 0, 0, 123456, tzinfo=UTC)
        assert job.update_time == datetime(2026, 11, 21, 8, 4, 0, 500_000, tzinfo=UTC)
        assert job.end_time is None
        assert job.error is None
        assert job.raw["surprise"] == 1

    @pytest.mark.parametrize("kind", NAMES)
    def test_knows_every_kind(self, server: Any, client: VertexClient, kind: str) -> None:
        server.json({"name": NAMES[kind]})

        job = client.create(kind, project="p", region="us-central1", body={})

        assert server.asked[0].path.endswith("/" + NAMES[kind].split("/")[4])
        assert job.state == ("PIPELINE" if kind == "training_pipeline" else "JOB") + "_STATE_UNSPECIFIED"

    @pytest.mark.parametrize(
        ("project", "region"),
        [("", "us-central1"), ("p/../q", "us-central1"), ("p", ""), ("p", "evil.example/"), ("p", "us central1")],
    )
    def test_refuses_places_that_cannot_be_without_asking(
        self, server: Any, client: VertexClient, project: str, region: str
    ) -> None:
        with pytest.raises(Refused, match="is not the"):
            client.create("custom_job", project=project, region=region, body=BODY)

        assert server.asked == []

    def test_refuses_a_body_that_is_no_json_without_asking(self, server: Any, client: VertexClient) -> None:
        with pytest.raises(Refused, match="cannot be written as JSON"):
            client.create("custom_job", project="p", region="us-central1", body={"x": float("nan")})

        assert server.asked == []

    def test_is_sent_once_even_when_it_fails(self, server: Any, client: VertexClient) -> None:
        server.error(503, "Try later", "UNAVAILABLE")

        with pytest.raises(Unavailable):
            client.create("custom_job", project="p", region="us-central1", body=BODY)

        assert len(server.asked) == 1


class TestOneJob:
    @pytest.mark.parametrize("kind", NAMES)
    def test_get_asks_for_it_by_name(self, server: Any, client: VertexClient, kind: str) -> None:
        server.json({"name": NAMES[kind], "state": "JOB_STATE_NEW_IN_2027"})

        job = client.get(kind, NAMES[kind])

        assert (server.asked[0].method, server.asked[0].path) == ("GET", f"/v1/{NAMES[kind]}")
        assert job.state == "JOB_STATE_NEW_IN_2027"

    def test_get_reads_the_error_of_a_failed_job(self, server: Any, client: VertexClient) -> None:
        server.json(JOB | {"error": {"code": 3, "message": "The replica workerpool0-0 exited …"}})

        assert client.get("custom_job", NAME).error == {"code": 3, "message": "The replica workerpool0-0 exited …"}

    @pytest.mark.parametrize("kind", NAMES)
    def test_cancel_posts_an_empty_object(self, server: Any, client: VertexClient, kind: str) -> None:
        server.json({})

        client.cancel(kind, NAMES[kind])

        asked = server.asked[0]
        assert (asked.method, asked.path, asked.body) == ("POST", f"/v1/{NAMES[kind]}:cancel", {})

    @pytest.mark.parametrize("kind", NAMES)
    def test_delete_is_done_when_the_operation_has_begun(self, server: Any, client: VertexClient, kind: str) -> None:
        server.json({"name": "projects/123/locations/us-central1/operations/1"})

        is_done = client.delete(kind, NAMES[kind])

        assert (server.asked[0].method, server.asked[0].path) == ("DELETE", f"/v1/{NAMES[kind]}")
        assert not is_done

    def test_delete_tells_that_it_is_done(self, server: Any, client: VertexClient) -> None:
        server.json({"name": "o", "done": True, "response": {}})

        assert client.delete("custom_job", NAME)

    def test_delete_tells_that_the_operation_failed(self, server: Any, client: VertexClient) -> None:
        server.json({"name": "o", "done": True, "error": {"code": 9, "message": "The job is running."}})

        with pytest.raises(Refused, match=r"The job is running\."):
            client.delete("custom_job", NAME)

    @pytest.mark.parametrize(
        "name",
        ["", "456", NAMES["training_pipeline"], NAME + "/x", "projects/../locations/l/customJobs/1", NAME + "\n"],
    )
    def test_refuses_a_name_that_is_none_without_asking(self, server: Any, client: VertexClient, name: str) -> None:
        with pytest.raises(Refused, match="is not the name of a job"):
            client.cancel("custom_job", name)

        assert server.asked == []


class TestList:
    def test_asks_with_filter_fields_and_a_hundred_a_page(self, server: Any, client: VertexClient) -> None:
        server.json({})

        found = client.list(
            "custom_job", project="p", region="us-central1", filter='labels.team="a"', fields=("name", "state")
        )

        assert found == []
        assert server.asked[0].path == "/v1/projects/p/locations/us-central1/customJobs"
        assert server.asked[0].query == {
            "pageSize": ["100"],
            "filter": ['labels.team="a"'],
            "readMask": ["name,state"],
        }

    @pytest.mark.parametrize("kind", NAMES)
    def test_follows_every_page_also_an_empty_one(self, server: Any, client: VertexClient, kind: str) -> None:
        collection = NAMES[kind].split("/")[4]
        server.json({collection: [{"name": NAMES[kind]}], "nextPageToken": "two"})
        server.json({"nextPageToken": "three"})
        server.json({collection: [{"name": NAMES[kind] + "7"}], "nextPageToken": ""})

        found = client.list(kind, project="p", region="us-central1", filter="x")

        assert [job.name for job in found] == [NAMES[kind], NAMES[kind] + "7"]
        assert [asked.query.get("pageToken") for asked in server.asked] == [None, ["two"], ["three"]]
        assert {tuple(asked.query["filter"]) for asked in server.asked} == {("x",)}

    def test_gives_nothing_rather_than_a_part(self, server: Any, client: VertexClient) -> None:
        server.json({"customJobs": [JOB], "nextPageToken": "two"})
        server.error(500, "Oh no", "INTERNAL")

        with pytest.raises(Unavailable):
            client.list("custom_job", project="p", region="us-central1")

    def test_notices_that_it_is_led_in_circles(self, server: Any, client: VertexClient) -> None:
        server.json({"nextPageToken": "again"})
        server.json({"nextPageToken": "again"})

        with pytest.raises(Unavailable, match="the same page again"):
            client.list("custom_job", project="p", region="us-central1")


class TestEndpoints:
    def test_location_goes_into_the_endpoint(self, server: Any) -> None:
        server.json({})
        client = VertexClient(endpoint=server.url + "/{location}/")

        client.list("custom_job", project="p", region="europe-west4")

        assert server.asked[0].path == "/europe-west4/v1/projects/p/locations/europe-west4/customJobs"

    def test_real_endpoint_is_the_regions_own(self) -> None:
        client = VertexClient()

        assert client._to_job("GET", "custom_job", NAME).url == (
            f"https://us-central1-aiplatform.googleapis.com/v1/{NAME}"
        )

    @pytest.mark.parametrize(
        "endpoint", ["localhost:8900", "ftp://x", "https://", "https://user@x", "https://x?y=1", "http://[::1"]
    )
    def test_refuses_what_is_no_address(self, endpoint: str) -> None:
        with pytest.raises(ValueError, match="is not a valid address"):
            VertexClient(endpoint=endpoint)

    def test_ignores_proxies_for_this_machine(
        self, server: Any, client: VertexClient, monkeypatch: pytest.MonkeyPatch, nobody: str
    ) -> None:
        monkeypatch.setenv("http_proxy", nobody)
        server.json(JOB)

        assert client.get("custom_job", NAME).name == NAME

    def test_does_not_follow_a_redirect(self, server: Any, client: VertexClient, nobody: str) -> None:
        server.body(b"", 307, Location=nobody)

        with pytest.raises(Unavailable, match="answered 307 with a redirect"):
            client.get("custom_job", NAME)

    def test_each_thread_has_its_own_session(self, server: Any, client: VertexClient) -> None:
        sessions = [client._session(server.url), client._session(server.url)]
        thread = threading.Thread(target=lambda: sessions.append(client._session(server.url)))
        thread.start()
        thread.join()

        assert sessions[0] is sessions[1]
        assert sessions[2] is not sessions[0]

    def test_process_that_was_forked_off_has_its_own_session(
        self, server: Any, client: VertexClient, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        parent = client._session(server.url)

        monkeypatch.setattr(os, "getpid", lambda: 0)

        assert client._session(server.url) is not parent

    def test_many_threads_can_share_it(self, server: Any, client: VertexClient) -> None:
        for _ in range(80):
            server.json(JOB)
        found: list[str] = []

        def ask() -> None:
            found.extend(client.get("custom_job", NAME).state for _ in range(10))

        threads = [threading.Thread(target=ask) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

        assert found == ["JOB_STATE_RUNNING"] * 80


class TestLog:
    AFTER = datetime(2026, 11, 21, 9, 0, 0, 250_000, tzinfo=UTC) - timedelta(hours=1)

    def line(self, number: int, **more: Any) -> dict[str, Any]:
        return {
            "timestamp": f"2026-11-21T08:00:{number:02d}.000000001Z",
            "insertId": f"i{number}",
            "severity": "INFO",
            "resource": {"type": "ml_job", "labels": {"job_id": "456", "task_name": "workerpool0-0"}},
            "textPayload": f"line {number}",
        } | more

    def test_asks_for_the_lines_of_these_jobs_since_a_moment(self, server: Any, client: VertexClient) -> None:
        server.json({})

        client.log("p", job_ids=["456", "789"], after=self.AFTER, limit=50)

        asked = server.asked[0]
        assert (asked.method, asked.path) == ("POST", "/v2/entries:list")
        assert asked.body == {
            "resourceNames": ["projects/p"],
            "filter": 'resource.type="ml_job" AND (resource.labels.job_id="456" OR resource.labels.job_id="789")'
            ' AND timestamp>="2026-11-21T08:00:00.250000Z"',
            "orderBy": "timestamp asc",
            "pageSize": 50,
        }

    def test_reads_lines_of_replicas_and_of_the_service(self, server: Any, client: VertexClient) -> None:
        service = {"type": "ml_job", "labels": {"job_id": "456", "task_name": "service"}}
        server.json(
            {
                "entries": [
                    self.line(2, jsonPayload={"message": "epoch 1/40", "lineno": 7}, textPayload=""),
                    self.line(1, resource=service, textPayload="Job is preparing."),
                ]
            }
        )

        service_line, line = client.log("p", job_ids=["456"], after=None, limit=50)

        assert (service_line.replica, service_line.message) == ("service", "Job is preparing.")
        assert (line.replica, line.message, line.insert_id, line.job_id) == ("workerpool0-0", "epoch 1/40", "i2", "456")
        assert line.timestamp == datetime(2026, 11, 21, 8, 0, 2, tzinfo=UTC)
        assert "timestamp>=" not in server.asked[0].body["filter"]

    def test_follows_empty_pages_until_it_has_enough(self, server: Any, client: VertexClient) -> None:
        server.json({"entries": [self.line(1)], "nextPageToken": "a"})
        server.json({"nextPageToken": "b"})
        server.json({"entries": [self.line(2), self.line(3)], "nextPageToken": "c"})

        found = client.log("p", job_ids=["456"], after=None, limit=2)

        assert [entry.insert_id for entry in found] == ["i1", "i2"]
        first, *others = [asked.body for asked in server.asked]
        assert [body["pageToken"] for body in others] == ["a", "b"]
        assert all({key: body[key] for key in first} == first for body in others)

    def test_asks_for_many_jobs_in_turns_and_keeps_the_oldest_lines(self, server: Any, client: VertexClient) -> None:
        server.json({"entries": [self.line(5)]})
        server.json({"entries": [self.line(4)]})

        found = client.log("p", job_ids=[f"{number:019d}" for number in range(250)], after=self.AFTER, limit=1)

        assert [entry.insert_id for entry in found] == ["i4"]
        assert all(len(asked.body["filter"]) <= 20_000 for asked in server.asked)
        assert sum(asked.body["filter"].count("job_id=") for asked in server.asked) == 250

    def test_never_asks_for_more_than_a_thousand_a_page(self, server: Any, client: VertexClient) -> None:
        server.json({})

        client.log("p", job_ids=["456"], after=None, limit=5_000)

        assert server.asked[0].body["pageSize"] == 1_000

    @pytest.mark.parametrize(("job_ids", "limit"), [([], 10), (["456"], 0)])
    def test_asks_nothing_when_nothing_is_wanted(
        self, server: Any, client: VertexClient, job_ids: list[str], limit: int
    ) -> None:
        assert client.log("p", job_ids=job_ids, after=None, limit=limit) == []
        assert server.asked == []

    def test_the_newest_lines_come_in_order_of_time(self, server: Any, client: VertexClient) -> None:
        newest_first = [f"2026-11-21T09:00:0{second}Z" for second in (9, 8, 7)]
        server.json({"entries": [{"timestamp": at, "insertId": at} for at in newest_first], "nextPageToken": "more"})

        found = client.log("p", job_ids=["456"], after=None, limit=2, newest=True)

        assert server.asked[0].body["orderBy"] == "timestamp desc"
        assert [entry.timestamp.second for entry in found] == [8, 9]

    def test_the_service_s_lines_of_all_jobs_come_in_one_read(self, server: Any, client: VertexClient) -> None:
        server.json({"entries": [{"timestamp": "2026-11-21T09:00:00Z", "insertId": "a"}]})

        found = client.service_log("p", after=self.AFTER, limit=100)

        assert len(found) == 1
        said = server.asked[0].body["filter"]
        assert 'AND (resource.labels.task_name="service" OR jsonPayload.message:"Terminated by service."' in said
        assert "job_id" not in server.asked[0].body["filter"]

    def test_id_cannot_break_out_of_the_filter(self, server: Any, client: VertexClient) -> None:
        server.json({})

        client.log("p", job_ids=['1" OR severity>="DEFAULT'], after=None, limit=1)

        assert server.asked[0].body["filter"].endswith(r'job_id="1\" OR severity>=\"DEFAULT"')

    def test_failure_of_cloud_logging_says_so(self, server: Any, client: VertexClient) -> None:
        server.error(404, "No such project", "NOT_FOUND")

        with pytest.raises(NotFound, match="No such project"):
            client.log("p", job_ids=["456"], after=None, limit=1)
