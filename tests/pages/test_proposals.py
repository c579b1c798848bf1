"""Tests of the pages of ceilings and of changes for two people: who sees, proposes, accepts and declines what."""

import re
from decimal import Decimal

import pytest
from django.contrib.auth.models import User
from django.test import Client

from jobs import budgets
from jobs.budget import Passing
from jobs.budgets import BudgetValues
from jobs.models import Budget, Ceiling, Membership, PolicyVersion, Proposal, Role, Team
from jobs.people import invitations
from tests.conftest import PASSWORD, person
from tests.pages.conftest import MakeJob, SignIn, text_of
from tests.support.clock import Clock

LOOSER = {
    "rule-TOTAL_FORMS": "1", "rule-INITIAL_FORMS": "0", "rule-0-outcome": "ask", "rule-0-cost_over": "5000",
    "rule-0-cost_basis": "most", "rule-0-approvals": "1", "rule-0-role": "approver", "rule-0-ORDER": "1",
    "rule-0-further-TOTAL_FORMS": "0", "rule-0-further-INITIAL_FORMS": "0", "drift_percent": "0",
    "remind_hours": "24", "expire_hours": "168", "cancel_at_cap": "on", "note": "a big run", "base": "0",
    "action": "save",
}  # fmt: skip


@pytest.fixture
def lead(team: Team) -> User:
    return person("lead", team, Role.LEAD)


class TestPolicy:
    def test_a_looser_one_is_shown_with_its_difference_and_past_jobs_and_accepted(
        self, signed_in: SignIn, make_job: MakeJob, team: Team, lead: User, other_lead: User
    ) -> None:
        asked = make_job("awaiting_approval")
        answer = signed_in(lead).post("/policy/", LOOSER | {"team": str(team.pk)})
        row = Proposal.objects.get()
        assert answer["Location"] == f"/proposals/{row.pk}/"
        own = text_of(signed_in(lead).get(f"/proposals/{row.pk}/"))
        assert "It does not apply until a second person accepts it." in own
        assert "Accept" not in own

        browser = signed_in(other_lead)
        shown = text_of(browser.get(f"/proposals/{row.pk}/"))
        assert "$5,000.00" in shown
        assert "a big run" in shown
        assert asked.display_name in shown
        assert "was asked about → would be allowed" in shown
        assert not PolicyVersion.objects.exists()
        browser.post(f"/proposals/{row.pk}/", {"do": "accept", "comment": "agreed"})

        assert PolicyVersion.objects.get().saved_by == lead
        assert "accepted by lena" in text_of(browser.get("/proposals/"))

    def test_members_see_it_and_strangers_do_not(
        self, signed_in: SignIn, team: Team, lead: User, owner: User, stranger: User
    ) -> None:
        signed_in(lead).post("/policy/", LOOSER | {"team": str(team.pk)})
        address = f"/proposals/{Proposal.objects.get().pk}/"

        assert signed_in(stranger).get(address).status_code == 404
        assert "Policy of vision" not in text_of(signed_in(stranger).get("/proposals/"))
        for method in ("accept", "decline", "withdraw"):
            assert signed_in(stranger).post(address, {"do": method}).status_code == 404
            assert signed_in(owner).post(address, {"do": method}).status_code == 403
        assert "Policy of vision" in text_of(signed_in(owner).get("/proposals/"))
        assert signed_in(lead).post(address, {"do": "accept"}).status_code == 403
        assert Proposal.objects.get().decision == ""

    def test_accepting_one_asks_for_the_password_of_an_old_session(
        self, signed_in: SignIn, team: Team, lead: User, other_lead: User
    ) -> None:
        signed_in(lead).post("/policy/", LOOSER | {"team": str(team.pk)})
        address, browser = f"/proposals/{Proposal.objects.get().pk}/", signed_in(other_lead)
        session = browser.session
        session["confirmed_at"] = 0
        session.save()

        assert "password" in text_of(browser.post(address, {"do": "accept"}))
        assert Proposal.objects.get().decision == ""
        browser.post(address, {"do": "accept", "confirm_password": PASSWORD})
        assert Proposal.objects.get().decision == "accepted"


class TestOthers:
    def test_a_higher_budget_waits_and_can_be_withdrawn(
        self, signed_in: SignIn, team: Team, lead: User, clock: Clock
    ) -> None:
        values = BudgetValues("vision", Decimal(100), Passing.ASK)
        row = budgets.create_budget(team, values, by=lead, reason="agreed", now=clock.now)
        form = {
            "version": "1",
            "name": "vision",
            "amount": "500",
            "passing": "ask",
            "thresholds": "50",
            "reason": "more",
        }
        browser = signed_in(lead)

        answer = browser.post(f"/budgets/{row.pk}/", form, follow=True)

        assert "100.00 → 500" in text_of(answer)
        assert Budget.objects.get().amount_usd == 100
        browser.post(f"/proposals/{Proposal.objects.get().pk}/", {"do": "withdraw"})
        assert Proposal.objects.get().decision == "withdrawn"
        answer = browser.post(f"/budgets/{row.pk}/close/", {"version": "1", "reason": "over"}, follow=True)
        assert "closed" in text_of(answer)
        assert Budget.objects.get().closed_at is None

    def test_a_new_approver_waits(self, signed_in: SignIn, team: Team, lead: User, owner: User, stranger: User) -> None:
        browser, address = signed_in(lead), f"/teams/{team.pk}/members/"
        member = Membership.objects.get(user=owner)

        browser.post(address, {"do": "role", "member": member.pk, "role": "approver"})
        answer = browser.post(address, {"do": "add", "name": "stranger", "role": "lead"}, follow=True)

        assert "stranger becomes lead when a second person accepts it." in text_of(answer)
        roles = Membership.objects.filter(team=team, user__in=[owner, stranger]).values_list("role", flat=True)
        assert set(roles) == {"engineer"}
        assert Proposal.objects.filter(kind="role", decision="").count() == 2

    def test_whoever_is_invited_as_a_lead_joins_as_an_engineer(
        self, signed_in: SignIn, team: Team, lead: User, stranger: User, clock: Clock
    ) -> None:
        _, secret = invitations.invite(team, "ada@example.com", "lead", by=lead, now=clock.now)

        answer = signed_in(stranger).post(f"/invitations/{secret}/", follow=True)

        assert "Until a second person has accepted your role, you are an engineer." in text_of(answer)
        assert Membership.objects.get(team=team, user=stranger).role == "engineer"


