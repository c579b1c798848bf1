"""Tests that every failure becomes a typed error that shows whether a create may have happened."""

import socket
import time
from datetime import timedelta
from typing import Any

import pytest

from jobs import vertex
from jobs.vertex import AuthFailed, NotFound, PermissionDenied, QuotaExceeded, RateLimited, Refused, Unavailable

NAME = "projects/123/locations/us-central1/customJobs/456"
JOB = b'{"name": "%s", "state": "JOB_STATE_PENDING"}' % NAME.encode()


def create(client: vertex.VertexClient) -> vertex.RemoteJob:
    return client.create("custom_job", project="p", region="us-central1", body={"displayName": "penguins"})


class TestNoAnswer:
    def test_refused_connection_means_nothing_happened(self, nobody: str) -> None:
        with pytest.raises(Unavailable, match="Vertex AI could not be reached: it refused the connection") as caught:
            create(vertex.VertexClient(endpoint=nobody))

        assert caught.value.may_have_happened is False
        assert caught.value.request == f"POST {nobody}/v1/projects/p/locations/us-central1/customJobs"
        assert caught.value.status is None

    def test_unknown_host_means_nothing_happened(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def unknown(*_: object, **__: object) -> None:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

        monkeypatch.setattr(socket, "getaddrinfo", unknown)

        with pytest.raises(Unavailable, match="its host name could not be resolved") as caught:
            create(vertex.VertexClient(endpoint="http://vertex.invalid"))

        assert caught.value.may_have_happened is False

    def test_no_connection_in_time_means_nothing_happened(self, hasty: vertex.VertexClient) -> None:
        with socket.socket() as full:
            full.bind(("127.0.0.1", 0))
            full.listen(0)
            address = full.getsockname()
            waiting = [socket.socket() for _ in range(3)]  # fill the queue, so that nobody else gets in
            for each in waiting:
                each.setblocking(False)
                each.connect_ex(address)
            client = vertex.VertexClient(endpoint=f"http://127.0.0.1:{address[1]}", timeout=vertex.Timeout(connect=0.1))

            with pytest.raises(Unavailable, match="the connection timed out") as caught:
                create(client)

            for each in waiting:
                each.close()
        assert caught.value.may_have_happened is False

    def test_reset_after_the_request_leaves_doubt(self, server: Any, client: vertex.VertexClient) -> None:
        server.reset()

        with pytest.raises(Unavailable, match="The connection to Vertex AI broke") as caught:
            create(client)

        assert caught.value.may_have_happened is True

    def test_silence_leaves_doubt(self, server: Any, hasty: vertex.VertexClient) -> None:
        server.silence()

        with pytest.raises(Unavailable, match="Vertex AI did not answer in time") as caught:
            create(hasty)

        assert caught.value.may_have_happened is True

    def test_log_that_does_not_come_is_cloud_loggings_fault(self, server: Any, hasty: vertex.VertexClient) -> None:
        server.silence()

        with pytest.raises(Unavailable, match="Cloud Logging did not answer in time"):
            hasty.log("p", job_ids=["1"], after=None, limit=1)

    def test_certificate_that_nobody_trusts_means_nothing_happened(self, server: Any) -> None:
        client = vertex.VertexClient(endpoint=server.url.replace("http", "https"), credentials=_NoToken())

        with pytest.raises(Unavailable) as caught:  # the server speaks no TLS at all
            create(client)

        assert "Vertex AI" in str(caught.value)
        assert server.asked == []


class _NoToken:
    def before_request(self, *_: object) -> None:
        """Add nothing."""


class TestDrip:
    """Each pause is shorter than the read timeout, so only the total can end it."""

    @pytest.mark.parametrize(
        "start",
        [
            pytest.param(b"", id="status"),
            pytest.param(b"HTTP/1.1 200 OK\r\nX-Long: ", id="header"),
            pytest.param(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n{", id="body"),
            pytest.param(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfffff\r\n{", id="chunk"),
            pytest.param(b"HTTP/1.1 200 OK\r\n\r\n{", id="until the end"),
        ],
    )
    def test_ends_when_the_calls_time_is_over(self, server: Any, hasty: vertex.VertexClient, start: bytes) -> None:
        server.drip(start)
        began = time.monotonic()

        with pytest.raises(Unavailable, match="did not answer in time") as caught:
            create(hasty)

        assert 0.3 < time.monotonic() - began < 3
        assert caught.value.may_have_happened is True

    def test_pages_share_the_time_of_one_verb(self, server: Any) -> None:
        client = vertex.VertexClient(endpoint=server.url, timeout=vertex.Timeout(total=0.3))
        for page in range(300):
            server.json({"nextPageToken": str(page)})

        with pytest.raises(Unavailable, match="in time"):
            client.list("custom_job", project="p", region="us-central1")

        assert 0 < len(server.asked) < 300

    def test_connection_serves_the_next_call_with_its_own_time(self, server: Any) -> None:
        client = vertex.VertexClient(endpoint=server.url, timeout=vertex.Timeout(total=0.5))
        for _ in range(3):
            server.body(JOB)

        assert [create(client).name for _ in range(3)] == [NAME] * 3


class TestBrokenAnswers:
    @pytest.mark.parametrize(
        ("content", "words"),
        [
            pytest.param(b"", "broke before", id="nothing at all"),
            pytest.param(b"\x00\x01\x02\r\n\r\n", "broke before", id="no HTTP"),
            pytest.param(b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n" + JOB, "broke before", id="cut body"),
            pytest.param(
                b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n10\r\n{", "broke before", id="cut chunk"
            ),
            pytest.param(
                b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{", "broke before", id="no chunk"
            ),
            pytest.param(
                b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\n{}",
                "broke before",
                id="not gzip",
            ),
            pytest.param(b"HTTP/1.1 200 OK\r\n\r\n" + JOB[:-5], "something that is not JSON", id="cut JSON"),
            pytest.param(b"HTTP/1.1 200 OK\r\n\r\n\xff\xfe", "something that is not JSON", id="not UTF-8"),
            pytest.param(b"HTTP/1.1 200 OK\r\n\r\n" + b"[" * 100_000, "something that is not JSON", id="deep"),
            pytest.param(b"HTTP/1.1 200 OK\r\n\r\n", "answered 200 with nothing", id="empty"),
            pytest.param(b"HTTP/1.1 200 OK\r\n\r\n <!DOCTYPE html><p>Sign in", "200 with a web page", id="portal"),
            pytest.param(b"HTTP/1.1 200 OK\r\n\r\n[]", "something that is not JSON|Trainboard cannot use", id="a list"),
            pytest.param(b"HTTP/1.1 200 OK\r\n\r\nnull", "instead of an answer from the API", id="null"),
            pytest.param(b"HTTP/1.1 200 OK\r\n\r\n{}", "Trainboard cannot use", id="no name"),
            pytest.param(b'HTTP/1.1 200 OK\r\n\r\n{"name": 7}', "Trainboard cannot use", id="odd name"),
            pytest.param(b'HTTP/1.1 200 OK\r\n\r\n{"name": NaN}', "not JSON", id="NaN"),
            pytest.param(b"HTTP/1.1 502 Bad Gateway\r\n\r\n<html>502", "502 with a web page", id="proxy"),
            pytest.param(b"HTTP/1.1 404 Not Found\r\n\r\n<html>404", "404 with a web page", id="wrong host"),
            pytest.param(b"HTTP/1.1 403 Forbidden\r\n\r\n<html>", "403 with a web page", id="firewall"),
            pytest.param(b"HTTP/1.1 304 Not Modified\r\n\r\n", "304 with a redirect", id="not modified"),
        ],
    )
    def test_leaves_doubt(self, server: Any, client: vertex.VertexClient, content: bytes, words: str) -> None:
        server.raw(content)

        with pytest.raises(Unavailable, match=words) as caught:
            create(client)

        assert caught.value.may_have_happened is True

    def test_endless_answer_is_given_up(self, server: Any, client: vertex.VertexClient) -> None:
        server.raw(b"HTTP/1.1 200 OK\r\n\r\n" + b" " * (65 * 2**20))

        with pytest.raises(Unavailable, match="broke before"):
            client.cancel("custom_job", NAME)

    def test_one_bad_answer_does_not_spoil_the_next(self, server: Any, client: vertex.VertexClient) -> None:
        server.raw(b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{")
        server.body(JOB)

        with pytest.raises(Unavailable):
            create(client)
        assert create(client).name == NAME

    @pytest.mark.parametrize(
        "entry", [7, None, {}, {"name": NAME.replace("customJobs", "trainingPipelines")}, {"name": "../../x"}]
    )
    def test_list_with_something_else_in_it_is_no_list(
        self, server: Any, client: vertex.VertexClient, entry: object
    ) -> None:
        server.json({"customJobs": [entry]})

        with pytest.raises(Unavailable, match="not a member of customJobs"):
            client.list("custom_job", project="p", region="us-central1")

    @pytest.mark.parametrize("page", [{"customJobs": 7}, {"customJobs": {"a": 1}}, {"nextPageToken": 7}])
    def test_page_that_is_none(self, server: Any, client: vertex.VertexClient, page: object) -> None:
        server.json(page)

        with pytest.raises(Unavailable, match="not a page of a list"):
            client.list("custom_job", project="p", region="us-central1")


class TestRefusals:
    @pytest.mark.parametrize(
        ("status", "code", "error"),
        [
            (400, "INVALID_ARGUMENT", Refused),
            (400, "FAILED_PRECONDITION", Refused),
            (401, "UNAUTHENTICATED", AuthFailed),
            (403, "PERMISSION_DENIED", PermissionDenied),
            (404, "NOT_FOUND", NotFound),
            (408, "", Unavailable),
            (409, "ALREADY_EXISTS", Refused),
            (409, "ABORTED", Unavailable),
            (412, "", Refused),
            (429, "RESOURCE_EXHAUSTED", RateLimited),
            (499, "CANCELLED", Unavailable),
            (500, "INTERNAL", Unavailable),
            (501, "UNIMPLEMENTED", Unavailable),
            (503, "UNAVAILABLE", Unavailable),
            (504, "DEADLINE_EXCEEDED", Unavailable),
            (599, "", Unavailable),
        ],
    )
    def test_each_status_has_its_error(
        self, server: Any, client: vertex.VertexClient, status: int, code: str, error: type[vertex.VertexError]
    ) -> None:
        server.error(status, "Because.", code)

        with pytest.raises(vertex.VertexError) as caught:
            create(client)

        assert type(caught.value) is error
        if status != 401:  # anonymous credentials give up before the answer is read
            assert "Because." in str(caught.value)
            assert (caught.value.status, caught.value.reason) == (status, code)

    def test_envelope_in_a_list_is_read_too(self, server: Any, client: vertex.VertexClient) -> None:
        server.json([{"error": {"code": 404, "message": "Not here.", "status": "NOT_FOUND"}}], 404)

        with pytest.raises(NotFound, match=r"Not here\."):
            client.get("custom_job", NAME)

    def test_found_errors_are_placed_at_their_fields(self, server: Any, client: vertex.VertexClient) -> None:
        server.error(
            400,
            "List of found errors:\t1.Field: job_spec.worker_pool_specs[0].machine_spec.accelerator_type; Message: "
            "Both `accelerator_type` and `accelerator_count` should be specified or none.\t2.Field: display_name; "
            "Message: Too long; at most 128.\t",
            "INVALID_ARGUMENT",
        )

        with pytest.raises(Refused) as caught:
            create(client)

        assert caught.value.violations == (
            (
                "jobSpec.workerPoolSpecs[0].machineSpec.acceleratorType",
                "Both `accelerator_type` and `accelerator_count` should be specified or none.",
            ),
            ("displayName", "Too long; at most 128."),
        )

    def test_field_violations_are_read_too(self, server: Any, client: vertex.VertexClient) -> None:
        detail = {
            "@type": "type.googleapis.com/google.rpc.BadRequest",
            "fieldViolations": [{"field": "custom_job.job_spec.scheduling", "description": "Bad."}, 7],
        }
        server.error(400, "Invalid.", "INVALID_ARGUMENT", detail, "odd")

        with pytest.raises(Refused) as caught:
            create(client)

        assert caught.value.violations == (("jobSpec.scheduling", "Bad."), ("", ""))

    def test_training_quota_names_its_metrics(self, server: Any, client: vertex.VertexClient) -> None:
        server.error(
            429,
            "The following quota metrics exceed quota limits: aiplatform.googleapis.com/custom_model_training_cpus, "
            "aiplatform.googleapis.com/custom_model_training_nvidia_t4_gpus",
            "RESOURCE_EXHAUSTED",
        )

        with pytest.raises(QuotaExceeded) as caught:
            create(client)

        assert caught.value.metrics == (
            "aiplatform.googleapis.com/custom_model_training_cpus",
            "aiplatform.googleapis.com/custom_model_training_nvidia_t4_gpus",
        )

    @pytest.mark.parametrize(
        ("headers", "details", "wait"),
        [
            ({}, [], None),
            ({"Retry_After": "7"}, [], timedelta(seconds=7)),
            ({"Retry_After": "0"}, [], timedelta(0)),
            ({"Retry_After": "1.5"}, [], timedelta(seconds=1.5)),
            ({"Retry_After": "-5"}, [], None),
            ({"Retry_After": "soon"}, [], None),
            ({"Retry_After": "9" * 18}, [], timedelta(minutes=10)),
            ({"Retry_After": "9" * 400}, [], None),
            (
                {"Retry_After": "Sat, 21 Nov 2026 09:00:30 GMT", "Date": "Sat, 21 Nov 2026 09:00:00 GMT"},
                [],
                timedelta(seconds=30),
            ),
            (
                {"Retry_After": "Sat, 21 Nov 2026 08:00:00 GMT", "Date": "Sat, 21 Nov 2026 09:00:00 GMT"},
                [],
                timedelta(0),
            ),
            ({"Retry_After": "Sat, 21 Nov 2026 09:00:30 GMT"}, [], None),
            ({}, [{"retryDelay": "3.5s"}], timedelta(seconds=3.5)),
            ({"Retry_After": "2"}, [{"retryDelay": "10s"}], timedelta(seconds=10)),
            ({}, [{"retryDelay": {}}], None),
        ],
    )
    def test_retry_after_is_read_in_all_its_forms(
        self,
        server: Any,
        client: vertex.VertexClient,
        headers: dict[str, str],
        details: list[object],
        wait: timedelta | None,
    ) -> None:
        server.error(429, "Quota exceeded for quota metric 'Read requests'", "RESOURCE_EXHAUSTED", *details, **headers)

        with pytest.raises(RateLimited) as caught:
            client.get("custom_job", NAME)

        assert caught.value.retry_after == wait

    def test_rate_limit_in_the_dress_of_a_403(self, server: Any, client: vertex.VertexClient) -> None:
        server.error(403, "Too fast.", "PERMISSION_DENIED", {"reason": "RATE_LIMIT_EXCEEDED"})

        with pytest.raises(RateLimited, match=r"Too fast\."):
            client.get("custom_job", NAME)

    def test_error_keeps_no_query(self, server: Any, client: vertex.VertexClient) -> None:
        server.error(500, "Oh no")

        with pytest.raises(Unavailable) as caught:
            client.list("custom_job", project="p", region="us-central1", filter="secret")

        assert "secret" not in caught.value.request + str(caught.value)
