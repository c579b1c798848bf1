"""Tests of one approval for all attempts on the pages: the form, the approver's view, and strangers."""

from decimal import Decimal

import pytest
from django.contrib.auth.models import User
from django.test import Client

from jobs.models import Approval, Job, Team
from jobs.policy_rules import Rule
from jobs.requests.policy_versions import Terms, save_policy
from tests.conftest import person
from tests.pages.conftest import SignIn, text_in, text_of
from tests.support.api import caller
from tests.support.clock import Clock

THEN = {"then_1": "standard", "on_capacity": "on", "run_time": "1 h", "timeout": "1 h"}
ONCE = "One decision for all attempts"


@pytest.fixture
def asked(engineer: Client, example: dict[str, str]) -> Job:
    """The example on Spot, then Standard, which waits for an approval."""
    assert engineer.post("/jobs/new/", example | THEN | {"do": "submit"}).status_code == 302
    return Job.objects.get()


def test_the_form_says_that_all_are_decided_about_at_once(
    engineer: Client, example: dict[str, str], team: Team, clock: Clock
) -> None:
    page = engineer.post("/jobs/new/check/", example | THEN).content.decode()
    assert "An approver decides once about all of them" in text_in(page, "attempts")
    assert text_in(page, "submit-words") == "Submit for approval"

    save_policy(
        team, [Rule(outcome="ask", strategies=["standard"])], Terms(), base=0,
        by=person("lead", team, "lead"), note="", now=clock.now,
    )  # fmt: skip
    page = engineer.post("/jobs/new/check/", example | THEN).content.decode()
    assert text_in(page, "attempts").count("needs approval") == 1
    assert text_in(page, "submit-words") == "Submit for approval"
    assert "Needs approval" in text_in(page, "verdict")

    page = engineer.post("/jobs/new/check/", example | THEN | {"then_1": ""}).content.decode()
    assert text_in(page, "submit-words") == "Submit"


def test_the_approver_sees_what_each_attempt_may_cost(asked: Job, approver: User, signed_in: SignIn) -> None:
    page = text_of(signed_in(approver).get(f"/approvals/?job={asked.pk}"))

    assert ONCE in page
    for each in Approval.objects.get().attempts:
        assert f"at most ${each['max_usd']}" in page
    assert "Attempt 2, Standard in us-central1:" in page


def test_the_approver_reads_why_in_the_own_language(asked: Job, approver: User, signed_in: SignIn) -> None:
    page = text_of(signed_in(approver).get("/approvals/", headers={"accept-language": "es"}))

    assert "Intento 2, Standard en us-central1:" in page
    assert asked.approval.findings[1]["message"].startswith("Attempt 2, Standard in us-central1: Expected $")


def test_the_approver_decides_about_all(asked: Job, approver: User, signed_in: SignIn) -> None:
    browser = signed_in(approver)
    assert ONCE in text_of(browser.get(f"/jobs/{asked.pk}/"))
    digest = Approval.objects.get().digest
    browser.post(f"/jobs/{asked.pk}/decide/", {"decision": "approve", "digest": digest})

    assert Job.objects.get().state == "approved"
    assert ONCE not in text_of(browser.get(f"/jobs/{asked.pk}/"))


def test_a_stranger_sees_nothing(asked: Job, stranger: User, signed_in: SignIn) -> None:
    browser = signed_in(stranger)

    assert browser.get(f"/jobs/{asked.pk}/").status_code == 404
    page = text_of(browser.get(f"/approvals/?job={asked.pk}"))
    assert ONCE not in page
    assert asked.display_name not in page


def test_what_is_approved_is_the_cost_of_all(asked: Job, approver: User, signed_in: SignIn) -> None:
    browser, question = signed_in(approver), Approval.objects.get()
    total = sum(Decimal(each["max_usd"]) for each in question.attempts)

    assert question.asked_usd == total
    assert f"Approve all attempts up to ${total}" in text_of(browser.get(f"/approvals/?job={asked.pk}"))
    page = browser.get(f"/jobs/several/?action=approve&job={asked.pk}")
    assert f"At most ${total} in total" in text_of(page)
    fields = {"action": "approve", "job": str(asked.pk), f"digest-{asked.pk}": question.digest}
    browser.post("/jobs/several/", fields | {f"amount-{asked.pk}": str(asked.max_usd)})
    assert Job.objects.get().state == "awaiting_approval", "the amount of the first attempt is not what was asked"

    browser.post("/jobs/several/", fields | {f"amount-{asked.pk}": str(total)})
    assert Job.objects.get().state == "approved"


def test_the_board_leads_to_the_request(asked: Job, approver: User, signed_in: SignIn) -> None:
    page = signed_in(approver).get("/").content.decode()

    assert f'href="/approvals/?job={asked.pk}#request"' in page
    assert f'action="/jobs/{asked.pk}/decide/"' not in page


def test_the_api_tells_of_them(asked: Job, owner: User) -> None:
    approval = caller(owner).get(f"/jobs/{asked.pk}").json()["approval"]

    assert [(each["number"], each["strategy"]) for each in approval["attempts"]] == [(1, "spot"), (2, "standard")]
    assert approval["attempts"][1]["max_usd"] == Approval.objects.get().attempts[1]["max_usd"]


def test_the_api_decides_about_the_cost_of_all(asked: Job, approver: User) -> None:
    api = caller(approver)
    shown = api.get(f"/jobs/{asked.pk}").json()

    refused = api.post(f"/jobs/{asked.pk}/approve", {"max_usd": shown["max_usd"]})
    answer = api.post(f"/jobs/{asked.pk}/approve", {"max_usd": shown["approval"]["max_usd"]})

    assert (refused.status_code, refused.json()["type"]) == (409, "/api/#problem-other-amount")
    assert (answer.status_code, answer.json()["state"]) == (200, "approved")
