"""Tests of the rows of stages: each sweep writes those of its own stages only, and only as they were read."""

import uuid
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import IntegrityError

from jobs import stages
from jobs.models import Approval, Job, Upkeep
from jobs.stages import PREFIX, WHOLE, Stage
from tests.domain.conftest import Handed, RequestJob
from tests.support.clock import Clock

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]


@pytest.fixture
def ran(team: Any, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the stages that ran: one runs in every sweep, one in every twelfth."""
    ran: list[str] = []

    def stage(name: str, every: int) -> Stage:
        return Stage(name, lambda _clock: ran.append(name), every=every)

    monkeypatch.setattr(stages, "STAGES", (stage("often", 1), stage("seldom", 12)))
    return ran


def row(name: str) -> Upkeep:
    """Return the row of a stage."""
    return Upkeep.objects.get(name=PREFIX + name)


def test_before_the_first_sweep_everything_is_late(clock: Clock) -> None:
    whole, others = stages.states(clock.now)

    assert whole.is_late
    assert {(state.is_late, state.finished_at) for state in others} == {(True, None)}


def test_other_upkeep_is_no_stage(ran: list[str], sweep: Callable[[], Handed], clock: Clock) -> None:
    sweep()
    Upkeep.objects.create(name="prune", due_at=clock.now, failures=3)

    assert [state.name for state in stages.states(clock.now)[1]] == ["often", "seldom"]


def test_a_sweep_finishes_the_stages_that_ran(ran: list[str], sweep: Callable[[], Handed], clock: Clock) -> None:
    sweep()
    before = row("seldom").answered_at
    Upkeep.objects.create(name="prune", due_at=clock.now)
    sweep()

    assert ran == ["often", "seldom", "often"]
    assert (row("seldom").answered_at, row("often").answered_at) == (before, clock.now)
    assert Upkeep.objects.get(name=WHOLE).answered_at == clock.now
    assert Upkeep.objects.get(name="prune").answered_at is None


def test_a_hand_out_writes_its_own_row_after_it_failed_only(
    ran: list[str], sweep: Callable[[], Handed], clock: Clock
) -> None:
    def fail(_now: datetime) -> None:
        raise IntegrityError("odd")

    sweep()
    rows = stages._load_rows(clock.now)
    assert not stages._hand_out("due jobs", fail, rows, clock.now)
    rows = stages._load_rows(clock.now)
    assert not stages._hand_out("due jobs", fail, rows, clock.now)
    assert (row("due jobs").failures, row("often").failures) == (2, 0)

    rows = stages._load_rows(clock.now)
    at = clock.forward(seconds=5)
    assert stages._hand_out("due jobs", lambda _now: None, rows, at)
    assert (row("due jobs").failures, row("due jobs").answered_at, row("often").answered_at == at) == (0, at, False)

    rows = stages._load_rows(clock.now)
    assert stages._hand_out("due jobs", lambda _now: None, rows, clock.forward(seconds=5))
    assert row("due jobs").answered_at == at


@pytest.mark.parametrize(("minutes", "later"), [(9, 0), (11, 11)])
def test_open_approvals_last_longer_after_a_long_pause_and_once(
    ran: list[str], sweep: Callable[[], Handed], request_job: RequestJob, clock: Clock, minutes: int, later: int
) -> None:
    job = request_job(hours=100)
    ends = clock.now + timedelta(days=1)
    Approval.objects.filter(job=job).update(expires_at=ends, asked_at=clock.now - timedelta(days=1))
    sweep()
    sweep()
    due_at = clock.now + timedelta(minutes=20)
    Upkeep.objects.filter(name__in=[WHOLE, "sweep:seldom"]).update(due_at=due_at)
    now = clock.forward(minutes=minutes)
    rows = stages._load_rows(now)

    for _ in range(2):  # another sweep has read the same rows
        stages._allow_for_downtime(rows, now)

    assert Approval.objects.get(job=job).expires_at == ends + timedelta(minutes=later)
    assert row("seldom").due_at == due_at


@pytest.mark.parametrize("changed", ["due_at", "claim"])
def test_a_stage_that_another_sweep_has_begun_is_left_to_it(
    ran: list[str], sweep: Callable[[], Handed], clock: Clock, changed: str
) -> None:
    sweep()
    ran.clear()
    read = row("often")
    columns = {"due_at": clock.now + timedelta(minutes=1)} if changed == "due_at" else {"claim": uuid.uuid4()}
    Upkeep.objects.filter(pk=read.pk).update(**columns)

    stages._run(stages.STAGES[0], read, clock.clock, clock.now)

    assert ran == []


def test_a_stage_whose_claim_was_taken_over_finishes_nothing(
    sweep: Callable[[], Handed], clock: Clock, team: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = uuid.uuid4()

    def taken_over(_clock: Any) -> None:
        Upkeep.objects.filter(name="sweep:slow").update(claim=other)

    monkeypatch.setattr(stages, "STAGES", (Stage("slow", taken_over),))
    sweep()

    assert (row("slow").claim, row("slow").answered_at) == (other, None)


@pytest.mark.parametrize(
    ("columns", "runs"),
    [
        ({}, False),
        ({"failures": 1}, True),
        ({"claim": uuid.UUID(int=1), "claimed_until": None}, True),
        ({"answered_at": None}, True),
    ],
)
def test_only_a_stage_that_finished_well_may_be_idle(
    sweep: Callable[[], Handed], team: Any, monkeypatch: pytest.MonkeyPatch, columns: dict[str, Any], runs: bool
) -> None:
    ran = list[int]()
    idle = Stage("idle", lambda _clock: ran.append(1), find_work=lambda _now: [Job.objects.none()])
    monkeypatch.setattr(stages, "STAGES", (idle,))
    for _ in range(2):
        sweep()
    ran.clear()
    Upkeep.objects.filter(name="sweep:idle").update(**columns)
    sweep()

    assert len(ran) == runs


@pytest.mark.parametrize(
    ("minutes", "runs"), [(-1, True), (0, True), (1, False), (3, True)]
)  # since a sweep went on after a pause
def test_what_only_the_time_causes_waits_after_a_pause(clock: Clock, minutes: int, runs: bool) -> None:
    ran = list[datetime]()
    step = stages.settled(ran.append)
    if minutes:
        since = clock.now - timedelta(minutes=minutes)
        Upkeep.objects.create(name=WHOLE, due_at=since)
    step(clock.clock)

    assert len(ran) == runs
