"""Tests of how a status is counted, and that threads lose no count."""

import threading

import pytest

from jobs import counts


@pytest.fixture(autouse=True)
def _nothing_counted_before() -> None:
    counts.take()


@pytest.mark.parametrize(
    ("status", "code"),
    [(None, "none"), (100, "1xx"), (200, "2xx"), (301, "3xx"), (404, "4xx"), (429, "429"), (503, "5xx"), (999, "5xx")],
)
def test_codes_are_few(status: int | None, code: str) -> None:
    assert counts.code_class(status) == code


@pytest.mark.parametrize(("seconds", "bound"), [(0, "0.5"), (0.5, "0.5"), (0.51, "1"), (1800, "1800"), (1801, "+Inf")])
def test_a_submission_falls_into_one_bucket(seconds: float, bound: str) -> None:
    counts.count_submission(seconds)

    assert counts.take() == {("submit_bucket", bound): 1, ("submit_seconds", ""): seconds}


def test_threads_lose_nothing() -> None:
    def count() -> None:
        for _ in range(500):
            counts.count_call("Vertex AI", 200)

    threads = [threading.Thread(target=count) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()

    assert counts.take() == {("api_calls", "Vertex AI|2xx"): 2_000}
