"""Tests of clocks that step or are wrong: nothing is sent twice or held up, and people see it."""

import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from jobs import clock as clocks
from jobs import steps
from jobs.clock import StepWatch
from jobs.doctor import Status, site
from jobs.messages import queue
from jobs.models import Channel, Delivery, Job, Message, ResourceChange, Scope, Team, Upkeep
from jobs.queue import claims
from jobs.submission.doubts import Doubts
from jobs.upkeep import repair, repair_times
from jobs.upkeep.heartbeats import record_step
from tests.domain.conftest import Cloud, RequestJob
from tests.support.clock import Clock

pytestmark = pytest.mark.both_databases


@dataclass
class Worker:
    """A process with a monotonic clock of its own, which the database's clock does not move."""

    cloud: Cloud
    seconds: float = 0.0

    def now(self) -> datetime:
        """Return the database's time."""
        return self.cloud.now

    def monotonic(self) -> float:
        """Return this process's seconds."""
        return self.seconds

    def forward(self, seconds: float) -> None:
        """Let time pass, here and for the database."""
        self.seconds += seconds
        self.cloud.forward(seconds=seconds)


@pytest.fixture
def worker(cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> Worker:
    """A worker that has just started. Lists lag by a minute."""
    monkeypatch.setattr(steps, "_doubts", Doubts())
    return Worker(cloud)


def lists_lag(worker: Worker, monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Let no list show a job for half a minute from now. Return the seconds at which a step looks for it."""
    looked_up, find, until = list[float](), steps.VertexRemote.find, worker.seconds + 30

    def find_later(self: steps.VertexRemote, row: Job) -> list[object]:
        looked_up.append(worker.seconds)
        return list(find(self, row)) if worker.seconds >= until else []

    monkeypatch.setattr(steps.VertexRemote, "find", find_later)
    return looked_up


def advance_for_two_minutes(job: Job, worker: Worker) -> None:
    """Let a worker take the steps of a job that are due."""
    for _ in range(60):
        steps.advance(job.pk, clock=worker)
        worker.forward(2)


@pytest.mark.django_db
@pytest.mark.parametrize("steps_during_the_call", [True, False])
@pytest.mark.parametrize("is_same_process", [True, False])
def test_a_step_forward_during_a_lost_create_doubles_nothing(
    request_job: RequestJob,
    cloud: Cloud,
    worker: Worker,
    monkeypatch: pytest.MonkeyPatch,
    is_same_process: bool,
    steps_during_the_call: bool,
) -> None:
    """The create has arrived, but no list shows it yet, as may be in the first half minute."""
    job = request_job()
    cloud.fail("customJobs.create", "lost")
    create = steps.VertexRemote.create

    def create_while_the_clock_steps(self: steps.VertexRemote, row: Job, *, within: float) -> object:
        try:
            return create(self, row, within=within)
        finally:
            cloud.forward(minutes=2)  # the database's clock alone

    with monkeypatch.context() as patch:
        if steps_during_the_call:
            patch.setattr(steps.VertexRemote, "create", create_while_the_clock_steps)
        steps.advance(job.pk, clock=worker)
    assert len(cloud.jobs()) == 1
    looked_up = lists_lag(worker, monkeypatch)
    if not steps_during_the_call:
        cloud.forward(minutes=2)
    if not is_same_process:
        monkeypatch.setattr(steps, "_doubts", Doubts())

    advance_for_two_minutes(job, worker)

    job.refresh_from_db()
    assert [each["name"] for each in cloud.jobs()] == [job.remote_name]
    assert all(later - earlier <= 12 for earlier, later in pairwise(looked_up))


@pytest.mark.django_db
@pytest.mark.parametrize("seconds", [120, -120])
def test_a_worker_whose_own_clock_is_wrong_during_a_lost_create_doubles_nothing(
    request_job: RequestJob, cloud: Cloud, worker: Worker, monkeypatch: pytest.MonkeyPatch, seconds: int
) -> None:
    """One worker loses the answer, and another takes over. The machines of both show another time than the database."""
    monkeypatch.setattr(timezone, "now", lambda: cloud.now + timedelta(seconds=seconds))
    monkeypatch.setattr(time, "time", lambda: cloud.now.timestamp() + seconds)
    job = request_job()
    cloud.fail("customJobs.create", "lost")
    steps.advance(job.pk, clock=worker)
    assert len(cloud.jobs()) == 1
    monkeypatch.setattr(steps, "_doubts", Doubts())
    other = Worker(cloud, seconds=1_000.0 + seconds)
    looked_up = lists_lag(other, monkeypatch)

    advance_for_two_minutes(job, other)

    job.refresh_from_db()
    assert [each["name"] for each in cloud.jobs()] == [job.remote_name]
    assert len(looked_up) >= 3, "while no list showed it"
    assert not Job.objects.exclude(attempted_at=None).filter(attempted_at__gt=cloud.now).exists()


@pytest.mark.django_db
def test_an_attempt_in_the_future_does_not_hold_the_job_back(
    request_job: RequestJob, cloud: Cloud, worker: Worker
) -> None:
    job = request_job()
    cloud.fail("customJobs.create", "503")
    steps.advance(job.pk, clock=worker)
    Job.objects.update(attempted_at=cloud.now + timedelta(days=1), state="submitting", due_at=cloud.now)

    advance_for_two_minutes(job, worker)

    job.refresh_from_db()
    assert job.remote_name


@pytest.mark.django_db
def test_after_a_day_ahead_polls_and_steps_go_on(request_job: RequestJob, cloud: Cloud, clock: Clock) -> None:
    job = request_job()
    steps.advance(job.pk, clock=cloud.clock)
    clock.forward(days=1)  # the database's clock alone
    for scope_id in steps.due_scopes(clock.now):
        steps.observe(scope_id, clock=clock.clock)
    Job.objects.update(due_at=clock.now + timedelta(minutes=5), claim=uuid4(), claimed_until=clock.now)
    Upkeep.objects.create(name="prune", due_at=clock.now + timedelta(days=1), answered_at=clock.now)
    clock.forward(days=-1, minutes=1)
    assert steps.due_scopes(clock.now) == [], "as it was left"

    assert repair_times(clock.now) == 4

    assert steps.due_scopes(clock.now) == [Scope.objects.get(kind="custom_job").pk]
    job.refresh_from_db()
    assert job.due_at == clock.now
    assert job.claim is not None, "its worker may still be in its call"
    assert job.claimed_until == clock.now + claims.JOB_LEASE
    assert job.events.get(reason="due_too_late").kind == "repaired"
    assert Upkeep.objects.get(name="prune").due_at == clock.now
    assert repair_times(clock.now) == 0


@pytest.mark.django_db
def test_after_an_hour_ahead_a_job_in_doubt_is_looked_up(
    request_job: RequestJob, cloud: Cloud, worker: Worker, clock: Clock
) -> None:
    job = request_job()
    cloud.fail("customJobs.create", "503")
    steps.advance(job.pk, clock=worker)
    clock.forward(hours=1)  # the database's clock alone
    Job.objects.update(due_at=clock.now)
    steps.advance(job.pk, clock=worker)
    clock.forward(hours=-1)
    job.refresh_from_db()
    assert (job.failures, bool(job.last_error)) == (0, True)
    assert job.due_at is not None
    assert job.due_at > clock.now + timedelta(minutes=50)

    assert repair_times(clock.now) == 1

    job.refresh_from_db()
    assert job.due_at == clock.now


@pytest.mark.django_db
@pytest.mark.parametrize(("fault", "asked"), [("503", None), ("429", 30), ("429", 3_600)])
def test_after_an_hour_ahead_what_failed_then_is_tried_again(
    request_job: RequestJob, cloud: Cloud, clock: Clock, fault: str, asked: int | None
) -> None:
    """What is planned an hour ahead after a failure could otherwise be a pause that Google asked for."""
    job, sent = request_job(), request_job()
    steps.advance(sent.pk, clock=cloud.clock)
    clock.forward(hours=1)  # the database's clock alone
    for call in ("customJobs.create", "customJobs.list"):
        cloud.fail(call, fault, retry_after=asked)
    steps.advance(job.pk, clock=clock.clock)
    Scope.objects.update(due_at=clock.now)
    for scope_id in steps.due_scopes(clock.now):
        steps.observe(scope_id, clock=clock.clock)
    clock.forward(hours=-1)
    scope = Scope.objects.get(kind="custom_job")
    job.refresh_from_db()
    assert job.failures == scope.failures == 1

    repair_times(clock.now)

    job.refresh_from_db()
    scope.refresh_from_db()
    assert job.due_at == scope.due_at == clock.now


@pytest.mark.django_db
def test_pauses_that_are_planned_are_left_alone(request_job: RequestJob, cloud: Cloud) -> None:
    job = request_job()
    steps.advance(job.pk, clock=cloud.clock)
    later = cloud.now + timedelta(minutes=10)
    Job.objects.update(due_at=later)
    Scope.objects.update(due_at=later, failures=1, last_error="Google asks to wait.")
    ResourceChange.objects.update(due_at=later)

    assert repair_times(cloud.now) == 0
    assert Job.objects.get().due_at == later


@pytest.mark.django_db
def test_after_a_day_ahead_messages_go_on(team: Team, clock: Clock) -> None:
    now = clock.now
    message = Message.objects.create(team=team, kind="done", once_key="1", occurred_at=now, created_at=now)
    ahead, planned = now + timedelta(days=1), now + timedelta(hours=6, minutes=30)
    channel = Channel.objects.create(
        created_by=User.objects.create(username="lead"),
        team=team, via="slack", name="ops", address="https://hooks.slack.com/x", created_at=now, held_until=ahead,
        claimed_until=ahead,
    )  # fmt: skip
    common = {"message": message, "team": team, "created_at": now, "give_up_at": now + timedelta(days=9)}
    late = Delivery.objects.create(
        channel=channel, via="slack", due_at=ahead, claim=uuid4(), claimed_until=ahead, **common
    )
    people = [User.objects.create(username=name) for name in ("failed", "summary")]
    failed = Delivery.objects.create(person=people[0], via="email", due_at=planned, failures=3, **common)
    summary = Delivery.objects.create(person=people[1], via="email", due_at=ahead, is_digest=True, **common)

    assert repair_times(now) == 4

    for row in (late, failed, summary, channel):
        row.refresh_from_db()
    assert (late.due_at, late.claimed_until) == (now, now + queue.LEASE)
    assert (channel.held_until, channel.claimed_until) == (now, now + queue.CHANNEL_LEASE)
    assert (failed.due_at, summary.due_at) == (planned, ahead), "as they were planned"


@pytest.mark.django_db
def test_a_repair_without_work_asks_once_for_times_ahead() -> None:
    with CaptureQueriesContext(connection) as captured:
        repair_times(datetime(2026, 3, 2, tzinfo=UTC))
        repair(datetime(2026, 3, 2, tzinfo=UTC))

    assert len([each for each in captured if "UNION" in each["sql"]]) == 1
    assert len(captured) <= 10


class TestAlarm:
    @pytest.fixture
    def boot(self, monkeypatch: pytest.MonkeyPatch, clock: Clock) -> list[float]:
        """Seconds since the machine started; the database's time is `clock.now`."""
        seconds = [1_000.0]
        monkeypatch.setattr(clocks, "_since_boot", lambda: seconds[0])
        monkeypatch.setattr(clocks, "read_database_clock", lambda: clock.now)
        return seconds

    @pytest.mark.parametrize(("step", "is_noticed"), [(120, True), (-86_400, True), (1, False), (0, False)])
    def test_notices_steps_in_both_directions(
        self,
        boot: list[float],
        clock: Clock,
        step: int,
        is_noticed: bool,
    ) -> None:
        watch = StepWatch()
        assert not watch.look()
        boot[0] += 10
        clock.forward(seconds=10)
        assert not watch.look()
        boot[0] += 10
        clock.forward(seconds=10 + step)

        assert watch.look() == (timedelta(seconds=step) if is_noticed else timedelta())
        assert not watch.look(), "once"

    def test_a_slow_query_is_no_step(self, boot: list[float], clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
        def slow() -> datetime:
            boot[0] += 20
            return clock.forward(seconds=20)

        watch = StepWatch()
        watch.look()
        monkeypatch.setattr(clocks, "read_database_clock", slow)
        assert not watch.look()
        assert not watch.look()

    @pytest.mark.django_db
    def test_shows_in_metrics_and_doctor(self, boot: list[float], clock: Clock, client: Client) -> None:
        def shown() -> tuple[bool, list[Status]]:
            page = client.get("/metrics").content.decode()
            checks = site.check_clock(clock.now, lambda: clock.now)
            return "trainboard_clock_step_seconds 120.0" in page, [each.status for each in checks]

        assert shown() == (False, [Status.PASS])
        record_step(timedelta(seconds=120), process="worker@a", now=clock.now)
        assert shown() == (True, [Status.PASS, Status.WARN])
        clock.forward(hours=2)
        assert shown() == (False, [Status.PASS, Status.WARN])
