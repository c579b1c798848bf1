"""Tests of the two health checks for load balancers and supervisors."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.db import DatabaseError
from django.db.migrations.executor import MigrationExecutor
from django.test import Client
from pytest_django import Settings
from redis import Redis

from dashboard.queries import readiness
from jobs.models import Heartbeat, Scope, Upkeep
from jobs.upkeep.heartbeats import record_heartbeat
from tests.support import redis
from tests.support.clock import Clock


@pytest.fixture(autouse=True)
def _no_redis(settings: Settings) -> None:
    settings.REDIS_URL = "redis://127.0.0.1:1/0"


class TestHealthz:
    def test_answers_without_database_and_session(self, client: Client) -> None:
        answer = client.get("/healthz")

        assert answer.status_code == 200
        assert answer.content == b"ok\n"


@pytest.fixture
def processes(db: None, clock: Clock) -> Callable[[], None]:
    """`processes()` is what beat and the workers of both queues do every few seconds."""

    def run() -> None:
        record_heartbeat("worker@a", "worker", queues=["celery"], now=clock.now)
        record_heartbeat("sender@a", "worker", queues=["sending"], now=clock.now)
        record_heartbeat("messenger@a", "worker", queues=["messages"], now=clock.now)
        record_heartbeat("beat@a", "beat", now=clock.now)

    return run


@pytest.mark.django_db
class TestReadyz:
    def test_is_ready_without_everything_behind_the_pages_and_says_so(self, client: Client) -> None:
        answer = client.get("/readyz")

        assert answer.status_code == 200
        assert answer.json() == {
            "database": "ok",
            "migrations": "ok",
            "redis": "does not answer",
            "worker": "no worker for celery and sending and messages",
            "beat": "no beat has been heard of lately",
            "sweep": "none has completed lately",
            "stages": "none has run",
            "observation": "ok",
        }

    def test_reports_a_redis_that_answers(self, client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(Redis, "set", lambda self, *_args, **_options: True)

        assert client.get("/readyz").json()["redis"] == "ok"

    def test_reports_a_redis_that_is_full_or_a_replica(self, client: Client, settings: Settings) -> None:
        """Both answer a ping."""
        with redis.running("embedded") as url:
            settings.REDIS_URL = url.replace("redis+socket://", "unix://")
            assert client.get("/readyz").json()["redis"] == "ok"
            with Redis.from_url(settings.REDIS_URL) as server:
                server.config_set("maxmemory", 1)
                assert server.ping()
                full = client.get("/readyz?for=redis")
                assert "trainboard_redis_writable 0.0" in client.get("/metrics").content.decode()
                server.config_set("maxmemory", 0)
                server.replicaof("127.0.0.1", 1)
                replica = client.get("/readyz?for=redis")

            assert (full.status_code, full.json()["redis"]) == (503, "accepts no writes")
            assert (replica.status_code, replica.json()["redis"]) == (503, "accepts no writes")

    def test_says_that_sweeps_do_not_complete(self, client: Client, clock: Clock) -> None:
        Upkeep.objects.create(name="sweep", answered_at=clock.now - timedelta(seconds=50))
        assert client.get("/readyz?for=sweep").status_code == 200

        clock.forward(seconds=11)

        assert client.get("/readyz?for=sweep").json()["sweep"] == "none has completed lately"
        assert client.get("/readyz?for=sweep").status_code == 503

    def test_every_queue_needs_a_worker_and_a_heartbeat_grows_old(
        self, client: Client, processes: Callable[[], None], clock: Clock
    ) -> None:
        processes()
        assert client.get("/readyz?for=worker,beat,observation").status_code == 200

        clock.forward(seconds=46)
        record_heartbeat("worker@a", "worker", queues=["celery", "messages"], now=clock.now)
        answer = client.get("/readyz?for=worker")

        assert answer.status_code == 503
        assert answer.json()["worker"] == "no worker for sending"
        assert answer.json()["beat"] != "ok"
        assert client.get("/readyz").status_code == 200

    def test_heartbeats_of_processes_that_are_gone_do_not_pile_up(
        self, processes: Callable[[], None], clock: Clock
    ) -> None:
        processes()
        processes()
        assert Heartbeat.objects.count() == 4

        clock.forward(hours=25)
        record_heartbeat("worker@b", "worker", queues=["celery"], now=clock.now)

        assert Heartbeat.objects.get().process == "worker@b"

    @pytest.mark.parametrize(("seconds", "status"), [(59, 200), (121, 503)])
    def test_observation_is_late_when_polls_are(
        self, client: Client, clock: Clock, seconds: int, status: int, settings: Settings
    ) -> None:
        settings.POLL_INTERVAL = timedelta(seconds=30)
        due_at = clock.now - timedelta(seconds=seconds)
        Scope.objects.create(project="p", region="r", kind="custom_job", due_at=due_at)

        answer = client.get("/readyz?for=observation")

        assert answer.status_code == status
        assert answer.json()["observation"] == ("ok" if status == 200 else "late by 121 s")

    @pytest.mark.parametrize(("query", "status"), [("all", 503), ("redis", 503), ("", 200), ("moon", 400)])
    def test_what_must_hold_can_be_named(self, client: Client, query: str, status: int) -> None:
        assert client.get("/readyz", {"for": query}).status_code == status

    def test_is_not_ready_before_the_migrations(self, client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(MigrationExecutor, "migration_plan", lambda self, targets: [("one", False)])

        answer = client.get("/readyz")

        assert answer.status_code == 503
        assert answer.json()["migrations"] == "1 migrations are not applied"
        assert answer.json()["worker"] == "unknown"

    def test_is_not_ready_without_a_database(self, client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
        def refuse() -> None:
            raise DatabaseError("no route to host=10.0.0.9")

        monkeypatch.setattr(readiness, "database_now", refuse)

        answer = client.get("/readyz")

        assert answer.status_code == 503
        assert answer.json()["database"] == "does not answer"
        assert "10.0.0.9" not in answer.content.decode()
