"""Tests of the approvals inbox: what needs approval and why, who may decide, and the effect of a decision."""

import re
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.contrib.auth.models import User

from dashboard.drawing.figures import rough_money
from jobs import transitions
from jobs.models import Approval, Budget, Deputy, Job, Membership, Team
from jobs.upkeep import count_ended
from tests.conftest import person
from tests.pages.conftest import MakeJob, SignIn, text_of
from tests.support.clock import Clock

pytestmark = pytest.mark.both_databases


@pytest.fixture
def asked(make_job: MakeJob) -> Job:
    return make_job("awaiting_approval", name="costly")


class TestInbox:
    def test_says_what_it_is_what_it_costs_and_why_it_asks(self, asked: Job, approver: User, signed_in: SignIn) -> None:
        text = text_of(signed_in(approver).get("/approvals/"))

        for words in ("costly", "owner · vision", "Spot", "1 × a2-highgpu-1g", "12 h", "limit without approval"):
            assert words in text
        assert '"machineType": "a2-highgpu-1g"' in text

    def test_says_so_where_the_job_would_be_estimated_otherwise_now(
        self, asked: Job, approver: User, stranger: User, signed_in: SignIn
    ) -> None:
        client, note = signed_in(approver), "With today's prices and run times the estimate is"
        assert asked.estimate_usd is not None
        assert note not in text_of(client.get("/approvals/"))

        Job.objects.filter(pk=asked.pk).update(estimate_usd=999)

        shown = f"{note} ${asked.estimate_usd:,.2f}; when the job was requested it was $999.00."
        assert shown in text_of(client.get("/approvals/"))
        assert note not in text_of(signed_in(stranger).get(f"/approvals/?job={asked.pk}"))

    def test_counts_in_the_navigation_what_the_person_may_decide(
        self, asked: Job, approver: User, owner: User, teammate: User, signed_in: SignIn
    ) -> None:
        for address in ("/history/", "/approvals/count/"):
            assert "1 to decide" in text_of(signed_in(approver).get(address))
            assert "to decide" not in text_of(signed_in(owner).get(address))
            assert "to decide" not in text_of(signed_in(teammate).get(address))

    def test_counts_them_in_the_title_too(
        self, asked: Job, approver: User, owner: User, stranger: User, signed_in: SignIn
    ) -> None:
        shown = {"HX-Request": "true"}

        assert "<title>(1) Approvals · Trainboard</title>" in signed_in(approver).get("/approvals/").content.decode()
        part = signed_in(approver).get("/approvals/", headers=shown).content.decode()
        assert part.lstrip().startswith("<title>(1) Approvals · Trainboard</title>")
        for other in (owner, stranger):
            part = signed_in(other).get("/approvals/", headers=shown).content.decode()
            assert part.lstrip().startswith("<title>Approvals · Trainboard</title>")

    def test_counts_what_a_deputy_decides_and_not_what_only_others_may(
        self, asked: Job, approver: User, teammate: User, stranger: User, signed_in: SignIn
    ) -> None:
        lead = person("lena", asked.team, "lead")
        days = {"first_day": date(2026, 1, 1), "last_day": date(2100, 1, 1), "named_at": asked.requested_at}
        away = Deputy.objects.create(person=approver, deputy=teammate, **days)
        Deputy.objects.create(person=approver, deputy=stranger, **days)

        def counts(*people: User) -> list[bool]:
            return ["to decide" in text_of(signed_in(each).get("/approvals/count/")) for each in people]

        assert counts(teammate, approver, lead, stranger) == [True, True, True, False]
        Approval.objects.update(role_needed="lead")
        assert counts(teammate, approver, lead) == [False, False, True]
        Approval.objects.update(role_needed="approver", approver_names=",approver,")
        assert counts(teammate, approver, lead) == [True, True, False]
        Deputy.objects.filter(pk=away.pk).update(ended_at=asked.requested_at)
        assert counts(teammate, approver) == [False, True]
        Deputy.objects.filter(pk=away.pk).update(ended_at=None, last_day=date(2026, 1, 2))
        assert counts(teammate, approver) == [False, True]

    def test_has_no_buttons_on_ones_own_job_and_says_why(
        self, make_job: MakeJob, approver: User, signed_in: SignIn
    ) -> None:
        make_job("awaiting_approval", by=approver)

        page = signed_in(approver).get("/approvals/")

        assert "You requested this job: another approver or lead of the team decides." in text_of(page)
        assert b'name="decision"' not in page.content

    def test_has_no_buttons_for_engineers(self, asked: Job, teammate: User, signed_in: SignIn) -> None:
        page = signed_in(teammate).get("/approvals/")

        assert "An approver or lead of vision decides." in text_of(page)
        assert b'name="decision"' not in page.content

    def test_a_stranger_sees_nothing(self, asked: Job, stranger: User, signed_in: SignIn) -> None:
        text = text_of(signed_in(stranger).get("/approvals/"))

        assert "costly" not in text
        assert "No approvals waiting" in text

    def test_shows_the_request_that_the_address_names(
        self, asked: Job, make_job: MakeJob, approver: User, signed_in: SignIn
    ) -> None:
        second = make_job("awaiting_approval", name="second")
        client = signed_in(approver)

        assert "Needs you costly" in text_of(client.get("/approvals/"))
        assert "All requests costly" in text_of(client.get("/approvals/"))
        assert "All requests second" in text_of(client.get(f"/approvals/?job={second.pk}"))
        assert "All requests costly" in text_of(client.get("/approvals/?job=nonsense"))

    def test_names_what_needs_others_apart(
        self, asked: Job, make_job: MakeJob, approver: User, signed_in: SignIn
    ) -> None:
        make_job("awaiting_approval", name="own", by=approver)

        text = text_of(signed_in(approver).get("/approvals/"))

        assert "1 needs you · 1 waits for others" in text
        assert "Waiting for others own" in text

    def test_compares_the_strategies(self, asked: Job, approver: User, signed_in: SignIn) -> None:
        text = text_of(signed_in(approver).get("/approvals/"))

        words = (
            r"Under each strategy Strategy Expected Usual first wait Standard .*?\$[\d.,]+ not known "
            r"Spot asked for .*?\$[\d.,]+"
        )
        assert re.search(words, text)
        assert re.search(r'aria-label="Expected \$[\d.,]+, ', signed_in(approver).get("/approvals/").content.decode())

    def test_shows_what_is_left_of_a_budget_afterwards(
        self, asked: Job, approver: User, signed_in: SignIn, team: Team, clock: Clock
    ) -> None:
        Budget.objects.create(
            team=team, name="Training", amount_usd=10_000, passing="ask", created_at=clock.now - timedelta(days=1)
        )

        answer = signed_in(approver).get("/approvals/")

        assert re.search(r"Training.* of \$10,000.00 left; after this job \$[\d,.]+ would be left", text_of(answer))
        assert 'class="budget-bar"' in answer.content.decode()

    def test_is_sent_again_only_when_something_changed(
        self, asked: Job, make_job: MakeJob, approver: User, signed_in: SignIn
    ) -> None:
        client = signed_in(approver)
        shown = re.search(
            r"X-Shown-Version&quot;|X-Shown-Version\": \"(\w+)", client.get("/approvals/").content.decode()
        )
        assert shown is not None
        headers = {"HX-Request": "true", "X-Shown-Version": shown[1]}

        assert client.get("/approvals/", headers=headers).status_code == 204
        make_job("awaiting_approval", name="second")
        assert "second" in text_of(client.get("/approvals/", headers=headers))

    def test_tells_the_requester_s_record_and_what_is_different_from_their_last_approved_job(
        self, make_job: MakeJob, approver: User, signed_in: SignIn, clock: Clock
    ) -> None:
        first = make_job("awaiting_approval", name="first")
        signed_in(approver).post(f"/jobs/{first.pk}/decide/", {"decision": "approve"})
        first.refresh_from_db()
        for state in ("submitting", "running", "succeeded"):
            transitions.transition(first, state, now=clock.forward(minutes=5), message=state)
        count_ended()
        make_job("awaiting_approval", name="second", replicas=1, hours=200)

        text = text_of(signed_in(approver).get("/approvals/"))

        assert "Jobs of owner 1 ended in vision: 1 succeeded, 0 failed. The cost of one is known: " in text
        assert re.search(r"The cost of one is known: \d+ % of its estimate\.", text)
        assert "compared with the requester's last approved job of this kind" in text

    def test_a_copy_of_a_rejected_job_shows_the_reason_and_what_changed_since(
        self, make_job: MakeJob, approver: User, owner: User, stranger: User, signed_in: SignIn
    ) -> None:
        first = make_job("awaiting_approval", name="first")
        signed_in(approver).post(f"/jobs/{first.pk}/decide/", {"decision": "reject", "comment": "too dear"})
        approved = make_job("awaiting_approval", name="approved")
        signed_in(approver).post(f"/jobs/{approved.pk}/decide/", {"decision": "approve"})
        transitions.transition(approved, "submitting", now=approved.requested_at, message="-")
        again = make_job("awaiting_approval", name="again", hours=1)
        Job.objects.filter(pk=again.pk).update(cloned_from=first)

        text = text_of(signed_in(approver).get("/approvals/"))

        assert "compared with the rejected job that it was cloned from" in text
        assert re.search("Rejected by approver .*?: “too dear”", text)
        assert "Fields that differ between first and again" in text
        assert "too dear" not in text_of(signed_in(stranger).get("/approvals/"))

    def test_a_job_that_never_ran_does_not_count_as_costing_less_than_its_estimate(
        self, make_job: MakeJob, approver: User, signed_in: SignIn, clock: Clock
    ) -> None:
        for number in range(3):
            rejected = make_job("awaiting_approval", name=f"rejected-{number}")
            signed_in(approver).post(f"/jobs/{rejected.pk}/decide/", {"decision": "reject", "comment": "no"})
        ran = make_job("running", name="ran")
        transitions.transition(ran, "succeeded", now=clock.forward(minutes=5), message="-")
        count_ended()
        make_job("awaiting_approval", name="next")

        text = text_of(signed_in(approver).get("/approvals/"))

        assert "4 ended in vision: 1 succeeded, 0 failed. The cost of one is known: " in text

    def test_several_are_approved_together(
        self, asked: Job, make_job: MakeJob, approver: User, signed_in: SignIn
    ) -> None:
        second = make_job("awaiting_approval", name="second")
        client = signed_in(approver)
        assert "Approve the selected" in text_of(client.get("/approvals/"))
        query = {"action": "approve", "job": [str(asked.pk), str(second.pk)]}
        page = client.get("/jobs/several/", query).content.decode()

        client.post(
            "/jobs/several/", query | dict(re.findall(r'name="((?:amount|digest)-[^"]+)" value="([^"]*)"', page))
        )

        assert set(Job.objects.values_list("state", flat=True)) == {"approved"}

    def test_an_admin_may_decide(self, asked: Job, admin: User, signed_in: SignIn) -> None:
        assert b'value="approve"' in signed_in(admin).get("/approvals/").content


