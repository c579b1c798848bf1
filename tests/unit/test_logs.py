"""Tests of what a line of the log belongs to: request, user, job, task; and that nobody can forge a line."""

import json
import logging
import re
from collections.abc import Iterator
from typing import Any

import pytest
from celery import Celery
from celery.contrib.testing.worker import start_worker
from django.contrib.auth.models import User
from django.core.exceptions import ImproperlyConfigured
from django.test import Client
from hypothesis import given
from hypothesis import strategies as st

from dashboard import logs
from dashboard.access import request_id
from jobs import log_context

TRACE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


def line(message: str = "done", **more: Any) -> dict[str, Any]:
    """Return a record as the JSON formatter writes it."""
    record = logging.getLogger("tests").makeRecord("tests", logging.INFO, __file__, 1, message, (), None, extra=more)
    text = logs.JsonFormatter().format(record)
    assert "\n" not in text
    return dict(json.loads(text))


class TestFormats:
    def test_json_names_what_is_bound_and_nothing_that_is_attached(self) -> None:
        with log_context.bind(request_id="req-12345", job_id="j"), log_context.bind(task_id="t", user_id=None):
            written = line("a\nb", request="Cookie: sessionid=secret")

        assert written["request_id"] == "req-12345"
        assert (written["job_id"], written["task_id"]) == ("j", "t")
        assert written["message"] == "a\nb"
        assert "user_id" not in written
        assert "secret" not in json.dumps(written)
        assert "request_id" not in line()

    def test_lines_for_people_name_it_too(self) -> None:
        record = logging.getLogger("tests").makeRecord("tests", logging.INFO, __file__, 1, "done", (), None)
        with log_context.bind(job_id="j"):
            assert logs.AddContext().filter(record)

        assert record.context == " [job_id=j]"  # type: ignore[attr-defined]

    def test_another_format_stops_the_start(self) -> None:
        assert logs.settings_for("json", "INFO")["handlers"]["console"]["formatter"] == "json"
        with pytest.raises(ImproperlyConfigured, match="TRAINBOARD_LOG_FORMAT='xml'"):
            logs.settings_for("xml", "INFO")

    def test_tracebacks_are_inside_the_line(self) -> None:
        try:
            raise ValueError("no")
        except ValueError as error:
            details = (type(error), error, error.__traceback__)
        record = logging.getLogger("tests").makeRecord("tests", logging.ERROR, __file__, 1, "bad", (), details)

        assert json.loads(logs.JsonFormatter().format(record))["exception"].endswith("ValueError: no")


class TestRequestId:
    @pytest.mark.parametrize(
        ("given_id", "traceparent", "taken"),
        [
            ("abcdefgh-1", "", "abcdefgh-1"),
            ("abcdefgh-1", TRACE, "abcdefgh-1"),
            ("", TRACE, "4bf92f3577b34da6a3ce929d0e0e4736"),
            ("short", TRACE, "4bf92f3577b34da6a3ce929d0e0e4736"),
            ("", TRACE.replace("4bf92f3577b34da6a3ce929d0e0e4736", "0" * 32), None),
            ("", TRACE.replace("00-", "ff-", 1), None),
            ("abc\nforged: line", "", None),
            ("x" * 65, "", None),
        ],
    )
    def test_is_taken_where_it_is_well_formed(self, given_id: str, traceparent: str, taken: str | None) -> None:
        found = log_context.request_id_from(given_id, traceparent)

        assert found == taken if taken else re.fullmatch(r"[0-9a-f]{32}", found)

    @given(st.text(), st.text())
    def test_of_anything_fits_a_line(self, given_id: str, traceparent: str) -> None:
        assert re.fullmatch(r"[A-Za-z0-9._-]{8,64}", log_context.request_id_from(given_id, traceparent))

    def test_is_in_the_answer_and_ends_with_it(self, client: Client) -> None:
        assert client.get("/healthz", headers={"X-Request-ID": "from-outside"})["X-Request-ID"] == "from-outside"
        assert client.get("/healthz")["X-Request-ID"] != client.get("/healthz")["X-Request-ID"]
        assert log_context.bound() == {}

    def test_comes_with_the_person_and_the_job(
        self, owner: User, client: Client, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        seen: list[dict[str, str]] = []
        bind = log_context.bind

        def noting(**fields: object) -> Any:
            seen.append({name: str(value) for name, value in fields.items() if value})
            return bind(**fields)

        monkeypatch.setattr(request_id.log_context, "bind", noting)
        job_id = "4b9af9b0-9c32-4b6d-8d36-9b0a4d5b4a4b"
        client.force_login(owner)
        client.get(f"/jobs/{job_id}/")

        assert {"user_id": str(owner.pk), "job_id": job_id} in seen


@pytest.fixture
def app() -> Iterator[Celery]:
    """A Celery app with one task that tells what is bound while it runs."""
    made = Celery("tests", broker="memory://", backend="cache+memory://", set_as_current=False)
    made.conf.update(worker_hijack_root_logger=False, broker_connection_retry_on_startup=True)
    logs.follow_requests()

    @made.task(name="tests.tell")
    def tell(**_: Any) -> dict[str, str]:
        return dict(log_context.bound())

    yield made
    made.close()


def test_a_task_carries_the_id_of_the_request_that_caused_it(app: Celery) -> None:
    with start_worker(app, pool="threads", concurrency=1, perform_ping_check=False, shutdown_timeout=20):
        with log_context.bind(request_id="click-0001", user_id=7):
            caused = app.tasks["tests.tell"].apply_async(kwargs={"job_id": "j"})
        told = caused.get(timeout=20)
        alone = app.tasks["tests.tell"].apply_async().get(timeout=20)

    assert told == {"request_id": "click-0001", "job_id": "j", "task_id": caused.id}
    assert set(alone) == {"task_id"}
