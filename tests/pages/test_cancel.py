"""Tests of what the page shows before and after a cancellation, by what the job has done."""

import pytest
from django.contrib.auth.models import User

from jobs import steps, transitions
from jobs.clock import DatabaseClock
from jobs.models import Job
from tests.pages.conftest import MakeJob, SignIn, text_of
from tests.support.clock import Clock

UNSENT = "The job has not been submitted to Vertex AI; it will not be submitted."
IN_DOUBT = "If Vertex AI already has it, it is cancelled there."
ACCEPTED = "Vertex AI has accepted a cancellation, but the job has not ended."
RESTARTS = "The job waits for new machines after a restart. Its checkpoints stay"
NO_TRIAL = "No trial is running. No further trial starts"
SIGNAL = "Vertex AI sends SIGTERM to every replica."


@pytest.fixture
def restarting(make_job: MakeJob, clock: Clock) -> Job:
    """A job that waits for machines after a preemption."""
    job = make_job("running", name="resnet")
    assert transitions.transition(job, "pending", now=clock.forward(minutes=5), message="It restarts.")
    return job


def cancelled(job: Job, by: User, clock: Clock, *, is_accepted: bool) -> Job:
    """Cancel a job at Vertex AI, which has accepted it or not answered yet."""
    assert steps.cancel(job, by=by, clock=DatabaseClock())
    if is_accepted:
        Job.objects.filter(pk=job.pk).update(cancel_sent_at=clock.now)
    job.refresh_from_db()
    return job


@pytest.mark.parametrize(
    ("state", "changes", "effect"),
    [
        ("awaiting_approval", {}, UNSENT),
        ("approved", {}, UNSENT),
        ("submitting", {}, IN_DOUBT),
        ("running", {}, SIGNAL),
        ("running", {"custom_job_state": "pending"}, RESTARTS),
        ("running", {"trial_seconds": 60, "trials_running": 0}, NO_TRIAL),
        ("running", {"trial_seconds": 60, "trials_running": 1}, SIGNAL),
        ("cancelling", {}, ACCEPTED),
    ],
)
def test_the_page_says_what_a_cancellation_does_in_each_state(
    make_job: MakeJob,
    owner: User,
    stranger: User,
    signed_in: SignIn,
    state: str,
    changes: dict[str, object],
    effect: str,
) -> None:
    job = make_job(state)
    Job.objects.filter(pk=job.pk).update(**changes)
    browser = signed_in(owner)

    assert effect in text_of(browser.get(f"/jobs/{job.pk}/cancel/"))
    assert effect in text_of(browser.get(f"/jobs/several/?action=cancel&job={job.pk}"))
    assert effect not in text_of(signed_in(stranger).get(f"/jobs/several/?action=cancel&job={job.pk}"))


def test_a_job_that_waits_for_new_machines_gets_no_signal(restarting: Job, owner: User, signed_in: SignIn) -> None:
    text = text_of(signed_in(owner).get(f"/jobs/{restarting.pk}/cancel/"))

    assert RESTARTS in text
    assert "SIGTERM" not in text


@pytest.mark.parametrize(("is_accepted", "may_repeat"), [(False, False), (True, True)])
def test_pages_show_a_cancellation_until_the_job_has_ended(
    restarting: Job, owner: User, stranger: User, signed_in: SignIn, clock: Clock, is_accepted: bool, may_repeat: bool
) -> None:
    job = cancelled(restarting, owner, clock, is_accepted=is_accepted)
    browser = signed_in(owner)
    words = "the job has not ended yet" if is_accepted else "the cancellation is on its way"

    for address in ("/", f"/jobs/{job.pk}/"):
        assert words in text_of(browser.get(address))
        assert words not in text_of(signed_in(stranger).get(address))
    alone = text_of(browser.get(f"/jobs/{job.pk}/cancel/", follow=True))
    assert (ACCEPTED in alone) is may_repeat
    assert ("resnet was not cancelled: its cancellation is on its way." in alone) is not may_repeat
    together = text_of(browser.get(f"/jobs/several/?action=cancel&job={job.pk}"))
    assert ("Left out: its cancellation is on its way." in together) is not may_repeat


@pytest.mark.parametrize("state", ["awaiting_approval", "approved"])
def test_a_job_that_was_not_submitted_is_cancelled_at_once(
    make_job: MakeJob, owner: User, stranger: User, signed_in: SignIn, state: str
) -> None:
    job = make_job(state, name="resnet")

    assert signed_in(stranger).post(f"/jobs/{job.pk}/cancel/").status_code == 404
    page = signed_in(owner).post(f"/jobs/{job.pk}/cancel/", follow=True)

    assert "Cancelled resnet before it was submitted." in text_of(page)
    assert "Cancellation of resnet requested." not in text_of(page)


def test_a_job_that_ended_while_the_page_was_open_is_not_cancelled(
    make_job: MakeJob, owner: User, signed_in: SignIn, clock: Clock
) -> None:
    job, browser = make_job("running", name="resnet"), signed_in(owner)
    assert SIGNAL in text_of(browser.get(f"/jobs/{job.pk}/cancel/"))
    transitions.transition(job, "succeeded", now=clock.forward(seconds=10), message="It ended.")

    page = browser.post(f"/jobs/{job.pk}/cancel/", follow=True)

    assert "resnet was not cancelled: it has ended." in text_of(page)
    job.refresh_from_db()
    assert job.cancel_requested_at is None


@pytest.mark.parametrize("state", ["queued", "pending"])
def test_no_signal_is_promised_to_what_does_not_run(
    make_job: MakeJob, owner: User, stranger: User, signed_in: SignIn, state: str
) -> None:
    address = f"/jobs/{make_job(state).pk}/cancel/"

    text = text_of(signed_in(owner).get(address))

    assert "SIGTERM" not in text
    assert "has not run: no work is lost and nothing is billed" in text
    assert signed_in(stranger).get(address).status_code == 404


def test_what_never_ran_bills_nothing(make_job: MakeJob, owner: User, signed_in: SignIn) -> None:
    job = make_job("pending")
    transitions.transition(job, "cancelled", now=job.state_since, message="It was cancelled.")

    text = text_of(signed_in(owner).get(f"/jobs/{job.pk}/"))

    assert "It never ran, and nothing was billed." in text
    assert "The time that they ran is billed" not in text


@pytest.mark.parametrize("state", ["succeeded", "failed"])
def test_what_has_ended_is_not_asked_about(
    make_job: MakeJob, owner: User, stranger: User, signed_in: SignIn, state: str
) -> None:
    job = make_job(state, name="resnet")

    page = signed_in(owner).get(f"/jobs/{job.pk}/cancel/", follow=True)

    assert page.redirect_chain == [(f"/jobs/{job.pk}/", 302)]
    assert "resnet was not cancelled: it has ended." in text_of(page)
    assert signed_in(stranger).get(f"/jobs/{job.pk}/cancel/").status_code == 404
