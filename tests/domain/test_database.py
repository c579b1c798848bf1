"""Tests that the domain tests use the requested database, and that it behaves as the site needs."""

import os
import threading

import pytest
from django.apps import apps
from django.db import connection, transaction
from django.db.models import UniqueConstraint

from jobs.models import Team

pytestmark = pytest.mark.both_databases


def test_is_postgresql_when_asked_for_and_sqlite_otherwise(db: None) -> None:
    wanted = "postgresql" if os.environ.get("DATABASE_URL", "").startswith("postgres") else "sqlite"

    assert connection.vendor == wanted


def test_what_is_committed_outlives_a_power_cut(db: None) -> None:
    question = "PRAGMA synchronous" if connection.vendor == "sqlite" else "SHOW synchronous_commit"

    with connection.cursor() as cursor:
        cursor.execute(question)
        (answer,) = cursor.fetchone()

    assert answer in (2, "on"), "2 is FULL"


def test_has_every_unique_constraint_of_the_models(db: None) -> None:
    wanted, found = set[str](), set[str]()
    with connection.cursor() as cursor:
        for model in apps.get_app_config("jobs").get_models():
            wanted |= {each.name for each in model._meta.constraints if isinstance(each, UniqueConstraint)}
            constraints = connection.introspection.get_constraints(cursor, model._meta.db_table)
            found |= {name for name, each in constraints.items() if each["unique"]}

    assert len(wanted) > 30
    assert wanted <= found


@pytest.mark.django_db(transaction=True)
def test_two_writers_wait_for_each_other_instead_of_failing() -> None:
    team = Team.objects.create(name="vision", project="vision-research")
    both = threading.Barrier(2)
    failures: list[Exception] = []

    def count() -> None:
        try:
            both.wait(timeout=10)
            for _ in range(20):
                with transaction.atomic():
                    row = Team.objects.select_for_update().get(pk=team.pk)
                    row.project = f"vision-{int(row.project.removeprefix('vision-').replace('research', '0')) + 1}"
                    row.save()
        except Exception as failure:  # noqa: BLE001 - handed to the test's own thread
            failures.append(failure)
        finally:
            connection.close()

    writers = [threading.Thread(target=count) for _ in range(2)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(timeout=60)

    assert failures == []
    team.refresh_from_db()
    assert team.project == "vision-40"
