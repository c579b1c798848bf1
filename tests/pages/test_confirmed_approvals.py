"""Tests that an approval of much money needs the password again, whatever is approved with it."""

from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.test import Client

from jobs import requests
from jobs.models import Job, Vote
from tests.conftest import PASSWORD
from tests.pages.conftest import MakeJob, text_of
from tests.support.clock import Clock

pytestmark = pytest.mark.django_db


@pytest.fixture
def client(approver: User, clock: Clock, settings: Any) -> Client:
    """A browser of the approver with an old session."""
    browser = Client()
    browser.post("/accounts/login/", {"username": approver.username, "password": PASSWORD})
    clock.forward(seconds=settings.CONFIRM_AGE.total_seconds() + 1)
    return browser


@pytest.mark.parametrize("above", [True, False])
def test_an_approval_under_another_strategy_above_the_limit(
    make_job: MakeJob, client: Client, clock: Clock, settings: Any, above: bool
) -> None:
    """Google may restart a Spot job more often, so that its most is more than that of the job as requested."""
    job = make_job("awaiting_approval", strategy="STANDARD")
    most = requests.most_under(job, "spot", clock.now)
    assert job.max_usd is not None
    assert most is not None
    assert most - 1 > job.max_usd
    settings.CONFIRM_ABOVE_USD = most - 1 if above else most

    answer = client.post(f"/jobs/{job.pk}/decide/", {"decision": "as:spot"})

    assert ("Confirm that it is you" in text_of(answer)) is above
    assert Vote.objects.exists() is not above


def test_an_approval_of_a_sweep_above_the_limit(make_job: MakeJob, client: Client, settings: Any) -> None:
    """One vote counts for all its jobs that wait for the same answer."""
    jobs = [make_job("awaiting_approval") for _ in range(3)]
    assert jobs[0].max_usd is not None
    Job.objects.update(sweep=uuid4())
    settings.CONFIRM_ABOVE_USD = jobs[0].max_usd * 2

    answer = client.post(f"/jobs/{jobs[0].pk}/decide/", {"decision": "approve"})

    assert "Confirm that it is you" in text_of(answer)
    assert not Vote.objects.exists()