class TestDecision:
    def test_an_approval_sends_the_job_on(self, asked: Job, approver: User, signed_in: SignIn) -> None:
        page = signed_in(approver).post(
            f"/jobs/{asked.pk}/decide/", {"decision": "approve", "comment": "worth it"}, follow=True
        )

        asked.refresh_from_db()
        assert asked.state == "approved"
        assert asked.due_at is not None
        assert asked.approval.comment == "worth it"
        assert asked.approval.decided_by == approver
        assert "Approved costly." in text_of(page)

    def test_a_rejection_ends_the_job(self, asked: Job, approver: User, owner: User, signed_in: SignIn) -> None:
        signed_in(approver).post(f"/jobs/{asked.pk}/decide/", {"decision": "reject", "comment": "too dear"})

        asked.refresh_from_db()
        assert asked.state == "rejected"
        assert "by approver: too dear" in text_of(signed_in(owner).get("/"))

    def test_the_button_of_the_board_has_the_amount_and_the_job(
        self, asked: Job, approver: User, stranger: User, signed_in: SignIn
    ) -> None:
        page = signed_in(approver).get("/").content.decode()

        button = re.sub(r"\s+", " ", page[page.index('form="decide"') :].partition("</button>")[0])
        assert asked.max_usd is not None
        amount = rough_money(asked.max_usd)
        assert f"Approve {amount} <span" in button
        assert ">costly</span>" in button
        assert f'aria-label="Approve {amount}: costly"' in button
        assert f"Approve {amount}" not in signed_in(stranger).get("/").content.decode()

    def test_a_tap_on_the_board_asks_above_the_limit(
        self, asked: Job, approver: User, stranger: User, signed_in: SignIn, settings: Any
    ) -> None:
        settings.CONFIRM_ABOVE_USD = Decimal(1)
        address, tap = f"/jobs/{asked.pk}/decide/", {"decision": "approve", "back": "board"}
        client = signed_in(approver)

        page = client.post(address, tap)

        asked.refresh_from_db()
        assert (page.status_code, asked.state) == (200, "awaiting_approval")
        assert asked.approval.asked_usd is not None
        assert f"It may cost up to ${asked.approval.asked_usd:,.2f}." in text_of(page)
        assert "owner requested 1 × a2-highgpu-1g" in text_of(page)
        hidden = dict(re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', page.content.decode()))
        client.post(address, {**hidden, "decision": "approve"})
        asked.refresh_from_db()
        assert asked.state == "approved"
        assert signed_in(stranger).post(address, tap).status_code == 404

    def test_a_tap_on_the_board_asks_about_an_unknown_amount(
        self, asked: Job, approver: User, signed_in: SignIn
    ) -> None:
        Job.objects.filter(pk=asked.pk).update(max_usd=None)
        client = signed_in(approver)

        assert "Approve, cost unknown" in text_of(client.get("/"))
        page = client.post(f"/jobs/{asked.pk}/decide/", {"decision": "approve", "back": "board"})

        asked.refresh_from_db()
        assert asked.state == "awaiting_approval"
        assert "Its cost is unknown." in text_of(page)

    def test_goes_back_to_the_job_when_it_was_made_there(self, asked: Job, approver: User, signed_in: SignIn) -> None:
        answer = signed_in(approver).post(f"/jobs/{asked.pk}/decide/", {"decision": "approve", "back": "job"})

        assert answer["Location"] == f"/jobs/{asked.pk}/"

    def test_is_made_once(self, asked: Job, approver: User, signed_in: SignIn) -> None:
        client = signed_in(approver)
        client.post(f"/jobs/{asked.pk}/decide/", {"decision": "reject", "comment": "no"})

        page = client.post(f"/jobs/{asked.pk}/decide/", {"decision": "approve"}, follow=True)

        asked.refresh_from_db()
        assert asked.state == "rejected"
        assert "was already decided or withdrawn" in text_of(page)

    def test_is_refused_for_ones_own_job(self, make_job: MakeJob, approver: User, signed_in: SignIn) -> None:
        job = make_job("awaiting_approval", by=approver)

        page = signed_in(approver).post(f"/jobs/{job.pk}/decide/", {"decision": "approve"}, follow=True)

        job.refresh_from_db()
        assert job.state == "awaiting_approval"
        assert "another approver of the team has to decide" in text_of(page)

    def test_is_refused_for_engineers(self, asked: Job, teammate: User, signed_in: SignIn) -> None:
        answer = signed_in(teammate).post(f"/jobs/{asked.pk}/decide/", {"decision": "approve"}, follow=True)

        asked.refresh_from_db()
        assert "Only approvers and leads of vision decide" in text_of(answer)
        assert asked.state == "awaiting_approval"

    def test_to_reject_needs_a_reason_and_nothing_typed_is_lost(
        self, asked: Job, approver: User, signed_in: SignIn
    ) -> None:
        page = signed_in(approver).post(
            f"/jobs/{asked.pk}/decide/", {"decision": "reject", "comment": " ", "cap": "12"}
        )

        assert page.status_code == 422
        assert "A rejection needs a reason" in text_of(page)
        assert (
            'name="cap" inputmode="decimal" maxlength="20" size="9" autocomplete="off" value="12"'
            in page.content.decode()
        )
        assert Job.objects.get(pk=asked.pk).state == "awaiting_approval"

    @pytest.mark.parametrize("cap", ["much", "-1", "0", "NaN", "1e20", "1.005"])
    def test_a_cap_is_an_amount(self, asked: Job, approver: User, signed_in: SignIn, cap: str) -> None:
        page = signed_in(approver).post(f"/jobs/{asked.pk}/decide/", {"decision": "approve", "cap": cap})

        assert page.status_code == 422
        assert Job.objects.get(pk=asked.pk).state == "awaiting_approval"

    def test_up_to_a_cap_is_kept_as_what_was_approved(self, asked: Job, approver: User, signed_in: SignIn) -> None:
        signed_in(approver).post(f"/jobs/{asked.pk}/decide/", {"decision": "approve", "cap": "$20.50"})

        asked.refresh_from_db()
        assert (asked.state, str(asked.approved_usd), str(asked.approval.cap_usd)) == ("approved", "20.50", "20.50")

    def test_of_another_question_than_the_one_seen_counts_for_nothing(
        self, asked: Job, approver: User, signed_in: SignIn
    ) -> None:
        page = signed_in(approver).post(f"/jobs/{asked.pk}/decide/", {"decision": "approve", "digest": "0" * 64})

        assert "has changed since you opened it" in text_of(page)
        assert Job.objects.get(pk=asked.pk).state == "awaiting_approval"

    @pytest.mark.parametrize("decision", ["", "maybe"])
    def test_must_be_one_of_two(self, asked: Job, approver: User, signed_in: SignIn, decision: str) -> None:
        answer = signed_in(approver).post(f"/jobs/{asked.pk}/decide/", {"decision": decision})

        asked.refresh_from_db()
        assert answer.status_code == 400
        assert asked.state == "awaiting_approval"

    def test_takes_any_comment(self, asked: Job, approver: User, signed_in: SignIn) -> None:
        comment = "\x00<script>" + "ü" * 5_000

        signed_in(approver).post(f"/jobs/{asked.pk}/decide/", {"decision": "approve", "comment": comment})

        asked.approval.refresh_from_db()
        assert asked.approval.comment.startswith("<script>ü")
        assert len(asked.approval.comment) == 2_000

    def test_ends_with_the_role(self, asked: Job, approver: User, signed_in: SignIn) -> None:
        Membership.objects.filter(user=approver).delete()

        assert signed_in(approver).post(f"/jobs/{asked.pk}/decide/", {"decision": "approve"}).status_code == 404
