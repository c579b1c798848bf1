"""Tests that every wait for PostgreSQL is limited, except for long work, and that building indexes blocks nobody."""

from contextlib import suppress
from typing import Any

import pytest
from django.apps import apps
from django.core.management import call_command
from django.db import connection, migrations, models, transaction
from django.db.migrations.state import ProjectState
from django.db.models.signals import pre_migrate

from dashboard import databases
from jobs import database

pytestmark = pytest.mark.both_databases

URL = "postgres://someone@db.example/board"


class TestSettings:
    def test_bound_every_wait(self) -> None:
        options = databases.database(URL)["OPTIONS"]

        assert options["connect_timeout"] == 5
        assert options["keepalives_idle"] + options["keepalives_interval"] * options["keepalives_count"] == 25
        assert options["tcp_user_timeout"] == 25_000, "milliseconds"
        assert "-c statement_timeout=30s" in options["options"]

    def test_what_the_address_says_wins(self) -> None:
        given = "connect_timeout=3&sslmode=require&options=-c%20lock_timeout%3D1s"

        options = databases.database(f"{URL}?{given}")["OPTIONS"]

        assert (int(options["connect_timeout"]), options["sslmode"]) == (3, "require")
        assert options["options"].endswith("-c lock_timeout=1s"), "the later of two with one name counts"
        assert options["keepalives"] == 1

    def test_sqlite_keeps_its_own(self) -> None:
        options = databases.database("sqlite:////tmp/x.sqlite3")["OPTIONS"]

        assert options["transaction_mode"] == "IMMEDIATE"


def limits() -> tuple[str, ...]:
    """What the server holds this session to."""
    found = []
    with connection.cursor() as cursor:
        for name in ("statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout"):
            cursor.execute(f"SHOW {name}")
            found.append(cursor.fetchone()[0])
    return tuple(found)


@pytest.mark.django_db
class TestSessions:
    @pytest.fixture(autouse=True)
    def _only_postgres(self) -> None:
        if connection.vendor != "postgresql":
            pytest.skip("SQLite has no such limits")

    def test_have_the_limits(self) -> None:
        assert limits() == ("30s", "20s", "1min")

    def test_compile_no_statement(self) -> None:
        with connection.cursor() as cursor:
            cursor.execute("SHOW jit")
            assert cursor.fetchone()[0] == "off", "it took 220 of the 350 ms of the history's figures"

    def test_sum_many_jobs_in_memory(self) -> None:
        with connection.cursor() as cursor:
            cursor.execute("SHOW work_mem")
            assert cursor.fetchone()[0] == "16MB", "with 4 MB, sums of a month of 40,000 jobs were sorted on disk"

    def test_lose_them_for_long_work_and_get_them_back(self) -> None:
        with suppress(ZeroDivisionError), database.unlimited():
            assert limits() == ("0", "20s", "1min")
            raise ZeroDivisionError

        assert limits() == ("30s", "20s", "1min")

    def test_migrate_without_them(self) -> None:
        seen: list[tuple[str, ...]] = []

        def look(**_: Any) -> None:
            seen.append(limits())

        pre_migrate.connect(look)
        try:
            call_command("migrate", verbosity=0, interactive=False)
        finally:
            pre_migrate.disconnect(look)

        assert seen[-1] == ("0", "0", "1min")
        assert limits() == ("30s", "20s", "1min")


INDEX = models.Index(fields=["severity"], name="a_test_of_an_index")


def names() -> set[str]:
    with connection.cursor() as cursor:
        return set(connection.introspection.get_constraints(cursor, "jobs_logline"))


def operate(way: str, operation: migrations.AddIndex) -> None:
    """Run one operation as a migration with `atomic = False` does."""
    before = ProjectState.from_apps(apps)
    after = before.clone()
    operation.state_forwards("jobs", after)
    with connection.schema_editor(atomic=False) as editor:
        if way == "forwards":
            operation.database_forwards("jobs", editor, before, after)
        else:
            operation.database_backwards("jobs", editor, after, before)


@pytest.mark.django_db(transaction=True)
class TestIndexes:
    def test_are_added_and_removed_on_both_databases(self) -> None:
        operate("forwards", database.AddIndexConcurrently("logline", INDEX))
        assert INDEX.name in names()

        operate("backwards", database.AddIndexConcurrently("logline", INDEX))
        assert INDEX.name not in names()

    def test_are_built_concurrently_and_again_after_an_interruption(self, django_assert_num_queries: Any) -> None:
        if connection.vendor != "postgresql":
            pytest.skip("SQLite builds no index concurrently")
        with connection.cursor() as cursor:
            cursor.execute(f"CREATE INDEX {INDEX.name} ON jobs_logline (message)")

        with django_assert_num_queries(2) as queries:
            operate("forwards", database.AddIndexConcurrently("logline", INDEX))

        assert ["CONCURRENTLY" in query["sql"] for query in queries] == [True, True]
        with connection.cursor() as cursor:
            assert connection.introspection.get_constraints(cursor, "jobs_logline")[INDEX.name]["columns"] == [
                "severity"
            ]
        operate("backwards", database.AddIndexConcurrently("logline", INDEX))

    def test_refuse_a_transaction(self) -> None:
        if connection.vendor != "postgresql":
            pytest.skip("SQLite builds indexes in transactions")
        with pytest.raises(ValueError, match="atomic = False"), transaction.atomic():
            operate("forwards", database.AddIndexConcurrently("logline", INDEX))
