"""Tests of what the page shows before and after a cancellation, by what the job has done."""

import pytest
from django.contrib.auth.models import User

from jobs import transitions
from tests.pages.conftest import MakeJob, SignIn, text_of


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
    assert "resnet has already ended or is being cancelled." in text_of(page)
    assert signed_in(stranger).get(f"/jobs/{job.pk}/cancel/").status_code == 404
