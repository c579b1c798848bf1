"""Tests that an upgraded site keeps its data and can be downgraded."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from jobs import transitions
from jobs.models import Job, JobEvent, MonthFigures
from jobs.upkeep import fold_months
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


def test_waits_of_months_survive_the_move_into_columns(request_job: RequestJob, clock: Clock, go_to: GoTo) -> None:
    job = request_job()
    group = {"team_id": job.team_id, "owner_id": job.owner_id, "strategy": "spot", "region": "r", "outcome": "failed"}
    before = go_to("0058_cap_reported").get_model("jobs", "MonthFigures").objects
    for bucket, jobs in ((-1, 2), (3, 4), (16, 1)):
        before.create(month=clock.now.date().replace(day=1), wait_bucket=bucket, jobs=jobs, cents=jobs, **group)

    go_to("0059_waits_in_columns")
    assert fold_months() == 3
    row = MonthFigures.objects.get()
    assert (row.jobs, row.cents, row.waited_3, row.waited_16) == (7, 7, 4, 1)

    again = go_to("0058_cap_reported").get_model("jobs", "MonthFigures").objects
    assert again.get().jobs == 7


def test_waits_after_restarts_are_computed_for_the_jobs_that_exist(
    request_job: RequestJob, clock: Clock, go_to: GoTo
) -> None:
    waiting, pipeline, once = request_job(), request_job(), request_job()
    for job in (waiting, pipeline, once):
        for state in ("submitting", "queued", "running"):
            transitions.transition(job, state, now=clock.forward(minutes=1), message="It goes on.")
    for state in ("pending", "running", "queued"):
        transitions.transition(waiting, state, now=clock.forward(minutes=4), message="It goes on.")
    for before, to in (("running", "pending"), ("pending", "running")):
        at = clock.forward(minutes=3)
        transitions.record_custom_job_state(pipeline, before, to, now=at, occurred_at=at, message="It goes on.")
    transitions.record_event(
        waiting, JobEvent.Kind.RESTARTED, now=clock.now, message="It was preempted.", once_key="restart:1"
    )
    names = ("pk", "waited_again_seconds", "waiting_again_since")
    derived = set(Job.objects.values_list(*names))

    go_to("0061_search_in_indexes")
    go_to("0063_fill_waits_after_restarts")

    assert set(Job.objects.values_list(*names)) == derived
    assert {seconds for _, seconds, _ in derived} == {0, 180, 240}
