"""Tests of runs of a schedule row by row: a run changes its own schedule, its own time and its own question only."""

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import User

from jobs import transitions
from jobs.fallback import Plan, Step
from jobs.models import Approval, Fallback, Job, Message, Policy, Schedule, Team
from jobs.requests import schedule_runs, schedules
from jobs.requests.schedules import NotUsable, Times
from jobs.upkeep import due_schedules, watch_schedules
from jobs.upkeep.schedules import repair_next_times
from tests.domain.conftest import RequestJob
from tests.domain.test_schedules import MakeSchedule, make, outcomes
from tests.support.clock import Clock

__all__ = ["make"]  # a fixture
pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]
SIX = datetime(2026, 3, 3, 6, tzinfo=UTC)
HOURLY = Times("hourly", "0 * * * *", "UTC")


def test_only_the_schedule_that_is_due_runs(make: MakeSchedule, clock: Clock) -> None:
    row, other = make(), make(HOURLY)
    Schedule.objects.filter(pk=other.pk).update(next_at=SIX + timedelta(hours=2))

    assert list(due_schedules(SIX)) == [row]
    assert watch_schedules(SIX) == 1

    other.refresh_from_db()
    assert (other.next_at, other.runs.count(), row.runs.count()) == (SIX + timedelta(hours=2), 0, 1)
    assert not Message.objects.filter(kind="schedule").exists(), "a run that is requested is no news"


def test_one_that_was_run_has_ended_or_is_gone_since_it_was_found_is_left_alone(
    make: MakeSchedule, clock: Clock
) -> None:
    row, ended = make(), make(HOURLY)
    Schedule.objects.filter(pk=ended.pk).update(next_at=None)

    assert schedule_runs.run_due(row.pk, now=SIX)
    assert not schedule_runs.run_due(row.pk, now=SIX)
    assert not schedule_runs.run_due(ended.pk, now=SIX)
    assert not schedule_runs.run_due(uuid4(), now=SIX)
    assert outcomes() == [("03-03 06:00", "requested")]


def test_a_time_that_was_missed_is_not_made_up_and_delays_no_other(make: MakeSchedule, clock: Clock) -> None:
    row = make()
    row.runs.create(moment=SIX, made_at=SIX, outcome="missed")

    assert schedule_runs.run_due(row.pk, now=SIX)
    assert not Job.objects.exists()

    assert schedule_runs.run_due(row.pk, now=SIX + timedelta(days=1))
    assert Job.objects.count() == 1


def test_attempts_that_have_all_ended_delay_no_run(make: MakeSchedule, clock: Clock) -> None:
    row = make(plan=Plan((Step("standard"),)))
    assert schedule_runs.run_due(row.pk, now=SIX)
    transitions.transition(Job.objects.get(), "withdrawn", now=SIX, message="x")
    Fallback.objects.update(ended_at=SIX)

    assert schedule_runs.run_due(row.pk, now=SIX + timedelta(days=1))
    assert Job.objects.count() == 2


def test_one_missed_run_is_told_as_one(make: MakeSchedule, clock: Clock) -> None:
    row = make()
    watch_schedules(SIX + timedelta(hours=1))

    assert row.runs.get().message.startswith("A run was missed")


def test_nothing_is_missed_after_the_last_day(make: MakeSchedule, clock: Clock) -> None:
    row = make(Times("nightly", "0 6 * * *", "UTC", last_day=date(2026, 3, 4)))
    watch_schedules(SIX + timedelta(days=9))

    assert row.runs.get().message.startswith("2 runs were missed")


