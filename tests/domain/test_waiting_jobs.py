"""Tests of everything that asks whether a job ran, about one that waits for hours with a provisional `startTime`.

The answers are those recorded of Vertex AI: a job in the queue, which is then cancelled (vertex-facts 17.2 and 17.4).
"""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User

from dashboard.api.job_values import job_values
from dashboard.pages.parts.cancelling import effect_of_cancelling
from dashboard.pages.parts.history_rows import as_record
from dashboard.queries.waits import get_past_waits
from jobs import observation, requests, steps, timeline
from jobs.fallback import Plan, Step
from jobs.messages.waits import watch_waits
from jobs.models import ExternalJob, FallbackAttempt, Job, JobFigures, Message, Policy, Team
from jobs.submission.adapters import DatabaseStore
from jobs.submission.cancel import cancel_waiting
from jobs.upkeep import count_ended, watch_caps, watch_fallbacks, watch_spending
from jobs.upkeep.audit import audit
from tests.domain.conftest import RequestJob
from tests.domain.test_recorded_jobs import CREATED, PROVISIONAL, begin, look, poll_at, waiting
from tests.support import samples
from tests.support.clock import Clock
from tests.support.replayed import Answer, Replayed, answer_at, rfc3339

pytestmark = pytest.mark.both_databases
HOUR = timedelta(hours=1)


def cancelled(after: timedelta) -> Answer:
    at = CREATED + after
    fields = {"startTime": PROVISIONAL, "endTime": rfc3339(at), "error": {"code": 1, "message": "CANCELED"}}
    return answer_at(at, "CANCELLED", CREATED, **fields)


@pytest.fixture
def waits(service: Replayed, request_job: RequestJob) -> Job:
    """A job that has waited in PENDING for more than two hours."""
    job = begin(service, request_job, waiting())
    poll_at(service, job, *(CREATED + timedelta(minutes=each) for each in range(1, 126, 5)))
    assert (job.state, job.started_at) == ("pending", None)
    return job


@pytest.fixture
def gone(waits: Job, service: Replayed) -> Job:
    """The same job, cancelled after three hours."""
    service.answers = [*service.answers, cancelled(3 * HOUR)]
    poll_at(service, waits, CREATED + 3 * HOUR + timedelta(seconds=5))
    assert waits.state == "cancelled"
    return waits


def test_its_long_wait_is_announced(waits: Job, clock: Clock) -> None:
    assert watch_waits(clock.now) == 1
    message = Message.objects.get(kind="waiting_long")
    assert "Nothing is billed while it waits." in message.detail["text"]
    assert set(Message.objects.values_list("kind", flat=True)) == {"waiting_long"}, "none about a start or a restart"


def test_its_cancellation_is_that_of_a_waiting_job(waits: Job, clock: Clock) -> None:
    assert "nothing is billed" in effect_of_cancelling(waits)
    assert cancel_waiting(waits, message="It waited.", reason="fallback", store=DatabaseStore(clock.clock))


def test_nothing_is_spent_while_it_waits(waits: Job, clock: Clock) -> None:
    watch_spending(clock.now)
    watch_caps(clock.now)

    waits.refresh_from_db()
    assert not timeline.cost_so_far(waits, clock.now)
    assert waits.over_approved_at is None
    assert not waits.costs.exists()


def test_a_further_attempt_follows_its_wait(
    service: Replayed, request_job: RequestJob, team: Team, owner: User, clock: Clock
) -> None:
    request_job(name="before")  # sets the policy and the clock of the installation
    Job.objects.all().update(state="withdrawn", ended_at=CREATED, due_at=None)
    Policy.objects.filter(team=team).update(ask_over_usd=1000)
    service.answers, clock.now = waiting(), CREATED
    plan = Plan((Step("standard"),), wait_hours=2)
    asked = requests.RequestOptions(Team.objects.get(pk=team.pk), owner, timedelta(minutes=6), clock.now, plan=plan)
    submission = samples.submission(**samples.limited(0.1, {}, least=4))
    job = requests.request_jobs([submission], asked, request_key="the-form")[0]

    def sweep(at: timedelta) -> None:
        clock.now = CREATED + at
        watch_fallbacks(clock.clock)
        for due in steps.due_jobs(clock.now):
            steps.advance(due, clock=clock.clock)
        look(clock)

    for minutes in (0, 1, 30, 60, 119, 121):
        sweep(timedelta(minutes=minutes))
    assert not service.cancelled, "not before a poll has shown it after two hours"
    sweep(timedelta(minutes=122))
    assert service.cancelled
    service.answers = [*service.answers, cancelled(timedelta(minutes=123))]
    sweep(timedelta(minutes=124))
    sweep(timedelta(minutes=125))

    job.refresh_from_db()
    assert (job.state, job.started_at) == ("cancelled", None)
    attempts = list(FallbackAttempt.objects.order_by("number"))
    assert [(each.number, each.reason) for each in attempts] == [(1, ""), (2, "capacity")]


def test_it_is_no_first_wait_of_a_job_that_ran(gone: Job, request_job: RequestJob, clock: Clock) -> None:
    other = request_job(name="another")

    assert get_past_waits(other, clock.now) is None


def test_its_figures_are_those_of_a_job_that_never_ran(gone: Job, clock: Clock) -> None:
    while count_ended(clock.now):
        pass

    figures = JobFigures.objects.get(job=gone)
    assert (figures.micros, figures.seconds, figures.preemptions) == (0, 0, 0)
    assert figures.wait_bucket == timeline.NEVER_RAN
    assert figures.teaches == {}, "estimates learn nothing"


def test_the_api_and_exports_show_no_run(gone: Job, owner: User, rf: Any, clock: Clock) -> None:
    request = rf.get("/")
    request.user = owner

    shown, exported = job_values(request, gone, clock.now), as_record(gone, clock.now)

    assert (shown["started_at"], shown["ran_seconds"], shown["restarts"], shown["cost_usd"]) == (None, 0, 0, None)
    assert (exported["started_at"], exported["ran_seconds"], exported["restarts"]) == (None, 0, 0)
    assert exported["cost_usd"] is None
    assert shown["waited_seconds"] == exported["waited_seconds"] == 3 * 3600


def test_an_adopted_one_did_not_run(service: Replayed, team: Team, owner: User, clock: Clock) -> None:
    service.answers, clock.now = waiting(cancelled(timedelta(seconds=80))), CREATED + timedelta(seconds=60)
    service.number += 1
    name = f"projects/vision-research/locations/us-central1/customJobs/{service.number}"
    service.body = samples.body(name="theirs") | {"name": name}
    observation.request_discovery(project="vision-research", region="us-central1", by=owner, now=clock.now)
    for discovery in steps.due_discoveries(clock.now):
        observation.discover(discovery, now=clock.now)
    job = observation.adopt(ExternalJob.objects.get(), team=team, by=owner, now=clock.now)
    poll_at(service, job, CREATED + timedelta(seconds=70), CREATED + timedelta(seconds=90))

    assert (job.state, job.started_at, job.running_seconds, job.restarts) == ("cancelled", None, 0, 0)
    assert not timeline.cost_so_far(job, clock.now)
    assert list(audit(clock.now)) == []
