"""Tests that any response gives a value or a VertexError, quickly, and only what a database can store."""

import json
import time
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from jobs.spec import COLLECTIONS
from jobs.vertex import RemoteJob, Unavailable, VertexError, answers, logs, wire

NAME = "projects/123/locations/us-central1/customJobs/456"
CALL = answers.Call("POST", "https://us-central1-aiplatform.googleapis.com/v1/x", "Vertex AI")

texts = st.text(st.characters(codec=None), max_size=40)  # half surrogate pairs and NUL too
values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)


def shaped(*keys: str, **fixed: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Objects with the keys that Google uses and anything in them."""
    return st.fixed_dictionaries({}, optional={**dict.fromkeys(keys, values), **fixed})


jobs = shaped(
    *("displayName", "state", "labels", "createTime", "startTime", "endTime", "updateTime", "error"),
    name=st.just(NAME) | values,
)
details = st.lists(shaped("@type", "reason", "fieldViolations", "retryDelay", "metadata") | values, max_size=3)
messages = st.sampled_from(
    ("List of found errors:\t1.Field: a_b; Message: c", "quota metrics exceed quota limits: a.googleapis.com/b", "")
)
envelopes = shaped(error=shaped("code", message=messages | values, status=texts | values, details=details | values))
entries = shaped(
    *("insertId", "severity", "textPayload", "protoPayload"),
    timestamp=st.just("2026-11-21T08:00:00.123456789Z") | values,
    receiveTimestamp=values,
    jsonPayload=shaped("message") | values,
    labels=shaped("ml.googleapis.com/task_name", "ml.googleapis.com/job_id") | values,
    resource=shaped(labels=shaped("task_name", "job_id") | values),
)
moments = (
    st.sampled_from(("Sat, 21 Nov 2026 09:00:00 GMT", "Fri, 31 Dec 9999 23:59:59 -2359", "7", " 7\x1f", "1.5"))
    | st.text()
)
headers = st.fixed_dictionaries({}, optional={"Retry-After": moments, "Date": moments})


def content(value: Any) -> bytes:
    return json.dumps(value).encode()


def check_storable(value: object) -> None:
    """Raise when PostgreSQL could not store `value` as JSON or text."""
    stored = json.dumps(value, ensure_ascii=False, allow_nan=False)
    stored.encode()
    assert "\\u0000" not in stored.replace("\\\\", "")


@given(st.binary(max_size=200) | values.map(content))
def test_any_content_is_decoded_or_refused(given_content: bytes) -> None:
    try:
        found = wire.decode(given_content)
    except ValueError:
        return
    check_storable(found)


@given(st.integers(100, 599), headers, st.binary(max_size=100) | (envelopes | values).map(content))
@example(429, {"Retry-After": "0\x1f"}, b'{"error": {}}')
def test_any_answer_is_an_object_or_an_error(status: int, given_headers: dict[str, str], given_content: bytes) -> None:
    error = None
    try:
        found = answers.read(CALL, status, given_headers, given_content)
    except VertexError as raised:
        error = raised

    if error is None:
        assert isinstance(found, dict)
        assert 200 <= status < 300
    else:
        assert str(error)
        check_storable([str(error), error.reason, *(list(pair) for pair in getattr(error, "violations", ()))])
        assert error.retry_after is None or 0 <= error.retry_after.total_seconds() <= 86_400


@given(jobs | values, st.sampled_from(list(COLLECTIONS)))
def test_any_job_is_read_or_refused(value: Any, kind: str) -> None:
    try:
        found = wire.remote_job(kind, wire.decode(content(value)))
    except ValueError:
        return
    assert isinstance(found, RemoteJob)
    assert all(isinstance(text, str) for text in (found.state, found.display_name, *found.labels.values()))
    assert all(moment is None or moment.tzinfo for moment in (found.create_time, found.update_time))
    check_storable([found.state, found.display_name, found.labels, found.error])


@given(entries | values)
def test_any_entry_is_read_or_left_out(value: Any) -> None:
    found = logs.log_entry(wire.decode(content(value)))

    if found is not None:
        check_storable([found.insert_id, found.replica, found.severity, found.message, found.job_id])
        assert found.timestamp.tzinfo


@given(shaped("customJobs", "nextPageToken") | values)
def test_any_page_is_read_or_refused(value: Any) -> None:
    try:
        items, token = wire.page("customJobs", value)
    except ValueError:
        return
    assert isinstance(items, list)
    assert isinstance(token, str)


@given(st.text())
def test_any_text_is_a_moment_or_none(text: str) -> None:
    found = wire.moment(text)

    assert found is None or wire.moment(wire.timestamp(found)) == found


@given(st.text())
def test_any_text_can_be_quoted(text: str) -> None:
    quoted = wire.quoted(text)

    assert quoted[0] == quoted[-1] == '"'
    assert quoted[1:-1].replace("\\\\", "").replace('\\"', "").count('"') == 0


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.binary(max_size=30), max_size=4))
def test_any_bytes_in_place_of_http_are_unavailable(server: Any, client: Any, pieces: list[bytes]) -> None:
    server.raw(b"".join(pieces))

    with pytest.raises(Unavailable):
        client.get("custom_job", NAME)


@pytest.mark.parametrize(
    "message",
    [
        "1" * 200_000,
        " " * 200_000,
        "List of found errors:" + " " * 200_000,
        "List of found errors:" + "1" * 200_000,
        "List of found errors:" + "1.Field: a; Message: b " * 10_000,
        "quota metrics exceed quota limits:" + "a" * 200_000,
        "quota metrics exceed quota limits:" + "a.googleapis.com/" * 10_000,
    ],
)
def test_long_message_is_read_quickly(message: str) -> None:
    began = time.thread_time()

    with pytest.raises(VertexError):
        answers.read(CALL, 429, {}, content({"error": {"message": message}}))
    with pytest.raises(VertexError):
        answers.read(CALL, 400, {}, content({"error": {"message": message}}))

    assert time.thread_time() - began < 1
