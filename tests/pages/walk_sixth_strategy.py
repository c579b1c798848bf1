"""Follows a job of a sixth strategy over the site. Run by test_sixth_strategy.py in a process that has the strategy."""

from decimal import Decimal

import pytest
from django.contrib.auth.models import User
from django.test import Client

from jobs import strategies
from jobs.models import Job
from jobs.upkeep import count_ended
from tests.pages.conftest import MakeJob, SignIn, text_in, text_of
from tests.support import samples

pytestmark = pytest.mark.django_db
KEY, LABEL = "one_attempt", "One attempt"


def test_is_composed_with_its_price(engineer: Client, example: dict[str, str]) -> None:
    assert "$" in text_in(engineer.get("/jobs/new/?example=1").content.decode(), f"strategy-{KEY}-facts")

    answer = engineer.post("/jobs/new/", example | {"strategy": KEY, "do": "submit"}, follow=True)

    job = Job.objects.get()
    assert (job.strategy, job.spec["jobSpec"]["scheduling"]["disableRetries"]) == (KEY, True)
    assert "strategy" not in job.spec["jobSpec"]["scheduling"]
    assert job.estimate_usd is not None
    assert job.estimate_usd > Decimal(0)
    assert LABEL in text_of(answer)


def test_is_followed_on_every_page(engineer: Client, stranger: User, signed_in: SignIn, make_job: MakeJob) -> None:
    waiting = make_job("queued", strategy="STANDARD", scheduling={"disableRetries": True})
    ended = make_job("succeeded", strategy="STANDARD", scheduling={"disableRetries": True})
    assert {waiting.strategy, ended.strategy} == {KEY}
    count_ended()

    assert "waits for its only attempt" in text_of(engineer.get("/"))
    for path in ("/", f"/jobs/{waiting.pk}/", f"/jobs/{ended.pk}/", "/history/", "/spend/"):
        page = engineer.get(path)
        assert LABEL in text_of(page), path
        assert f'class="line {KEY}"' in page.content.decode(), path
    listed = engineer.get(f"/history/?strategy={KEY}&strategy=spot")
    assert f'value="{KEY}" checked' in listed.content.decode()
    assert ended.display_name in text_of(listed)
    for path in ("/", "/history/", "/spend/"):
        assert ended.display_name not in text_of(signed_in(stranger).get(path)), path


def test_is_a_choice_wherever_strategies_are(engineer: Client) -> None:
    page = engineer.get("/jobs/new/?example=1").content.decode()

    assert f'<option value="{KEY}">{LABEL}</option>' in page  # of a further attempt


def test_is_recognized_after_a_resource_and_before_standard() -> None:
    alone = {"strategy": "STANDARD", "scheduling": {"disableRetries": True}}

    assert strategies.strategy_of(samples.submission(**alone)).key == KEY
    assert strategies.strategy_of(samples.submission(**alone, resource="penguin-house")).key == "persistent"
    assert strategies.strategy_of(samples.submission(strategy="STANDARD")).key == "standard"
