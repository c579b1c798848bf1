"""The two addresses for load balancers and supervisors."""

import pytest
from django.db import DatabaseError
from django.db.migrations.executor import MigrationExecutor
from django.test import Client
from pytest_django import Settings
from redis import Redis

from dashboard.pages import health


@pytest.fixture(autouse=True)
def _no_redis(settings: Settings) -> None:
    settings.REDIS_URL = "redis://127.0.0.1:1/0"


class TestHealthz:
    def test_answers_without_database_and_session(self, client: Client) -> None:
        answer = client.get("/healthz")

        assert answer.status_code == 200
        assert answer.content == b"ok\n"


@pytest.mark.django_db
class TestReadyz:
    def test_is_ready_without_redis_and_says_so(self, client: Client) -> None:
        answer = client.get("/readyz")

        assert answer.status_code == 200
        assert answer.json() == {"database": "ok", "redis": "does not answer"}

    def test_reports_a_redis_that_answers(self, client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(Redis, "ping", lambda self: True)

        assert client.get("/readyz").json()["redis"] == "ok"

    def test_is_not_ready_before_the_migrations(self, client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(MigrationExecutor, "migration_plan", lambda self, targets: [("one", False)])

        answer = client.get("/readyz")

        assert answer.status_code == 503
        assert answer.json()["database"] == "1 migrations are not applied"

    def test_is_not_ready_without_a_database(self, client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
        def refuse(*_: object) -> None:
            raise DatabaseError("no route to host=10.0.0.9")

        monkeypatch.setattr(health, "MigrationExecutor", refuse)

        answer = client.get("/readyz")

        assert answer.status_code == 503
        assert answer.json()["database"] == "does not answer"
        assert "10.0.0.9" not in answer.content.decode()
