"""Tests of schedules: each scheduled time makes one request at most, and one row with the result."""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime, timedelta
from threading import Barrier
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.utils.translation import override

from dashboard.queries.approvals import approvals_for
from jobs import requests, transitions
from jobs.errors import NotPermitted
from jobs.fallback import Plan, Step
from jobs.isolation import RowsFailed
from jobs.messages.route import route
from jobs.models import Delivery, Fallback, Job, Membership, Message, Policy, Schedule, ScheduleRun, Team
from jobs.requests import schedule_runs, schedules
from jobs.requests.deputies import name_deputy
from jobs.requests.schedules import NotUsable, Times
from jobs.translations import translated
from jobs.upkeep import watch_schedules
from tests.conftest import person
from tests.domain.conftest import RequestJob
from tests.support import samples
from tests.support.clock import Clock

pytestmark = pytest.mark.both_databases

IS_POSTGRES = os.environ.get("DATABASE_URL", "").startswith("postgres")
RACES = 30 if IS_POSTGRES else 5
DAILY = Times("nightly", "0 6 * * *", "UTC")
MakeSchedule = Callable[..., Schedule]


@pytest.fixture
def make(request_job: RequestJob, team: Team, owner: User, clock: Clock) -> MakeSchedule:
    """`make()` is a schedule of the owner, every day at 06:00 UTC; the clock stands at 09:00 of 2 March 2026."""

    def keep(times: Times = DAILY, *, hours: float = 0.1, by: User = owner, **options: Any) -> Schedule:
        return schedules.create_schedule(
            times,
            submission=samples.submission(**samples.limited(hours, options.pop("spec", {}))),
            team=Team.objects.get(pk=team.pk),
            by=by,
            expected=timedelta(hours=hours),
            now=clock.now,
            **options,
        )

    return keep


def at(clock: Clock, moment: str) -> int:
    """Let the sweep come at a moment (UTC); return how many schedules it ran."""
    clock.now = datetime.fromisoformat(moment).replace(tzinfo=UTC)
    return watch_schedules(clock.now)


def outcomes() -> list[tuple[str, str]]:
    rows = ScheduleRun.objects.order_by("moment")
    return [(f"{row.moment:%m-%d %H:%M}", row.outcome) for row in rows]


