"""Tests of what follows from a fault of a running job, against the emulator: reported, asked, answered, cancelled."""

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest
from auditlog.models import LogEntry
from django.contrib.auth.models import User

from jobs import messages, steps, vertex
from jobs.errors import NotPermitted
from jobs.messages.relevance import outdated_reason
from jobs.models import Job, JobEvent, JobHealth, LastSeen, LogLine, Message, Team, Upkeep
from jobs.observation import health, log_metrics, machine_usage
from jobs.queue import claims, installation
from jobs.requests.declared_fine import declare_fine
from jobs.requests.policy_versions import Terms, current_version, save_policy
from jobs.timeline import saved_by, warning_of
from jobs.timeline.health import FAULTS
from jobs.vertex import monitoring
from tests.conftest import person
from tests.domain.conftest import Cloud, Submit, look, watch
from tests.domain.test_health_of_jobs import restart, train, write
from tests.unit.test_health import HEALTHY, at

pytestmark = pytest.mark.django_db
HOUR = timedelta(hours=1)


class Usage:
    """Cloud Monitoring: each minute up to `lag` minutes ago, the shares of accelerators and CPUs; or an error."""

    busy, cpu, lag, error = 0.9, 0.5, 1, ""

    def used(self, _project: str, metric: str, *, since: datetime, until: datetime, **_: Any) -> list[monitoring.Point]:
        if self.error:
            raise vertex.VertexError(self.error)
        share = self.busy if metric == machine_usage.BUSY else self.cpu
        minutes = int((until - since).total_seconds() // 60) - self.lag
        return [(since + timedelta(minutes=each), share) for each in range(minutes)]


@pytest.fixture
def usage(monkeypatch: pytest.MonkeyPatch) -> Usage:
    found = Usage()
    monkeypatch.setattr(machine_usage, "client", lambda _acts_as: found)
    return found


@pytest.fixture
def job(submit: Submit, cloud: Cloud, usage: Usage) -> Job:
    """A job that has just begun to run."""
    job = submit("long", hours=6)
    watch(cloud, job, minutes=10)
    assert job.running_since is not None
    return job


def set_policy(team: Team, cloud: Cloud, **hours: int) -> None:
    """Save another version of the team's policy, with what follows from faults."""
    lead = User.objects.filter(username="lead").first() or person("lead", team, "lead")
    version = current_version(team)
    base = version.number if version is not None else 0
    save_policy(team, (), Terms(waste_hours=hours), base=base, by=lead, note="", now=cloud.now)


def line(job: Job, cloud: Cloud, message: str, replica: str = "workerpool0-0") -> None:
    LogLine.objects.create(
        job=job, timestamp=cloud.now, insert_id=f"{replica} {message}", replica=replica, severity="INFO",
        message=message,
    )  # fmt: skip
    log_metrics.fold_new_lines(job)


Story = Callable[[Job, Cloud, Usage], Iterator[None]]
"""What the program does: first at once, then each ten minutes."""


def stuck(job: Job, cloud: Cloud, _usage: Usage) -> Iterator[None]:
    train(job, cloud)
    while True:
        yield


def diverged(job: Job, cloud: Cloud, _usage: Usage) -> Iterator[None]:
    train(job, cloud)
    write(job, cloud, *(f"step {step} loss nan" for step in range(21, 25)))
    for step in range(25, 999):
        line(job, cloud, f"step {step} loss nan")
        yield


def idle(job: Job, cloud: Cloud, usage: Usage) -> Iterator[None]:
    usage.busy = usage.cpu = 0.01
    train(job, cloud)
    for step in range(21, 999):
        line(job, cloud, f"step {step} loss 0.5")
        yield


def hopeless(job: Job, cloud: Cloud, _usage: Usage) -> Iterator[None]:
    for step in range(1, 999):
        line(job, cloud, f"step {step}/100000 loss 0.5")
        yield


def lost_peer(job: Job, cloud: Cloud, _usage: Usage) -> Iterator[None]:
    for step in range(1, 21):
        write(job, cloud, f"step {step} loss 0.5")
        line(job, cloud, f"waiting {step}", "workerpool1-0")
    for number in range(999):
        line(job, cloud, f"waiting for workerpool0-0 {number}", "workerpool1-0")
        yield


STORIES = (stuck, diverged, idle, hopeless, lost_peer)


class Run:
    """A story that runs while the site observes it."""

    def __init__(self, story: Story, job: Job, cloud: Cloud, usage: Usage) -> None:
        self.job, self.cloud, self._usage = job, cloud, usage
        self._story = story(job, cloud, usage)

    def turn(self) -> None:
        """Let ten minutes pass, with a sweep at their end."""
        next(self._story)
        self.cloud.forward(minutes=10)
        Upkeep.objects.update_or_create(name=claims.SWEEP, defaults={"answered_at": self.cloud.now})
        look(self.cloud)
        self.job.refresh_from_db()

    def pass_hours(self, hours: float) -> None:
        for _ in range(round(hours * 6)):
            self.turn()

    def until_found(self, code: str) -> datetime:
        """Go on until the fault is found, and return the time."""
        for _ in range(30):
            self.turn()
            if JobHealth.objects.filter(job=self.job, code=code).exists():
                return self.cloud.now
        raise AssertionError(f"{code} was not found")

    @property
    def is_cancelled(self) -> bool:
        return self.job.cancel_requested_at is not None


def kinds(job: Job) -> list[str]:
    """Return what was sent about the job's work, oldest first."""
    found = Message.objects.filter(kind="waste", job=job).order_by("pk")
    return ["asked" if each.detail.get("asks") else "cancelled" if each.detail.get("cancelled") else "reported"
            for each in found]  # fmt: skip


@pytest.fixture
def cancels(job: Job, team: Team, cloud: Cloud, usage: Usage) -> Run:
    """A stuck job in a team that cancels such jobs after an hour without an answer. Its owner was just asked."""
    set_policy(team, cloud, stuck=1)
    run = Run(stuck, job, cloud, usage)
    run.until_found("stuck")
    assert kinds(job) == ["asked"]
    return run


@pytest.mark.parametrize("story", STORIES)
class TestEachFault:
    def test_is_reported_by_default_and_asked_about_where_the_policy_asks(
        self, story: Story, job: Job, team: Team, cloud: Cloud, usage: Usage
    ) -> None:
        run = Run(story, job, cloud, usage)
        run.until_found(story.__name__)
        run.pass_hours(0.5)
        assert kinds(job) == ["reported"]

        set_policy(team, cloud, **{story.__name__: 0})
        run.pass_hours(1.3)
        assert kinds(job) == ["reported", "asked"]
        assert not run.is_cancelled

    def test_is_cancelled_if_nobody_answers(
        self, story: Story, job: Job, team: Team, owner: User, cloud: Cloud, usage: Usage
    ) -> None:
        set_policy(team, cloud, **{story.__name__: 1})
        run = Run(story, job, cloud, usage)
        run.until_found(story.__name__)
        first = Message.objects.get(kind="waste")
        assert outdated_reason(first) == ""
        assert declare_fine(job, by=owner, now=cloud.now, length=HOUR)
        assert outdated_reason(first) == "The question was answered."
        run.pass_hours(1)
        assert kinds(job) == ["asked", "asked"], "the time of the answer is over"

        asked_at = JobHealth.objects.get().asked_at
        run.pass_hours(1)
        assert kinds(job) == ["asked", "asked", "cancelled"]
        event = job.events.get(kind=JobEvent.Kind.CANCEL_REQUESTED)
        assert event.occurred_at - asked_at == HOUR
        assert event.detail["code"] == story.__name__


def test_a_cancelled_job_ends_and_shows_what_that_saved_at_most(cancels: Run, owner: User, cloud: Cloud) -> None:
    job = cancels.job
    cancels.pass_hours(1)
    steps.advance(job.pk, clock=cloud.clock)
    cancels.turn()

    saved = saved_by(job, job.events.all())
    assert saved is not None
    assert saved.evidence.startswith("Stuck: No log line and no step for ")
    assert saved.usd is not None
    assert 0 < saved.usd < job.max_usd
    entry = LogEntry.objects.get(changes__has_key="cancelled")
    assert "Stuck: No log line" in str(entry.changes)
    assert entry.actor is None
    message = Message.objects.filter(kind="waste").latest("pk")
    content = messages.content_of(message, cloud.now)
    assert content.subject.startswith("Cancelled without an answer: ")
    assert outdated_reason(message) == ""


def test_the_question_links_to_its_answer(cancels: Run, cloud: Cloud, settings: Any) -> None:
    settings.SITE_URL = "https://board.example.org"
    content = messages.content_of(Message.objects.get(kind="waste"), cloud.now)

    assert content.subject.startswith("Still working?: ")
    assert "if nobody answers for 1 h, Trainboard cancels it" in " ".join(content.lines)
    assert content.links[0][1] == f"https://board.example.org/jobs/{cancels.job.pk}/fine/"


class TestNothingIsCancelled:
    def test_while_utilization_cannot_be_read(self, cancels: Run, usage: Usage) -> None:
        usage.error = "403"
        cancels.pass_hours(2)
        assert not cancels.is_cancelled

        usage.error = ""
        cancels.pass_hours(0.5)
        assert cancels.is_cancelled

    def test_while_utilization_is_old(self, cancels: Run, usage: Usage) -> None:
        usage.lag = 60
        cancels.pass_hours(2)
        assert not cancels.is_cancelled

    def test_while_the_log_cannot_be_read(self, cancels: Run, cloud: Cloud) -> None:
        cloud.fail("entries.list", "403", times=10_000)
        cancels.pass_hours(2)
        assert not cancels.is_cancelled

    def test_while_part_of_the_log_is_set_aside(self, cancels: Run, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("jobs.observation.log_feeds._keep_tail", lambda *_: 1 / 0)
        cancels.pass_hours(2)
        assert not cancels.is_cancelled

    def test_until_the_owner_had_the_whole_time_after_a_pause(self, cancels: Run, cloud: Cloud) -> None:
        cloud.forward(hours=3)
        look(cloud)
        cancels.job.refresh_from_db()
        assert not cancels.is_cancelled, "no sweep has found the pause yet"

        Upkeep.objects.filter(name=claims.SWEEP).update(due_at=cloud.now)
        cancels.pass_hours(0.8)
        assert not cancels.is_cancelled
        cancels.pass_hours(0.5)
        assert cancels.is_cancelled

    def test_until_the_owner_had_the_whole_time_after_a_restore(self, cancels: Run, cloud: Cloud) -> None:
        cancels.pass_hours(0.7)
        installation.mark_restored("an older backup", now=cloud.now)
        cancels.pass_hours(0.8)
        assert not cancels.is_cancelled
        cancels.pass_hours(0.5)
        assert cancels.is_cancelled

    def test_when_the_clock_was_set_back(self, cancels: Run, cloud: Cloud) -> None:
        Upkeep.objects.filter(name=claims.SWEEP).update(due_at=cloud.now + 5 * HOUR)
        cancels.pass_hours(2)
        assert not cancels.is_cancelled

    def test_of_another_attempt(self, cancels: Run, cloud: Cloud) -> None:
        restart(cancels.job, cloud)
        cancels.pass_hours(1.2)
        assert not cancels.is_cancelled
        assert not JobHealth.objects.exclude(asked_at=None).exists()

    def test_that_works_again(self, cancels: Run, cloud: Cloud) -> None:
        train(cancels.job, cloud, first=21)
        cancels.pass_hours(0.7)
        assert not cancels.is_cancelled
        assert not JobHealth.objects.exclude(asked_at=None).exists()

    @pytest.mark.parametrize("hours", [{}, {"stuck": 0}, {"stuck": 9}])
    def test_that_the_policy_of_now_does_not_cancel(
        self, cancels: Run, team: Team, cloud: Cloud, hours: dict[str, int]
    ) -> None:
        set_policy(team, cloud, **hours)
        cancels.pass_hours(1.5)
        assert not cancels.is_cancelled

    def test_sooner_than_the_owner_was_promised(self, job: Job, team: Team, cloud: Cloud, usage: Usage) -> None:
        set_policy(team, cloud, stuck=3)
        run = Run(stuck, job, cloud, usage)
        run.until_found("stuck")
        set_policy(team, cloud, stuck=1)
        run.pass_hours(2.5)
        assert not run.is_cancelled

    def test_that_was_made_outside(self, job: Job, team: Team, cloud: Cloud, usage: Usage) -> None:
        Job.objects.filter(pk=job.pk).update(is_adopted=True)
        set_policy(team, cloud, stuck=1)
        run = Run(stuck, job, cloud, usage)
        run.until_found("stuck")
        run.pass_hours(1.5)
        assert kinds(job) == ["reported"]
        assert not run.is_cancelled

    def test_that_is_healthy(self, job: Job, team: Team, cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> None:
        set_policy(team, cloud, **dict.fromkeys(FAULTS, 1))
        Upkeep.objects.update_or_create(name=claims.SWEEP, defaults={"answered_at": cloud.now})
        for make in HEALTHY.values():
            minutes, evidence = make()
            now = at(minutes)
            Job.objects.filter(pk=job.pk).update(running_since=evidence.began)
            LastSeen.objects.filter(job=job).update(at=now)
            monkeypatch.setattr(health, "evidence_of", lambda *_, known=evidence: known)
            health.assess(job.pk, now=now)
        assert len(HEALTHY) >= 20
        assert not JobHealth.objects.exclude(code="").exists()
        assert kinds(job) == []


class TestAnswers:
    def test_an_answer_may_come_too_late(self, cancels: Run, owner: User, cloud: Cloud) -> None:
        cancels.pass_hours(1)
        assert not declare_fine(cancels.job, by=owner, now=cloud.now)
        assert not JobHealth.objects.exclude(fine_until=None).exists()

    def test_an_owner_does_not_answer_for_ever(self, job: Job, owner: User, team: Team, cloud: Cloud) -> None:
        with pytest.raises(ValueError, match="at most 24 hours"):
            declare_fine(job, by=owner, now=cloud.now, length=25 * HOUR)
        for _ in range(3):
            Job.objects.filter(pk=job.pk).update(ended_at=None)
            assert declare_fine(job, by=owner, now=cloud.now, length=24 * HOUR)
            cloud.forward(hours=24)
        with pytest.raises(ValueError, match="Ask a lead"):
            declare_fine(job, by=owner, now=cloud.now, length=HOUR)

        lead = person("lena", team, "lead")
        assert declare_fine(job, by=lead, now=cloud.now, length=14 * 24 * HOUR)
        with pytest.raises(ValueError, match="at most 336 hours"):
            declare_fine(job, by=lead, now=cloud.now, length=15 * 24 * HOUR)

    def test_a_longer_answer_counts_once(self, job: Job, owner: User, cloud: Cloud) -> None:
        for _ in range(40):
            assert declare_fine(job, by=owner, now=cloud.forward(minutes=1), length=24 * HOUR)
        assert JobHealth.objects.get().fine_seconds == 24 * 3600 + 39 * 60

    def test_a_lead_is_bound_for_a_job_of_their_own(self, job: Job, team: Team, cloud: Cloud) -> None:
        lead = person("lena", team, "lead")
        Job.objects.filter(pk=job.pk).update(owner=lead)
        with pytest.raises(ValueError, match="at most 24 hours"):
            declare_fine(Job.objects.get(pk=job.pk), by=lead, now=cloud.now, length=25 * HOUR)

    def test_nobody_answers_for_somebody_else(self, cancels: Run, team: Team, stranger: User, cloud: Cloud) -> None:
        for each in (person("viewer", team, "viewer"), person("other", team, "engineer"), stranger):
            with pytest.raises(NotPermitted):
                declare_fine(cancels.job, by=each, now=cloud.now)
        cancels.pass_hours(1.2)
        assert cancels.is_cancelled

    def test_the_warning_has_the_time_of_the_cancellation(self, cancels: Run, cloud: Cloud) -> None:
        warning = warning_of(Job.objects.get(pk=cancels.job.pk), cloud.now)
        assert warning is not None
        assert (warning.asked_at, warning.cancels_at) == (cloud.now, cloud.now + HOUR)