class TestInvitedAccounts:
    def test_are_confirmed_by_somebody_else_on_the_page_of_the_team(
        self, signed_in: SignIn, team: Team, lead: User, other_lead: User, stranger: User, clock: Clock
    ) -> None:
        _, secret = invitations.invite(team, "ada@example.com", "approver", by=lead, now=clock.now)
        invitations.accept(secret, by=stranger, now=clock.now)
        Membership.objects.filter(team=team, user=stranger).update(role="approver")
        member, address = Membership.objects.get(team=team, user=stranger), f"/teams/{team.pk}/members/"
        form = {"do": "confirm", "member": str(member.pk)}
        assert "Nobody else has confirmed the account" in text_of(signed_in(lead).get(f"/teams/{team.pk}/"))
        assert "Confirm the account" not in text_of(signed_in(lead).get(f"/teams/{team.pk}/"))
        for person_ in (lead, stranger):
            assert signed_in(person_).post(address, form).status_code == 403

        answer = signed_in(other_lead).post(address, form, follow=True)

        assert "The account of stranger is confirmed." in text_of(answer)
        assert "Nobody else has confirmed" not in text_of(answer)
        assert signed_in(other_lead).post(address, form | {"member": "999"}).status_code == 404


class TestCeilings:
    def form(self, **changes: str) -> dict[str, str]:
        return {"whose": "", "kind": "gpus", "amount": "8", "reason": "agreed"} | changes

    def test_a_site_admin_sets_one_and_members_see_its_use(
        self, signed_in: SignIn, make_job: MakeJob, team: Team, admin: User, owner: User, stranger: User
    ) -> None:
        make_job("running")
        browser = signed_in(admin)
        for changes in ({}, {"whose": str(team.pk), "kind": "hour", "amount": "50"}, {"kind": "job", "amount": "9000"}):
            assert browser.post("/ceilings/", self.form(**changes)).status_code == 302

        shown = text_of(signed_in(owner).get("/ceilings/"))
        assert "GPUs at once" in shown
        assert "8 1" in " ".join(shown.split())
        assert "Set a ceiling" not in shown
        assert "$50.00" in shown
        assert "$50.00" not in text_of(signed_in(stranger).get("/ceilings/")), "another team's"

    def test_the_board_shows_the_use_of_each(
        self, signed_in: SignIn, team: Team, admin: User, owner: User, stranger: User, make_job: MakeJob, clock: Clock
    ) -> None:
        for kind, amount in (("gpus", 4), ("hour", 100), ("job", 1000)):
            budgets.set_ceiling(team, kind, Decimal(amount), by=admin, reason="agreed", now=clock.now)
        make_job("running")

        page = text_of(signed_in(owner).get("/"))

        assert re.search(r"GPUs at once \( vision \):? 1 of 4", page), page[:2000]
        assert re.search(r"US dollars per hour at once \( vision \):? \$", page)
        assert "1,000" not in page, "nothing is used of a ceiling for one job"
        assert "GPUs at once" not in text_of(signed_in(stranger).get("/"))

    def test_nobody_else_sets_one(self, signed_in: SignIn, team: Team, lead: User) -> None:
        assert signed_in(lead).post("/ceilings/", self.form(whose=str(team.pk))).status_code == 403
        assert not Ceiling.objects.exists()

    def test_another_admin_accepts_a_higher_one(self, signed_in: SignIn, admin: User, second_admin: User) -> None:
        browser: Client = signed_in(admin)
        browser.post("/ceilings/", self.form())
        answer = browser.post("/ceilings/", self.form(amount="16"), follow=True)
        assert "8 → 16" in " ".join(text_of(answer).split())
        assert Ceiling.objects.get().amount == 8

        signed_in(second_admin).post(f"/proposals/{Proposal.objects.get().pk}/", {"do": "accept"})

        assert Ceiling.objects.get().amount == 16

    def test_what_cannot_be_set_is_said_beside_the_form(self, signed_in: SignIn, admin: User) -> None:
        for changes, words in (
            ({"amount": "1.5"}, "whole number"),
            ({"reason": ""}, "required"),
            ({"kind": "x"}, "valid"),
        ):
            answer = signed_in(admin).post("/ceilings/", self.form(**changes))
            assert answer.status_code == 422
            assert words in text_of(answer)
