"""Tests of reminders for open requests, and of their expiry without an answer."""

import pytest
from django.contrib.auth.models import User

from jobs import requests, steps
from jobs.models import Approval, Job, Team
from jobs.policy_rules import Rule
from jobs.requests.policy_versions import Terms, save_policy
from jobs.upkeep import watch_approvals
from jobs.upkeep.audit import audit
from tests.conftest import person
from tests.domain.conftest import RequestJob
from tests.support.clock import Clock

pytestmark = pytest.mark.django_db


@pytest.fixture
def asked(request_job: RequestJob, team: Team, clock: Clock) -> Job:
    """A job about which approvers are reminded every four hours, for ten hours."""
    terms = Terms(remind_hours=4, expire_hours=10)
    lead = person("lead", team, "lead")
    save_policy(team, [Rule(outcome="ask", cost_over="1")], terms, base=0, by=lead, note="", now=clock.now)
    return request_job(hours=10)


def test_approvers_are_reminded_again_and_again(asked: Job, clock: Clock) -> None:
    assert watch_approvals(clock.forward(hours=3)) == 0
    assert [watch_approvals(clock.forward(hours=1)), watch_approvals(clock.now)] == [1, 0]
    assert watch_approvals(clock.forward(hours=4)) == 1

    messages = asked.events.filter(kind="approval_due").order_by("id").values_list("message", flat=True)
    assert list(messages) == [
        "The job has waited 4 hours for an approval.",
        "The job has waited 8 hours for an approval.",
    ]


def test_a_request_that_nobody_answers_expires(asked: Job, approver: User, clock: Clock) -> None:
    assert watch_approvals(clock.forward(hours=10)) == 1

    job = Job.objects.get()
    assert (job.state, job.due_at) == ("withdrawn", None)
    event = job.events.latest("id")
    assert (event.actor, event.reason) == (None, "approval_expired")
    assert "Nobody decided within 10 hours" in event.message
    assert not requests.approve(Job.objects.get(), by=approver, comment="", now=clock.now)
    assert not requests.approve(asked, by=approver, comment="", now=clock.now)
    assert watch_approvals(clock.forward(days=9)) == 0
    assert list(audit(clock.now)) == []


def test_one_that_was_answered_or_withdrawn_is_left_alone(
    asked: Job, request_job: RequestJob, approver: User, owner: User, clock: Clock
) -> None:
    other = request_job(hours=10)
    requests.approve(asked, by=approver, comment="", now=clock.now)
    steps.cancel(other, by=owner, clock=clock.clock)

    assert watch_approvals(clock.forward(days=2)) == 0

    assert set(Job.objects.values_list("state", flat=True)) == {"approved", "withdrawn"}
    assert not Approval.objects.filter(decision="", remind_at__isnull=False).exists()


def test_a_team_that_saved_no_policy_is_reminded_and_nothing_expires(request_job: RequestJob, clock: Clock) -> None:
    job = request_job(hours=100)

    assert watch_approvals(clock.forward(days=1)) == 1
    assert watch_approvals(clock.forward(days=300)) == 1
    assert Job.objects.get(pk=job.pk).state == "awaiting_approval"
