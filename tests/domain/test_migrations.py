"""Tests that an upgraded site keeps its data."""

from collections.abc import Callable, Generator, Iterator
from datetime import date
from decimal import Decimal

import pytest
from django.db import connection, transaction
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.state import ProjectState

from jobs import transitions
from jobs.budgets import record_costs
from jobs.models import Job, JobEvent, JobFigures, MonthFigures, Team
from tests.domain.conftest import RequestJob
from tests.support import migrated
from tests.support.clock import Clock
from tests.support.ledger import idle_by_day, kept_sums, spent, sums_of_entries

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.both_databases]
GoTo = Callable[[str], ProjectState]
Story = Generator[str, ProjectState, None]
"""Yields the migration of jobs at which it goes on, and is sent the schema as it is there. It knows only its own rows.

It begins at the newest schema.
"""


@pytest.fixture
def go_to(transactional_db: None) -> Iterator[GoTo]:
    """`go_to("0004_...")` brings the schema to a migration of jobs and returns it as it was then."""

    def migrate(name: str) -> ProjectState:
        executor = MigrationExecutor(connection)
        executor.loader = migrated.history(connection)
        target = [("jobs", name)]
        executor.migrate(target)
        return executor.loader.project_state(target)

    yield migrate
    migrate(newest())


def newest() -> str:
    """Return the name of the newest migration of jobs, which the present models need."""
    return max(name for app, name in MigrationExecutor(connection).loader.disk_migrations if app == "jobs")


def test_an_upgraded_site_keeps_its_data(request_job: RequestJob, team: Team, clock: Clock, go_to: GoTo) -> None:
    """All stories share one way back and one way forward, because each migration takes a second of CPU time."""
    stories = [
        waits_of_months_move_into_columns(request_job, clock),
        waits_after_restarts_are_computed_for_the_jobs_that_exist(request_job, clock),
        costs_so_far_become_opening_entries(request_job, team, clock),
        jobs_that_have_not_ended_get_the_one_figure(request_job, clock),
    ]
    next_of = {story: next(story) for story in stories}

    while next_of:
        name = min(next_of.values())
        schema = go_to(name)
        for story in [each for each, target in next_of.items() if target == name]:
            try:
                next_of[story] = story.send(schema)
            except StopIteration:
                del next_of[story]


def waits_of_months_move_into_columns(request_job: RequestJob, clock: Clock) -> Story:
    job = request_job()
    group = {"team_id": job.team_id, "owner_id": job.owner_id, "strategy": "spot", "region": "r", "outcome": "failed"}
    schema = yield "0058_cap_reported"
    before = schema.apps.get_model("jobs", "MonthFigures").objects
    for bucket, jobs in ((-1, 2), (3, 4), (16, 1)):
        before.create(month=clock.now.date().replace(day=1), wait_bucket=bucket, jobs=jobs, cents=jobs, **group)

    yield "0085_opening_entries"
    row = MonthFigures.objects.get(region="r")
    assert (row.jobs, row.waited_3, row.waited_16) == (7, 4, 1)


def waits_after_restarts_are_computed_for_the_jobs_that_exist(request_job: RequestJob, clock: Clock) -> Story:
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
    own = Job.objects.filter(pk__in=[waiting.pk, pipeline.pk, once.pk])
    waits = own.values_list("pk", "waited_again_seconds", "waiting_again_since")
    derived = set(waits.all())

    yield "0063_fill_waits_after_restarts"

    assert set(waits.all()) == derived
    assert {seconds for _, seconds, _ in derived} == {0, 180, 240}


def costs_so_far_become_opening_entries(request_job: RequestJob, team: Team, clock: Clock) -> Story:
    job, fresh = request_job(), request_job()
    schema = yield "0082_jobs_in_folder"
    before = schema.apps.get_model
    month, day = clock.now.date().replace(day=1), clock.now.date()
    groups = [["", ""], ["person", "7"], ["strategy", "spot"]]
    days = {"2026-03-31": 123, "2026-04-01": 7}
    before("jobs", "JobSpend").objects.create(
        job_id=job.pk, team_id=team.pk, groups=groups, days=days, recorded_at=clock.now
    )
    place = {"project": team.project, "region": "us-central1", "resource_id": "shared", "team_id": team.pk}
    of_groups = {"person": {"7": {"2026-03-30": 4}}, "label": {"a=b": {"2026-03-30": 3}}}
    spends = before("jobs", "ResourceSpend").objects
    spends.create(**place, is_idle=True, days={"2026-03-30": 10}, of_groups={"person": {"7": {"2026-03-30": 10}}})
    spends.create(**place, is_idle=False, days={"2026-03-30": 6}, of_groups=of_groups)
    group = {
        "team_id": team.pk, "owner_id": job.owner_id, "strategy": "spot", "region": "us-central1",
        "accelerator": "", "outcome": "failed", "jobs": 1, "cents": 130, "saved_cents": -5,
    }  # fmt: skip
    before("jobs", "JobFigures").objects.create(job_id=job.pk, ended_on=day, wait_bucket=3, version=2, **group)
    before("jobs", "MonthFigures").objects.create(month=month, **group)

    yield newest()

    assert kept_sums() == sums_of_entries()
    assert (spent(team, date(2026, 3, 1)), spent(team, date(2026, 4, 1))) == (Decimal("1.39"), Decimal("0.07"))
    assert spent(team, date(2026, 3, 1), "person", 7) == Decimal("1.37")
    assert spent(team, date(2026, 3, 1), "label", "a=b") == Decimal("0.03")
    assert idle_by_day(team) == {"2026-03-30": Decimal("0.1")}
    assert dict(Job.objects.exclude(cost_micros=None).values_list("pk", "cost_micros")) == {job.pk: 1_300_000}
    assert Job.objects.filter(pk=fresh.pk).exists()
    for figures in (JobFigures.objects.get(), MonthFigures.objects.get(region="us-central1")):
        assert (figures.micros, figures.saved_micros) == (1_300_000, -50_000)

    job.refresh_from_db()
    with transaction.atomic():
        record_costs([job], clock.now)  # it has never run
    assert spent(team, date(2026, 3, 1)) == Decimal("0.16")
    assert kept_sums() == sums_of_entries()


def jobs_that_have_not_ended_get_the_one_figure(request_job: RequestJob, clock: Clock) -> Story:
    spot, older, standard, ended = (request_job(strategy=name) for name in ("SPOT", "SPOT", "STANDARD", "SPOT"))
    keys = [spot.pk, older.pk, standard.pk, ended.pk]
    schema = yield "0086_leave_old_sums"
    before = schema.apps.get_model("jobs", "Job").objects.filter(pk__in=keys)
    before.update(max_usd=10, exposure_usd=None)
    before.filter(pk=spot.pk).update(exposure_usd=65)
    before.filter(pk=ended.pk).update(ended_at=clock.now)

    schema = yield "0087_one_figure"
    found = dict(schema.apps.get_model("jobs", "Job").objects.filter(pk__in=keys).values_list("pk", "max_usd"))

    assert found == {spot.pk: 65, older.pk: 70, standard.pk: 40, ended.pk: 10}
