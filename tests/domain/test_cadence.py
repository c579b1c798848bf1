"""Tests of how often a scope is polled, what an unresponsive region may delay, and what a poll costs."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs import steps
from jobs.models import Job, LogFeed, LogLine, Scope
from jobs.observation import cadence
from jobs.observation.watched import WatchedJob, list_watched
from jobs.queue import rate_limit
from jobs.vertex import RemoteJob, timestamp
from tests.domain.conftest import Cloud, RequestJob, Submit, look, watch

USUAL = timedelta(seconds=30)
INTERVAL = timedelta(seconds=10)
"""That of tests with a cloud."""


@pytest.fixture(autouse=True)
def usual_interval(settings: Any) -> None:
    """As on a real site."""
    settings.POLL_INTERVAL = USUAL


def known(state: str = "running", **changes: Any) -> WatchedJob:
    """A watched job without any special condition."""
    nothing: dict[str, Any] = dict.fromkeys(WatchedJob._fields, False)
    return WatchedJob(**nothing | {"started_at": None, "state": state} | changes)


class TestNews:
    """Answers that change nothing are not recorded one by one."""

    NOW = datetime(2026, 3, 2, 9, tzinfo=UTC)

    def is_news(self, job: WatchedJob, state: str, **times: datetime) -> bool:
        created = {"createTime": timestamp(self.NOW - timedelta(minutes=5))}
        raw = created | {name: timestamp(at) for name, at in times.items()}
        return job.is_news(RemoteJob("projects/1/locations/r/customJobs/7", state, raw), self.NOW)

    def test_a_provisional_start_is_none(self) -> None:
        provisional = self.NOW - timedelta(minutes=5) + timedelta(seconds=0.15)

        assert not self.is_news(known("queued"), "JOB_STATE_QUEUED", startTime=provisional)

    def test_a_start_that_was_settled_after_the_job_was_seen_running(self) -> None:
        seen_at, settled = self.NOW - timedelta(seconds=9.5), self.NOW - timedelta(seconds=22)

        assert self.is_news(known("running", started_at=seen_at), "JOB_STATE_RUNNING", startTime=settled)
        assert not self.is_news(known("running", started_at=settled), "JOB_STATE_RUNNING", startTime=settled)

    def test_a_start_far_in_the_future_is_none(self) -> None:
        seen_at, ahead = self.NOW + timedelta(hours=3, seconds=0.5), self.NOW + timedelta(hours=2)

        assert not self.is_news(known("running", started_at=seen_at), "JOB_STATE_RUNNING", startTime=ahead)


class TestPause:
    def test_is_the_usual_one_for_waiting_and_young_jobs(self) -> None:
        assert cadence.poll_interval([known()]) == USUAL
        assert cadence.poll_interval([known("queued")]) == USUAL

    def test_is_longer_when_nothing_but_long_runs_is_left(self) -> None:
        old = known(runs_long=True)

        assert cadence.poll_interval([old, old]) == 2 * USUAL
        assert cadence.poll_interval([old, known()]) == USUAL

    @pytest.mark.parametrize("job", [known("cancelling"), known(is_to_be_cancelled=True)])
    def test_is_shorter_while_something_is_cancelled(self, job: WatchedJob) -> None:
        assert cadence.poll_interval([known(), job]) == USUAL / 2

    def test_never_needs_more_than_half_of_the_quota(self, settings: Any) -> None:
        settings.READS_PER_MINUTE = 600

        assert cadence.poll_interval([known()] * 10_000) == USUAL
        assert cadence.poll_interval([known()] * 30_000) == timedelta(minutes=1)

    @given(row=st.integers(1, 10**9), seconds=st.integers(0, 10**9), pause=st.integers(1, 10_000))
    def test_the_next_look_is_at_the_rows_own_moment_of_each_pause(self, row: int, seconds: int, pause: int) -> None:
        length, now = timedelta(seconds=pause), cadence.EPOCH + timedelta(seconds=seconds)

        due = cadence.next_poll_at(row, length, now=now)

        assert now < due <= now + length
        assert cadence.next_poll_at(row, length, now=due) == due + length
        assert cadence.next_poll_at(row, length, now=due + length / 2) == due + length

    def test_rows_that_were_due_at_once_are_spread_over_the_pause(self) -> None:
        now = cadence.EPOCH + timedelta(days=20_000)

        due = sorted(cadence.next_poll_at(row, USUAL, now=now) - now for row in range(101, 121))

        assert max(later - earlier for earlier, later in pairwise(due)) < USUAL / 8

    def test_a_run_is_long_after_some_hours(self, submit: Submit, cloud: Cloud) -> None:
        job = submit("long")
        watch(cloud, job, minutes=5)
        scope = Scope.objects.get()

        assert [known.runs_long for known in list_watched(scope, cloud.now)] == [False]
        assert [known.runs_long for known in list_watched(scope, cloud.now + cadence.LONG_RUN)] == [True]


class TestSilentRegions:
    def test_a_failing_scope_is_asked_with_little_patience(
        self, submitted: Job, cloud: Cloud, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(cadence, "PROBE_SECONDS", 0.2)
        Scope.objects.update(failures=1, failing_since=cloud.now)
        cloud.fail("customJobs.list", "slow", seconds=1)

        cloud.forward(minutes=1)
        look(cloud)

        scope = Scope.objects.get()
        assert scope.failures == 2
        assert "did not answer in time" in scope.last_error

    def test_only_one_thread_waits_for_failing_scopes(self, submitted: Job, cloud: Cloud) -> None:
        Scope.objects.update(failures=3, failing_since=cloud.now, last_error="silent")
        cloud.forward(minutes=1)

        with cadence.call_seconds(1) as patience:
            assert patience == cadence.PROBE_SECONDS
            look(cloud)

        scope = Scope.objects.get()
        assert (scope.failures, scope.last_error) == (3, "silent")
        assert scope.due_at is not None
        assert cloud.now < scope.due_at < cloud.now + timedelta(seconds=10)
        assert "customJobs.list" not in cloud.calls()

    def test_a_failing_region_delays_no_other(self, request_job: RequestJob, cloud: Cloud) -> None:
        for region in ("us-central1", "europe-west4"):
            steps.advance(request_job(region=region).pk, clock=cloud.clock)
        Scope.objects.filter(region="us-central1").update(failures=8, failing_since=cloud.now)
        cloud.forward(minutes=4)

        with cadence.call_seconds(1):
            look(cloud)

        assert Job.objects.get(region="europe-west4").state == "running"
        assert Job.objects.get(region="us-central1").state == "pending"

    def test_a_look_that_takes_long_ends_and_goes_on_at_once(
        self, submitted: Job, cloud: Cloud, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(cadence, "MAX_POLL_SECONDS", 0.0)
        monkeypatch.setattr(cadence, "SLOWEST_PAGE_SECONDS", 0.0)

        cloud.forward(minutes=1)
        look(cloud)

        assert steps.due_scopes(cloud.now) == [Scope.objects.get().pk]
        submitted.refresh_from_db()
        assert submitted.state == "pending", "what was heard is kept"

    def test_a_long_list_may_take_longer(self, cloud: Cloud) -> None:
        watch = cadence.Stopwatch(cloud.now, jobs_count=10_000)

        watch._began -= cadence.MAX_POLL_SECONDS + 1
        assert not watch.has_run_out
        watch._began -= 100 * cadence.SLOWEST_PAGE_SECONDS
        assert watch.has_run_out

    def test_a_look_that_ends_early_is_no_disadvantage_to_the_youngest(
        self, request_job: RequestJob, cloud: Cloud, settings: Any
    ) -> None:
        jobs = [request_job(kind="hyperparameter_tuning_job", hours=0.01) for _ in range(3)]
        for job in jobs:
            steps.advance(job.pk, clock=cloud.clock)
        submitted_at = cloud.now
        settings.READS_PER_MINUTE = 1
        rate_limit.forget()  # what other tests called at these moments

        for _ in jobs:
            cloud.forward(minutes=1)
            look(cloud)

        assert Job.objects.filter(last_seen__at__gt=submitted_at).count() == 3


class TestCost:
    def test_a_page_without_news_costs_few_queries(
        self, submit: Submit, cloud: Cloud, django_assert_max_num_queries: Any
    ) -> None:
        jobs = [submit("long") for _ in range(12)]
        for _ in range(3):
            watch(cloud, jobs[0], minutes=2, every=40)
        before = Job.objects.get(pk=jobs[5].pk)
        cloud.forward(seconds=40)
        (scope_id,) = steps.due_scopes(cloud.now)

        with django_assert_max_num_queries(15):
            steps.observe(scope_id, clock=cloud.clock)

        after = Job.objects.get(pk=jobs[5].pk)
        assert before.state == after.state == "running"
        assert after.seen_at == cloud.now
        assert after.events.count() == before.events.count()

    def test_a_worker_that_lost_the_scope_drops_what_it_learned(
        self, submitted: Job, cloud: Cloud, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def taken_over(*_: Any, **__: Any) -> bool:
            return False

        monkeypatch.setattr("jobs.queue.claims.renew_poll", taken_over)
        cloud.forward(minutes=4)
        look(cloud)

        submitted.refresh_from_db()
        assert submitted.state == "pending"
        assert Scope.objects.get().claim is not None


class TestPartialFailures:
    """One failed call of many does not count as a failure of the scope, which would be polled less and less often."""

    def test_a_job_s_log_that_cannot_be_read_keeps_no_other_from_being_read(self, submit: Submit, cloud: Cloud) -> None:
        jobs = [submit("short") for _ in range(3)]
        watch(cloud, jobs[-1], minutes=30)
        cloud.forward(minutes=3)
        cloud.fail("entries.list", "503", after=1)

        look(cloud)

        assert Job.objects.filter(log_complete=True).count() == 2
        feed = LogFeed.objects.get()
        assert (feed.failures, feed.answered_at, feed.due_at) == (0, cloud.now, cloud.now + INTERVAL)
        assert feed.last_error
        cloud.forward(minutes=1)
        look(cloud)
        assert Job.objects.filter(log_complete=True).count() == 3
        assert LogFeed.objects.get().last_error == ""

    def test_a_job_that_cannot_be_asked_for_makes_no_scope_fail(self, submit: Submit, cloud: Cloud) -> None:
        submit("long")
        jobs = [submit("short") for _ in range(3)]
        cloud.forward(hours=1)
        cloud.fail("customJobs.get", "503")

        look(cloud)

        assert Job.objects.filter(state="succeeded").count() == 2
        scope = Scope.objects.get()
        assert (scope.failures, scope.answered_at) == (0, cloud.now)
        assert scope.due_at == cadence.next_poll_at(scope.pk, INTERVAL, now=cloud.now)
        assert scope.last_error
        watch(cloud, jobs[0], minutes=2)
        look(cloud)
        assert Job.objects.filter(state="succeeded").count() == 3

    def test_a_scope_where_nothing_answers_fails(self, submit: Submit, cloud: Cloud) -> None:
        submit("short")
        cloud.forward(hours=1)
        cloud.fail("customJobs.get", "503")

        look(cloud)

        assert Scope.objects.get().failures == 1

    def test_a_page_in_the_middle_of_a_list_is_asked_for_again(
        self, submit: Submit, cloud: Cloud, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("jobs.vertex.wire.PAGE_SIZE", 2)
        for _ in range(5):
            submit("long")
        cloud.forward(minutes=5)
        cloud.fail("customJobs.list", "503", after=1, times=2)

        look(cloud)

        assert cloud.calls()["customJobs.list"] == 3, "as many as there are pages; the emulator does not count faults"
        assert Job.objects.filter(state="running").count() == 5

    @pytest.mark.parametrize(("after", "times"), [(0, 1), (1, 3)])
    def test_a_list_whose_first_page_fails_or_that_fails_for_good_is_a_failure(
        self, submit: Submit, cloud: Cloud, monkeypatch: pytest.MonkeyPatch, after: int, times: int
    ) -> None:
        monkeypatch.setattr("jobs.vertex.wire.PAGE_SIZE", 2)
        for _ in range(5):
            submit("long")
        cloud.forward(minutes=5)
        cloud.fail("customJobs.list", "503", after=after, times=times)

        look(cloud)

        assert Scope.objects.get().failures == 1
        assert Job.objects.filter(state="running").count() == 2 * after, "what the first page told is kept"


def test_more_lines_than_one_read_gives_are_read_at_once(
    submit: Submit, cloud: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jobs.observation.log_feeds.LINES_PER_READ", 5)
    for _ in range(3):
        submit("long")
    cloud.forward(minutes=10)

    look(cloud)
    assert LogFeed.objects.get().due_at == cloud.now
    for _ in range(10):
        look(cloud)

    assert LogLine.objects.filter(message="Job is running.").count() == 3
    assert LogFeed.objects.get().due_at == cloud.now + INTERVAL