@pytest.mark.parametrize(
    ("columns", "is_withdrawn"),
    [({}, True), ({"submit_attempts": 1}, False), ({"attempted_at": SIX}, False), ({"state": "approved"}, False)],
)
def test_only_a_job_that_was_never_sent_makes_way_for_the_next_run(
    make: MakeSchedule, request_job: RequestJob, clock: Clock, team: Team, columns: dict[str, Any], is_withdrawn: bool
) -> None:
    make()
    Policy.objects.filter(team=team).update(ask_over_usd=0)
    watch_schedules(SIX)
    job, other = Job.objects.get(), request_job()
    open_until = SIX + timedelta(days=30)
    Approval.objects.update(expires_at=open_until, remind_at=open_until)
    Job.objects.filter(pk=job.pk).update(**columns)

    watch_schedules(SIX + timedelta(days=1))

    job.refresh_from_db()
    question = Approval.objects.get(job=job)
    assert (job.state == "withdrawn") == is_withdrawn
    assert [outcome for _, outcome in outcomes()] == ["requested", "requested" if is_withdrawn else "skipped"]
    assert (question.expires_at, question.remind_at) == ((None, None) if is_withdrawn else (open_until, open_until))
    assert Approval.objects.get(job=other).expires_at == open_until


class TestRunNow:
    @pytest.fixture
    def run(self, clock: Clock, owner: User) -> Callable[..., Job]:
        """`run(schedule, key)` runs it in the name of its owner."""
        return lambda row, key="k": schedule_runs.run_now(row, by=owner, now=clock.now, request_key=key)

    def test_a_key_makes_one_job(self, make: MakeSchedule, run: Callable[..., Job]) -> None:
        row, other = make(HOURLY), make()

        assert run(other).pk == run(other).pk
        assert (other.runs.count(), row.runs.count()) == (1, 0)

    def test_the_run_before_has_to_end_first(self, make: MakeSchedule, run: Callable[..., Job], clock: Clock) -> None:
        row = make()
        first = run(row)
        with pytest.raises(NotUsable, match="has not ended"):
            run(row, "another")
        transitions.transition(first, "withdrawn", now=clock.now, message="x")

        assert run(row, "another").pk != first.pk

    def test_runs_of_one_moment_are_told_apart(self, make: MakeSchedule, run: Callable[..., Job], clock: Clock) -> None:
        row = make(Times("nightly", "0 6 * * *", "UTC", allows_overlap=True))
        jobs = {run(row, key).pk for key in "abc"}

        assert len(jobs) == row.runs.count() == 3
        assert row.runs.filter(moment=clock.now).count() == 1

    def test_one_that_is_deleted_meanwhile_runs_no_more(
        self, make: MakeSchedule, run: Callable[..., Job], owner: User
    ) -> None:
        row, _ = make(), make(HOURLY)
        stale = Schedule.objects.get(pk=row.pk)
        schedules.delete_schedule(row, by=owner)

        with pytest.raises(NotUsable, match="deleted meanwhile"):
            run(stale)


def test_only_times_that_were_planned_by_a_clock_ahead_are_planned_again(
    make: MakeSchedule, clock: Clock, owner: User
) -> None:
    ahead, paused = make(), make(Times("paused", "0 6 * * *", "UTC"))
    due, same = make(HOURLY), make(Times("every two hours", "0 */2 * * *", "UTC"))
    for row in (ahead, paused):
        assert schedule_runs.run_due(row.pk, now=SIX)
    schedules.pause_schedule(paused, by=owner, now=clock.now)
    due.runs.create(moment=clock.now, made_at=clock.now, outcome="skipped")
    Schedule.objects.filter(pk=due.pk).update(next_at=clock.now)
    Schedule.objects.filter(pk=same.pk).update(next_at=SIX + timedelta(days=1))

    assert repair_next_times(clock.now) == 1
    assert repair_next_times(clock.now) == 0

    for row, next_at in ((ahead, SIX), (paused, None), (due, clock.now), (same, SIX + timedelta(days=1))):
        row.refresh_from_db()
        assert row.next_at == next_at


def test_a_time_that_somebody_changes_meanwhile_is_left_alone(
    make: MakeSchedule, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    row, changed = make(), clock.now + timedelta(hours=5)
    assert schedule_runs.run_due(row.pk, now=SIX)

    def change(_row: Schedule, _now: datetime) -> datetime:
        Schedule.objects.update(next_at=changed)
        return SIX

    monkeypatch.setattr("jobs.upkeep.schedules.next_of", change)

    assert repair_next_times(clock.now) == 0
    assert Schedule.objects.get().next_at == changed
