"""Tests of assessing running jobs, against the emulator: reported once, cleared, never from old evidence."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext

from jobs import transitions
from jobs.errors import NotPermitted
from jobs.messages.relevance import outdated_reason
from jobs.models import Job, JobEvent, JobHealth, LogLine, Message, Team
from jobs.observation import health, log_metrics, machine_usage
from jobs.requests.declared_fine import declare_fine
from jobs.timeline import warning_of
from jobs.vertex import monitoring
from tests.conftest import person
from tests.domain.conftest import Cloud, Submit, look, watch

pytestmark = pytest.mark.both_databases
MINUTE = timedelta(minutes=1)
PRIMARY = "workerpool0-0"


class Monitoring:
    """Cloud Monitoring with accelerators that do nothing."""

    def used(self, _project: str, metric: str, *, since: datetime, until: datetime, **_: Any) -> list[monitoring.Point]:
        minutes = int((until - since) / MINUTE)
        return [(since + each * MINUTE, 0.01) for each in range(minutes)] if metric == "accelerator" else []


@pytest.fixture
def job(submit: Submit, cloud: Cloud) -> Job:
    """A job that has just begun to run and whose log nobody views."""
    job = submit("long", hours=6)
    watch(cloud, job, minutes=10)
    assert job.running_since is not None
    return job


def write(job: Job, cloud: Cloud, *messages: str, replica: str = PRIMARY) -> None:
    """Let a program write a line each minute."""
    for message in messages:
        cloud.forward(minutes=1)
        LogLine.objects.create(
            job=job, timestamp=cloud.now, insert_id=f"{replica}{cloud.now}", replica=replica, severity="INFO",
            message=message,
        )  # fmt: skip
    log_metrics.fold_new_lines(job)


def train(job: Job, cloud: Cloud, first: int = 1, steps: int = 20) -> None:
    write(job, cloud, *(f"step {step} loss {9 / step:.3f}" for step in range(first, first + steps)))


def wait(job: Job, cloud: Cloud, minutes: int) -> str:
    """Look at the job every ten minutes and return its fault at the end."""
    for _ in range(minutes // 10):
        cloud.forward(minutes=10)
        look(cloud)
    job.refresh_from_db()
    row = JobHealth.objects.filter(job=job).first()
    return row.code if row is not None else ""


def restart(job: Job, cloud: Cloud) -> None:
    """Let another attempt begin now."""
    transitions.record_event(
        job, JobEvent.Kind.RESTARTED, now=cloud.now, message="Preempted.", once_key="again", reason="preempted"
    )


def test_a_stuck_job_is_told_once_and_forgotten_when_it_works(job: Job, cloud: Cloud) -> None:
    train(job, cloud)
    assert wait(job, cloud, 80) == ""

    assert wait(job, cloud, 20) == "stuck"
    assert wait(job, cloud, 20) == "stuck"

    message, warning = Message.objects.get(kind="waste"), warning_of(job, cloud.now)
    assert message.detail["text"].startswith("Stuck: No log line and no step for ")
    assert warning is not None
    assert (warning.code, warning.is_certain) == ("stuck", False)
    assert str(warning.words) == "No log line and no step for 2 hours; the usual time between steps is 60 seconds."
    assert job.events.filter(kind=JobEvent.Kind.WARNED).count() == 1
    assert outdated_reason(message) == ""

    train(job, cloud, first=21)
    assert wait(job, cloud, 10) == ""
    assert outdated_reason(message) == "The job works again."
    assert job.events.get(kind=JobEvent.Kind.CLEARED).message == "Not found any more: Stuck."

    restart(job, cloud)
    train(job, cloud, first=41)
    assert wait(job, cloud, 100) == "stuck"
    assert job.events.filter(kind=JobEvent.Kind.WARNED).count() == 2
    assert Message.objects.filter(kind="waste").count() == 1, "once for each fault and job"


def test_a_loss_that_is_no_number_is_told(job: Job, cloud: Cloud) -> None:
    train(job, cloud)
    write(job, cloud, *(f"step {step} loss nan" for step in range(21, 25)))

    assert wait(job, cloud, 10) == "diverged"
    assert "in 4 lines in a row" in Message.objects.get(kind="waste").detail["text"]


def test_a_job_nobody_looks_at_is_known_to_be_idle(job: Job, cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine_usage, "client", lambda _acts_as: Monitoring())
    train(job, cloud)
    for step in range(3, 11):
        train(job, cloud, first=10 * step, steps=10)
        look(cloud)

    warning = warning_of(Job.objects.get(pk=job.pk), cloud.now)
    assert warning is not None
    assert warning.code == "idle"
    assert str(warning.words).startswith("The accelerators have been 1 % busy for ")


def test_nothing_is_told_of_a_silent_program_without_steps(job: Job, cloud: Cloud) -> None:
    write(job, cloud, "loading data", "ready")
    assert wait(job, cloud, 150) == ""
    assert not Message.objects.filter(kind="waste").exists()


def test_a_fault_ends_with_its_attempt_its_age_and_the_job(job: Job, cloud: Cloud) -> None:
    train(job, cloud)
    assert wait(job, cloud, 100) == "stuck"
    assert warning_of(job, cloud.now + timedelta(minutes=61)) is None, "as after a restore of a backup"
    assert warning_of(job, cloud.now - timedelta(minutes=61)) is None

    restart(job, cloud)
    assert warning_of(Job.objects.get(pk=job.pk), cloud.now) is None
    health.assess(job.pk, now=cloud.now + MINUTE)
    assert JobHealth.objects.get(job=job).code == "", "the silence was that of another attempt"


def test_a_job_that_was_not_seen_is_not_assessed(job: Job, cloud: Cloud) -> None:
    train(job, cloud)
    health.assess(job.pk, now=cloud.now + timedelta(hours=2))
    assert not JobHealth.objects.exists()


def test_its_owner_says_that_it_is_fine(job: Job, cloud: Cloud, owner: User, lead: User, team: Team) -> None:
    train(job, cloud)
    for each in (person("viewer", team, "viewer"), person("engineer", team, "engineer")):
        with pytest.raises(NotPermitted):
            declare_fine(job, by=each, now=cloud.now)
    assert declare_fine(job, by=owner, now=cloud.now)
    assert wait(job, cloud, 100) == "stuck"

    event = job.events.get(kind=JobEvent.Kind.DECLARED_FINE)
    assert (event.actor, event.detail) == (owner, {"until": (event.occurred_at + timedelta(hours=6)).isoformat()})
    assert warning_of(job, cloud.now) is None
    assert not Message.objects.filter(kind="waste").exists()

    JobHealth.objects.update(fine_until=cloud.now + MINUTE)
    wait(job, cloud, 10)
    assert Message.objects.filter(kind="waste").count() == 1, "told when the time is over"
    assert declare_fine(job, by=lead, now=cloud.now)


def test_assessing_takes_few_queries(job: Job, cloud: Cloud) -> None:
    train(job, cloud)
    with CaptureQueriesContext(connection) as queries:
        health.assess(job.pk, now=cloud.now)
    assert len(queries) <= 4