@pytest.mark.django_db
class TestRuns:
    def test_a_due_moment_is_requested_in_the_name_of_the_owner(
        self, make: MakeSchedule, clock: Clock, owner: User
    ) -> None:
        row = make()
        assert at(clock, "2026-03-03 05:59") == 0

        assert at(clock, "2026-03-03 06:00") == 1

        job = Job.objects.get()
        assert (job.owner, job.team, job.display_name) == (owner, row.team, "resnet-prune-2026-03-03-0600")
        assert job.state == "approved"
        assert outcomes() == [("03-03 06:00", "requested")]
        assert ScheduleRun.objects.get().job == job
        row.refresh_from_db()
        assert row.next_at == datetime(2026, 3, 4, 6, tzinfo=UTC)

    def test_a_moment_is_run_once_however_often_the_sweep_comes(self, make: MakeSchedule, clock: Clock) -> None:
        row = make()
        for _ in range(3):
            at(clock, "2026-03-03 06:01")
        Schedule.objects.filter(pk=row.pk).update(next_at=datetime(2026, 3, 3, 6, tzinfo=UTC))  # as after a restore
        at(clock, "2026-03-03 06:02")

        assert Job.objects.count() == 1
        assert outcomes() == [("03-03 06:00", "requested")]

    def test_a_run_is_skipped_while_the_one_before_has_not_ended(self, make: MakeSchedule, clock: Clock) -> None:
        make()
        at(clock, "2026-03-03 06:00")
        at(clock, "2026-03-04 06:00")
        transitions.transition(Job.objects.get(), "withdrawn", now=clock.now, message="x")
        at(clock, "2026-03-05 06:00")

        assert [outcome for _, outcome in outcomes()] == ["requested", "skipped", "requested"]
        assert "has not ended" in ScheduleRun.objects.get(outcome="skipped").message

    def test_further_attempts_count_as_the_run_before(self, make: MakeSchedule, clock: Clock) -> None:
        make(plan=Plan((Step("standard"),)))
        at(clock, "2026-03-03 06:00")
        assert Fallback.objects.get().attempts.get().job == Job.objects.get()
        transitions.transition(Job.objects.get(), "withdrawn", now=clock.now, message="x")

        at(clock, "2026-03-04 06:00")

        assert [outcome for _, outcome in outcomes()] == ["requested", "skipped"]

    def test_runs_may_overlap_where_that_is_wanted(self, make: MakeSchedule, clock: Clock) -> None:
        make(Times("nightly", "0 6 * * *", "UTC", allows_overlap=True))
        for day in (3, 4, 5):
            at(clock, f"2026-03-0{day} 06:00")

        assert Job.objects.count() == 3

    def test_what_was_missed_is_told_and_not_made_up(self, make: MakeSchedule, clock: Clock, owner: User) -> None:
        make()

        at(clock, "2026-03-06 12:00")

        assert not Job.objects.exists()
        assert outcomes() == [("03-03 06:00", "missed")]
        assert "4 runs were missed" in Message.objects.get(kind="schedule").detail["text"]
        assert route(clock.now) >= 1
        assert Delivery.objects.filter(message__kind="schedule", person=owner).exists()

    def test_the_newest_of_several_due_moments_runs_where_it_is_in_time(self, make: MakeSchedule, clock: Clock) -> None:
        make()

        at(clock, "2026-03-05 06:09")

        assert outcomes() == [("03-03 06:00", "missed"), ("03-05 06:00", "requested")]

    def test_it_ends_with_its_last_day(self, make: MakeSchedule, clock: Clock) -> None:
        row = make(Times("nightly", "0 6 * * *", "UTC", allows_overlap=True, last_day=date(2026, 3, 4)))
        for day in range(3, 8):
            at(clock, f"2026-03-0{day} 06:00")

        row.refresh_from_db()
        assert [moment for moment, _ in outcomes()] == ["03-03 06:00", "03-04 06:00"]
        assert row.next_at is None

    def test_the_moment_is_that_of_the_time_zone(self, make: MakeSchedule, clock: Clock) -> None:
        make(Times("nightly", "30 2 * * *", "Europe/Berlin"))

        assert at(clock, "2026-03-03 01:30") == 1
        assert Job.objects.get().display_name.endswith("-2026-03-03-0230")


