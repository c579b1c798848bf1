"""Tests of hints over real Redis servers, embedded and Debian's: they arrive, and nothing fails if they cannot."""

import time
import uuid
from collections.abc import Iterator
from datetime import timedelta

import pytest
from celery.contrib.testing.worker import start_worker
from django.conf import settings
from django.db import transaction
from kombu import pools
from redis import Redis

from dashboard.celery import app
from jobs import messages, steps, tasks
from jobs.models import Installation
from tests.support import redis, waiting


def connect(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put the Celery app on another broker; drop the connections to the one before."""
    monkeypatch.setattr(app.conf, "broker_url", url)
    forget_connections()


def forget_connections() -> None:
    """Close the Celery app's connections, so that it connects again."""
    app._pool = app.amqp._producer_pool = None
    pools.reset()


@pytest.fixture(autouse=True)
def _own_connections() -> Iterator[None]:
    """Leave no connection to a test's broker behind for the next test."""
    yield
    forget_connections()


@pytest.fixture
def broker(redis_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    connect(redis_url, monkeypatch)
    with Redis.from_url(redis_url.replace("redis+socket://", "unix://")) as server:
        server.flushall()
    yield redis_url
    app.pool.force_close_all()


@pytest.mark.django_db(transaction=True)
def test_a_hint_reaches_a_worker_once_the_row_is_written(broker: str, monkeypatch: pytest.MonkeyPatch) -> None:
    job, advanced = uuid.uuid4(), []
    monkeypatch.setattr(
        steps, "advance", lambda job_id, *, clock: advanced.append((job_id, clock.now().tzinfo is not None))
    )

    with start_worker(app, pool="solo", perform_ping_check=False, shutdown_timeout=30):
        with transaction.atomic():
            tasks.enqueue_job(job)
            assert advanced == []
        waiting.until(lambda: advanced, seconds=20, what="the worker got the hint")

    assert advanced == [(str(job), True)]


@pytest.mark.django_db(transaction=True)
def test_messages_have_a_queue_of_their_own(broker: str, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[str] = []
    monkeypatch.setattr(messages, "deliver", lambda destination, *, clock: sent.append(destination))
    tasks.enqueue_messages("7")
    tasks.enqueue_messages("email")

    assert tasks._waiting(tasks.deliver_messages) == 2
    assert tasks._waiting(tasks.observe) == 0
    with start_worker(app, pool="solo", perform_ping_check=False, shutdown_timeout=30):
        waiting.until(lambda: len(sent) == 2, seconds=20, what="the worker got both")

    assert sent == ["7", "email"]


def test_a_thousand_jobs_to_send_keep_nothing_from_being_watched(broker: str, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []
    monkeypatch.setattr(steps, "advance", lambda job_id, *, clock: done.append(job_id))
    monkeypatch.setattr(steps, "observe", lambda scope_id, *, clock: done.append("observed"))
    for _ in range(200):
        tasks.advance.apply_async(kwargs={"job_id": "sent"})
    tasks.observe.apply_async(kwargs={"scope_id": 1})

    with start_worker(app, pool="solo", perform_ping_check=False, shutdown_timeout=30):
        waiting.until(lambda: done.count("sent") == 200, seconds=30, what="all hints were taken")

    assert done.index("observed") < 20
    assert len(done) == 201, "each hint stands in one queue"


@pytest.mark.django_db
def test_sweeps_hand_out_no_more_than_workers_take(broker: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(steps, "due_jobs", lambda now: [uuid.uuid4() for _ in range(500)])
    begun = tasks._waiting(tasks.advance)

    for _ in range(3):
        Installation.objects.update(swept_at=None)
        tasks.sweep()

    assert begun < tasks.HANDED_OUT
    assert tasks._waiting(tasks.advance) == tasks.HANDED_OUT


@pytest.mark.django_db(transaction=True)
def test_sweeps_that_waited_for_a_worker_are_drained_and_one_of_them_sweeps(
    broker: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They were sent while no worker ran. None has an expiry, which would compare the clocks of beat and the worker."""
    swept = []
    monkeypatch.setattr(tasks.stages, "sweep", lambda _clock, _hand_outs: swept.append(1))
    monkeypatch.setattr(settings, "SWEEP_INTERVAL", timedelta(hours=1))
    beat = app.conf.beat_schedule["sweep"]
    app.tasks[beat["task"]].apply_async(**beat.get("options", {}))
    with Redis.from_url(broker.replace("redis+socket://", "unix://")) as server:
        (sent,) = server.lrange("celery", 0, -1)
        server.rpush("celery", *[sent] * 499)
    assert tasks._waiting(tasks.sweep) == 500

    with start_worker(app, pool="solo", perform_ping_check=False, shutdown_timeout=30):
        waiting.until(lambda: not tasks._waiting(tasks.sweep), seconds=60, what="all sweeps were taken")

    assert swept == [1]


def test_nothing_that_beat_sends_expires_by_the_clock_of_a_machine() -> None:
    assert not [name for name, entry in settings.CELERY_BEAT_SCHEDULE.items() if "expires" in entry.get("options", {})]


@pytest.mark.django_db(transaction=True)
def test_a_hint_that_cannot_be_given_costs_no_request(monkeypatch: pytest.MonkeyPatch) -> None:
    with redis.running("embedded") as url:
        gone = url
    connect(gone, monkeypatch)
    started = time.monotonic()

    tasks.enqueue_job(uuid.uuid4())

    assert time.monotonic() - started < 1.5
