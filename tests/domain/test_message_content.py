"""Tests of the content of messages: event, reason, cost, remedy, links, and no secret."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils.translation import override
from pytest_django import Settings

from jobs import messages, requests, transitions
from jobs.messages.content import Content
from jobs.models import Job, JobEvent, Message, Policy, Team
from tests.domain.conftest import RequestJob
from tests.support.clock import Clock

RUN = ("submitting", "queued", "pending", "running")
MakeContent = Callable[..., Content]


@pytest.fixture(autouse=True)
def _address(settings: Settings) -> None:
    settings.SITE_URL = "https://board.example.org"


@pytest.fixture
def newest(request_job: RequestJob, clock: Clock) -> MakeContent:
    """`newest("failed", states, error=...)` is the message of that kind about a job that went through `states`."""

    def make(kind: str, states: tuple[str, ...] = (), *, error: Any = None, **changes: Any) -> Content:
        job = request_job(**changes)
        for state in states:
            more = {"error": error} if error is not None and state == states[-1] else {}
            transitions.transition(job, state, now=clock.forward(minutes=30), message=f"It is {state}.", **more)
        message = Message.objects.select_related("job__team", "job__owner", "event").filter(kind=kind).latest("id")
        return messages.content_of(message, clock.now)

    return make


def test_a_failure_tells_its_diagnosis_cost_and_what_to_do(newest: MakeContent) -> None:
    error = {
        "code": 8,
        "message": "The replica workerpool0-0 ran out-of-memory and exited with a non-zero status of 9.",
    }

    found = newest("failed", (*RUN, "failed"), error=error, name="resnet")

    assert found.subject.startswith("Failed: resnet – ")
    assert "memory" in " ".join(found.lines).lower()
    facts = dict(found.facts)
    assert facts["State"] == "failed"
    assert facts["Requested by"] == "owner"
    assert facts["Cost so far"].startswith("$")
    assert found.links[0][1].startswith("https://board.example.org/jobs/")
    assert found.links[1][1].startswith("https://board.example.org/jobs/new/?job=")
    assert found.data["diagnosis"]["cause"] == "out_of_memory"


def test_an_approval_tells_the_amount_why_it_asks_and_where_to_decide(newest: MakeContent, team: Team) -> None:
    Policy.objects.filter(team=team).update(ask_over_usd=0)

    found = newest("approval_needed", hours=100, name="big")

    assert found.subject.startswith("Approval needed: big may cost up to $")
    assert "limit without approval is $0.00" in found.lines[0]
    assert "sign in" in found.lines[1]
    assert found.links[0][0] == "Review and approve"
    assert "/approvals/?job=" in found.links[0][1]


def test_an_approval_tells_why_in_the_language_of_who_reads_it(newest: MakeContent, team: Team) -> None:
    Policy.objects.filter(team=team).update(ask_over_usd=0)

    with override("es"):
        found = newest("approval_needed", hours=100, name="big")

    assert found.lines[0].startswith("Se prevén $")


def test_a_rejection_tells_the_words_of_the_approver(
    request_job: RequestJob, team: Team, approver: User, clock: Clock
) -> None:
    Policy.objects.filter(team=team).update(ask_over_usd=0)
    job = request_job(hours=100)
    requests.reject(job, by=approver, comment="Too many GPUs.", now=clock.now)

    found = messages.content_of(Message.objects.get(kind="rejected"), clock.now)

    assert "Too many GPUs." in found.lines[0]


def test_without_an_address_of_the_site_there_are_no_links(newest: MakeContent, settings: Settings) -> None:
    settings.SITE_URL = ""

    assert newest("done", (*RUN, "succeeded")).links == ()


def test_no_secret_of_the_job_is_in_a_message(newest: MakeContent) -> None:
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    error = {"code": 3, "message": f"The replica failed: cloning with {token} was refused, --password=hunter2secret."}

    found = newest("failed", (*RUN, "failed"), error=error)

    for text in (repr(found), *found.lines):
        assert token not in text
        assert "hunter2secret" not in text


def test_names_are_on_one_line_in_every_text(newest: MakeContent) -> None:
    found = newest("done", (*RUN, "succeeded"), name="a\u202eb\n*c* & @channel")

    assert found.subject == "Succeeded: ab *c* & @channel"
    assert all("\n" not in text for text in (found.subject, *found.lines, *(value for _, value in found.facts)))


def test_a_preemption_says_so(request_job: RequestJob, clock: Clock) -> None:
    job: Job = request_job(name="spotty")
    for state in RUN:
        transitions.transition(job, state, now=clock.forward(minutes=1), message="On.")
    kind = JobEvent.Kind.RESTARTED
    transitions.record_event(job, kind, now=clock.now, reason="preempted", message="Machines lost.", once_key="r")

    found = messages.content_of(Message.objects.get(kind="restarted"), clock.now)

    assert found.subject == "Preempted: spotty"
    assert found.lines[0] == "Machines lost."


@pytest.mark.parametrize("kind", Message.Kind.values)
def test_every_kind_has_words(kind: str, request_job: RequestJob, team: Team, clock: Clock) -> None:
    about_team = kind in ("budget", "resource_ends", "change_waits", "price_stale", "monthly_report", "test")
    message = Message(
        kind=kind,
        team=team,
        job=None if about_team else request_job(),
        detail={"month": "2026-02-01", "text": "Something is so."},
        occurred_at=clock.now,
        created_at=clock.now,
    )

    found = messages.content_of(message, clock.now)

    assert len(found.subject) > 8
    assert found.lines