@pytest.mark.django_db
class TestRefusals:
    def test_a_refusal_is_kept_and_told(self, make: MakeSchedule, clock: Clock, team: Team) -> None:
        make()
        Policy.objects.filter(team=team).update(regions=["europe-west4"])

        at(clock, "2026-03-03 06:00")

        run = ScheduleRun.objects.get()
        assert (run.outcome, run.job) == ("refused", None)
        assert run.message
        assert Message.objects.get(kind="schedule").detail["text"].endswith(run.message)

    def test_policy_asks_about_a_run_as_about_any_job(self, make: MakeSchedule, clock: Clock, team: Team) -> None:
        make()
        Policy.objects.filter(team=team).update(ask_over_usd=0)

        at(clock, "2026-03-03 06:00")

        assert Job.objects.get().state == "awaiting_approval"

    @pytest.mark.parametrize("way", ["left", "closed", "viewer"])
    def test_an_owner_who_may_not_request_pauses_it(
        self, way: str, make: MakeSchedule, clock: Clock, owner: User, team: Team
    ) -> None:
        row, lead = make(), person("lead", team, "lead")
        if way == "left":
            Membership.objects.filter(user=owner).delete()
        elif way == "viewer":
            Membership.objects.filter(user=owner).update(role="viewer")
        else:
            User.objects.filter(pk=owner.pk).update(is_active=False)

        at(clock, "2026-03-03 06:00")
        at(clock, "2026-03-04 06:00")

        row.refresh_from_db()
        assert not row.is_enabled
        assert "owner may request no more jobs for vision" in row.paused_because
        with override("es"):
            words = "owner ya no puede solicitar trabajos para vision, así que la programación está en pausa."
            assert translated(row.why_paused) == words
            assert translated(row.runs.get().text).startswith(words)
            assert translated(Message.objects.get(kind="schedule").words("text")).startswith(f"{row.name}: {words}")
        assert outcomes() == [("03-03 06:00", "not_permitted")]
        assert route(clock.now) == 1
        assert Delivery.objects.filter(message__kind="schedule", person=lead).exists(), "somebody is left to be told"

    def test_one_that_fails_delays_no_other(
        self, make: MakeSchedule, clock: Clock, caplog: pytest.LogCaptureFixture
    ) -> None:
        broken, _ = make(), make(Times("other", "0 6 * * *", "UTC"))
        Schedule.objects.filter(pk=broken.pk).update(spec=["nonsense"])

        with pytest.raises(RowsFailed, match="schedules failed, 1 in all"):
            at(clock, "2026-03-03 06:00")

        assert Job.objects.count() == 1
        assert f"schedules failed: {broken.pk}" in caplog.text

    def test_a_worker_that_is_killed_leaves_the_moment_due(
        self, make: MakeSchedule, clock: Clock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        make()

        class Killed(BaseException):
            """The process ends here."""

        def kill(*_: Any, **__: Any) -> Any:
            raise Killed

        with monkeypatch.context() as patch:
            patch.setattr(schedule_runs, "_write", kill)
            with pytest.raises(Killed):
                at(clock, "2026-03-03 06:00")
        assert not Job.objects.exists()

        at(clock, "2026-03-03 06:01")
        assert (Job.objects.count(), ScheduleRun.objects.count()) == (1, 1)


@pytest.mark.django_db
class TestChanges:
    def test_only_its_owner_and_leads_change_it(
        self, make: MakeSchedule, clock: Clock, teammate: User, approver: User, stranger: User, team: Team
    ) -> None:
        row = make()
        for other in (teammate, approver, stranger):
            with pytest.raises(NotPermitted):
                schedules.pause_schedule(row, by=other, now=clock.now)

        schedules.pause_schedule(row, by=person("lead", team, "lead"), now=clock.now)

        row.refresh_from_db()
        assert (row.is_enabled, row.paused_because) == (False, "lead paused it.")
        assert at(clock, "2026-03-03 06:00") == 0

    @pytest.mark.parametrize("change", ["times", "resume", "name"])
    def test_whoever_changes_when_it_runs_is_its_owner(
        self, make: MakeSchedule, clock: Clock, owner: User, team: Team, change: str
    ) -> None:
        row, lead = make(), person("lead", team, "lead")
        if change == "resume":
            schedules.pause_schedule(row, by=owner, now=clock.now)
            schedules.resume_schedule(row, by=lead, now=clock.now)
        else:
            changes = {"cron": "*/30 * * * *"} if change == "times" else {"name": "each night"}
            schedules.change_schedule(row, changes, by=lead, now=clock.now)

        row.refresh_from_db()
        assert row.owner == (owner if change == "name" else lead)
        assert at(clock, "2026-03-03 06:00") == 1
        assert Job.objects.get().owner == row.owner
        told = Message.objects.filter(kind="schedule", detail__person=owner.pk)
        assert told.exists() == (change != "name"), "the owner until then is told"

    def test_what_was_due_while_it_was_paused_is_not_made_up(
        self, make: MakeSchedule, clock: Clock, owner: User
    ) -> None:
        row = make()
        schedules.pause_schedule(row, by=owner, now=clock.now)
        clock.forward(days=5)
        schedules.resume_schedule(row, by=owner, now=clock.now)

        row.refresh_from_db()
        assert row.next_at is not None
        assert row.next_at > clock.now
        assert watch_schedules(clock.now) == 0

    @pytest.mark.parametrize("way", ["taken over", "run now", "deleted since", "deputy"])
    def test_whoever_wrote_it_approves_none_of_its_jobs(
        self, make: MakeSchedule, clock: Clock, team: Team, approver: User, way: str
    ) -> None:
        lead, other = person("lead", team, "lead"), person("other", team, "lead")
        row = make(hours=40, by=approver)
        if way == "run now":
            schedule_runs.run_now(row, by=lead, now=clock.now, request_key="now")
        else:
            schedules.change_schedule(row, {"cron": "0 7 * * *"}, by=lead, now=clock.now)
            assert at(clock, "2026-03-03 07:00") == 1
        if way == "deleted since":
            schedules.delete_schedule(Schedule.objects.get(), by=lead)
        if way == "deputy":
            name_deputy(other, "approver", first_day=clock.now.date(), last_day=clock.now.date(), now=clock.now)
        job = Job.objects.get()
        assert (job.owner, job.author, job.state) == (lead, approver, "awaiting_approval")

        with pytest.raises(NotPermitted, match="You wrote this job"):
            requests.approve(job, by=approver, comment="", now=clock.now)

        assert approvals_for(approver, clock.now.date()).count() == 0
        assert approvals_for(other, clock.now.date()).count() == 1
        assert requests.approve(job, by=other, comment="", now=clock.now)

    def test_its_jobs_stay_when_it_is_deleted(self, make: MakeSchedule, clock: Clock, owner: User) -> None:
        row = make()
        at(clock, "2026-03-03 06:00")

        schedules.delete_schedule(row, by=owner)

        assert Job.objects.count() == 1
        assert not ScheduleRun.objects.exists()

    @pytest.mark.parametrize(
        ("times", "field"),
        [
            (Times("", "0 6 * * *", "UTC"), "name"),
            (Times("x" * 81, "0 6 * * *", "UTC"), "name"),
            (Times("x", "* * * * *", "UTC"), "cron"),
            (Times("x", "0 6 * * *", "Mars"), "time_zone"),
            (Times("x", "0 6 * * *", "UTC", last_day=date(2026, 3, 2)), "last_day"),
        ],
    )
    def test_what_cannot_be_kept_is_told_at_its_field(self, times: Times, field: str, make: MakeSchedule) -> None:
        with pytest.raises(NotUsable) as refusal:
            make(times)
        assert refusal.value.field == field

    def test_a_name_is_used_once_in_a_team(self, make: MakeSchedule) -> None:
        make()
        with pytest.raises(NotUsable, match="already has a schedule with this name"):
            make()

    def test_a_secret_is_not_kept(self, make: MakeSchedule, owner: User, clock: Clock, team: Team) -> None:
        body = samples.body()
        env = [{"name": "API_TOKEN", "value": "sk-live-51H8xkJ2eZvKYlo2C0aBcDeF"}]
        body["jobSpec"]["workerPoolSpecs"][0]["containerSpec"]["env"] = env
        job, _ = requests.request.spec.read("custom_job", body)
        submission = samples.submission()
        with pytest.raises(NotUsable, match="secret"):
            schedules.create_schedule(
                DAILY, submission=type(submission)("custom_job", team.project, "us-central1", job),
                team=team, by=owner, expected=timedelta(hours=1), now=clock.now,
            )  # fmt: skip


@pytest.mark.django_db(transaction=True)
def test_of_several_sweeps_at_once_one_makes_the_request(make: MakeSchedule, clock: Clock) -> None:
    row = make(Times("nightly", "0 6 * * *", "UTC", allows_overlap=True))
    with ThreadPoolExecutor(3) as pool:
        for day in range(RACES):
            moment = datetime(2026, 3, 3, 6, tzinfo=UTC) + timedelta(days=day)
            barrier = Barrier(3)

            def run(_: int, moment: datetime = moment, barrier: Barrier = barrier) -> bool:
                barrier.wait()
                return schedule_runs.run_due(row.pk, now=moment)

            assert sum(pool.map(run, range(3))) == 1
        barrier = Barrier(3)

        def close(_: int) -> None:
            barrier.wait()
            connection.close()

        list(pool.map(close, range(3)))
    assert (Job.objects.count(), ScheduleRun.objects.count()) == (RACES, RACES)
