"""Tests of limits of time and money while something outside fails: the site, Vertex AI's lists, a permission."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import DataError, IntegrityError

from jobs import requests, stages, steps
from jobs.isolation import RowsFailed
from jobs.models import Approval, Job, Message, Schedule, ScheduleRun, Team
from jobs.requests import schedule_runs
from jobs.requests.schedules import Times
from jobs.upkeep import watch_approvals, watch_caps
from tests.domain.conftest import Cloud, RequestJob
from tests.domain.test_caps import capped, start
from tests.domain.test_schedules import MakeSchedule, at, make  # noqa: F401 - a fixture
from tests.support.clock import Clock

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]


class TestDowntime:
    @pytest.fixture
    def waiting(self, request_job: RequestJob, clock: Clock) -> Approval:
        """An approval that ends in six hours, while sweeps run."""
        job = request_job(hours=10)
        assert job.state == "awaiting_approval"
        Approval.objects.update(expires_at=clock.now + timedelta(hours=6))
        stages.sweep(clock.clock, {})
        return Approval.objects.get()

    def test_does_not_count_for_an_open_approval(self, waiting: Approval, clock: Clock) -> None:
        clock.forward(days=2)
        stages.sweep(clock.clock, {})

        assert Job.objects.get().state == "awaiting_approval"
        assert Approval.objects.get().expires_at == clock.now + timedelta(hours=6)
        stages.sweep(clock.clock, {})
        assert Approval.objects.get().expires_at == clock.now + timedelta(hours=6), "once"

    def test_counts_only_while_the_approval_was_open(self, waiting: Approval, clock: Clock) -> None:
        clock.forward(hours=10)
        Approval.objects.update(asked_at=clock.now, expires_at=clock.now + timedelta(hours=6))
        clock.forward(hours=5)
        stages.sweep(clock.clock, {})

        assert Approval.objects.get().expires_at == clock.now + timedelta(hours=6)

    def test_a_pause_of_a_few_minutes_is_none(self, waiting: Approval, clock: Clock) -> None:
        clock.forward(minutes=9)
        stages.sweep(clock.clock, {})

        assert Approval.objects.get().expires_at == waiting.expires_at

    def test_an_approval_still_expires_on_a_site_that_runs(self, waiting: Approval, clock: Clock) -> None:
        clock.forward(hours=6)
        watch_approvals(clock.now)

        assert Job.objects.get().state == "withdrawn"


class TestScheduleThatWaits:
    def test_asks_with_the_newest_run_and_tells_the_owner_once(
        self,
        make: MakeSchedule,  # noqa: F811
        clock: Clock,
        owner: User,
        approver: User,
    ) -> None:
        row = make(hours=10)
        for day in (3, 4, 5):
            assert at(clock, f"2026-03-0{day} 06:00") == 1

        jobs = list(Job.objects.order_by("requested_at"))
        assert [job.state for job in jobs] == ["withdrawn", "withdrawn", "awaiting_approval"]
        assert set(ScheduleRun.objects.values_list("outcome", flat=True)) == {"requested"}
        (told,) = Message.objects.filter(kind=Message.Kind.SCHEDULE)
        assert told.detail["person"] == owner.pk
        assert "still waited for an approval" in str(told.detail["text"])

        assert requests.approve(jobs[2], by=approver, comment="", now=clock.now)
        at(clock, "2026-03-06 06:00")
        assert row.runs.latest("moment").outcome == "skipped", "one that is approved may run"

    def test_a_job_that_may_have_been_sent_is_not_withdrawn(
        self,
        make: MakeSchedule,  # noqa: F811
        clock: Clock,
    ) -> None:
        row = make(hours=10)
        at(clock, "2026-03-03 06:00")
        Job.objects.update(attempted_at=clock.now)
        at(clock, "2026-03-04 06:00")

        assert row.runs.latest("moment").outcome == "skipped"
        assert Job.objects.get().state == "awaiting_approval"


class TestDenied:
    def test_a_short_403_ends_nothing(self, request_job: RequestJob, cloud: Cloud) -> None:
        job = request_job()
        cloud.fail("customJobs.create", "403", times=3)
        for _ in range(4):
            steps.advance(job.pk, clock=cloud.clock)
            job.refresh_from_db()
            if not job.remote_name:
                assert job.state == "submitting"
                assert "permissions take minutes to apply" in job.last_error
            cloud.forward(seconds=10)

        assert job.remote_name
        assert job.last_error == ""
        assert len(cloud.jobs()) == 1

    def test_a_403_for_longer_ends_the_job_whatever_failed_before(self, request_job: RequestJob, cloud: Cloud) -> None:
        job = request_job()
        cloud.fail("customJobs.create", "429", times=30)
        for _ in range(30):
            steps.advance(job.pk, clock=cloud.clock)
            cloud.forward(minutes=6)
        cloud.fail("customJobs.create", "403", times=100)
        began = cloud.now
        job.refresh_from_db()
        while job.state != "submit_failed":
            steps.advance(job.pk, clock=cloud.clock)
            cloud.forward(seconds=5)
            job.refresh_from_db()
            assert cloud.now - began < timedelta(minutes=20)

        assert cloud.now - began > timedelta(minutes=12)
        assert cloud.jobs() == []
        assert job.events.latest("id").message.startswith("Vertex AI refused the job: ")


class TestCapsWhileListsFail:
    def test_a_job_that_is_not_seen_counts_as_running(
        self, request_job: RequestJob, team: Team, owner: User, clock: Clock
    ) -> None:
        job = capped(team, owner, clock, "20")
        start(job, clock)
        assert job.hourly_usd
        clock.forward(hours=30 / float(job.hourly_usd))

        assert watch_caps(clock.now) == 1

        job.refresh_from_db()
        event = job.events.get(kind="cap_reached")
        assert event.message.startswith("The job may have cost $30.00 and has reached its cap of $20.00.")
        assert "Vertex AI was last observed at 09:00 UTC" in event.message
        assert job.cancel_requested_at == clock.now

    def test_after_a_pause_of_the_whole_site_polls_come_first(
        self, request_job: RequestJob, team: Team, owner: User, clock: Clock
    ) -> None:
        """The site was down, and the job may have ended then; or the database's clock is ahead by days."""
        job = capped(team, owner, clock, "20")
        start(job, clock)
        stages.sweep(clock.clock, {})
        assert job.hourly_usd
        clock.forward(hours=30 / float(job.hourly_usd))
        for _ in range(4):
            stages.sweep(clock.clock, {})
            clock.forward(seconds=10)
        assert not job.events.filter(kind__in=["cap_near", "cap_reached"]).exists()

        for _ in range(4):
            clock.forward(minutes=5)
            stages.sweep(clock.clock, {})
        assert "this assumes that it still runs" in job.events.get(kind="cap_reached").message


@pytest.mark.parametrize("error", [IntegrityError("duplicate key"), DataError("out of range")])
def test_a_schedule_whose_run_cannot_be_written_delays_no_other(
    make: MakeSchedule,  # noqa: F811
    clock: Clock,
    monkeypatch: pytest.MonkeyPatch,
    error: Exception,
) -> None:
    """A form posted with a request key that looks like a schedule's violates a constraint."""
    first, second = make(), make(Times("other", "0 6 * * *", "UTC"))
    written = schedule_runs._write

    def write(row: Schedule, *args: Any, **options: Any) -> None:
        if row.pk == first.pk:
            raise error
        written(row, *args, **options)

    monkeypatch.setattr(schedule_runs, "_write", write)
    with pytest.raises(RowsFailed, match="schedules failed, 1 in all"):
        at(clock, "2026-03-03 06:00")

    assert second.runs.get().outcome == "requested"
    assert not first.runs.exists()
    monkeypatch.undo()
    assert at(clock, "2026-03-03 06:01") == 1
    assert first.runs.get().outcome == "requested"
