"""Tests of the rate limit: exact across all workers, safe without Redis, fair between teams."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from redis import Redis

from jobs import requests, steps
from jobs.models import Job, LogFeed, Policy, Scope, Team
from jobs.queue import rate_limit
from tests.conftest import person
from tests.domain.conftest import Cloud, RequestJob, look
from tests.support import samples
from tests.support.clock import Clock

PLACE = ("vision-research", "us-central1")


@pytest.fixture(autouse=True)
def own_counts() -> Any:
    """Reset the counters before each test."""
    rate_limit.forget()
    yield
    rate_limit.forget()


@pytest.fixture
def shared(redis_url: str, settings: Any) -> Redis:
    """A real server that the budget uses, emptied."""
    settings.REDIS_URL = redis_url.replace("redis+socket://", "unix://")
    server = Redis.from_url(settings.REDIS_URL)
    server.flushall()
    return server


class TestShared:
    def test_lets_exactly_the_rate_through_however_many_ask_at_once(self, shared: Redis, clock: Clock) -> None:
        bucket = rate_limit.Bucket("create", *PLACE, rate=60)

        with ThreadPoolExecutor(8) as pool:
            waits = list(pool.map(lambda _: rate_limit.take(bucket, now=clock.now), range(200)))

        assert waits.count(timedelta()) == 60
        assert all(timedelta() < wait <= rate_limit.MINUTE for wait in waits if wait)

    def test_a_call_fits_again_when_the_oldest_is_a_minute_old(self, shared: Redis, clock: Clock) -> None:
        bucket = rate_limit.Bucket("create", *PLACE, rate=2)
        for _ in range(2):
            assert rate_limit.take(bucket, now=clock.now) == timedelta()
        oldest = int(shared.lindex(bucket.key, 1))  # type: ignore[arg-type]
        shared.lset(bucket.key, 1, str(oldest - 45_000_000))

        wait = rate_limit.take(bucket, now=clock.now)
        shared.lset(bucket.key, 1, str(oldest - 60_000_000))

        assert timedelta(seconds=14) < wait <= timedelta(seconds=15)
        assert rate_limit.take(bucket, now=clock.now) == timedelta()
        assert rate_limit.take(bucket, now=clock.now) > timedelta(), "the second of the two is not yet a minute old"

    def test_counts_each_place_and_sort_of_call_for_itself(self, shared: Redis, clock: Clock, settings: Any) -> None:
        settings.CREATES_PER_MINUTE = settings.READS_PER_MINUTE = settings.LOG_READS_PER_MINUTE = 1
        buckets = [
            rate_limit.creates(*PLACE),
            rate_limit.reads(*PLACE),
            rate_limit.log_reads(PLACE[0]),
            rate_limit.creates(PLACE[0], "europe-west4"),
            rate_limit.creates("speech-research", PLACE[1]),
        ]

        assert [rate_limit.take(bucket, now=clock.now) for bucket in buckets] == [timedelta()] * 5
        assert all(rate_limit.take(bucket, now=clock.now) for bucket in buckets)

    def test_leaves_nothing_behind_after_a_minute(self, shared: Redis, clock: Clock) -> None:
        rate_limit.take(rate_limit.creates(*PLACE), now=clock.now)

        (key,) = shared.keys()  # type: ignore[misc]
        assert 0 < shared.pttl(key) <= 60_000  # type: ignore[operator]

    def test_a_wiped_server_is_no_failure(self, shared: Redis, clock: Clock) -> None:
        bucket = rate_limit.Bucket("create", *PLACE, rate=1)
        rate_limit.take(bucket, now=clock.now)

        shared.flushall()
        shared.script_flush()

        assert rate_limit.take(bucket, now=clock.now) == timedelta()
        assert rate_limit.take(bucket, now=clock.now) > timedelta()


class TestAlone:
    @pytest.mark.parametrize("address", ["unix:///nowhere/redis", "redis://127.0.0.1:9/0", "no address at all"])
    def test_allows_a_share_of_the_rate(self, settings: Any, clock: Clock, address: str) -> None:
        settings.REDIS_URL = address
        bucket = rate_limit.Bucket("create", *PLACE, rate=60)

        waits = [rate_limit.take(bucket, now=clock.now) for _ in range(30)]

        assert waits.count(timedelta()) == 60 / rate_limit.SHARE
        assert waits[-1] == rate_limit.MINUTE

    def test_a_minute_later_it_allows_the_share_again(self, clock: Clock) -> None:
        bucket = rate_limit.Bucket("create", *PLACE, rate=10)
        assert [bool(rate_limit.take(bucket, now=clock.now)) for _ in range(3)] == [False, False, True]

        assert rate_limit.take(bucket, now=clock.forward(seconds=59)) == timedelta(seconds=1)
        assert rate_limit.take(bucket, now=clock.forward(seconds=1)) == timedelta()

    def test_one_call_a_minute_is_the_least(self, clock: Clock) -> None:
        bucket = rate_limit.Bucket("create", *PLACE, rate=1)

        assert rate_limit.take(bucket, now=clock.now) == timedelta()
        assert rate_limit.take(bucket, now=clock.now) == rate_limit.MINUTE

    def test_a_server_that_answers_nonsense_is_none(self, settings: Any, clock: Clock, tmp_path: Path) -> None:
        settings.REDIS_URL = f"unix://{tmp_path}"

        assert rate_limit.take(rate_limit.Bucket("create", *PLACE, rate=60), now=clock.now) == timedelta()


class TestSteps:
    """What a step does when its call does not fit: it makes none, says so, and is due when it fits."""

    def test_a_job_waits_before_it_is_sent(self, request_job: RequestJob, cloud: Cloud, settings: Any) -> None:
        settings.CREATES_PER_MINUTE = 1
        first, second = request_job(), request_job()
        steps.advance(first.pk, clock=cloud.clock)

        steps.advance(second.pk, clock=cloud.clock)

        second.refresh_from_db()
        assert (second.state, second.submit_attempts) == ("approved", 0)
        assert "at most 1 create calls a minute" in second.last_error
        assert second.due_at == cloud.now + rate_limit.MINUTE
        cloud.forward(minutes=1)
        steps.advance(second.pk, clock=cloud.clock)
        second.refresh_from_db()
        assert (second.state, second.last_error) == ("pending", "")

    def test_a_job_that_may_not_be_sent_any_more_takes_no_call(
        self, request_job: RequestJob, cloud: Cloud, settings: Any, team: Team
    ) -> None:
        settings.CREATES_PER_MINUTE = 1
        abroad, other = request_job(), request_job()
        Policy.objects.filter(team=team).update(regions=["europe-west4"])
        steps.advance(abroad.pk, clock=cloud.clock)
        Policy.objects.filter(team=team).update(regions=[])

        steps.advance(other.pk, clock=cloud.clock)

        assert [Job.objects.get(pk=job.pk).state for job in (abroad, other)] == ["submit_failed", "pending"]

    def test_a_scope_waits_without_counting_as_failing(
        self, request_job: RequestJob, cloud: Cloud, settings: Any
    ) -> None:
        settings.READS_PER_MINUTE = 1
        steps.advance(request_job().pk, clock=cloud.clock)
        rate_limit.take(rate_limit.reads(*PLACE), now=cloud.forward(seconds=20))

        look(cloud)

        scope = Scope.objects.get()
        assert (scope.failures, scope.failing_since) == (0, None)
        assert "at most 1 read calls a minute" in scope.last_error
        assert scope.due_at == cloud.now + rate_limit.MINUTE
        assert "customJobs.list" not in cloud.calls()

    def test_a_feed_waits(self, request_job: RequestJob, cloud: Cloud, settings: Any) -> None:
        settings.LOG_READS_PER_MINUTE = 1
        steps.advance(request_job().pk, clock=cloud.clock)
        rate_limit.take(rate_limit.log_reads(PLACE[0]), now=cloud.forward(seconds=20))

        look(cloud)

        feed = LogFeed.objects.get()
        assert feed.failures == 0
        assert feed.due_at == cloud.now + rate_limit.MINUTE
        assert "entries.list" not in cloud.calls()

    def test_a_cancellation_waits(self, request_job: RequestJob, cloud: Cloud, settings: Any, approver: Any) -> None:
        job = request_job()
        steps.advance(job.pk, clock=cloud.clock)
        settings.READS_PER_MINUTE = 1
        rate_limit.take(rate_limit.reads(*PLACE), now=cloud.now)
        job.refresh_from_db()
        steps.cancel(job, by=approver, clock=cloud.clock)

        steps.advance(job.pk, clock=cloud.clock)

        job.refresh_from_db()
        assert job.cancel_sent_at is None
        assert job.due_at == cloud.now + rate_limit.MINUTE
        assert "customJobs.cancel" not in cloud.calls()


@pytest.mark.django_db
def test_teams_take_turns(request_job: RequestJob, other_team: Any, clock: Clock) -> None:
    many = [request_job() for _ in range(4)]
    clock.forward(seconds=1)
    speaker = person("speaker", other_team, "engineer")
    few = [
        requests.request_job(
            submission=samples.submission(project=other_team.project),
            team=other_team,
            by=speaker,
            expected=timedelta(hours=0),
            request_key=str(number),
            now=clock.now,
        )
        for number in range(2)
    ]
    Job.objects.update(state="approved", due_at=clock.now)

    order = steps.due_jobs(clock.now)

    teams = {job.pk: job.team_id for job in (*many, *few)}
    ours, theirs = many[0].team_id, few[0].team_id
    assert [teams[pk] for pk in order] == [ours, theirs, ours, theirs, ours, ours]
