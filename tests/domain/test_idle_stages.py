"""Tests of stages of the sweep that have nothing to do: they do not run, are seldom asked, and miss no work."""

import uuid
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.db import DataError, connection
from django.test.utils import CaptureQueriesContext

from jobs import stages
from jobs.models import Job, Upkeep
from jobs.stages import PREFIX, STAGES, Stage
from tests.domain.conftest import Cloud, Handed, RequestJob
from tests.support.clock import Clock


@pytest.fixture
def ran(sweep: Callable[[], Handed], team: Any, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the stages that ran. Two sweeps have run all of them in this quarter of an hour."""
    ran: list[str] = []

    def counted(stage: Stage) -> Stage:
        def run(clock: Any) -> None:
            ran.append(stage.name)
            stage.run(clock)

        return replace(stage, run=run, every=1)

    monkeypatch.setattr(
        stages, "STAGES", tuple(counted(stage) for stage in STAGES if stage.find_work or stage.find_always)
    )
    for _ in range(2):
        sweep()
    ran.clear()
    return ran


@pytest.mark.django_db
def test_idle_stages_count_as_finished(ran: list[str], sweep: Callable[[], Handed], clock: Clock) -> None:
    with CaptureQueriesContext(connection) as queries:
        sweep()

    assert not ran
    rows = Upkeep.objects.filter(name__in=[PREFIX + stage.name for stage in stages.STAGES])
    assert {(row.answered_at, row.due_at) for row in rows} == {(clock.now, clock.now + timedelta(seconds=2.5))}
    assert len(queries) <= 20


@pytest.mark.django_db
def test_a_stage_that_seldom_runs_is_seldom_asked(sweep: Callable[[], Handed], monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def none(name: str) -> Any:
        return lambda _now: [asked.append(name), Job.objects.none()][1:]

    parts = tuple(replace(stage, find_work=none(stage.name)) for stage in STAGES if stage.every in (1, 24))
    monkeypatch.setattr(stages, "STAGES", parts)
    for _ in range(40):
        sweep()

    assert asked.count("messages") == 39
    assert asked.count("export of the audit log") in (1, 2, 3)


@pytest.mark.django_db
def test_a_stage_with_work_runs(
    ran: list[str], sweep: Callable[[], Handed], request_job: RequestJob, cloud: Cloud
) -> None:
    job = request_job()
    Job.objects.filter(pk=job.pk).update(state="succeeded", ended_at=cloud.now, is_counted=False)
    sweep()

    assert "ended jobs" in ran
    assert "schedules" not in ran
    assert Job.objects.get(pk=job.pk).is_counted


@pytest.mark.django_db
def test_each_stage_runs_every_quarter_of_an_hour_in_any_case(
    ran: list[str], sweep: Callable[[], Handed], clock: Clock
) -> None:
    for _ in range(4):
        clock.forward(minutes=7.5)
        sweep()

    assert sorted(ran) == sorted(2 * [stage.name for stage in stages.STAGES])


@pytest.mark.django_db
def test_a_stage_that_failed_runs_again(ran: list[str], sweep: Callable[[], Handed]) -> None:
    Upkeep.objects.filter(name="sweep:caps").update(failures=1, last_error="odd")
    sweep()

    assert ran == ["caps"]
    assert not Upkeep.objects.get(name="sweep:caps").failures


@pytest.mark.django_db
def test_if_the_question_fails_every_stage_runs(
    ran: list[str], sweep: Callable[[], Handed], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_now: Any) -> Any:
        raise DataError("odd")

    parts = tuple(replace(stage, find_work=fail) if stage.name == "caps" else stage for stage in stages.STAGES)
    monkeypatch.setattr(stages, "STAGES", parts)
    sweep()

    assert ran == [stage.name for stage in parts]


@pytest.mark.django_db
def test_a_stage_that_another_sweep_has_begun_is_not_finished_for_it(
    ran: list[str], sweep: Callable[[], Handed], clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    def begun_meanwhile(_now: Any) -> Any:
        until = clock.now + stages.LEASE
        Upkeep.objects.filter(name="sweep:caps").update(claim=uuid.uuid4(), claimed_until=until)
        return [Job.objects.none()]

    (caps,) = (each for each in stages.STAGES if each.name == "caps")
    monkeypatch.setattr(stages, "STAGES", (replace(caps, find_work=begun_meanwhile),))
    sweep()

    assert not ran
    assert Upkeep.objects.get(name="sweep:caps").answered_at != clock.now
