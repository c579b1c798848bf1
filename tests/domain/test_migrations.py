"""Tests that an upgraded site keeps its data and can be downgraded."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from tests.domain.conftest import RequestJob
from tests.support.clock import Clock

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.both_databases]
GoTo = Callable[[str], Any]


@pytest.fixture
def go_to(transactional_db: None) -> Iterator[GoTo]:
    """`go_to("0004_...")` brings the schema to a migration of jobs and returns the models as they were then."""

    def migrate(name: str) -> Any:
        executor = MigrationExecutor(connection)
        target = [("jobs", name)]
        executor.migrate(target)
        return executor.loader.project_state(target).apps

    newest = max(name for app, name in MigrationExecutor(connection).loader.disk_migrations if app == "jobs")
    yield migrate
    migrate(newest)


def test_when_jobs_were_seen_survives_the_move_to_a_table_of_its_own(
    request_job: RequestJob, clock: Clock, go_to: GoTo
) -> None:
    seen, unseen = request_job(), request_job()
    before = go_to("0004_find_jobs_on_persistent_resources")
    before.get_model("jobs", "Job").objects.filter(pk=seen.pk).update(seen_at=clock.now)

    sightings = go_to("0005_sightings").get_model("jobs", "Sighting").objects
    found = dict(sightings.values_list("job_id", "at"))
    again = go_to("0004_find_jobs_on_persistent_resources").get_model("jobs", "Job").objects

    assert found == {seen.pk: clock.now}
    assert dict(again.values_list("pk", "seen_at")) == {seen.pk: clock.now, unseen.pk: None}
