"""Tests of approving under another strategy on the pages: offered to approvers, accepted by the requester."""

import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from jobs.models import Job
from tests.pages.conftest import MakeJob, SignIn, text_of

pytestmark = pytest.mark.django_db
BUTTON = re.compile(r'name="decision" value="(as:spot:[\d.]+)"')


@pytest.fixture
def asked(make_job: MakeJob) -> Job:
    return make_job("awaiting_approval", strategy="STANDARD", name="dear")


def form_of(page: str, button: str) -> dict[str, str]:
    """Return what the form with the digest sends when a button is pressed."""
    digest = re.search(r'name="digest" value="([^"]+)"', page)
    assert digest
    return {"decision": button, "digest": digest[1], "back": "job"}


@pytest.mark.parametrize("address", ["/approvals/", "/jobs/{}/offers/"])
def test_an_approver_presses_once_and_the_requester_accepts(
    asked: Job, approver: User, engineer: Client, signed_in: SignIn, address: str
) -> None:
    page = signed_in(approver).get(address.format(asked.pk)).content.decode()
    assert "owner has to accept another strategy before the job starts." in page
    (button,) = BUTTON.findall(page)
    page = signed_in(approver).get(f"/jobs/{asked.pk}/").content.decode()
    assert f"/jobs/{asked.pk}/offers/" in page

    answer = signed_in(approver).post(f"/jobs/{asked.pk}/decide/", form_of(page, button), follow=True)
    assert "under the other strategy is recorded" in text_of(answer)
    assert "the requester has to accept it" in text_of(signed_in(approver).get("/approvals/"))

    page = engineer.get(f"/jobs/{asked.pk}/").content.decode()
    assert "An approver would run it under" in page
    assert "which you have to accept" in text_of(engineer.get("/approvals/"))
    engineer.post(f"/jobs/{asked.pk}/decide/", form_of(page, "accept"))

    job = Job.objects.get()
    assert (job.state, job.strategy) == ("approved", "spot")


def test_an_offer_needs_its_requester_on_every_page(
    asked: Job, approver: User, teammate: User, engineer: Client, signed_in: SignIn
) -> None:
    assert "0 need you" in text_of(engineer.get("/"))
    signed_in(approver).post(f"/jobs/{asked.pk}/decide/", {"decision": "as:spot"})

    board = engineer.get("/?view=needs-me")
    assert "1 needs you" in text_of(board)
    assert "Answer the offer" in text_of(board)
    assert "1 to decide" in text_of(board)
    inbox = engineer.get("/approvals/")
    assert "1 needs you" in text_of(inbox)
    engineer.post(f"/jobs/{asked.pk}/decide/", form_of(inbox.content.decode(), "accept"))

    assert Job.objects.get().strategy == "spot"
    assert "0 need you" in text_of(engineer.get("/"))
    assert "1 to decide" not in text_of(engineer.get("/"))
    for person in (approver, teammate):
        assert "Answer the offer" not in text_of(signed_in(person).get("/"))


def test_the_requester_keeps_the_request(asked: Job, approver: User, engineer: Client, signed_in: SignIn) -> None:
    signed_in(approver).post(f"/jobs/{asked.pk}/decide/", {"decision": "as:spot"})
    page = engineer.get(f"/jobs/{asked.pk}/").content.decode()

    answer = engineer.post(f"/jobs/{asked.pk}/decide/", form_of(page, "keep"), follow=True)

    assert "is as you requested it, and waits for an approval" in text_of(answer)
    assert Job.objects.get().strategy == "standard"


def test_nobody_else_is_offered_it(
    asked: Job, engineer: Client, teammate: User, stranger: User, signed_in: SignIn
) -> None:
    for client in (engineer, signed_in(teammate)):
        assert "as:spot" not in client.get(f"/jobs/{asked.pk}/offers/").content.decode()
        assert "as:spot" not in client.get("/approvals/").content.decode()
    outside = signed_in(stranger)
    assert outside.get(f"/jobs/{asked.pk}/").status_code == 404
    assert outside.get(f"/jobs/{asked.pk}/offers/").status_code == 404
    for decision in ("as:spot", "accept", "keep"):
        assert outside.post(f"/jobs/{asked.pk}/decide/", {"decision": decision}).status_code == 404
    assert "dear" not in text_of(outside.get("/approvals/"))


@pytest.mark.parametrize(
    ("button", "words"),
    [
        ("as:overnight", "Choose one of the strategies"),
        ("as:standard", "already has that strategy"),
        ("as:", "Choose one of the strategies"),
        ("as:spot:x", "not an amount"),
        ("as:spot:NaN", "not an amount"),
        ("as:spot:0.01", "has changed since you opened it"),
        ("as:persistent", "needs a value"),
    ],
)
def test_a_forged_button_changes_nothing(
    asked: Job, approver: User, signed_in: SignIn, button: str, words: str
) -> None:
    answer = signed_in(approver).post(f"/jobs/{asked.pk}/decide/", {"decision": button, "comment": "typed"})

    assert answer.status_code == 422
    assert words in text_of(answer)
    assert 'value="typed"' in answer.content.decode()
    assert Job.objects.get().strategy == "standard"


def test_a_vote_for_the_job_as_it_was_does_not_count_for_the_changed_one(
    asked: Job, approver: User, admin: User, signed_in: SignIn
) -> None:
    """Two tabs: the page that was opened first shows the job under the strategy of then."""
    page = signed_in(admin).get(f"/approvals/?job={asked.pk}").content.decode()
    signed_in(approver).post(f"/jobs/{asked.pk}/decide/", {"decision": "as:spot"})

    signed_in(admin).post(f"/jobs/{asked.pk}/decide/", form_of(page, "approve"))

    job = Job.objects.get()
    assert job.state == "awaiting_approval"
    assert list(job.votes.values_list("voter__username", flat=True)) == ["approver"]


def test_the_approver_cannot_accept_for_the_requester(asked: Job, approver: User, signed_in: SignIn) -> None:
    browser = signed_in(approver)
    browser.post(f"/jobs/{asked.pk}/decide/", {"decision": "as:spot"})

    browser.post(f"/jobs/{asked.pk}/decide/", {"decision": "accept"})

    assert Job.objects.get().state == "awaiting_approval"


def test_a_secret_stays_hidden_when_the_strategy_changes(
    make_job: MakeJob, approver: User, engineer: Client, signed_in: SignIn
) -> None:
    job = make_job("awaiting_approval", strategy="STANDARD")
    body = job.spec
    body["jobSpec"]["workerPoolSpecs"][0]["containerSpec"]["env"] = [{"name": "API_TOKEN", "value": "hunter2-hunter2"}]
    Job.objects.filter(pk=job.pk).update(spec=body)
    signed_in(approver).post(f"/jobs/{job.pk}/decide/", {"decision": "as:spot"})

    for path in (f"/jobs/{job.pk}/", f"/jobs/{job.pk}/events.json", "/approvals/"):
        assert "hunter2" not in signed_in(approver).get(path).content.decode()
    assert "hunter2" in str(Job.objects.get().spec), "what is sent keeps it"


def test_offers_ask_a_bounded_number_of_queries(
    asked: Job, approver: User, signed_in: SignIn, django_assert_max_num_queries: Any
) -> None:
    """Four for the person and the job, three for who decides, six for what a judgement rests on."""
    browser = signed_in(approver)

    with django_assert_max_num_queries(13):
        browser.get(f"/jobs/{asked.pk}/offers/")
