"""Tests of traces from a click through a real broker and worker to the call of Vertex AI, without secrets."""

from collections.abc import Iterator
from typing import Any

import pytest
from celery.contrib.testing.worker import start_worker
from django.contrib.auth.models import User
from django.core.exceptions import ImproperlyConfigured
from django.test import Client
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from dashboard import tracing
from dashboard.celery import app
from jobs.models import Job, Team
from jobs.queue import installation
from tests.domain.conftest import Cloud
from tests.domain.test_broker import _own_connections, broker
from tests.support import samples, waiting
from tests.support.api import caller
from tests.support.clock import Clock, watch_from
from tests.support.servers import in_thread

__all__ = ["_own_connections", "broker"]
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def spans(cloud: Cloud) -> Iterator[InMemorySpanExporter]:
    """What is traced, as the site traces itself."""
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    started = tracing.instrumentors()
    for each, options in started:
        each.instrument(tracer_provider=provider, **options)
    yield exporter
    for each, _ in started:
        each.uninstrument()


def test_a_click_is_one_trace_up_to_the_call_of_vertex_ai(
    spans: InMemorySpanExporter, broker: str, team: Team, owner: User, clock: Clock
) -> None:
    watch_from(clock.now)
    installation.load_installation(clock.now)
    body = {"spec": samples.body(**samples.limited(0.05, {})), "expected_seconds": 180}
    with start_worker(app, pool="solo", perform_ping_check=False, shutdown_timeout=30):
        assert caller(owner).post("/jobs", body).status_code == 201
        waiting.until(lambda: Job.objects.get().remote_name, seconds=30, what="the job was created at Vertex AI")

    found = {span.context.span_id: span for span in spans.get_finished_spans() if span.context}
    (create,) = [each for each in found.values() if each.name == "POST" and "/customJobs" in str(dict(each.attributes))]
    way = [each.name for each in chain(create, found)]
    assert way == ["POST", "run/jobs.tasks.advance", "apply_async/jobs.tasks.advance", "POST api/v1/jobs"]
    assert len({each.context.trace_id for each in chain(create, found)}) == 1


def chain(span: ReadableSpan, known: dict[int, ReadableSpan]) -> Iterator[ReadableSpan]:
    """Yield a span, its parent, the parent of that, up to the root."""
    yield span
    if span.parent is not None:
        yield from chain(known[span.parent.span_id], known)


def test_addresses_that_are_secrets_are_not_traced(spans: InMemorySpanExporter, team: Team) -> None:
    for path in ("/invitations/secret-word/", "/accounts/once/secret-word/", "/healthz", "/metrics"):
        Client().get(path)
    assert spans.get_finished_spans() == ()

    Client().get("/history/")
    assert [span.name for span in spans.get_finished_spans()] == ["GET history/"]


def test_messages_are_not_traced(spans: InMemorySpanExporter, receiver: Any) -> None:
    import requests

    requests.get(receiver, timeout=5)

    assert spans.get_finished_spans() == ()


@pytest.fixture
def receiver() -> Iterator[str]:
    """The address of a server that is none of Google's."""
    from http.server import BaseHTTPRequestHandler, HTTPServer

    server = HTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler)
    with in_thread(server):
        yield f"http://127.0.0.1:{server.server_port}/services/secret-word"


def test_without_an_endpoint_nothing_is_loaded(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> None:
        raise AssertionError("nothing is to be traced")

    monkeypatch.setattr(tracing, "instrumentors", refuse)
    tracing.start()


def test_missing_libraries_stop_the_start(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "opentelemetry.exporter.otlp.proto.http.trace_exporter", None)
    settings.TRACES_ENDPOINT = "http://127.0.0.1:4318"

    with pytest.raises(ImproperlyConfigured, match=r"requirements/otel\.txt"):
        tracing.start()
