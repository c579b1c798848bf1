"""Tests of several groups of approvers in the rule editor, the inbox, the badge and the API."""

import itertools
import random
from datetime import date
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client, RequestFactory

from dashboard.queries.approvals import approvals_for, decidable_jobs
from dashboard.queries.page_frame import Frame
from jobs import requests
from jobs.errors import NotPermitted
from jobs.models import Approval, Deputy, Invitation, Job, Membership, PolicyVersion, Proposal, Team
from jobs.policy_rules import Rule
from jobs.requests.deciders import Decider
from jobs.requests.policy_versions import Terms, save_policy
from tests.conftest import person
from tests.pages.conftest import MakeJob, SignIn, text_of
from tests.pages.test_policy import draft
from tests.support.api import caller
from tests.support.clock import Clock

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]
TWO = {
    "outcome": "ask",
    "cost_over": "1",
    "role": "lead",
    "further-TOTAL_FORMS": "1",
    "further-INITIAL_FORMS": "0",
    "further-0-approvals": "1",
    "further-0-role": "approver",
    "further-0-approvers": "sam, zoe",
}


@pytest.fixture
def lena(team: Team) -> User:
    return person("lena", team, "lead")


@pytest.fixture
def sam(team: Team) -> User:
    person("zoe", team, "approver")
    return person("sam", team, "approver")


@pytest.fixture
def asked(team: Team, lena: User, sam: User, make_job: MakeJob, clock: Clock) -> Job:
    """A job that needs the approval of a lead, and of sam or zoe."""
    rule = Rule.model_validate(
        {"outcome": "ask", "cost_over": "1", "role": "lead", "further": [{"approvers": ["sam", "zoe"]}]}
    )
    save_policy(team, [rule], Terms(), base=0, by=lena, note="", now=clock.now)
    return make_job("awaiting_approval", name="costly", of=Team.objects.get(pk=team.pk))


class TestEditor:
    def test_draws_one_group_as_before_and_adds_another_without_javascript(self, lena: User, signed_in: SignIn) -> None:
        browser = signed_in(lena)
        page = browser.get("/policy/").content.decode()
        assert 'name="rule-0-approvers"' in page
        assert "rule-0-further-0" not in page

        rows = draft({"outcome": "ask", "words": "typed before"}, action="approvers-0")
        page = browser.post("/policy/", rows).content.decode()

        assert 'name="rule-0-further-0-approvers"' in page
        assert 'value="typed before"' in page

    def test_saves_groups_and_draws_them_again(self, lena: User, sam: User, team: Team, signed_in: SignIn) -> None:
        User.objects.filter(pk=lena.pk).update(is_superuser=True)  # the only site admin, who acts alone
        browser = signed_in(User.objects.get(pk=lena.pk))
        page = browser.post("/policy/", draft(TWO, action="save"), follow=True)

        assert "Ask 1 lead and 1 of sam, zoe if a job may cost over $1.00." in text_of(page)
        assert PolicyVersion.objects.get().rules[0]["further"] == [{"approvers": ["sam", "zoe"]}]
        assert 'value="sam, zoe"' in browser.get("/policy/").content.decode()

        removed = TWO | {"further-0-DELETE": "on"}
        browser.post("/policy/", draft(removed, action="save", base="1"))
        assert "further" not in PolicyVersion.objects.get(number=2).rules[0]

    def test_says_what_is_wrong_with_a_group(self, lena: User, sam: User, owner: User, signed_in: SignIn) -> None:
        browser = signed_in(lena)
        for change, words in (
            ({"further-0-approvals": "11"}, "less than or equal to 10"),
            ({"further-0-approvals": "3"}, "of sam and zoe, 3 must approve and only 2 can"),
            ({"further-0-approvers": "owner"}, "owner is not an approver or lead of vision"),
            ({"further-TOTAL_FORMS": "-1"}, "was sent incomplete"),
            ({"further-TOTAL_FORMS": "9"}, "Correct the further approvers"),
        ):
            page = browser.post("/policy/", draft(TWO | change, action="save"))
            assert page.status_code == 422
            assert words in text_of(page)
        assert not PolicyVersion.objects.exists()

    @pytest.mark.parametrize("number", ["", "-1", "x", "99", "0-further-0"])
    def test_a_forged_number_of_a_rule_does_no_harm(self, lena: User, signed_in: SignIn, number: str) -> None:
        answer = signed_in(lena).post("/policy/", draft({"outcome": "ask"}, action=f"approvers-{number}"))

        assert answer.status_code == 200
        assert not PolicyVersion.objects.exists()


class TestInbox:
    def test_shows_each_group_and_needs_those_who_are_missing(
        self, asked: Job, team: Team, lena: User, sam: User, approver: User, stranger: User, signed_in: SignIn
    ) -> None:
        other = person("omar", team, "lead")
        text = text_of(signed_in(sam).get("/approvals/"))
        assert "2 approvals needed, 0 given. Decided by leads, sam and zoe of vision, never by owner." in text
        assert "0 of 1: leads" in text
        assert "0 of 1: sam and zoe" in text

        signed_in(lena).post(f"/jobs/{asked.pk}/decide/", {"decision": "approve"})

        assert "1 needs you" in text_of(signed_in(sam).get("/approvals/"))
        assert "1 of 1: leads" in text_of(signed_in(sam).get("/approvals/"))
        assert "You approved it; 1 more of 2 needed." in text_of(signed_in(lena).get("/approvals/"))
        done = signed_in(other).get("/approvals/")
        assert "Nothing needs you · 1 waits for others" in text_of(done)
        assert "Your approval is not needed any more; you may still reject the job." in text_of(done)
        assert "Leads, sam and zoe of vision decides." in text_of(signed_in(approver).get("/approvals/"))
        assert "costly" not in text_of(signed_in(stranger).get("/approvals/"))
        marked = [each for each in (lena, sam, other, approver, stranger) if _is_marked(signed_in(each))]
        assert marked == [sam]

    def test_says_that_a_group_cannot_be_filled_any_more(
        self, asked: Job, sam: User, lena: User, stranger: User, signed_in: SignIn
    ) -> None:
        words = "of sam and zoe, 1 must approve and only 0 can"
        assert words not in text_of(signed_in(lena).get("/approvals/"))

        Membership.objects.filter(user__username__in=["sam", "zoe"]).update(role="engineer")

        assert words in text_of(signed_in(lena).get("/approvals/"))
        assert "sam" not in text_of(signed_in(stranger).get("/approvals/"))

    def test_counts_no_more_queries_than_for_one_group(
        self, asked: Job, make_job: MakeJob, lena: User, signed_in: SignIn, django_assert_max_num_queries: Any
    ) -> None:
        make_job("awaiting_approval", of=Team.objects.get())
        browser = signed_in(lena)
        with django_assert_max_num_queries(5):
            browser.get("/approvals/count/")


def _is_marked(browser: Client) -> bool:
    return "to decide" in text_of(browser.get("/approvals/count/"))


def test_the_api_tells_the_groups(asked: Job, owner: User, stranger: User) -> None:
    address = f"/jobs/{asked.pk}"

    assert caller(owner).get(address).json()["approval"]["groups"] == [
        {"approvals": 1, "role": "lead", "approvers": []},
        {"approvals": 1, "role": "approver", "approvers": ["sam", "zoe"]},
    ]
    assert caller(stranger).get(address).status_code == 404


def test_the_badge_counts_what_the_domain_says(
    team: Team, lena: User, sam: User, approver: User, teammate: User, admin: User, make_job: MakeJob, clock: Clock
) -> None:
    """The queries behind "needs you" agree with `Decider` for every person, whoever has voted or invited whom."""
    chance, numbers = random.Random(7), itertools.count()
    people = [lena, sam, approver, teammate, admin, person("omar", team, "lead")]
    day = {"first_day": date(2026, 1, 1), "last_day": date(2100, 1, 1), "named_at": clock.now}
    Deputy.objects.create(person=sam, deputy=teammate, **day)
    Deputy.objects.create(person=approver, deputy=lena, **day)
    groups: list[dict[str, Any]] = [
        {"role": "lead"}, {"approvals": 2}, {"approvers": ["sam", "zoe"]}, {"approvers": ["lena", "approver"]},
        {"role": "lead", "approvals": 2},
    ]  # fmt: skip
    seen: set[tuple[bool, bool]] = set()
    for base in range(20):
        first, *further = chance.sample(groups, chance.choice([1, 2, 3]))
        rule = Rule.model_validate({"outcome": "ask", "cost_over": "1", "further": further} | first)
        User.objects.update(is_active=True)
        save_policy(team, [rule], Terms(), base=base, by=lena, note="", now=clock.now)
        fresh = Team.objects.get(pk=team.pk)  # with its policy of now, as a request of a page loads it
        job = make_job("awaiting_approval", name=f"job-{next(numbers)}", by=chance.choice(people[:2]), of=fresh)
        job.author = chance.choice([None, *people[:-1]])
        job.save(update_fields=["author"])
        for by in chance.sample(people, 2):
            try:
                requests.approve(job, by=by, comment="", now=clock.now)
            except NotPermitted:
                continue
        omar = people[-1]
        ways = [[(lena, approver)], [(omar, sam)], [(admin, lena)], [(sam, teammate)], [(teammate, lena)]]
        invites = chance.choice([*ways, [(omar, lena), (omar, approver)], [(admin, sam), (admin, lena)]])
        User.objects.filter(pk=job.owner_id).update(is_active=chance.random() < 0.8)
        Invitation.objects.all().delete()
        for number, (invited_by, accepted_by) in enumerate(invites):
            Invitation.objects.create(
                team=team, email="x@example.com", role="approver", digest=f"{base}-{number}", invited_by=invited_by,
                accepted_by=accepted_by, invited_at=clock.now, accepted_at=clock.now, expires_at=clock.now,
            )  # fmt: skip
        Proposal.objects.filter(kind="account").delete()
        if base % 4 == 3:
            Proposal.objects.create(
                team=team, kind="account", subject=str(invites[0][1].pk), proposed_by=invites[0][0],
                proposed_at=clock.now, before={}, wanted={},
                decision="accepted", decided_by=chance.choice([admin, invites[0][0]]),
            )  # fmt: skip
        Membership.objects.filter(user=people[-1]).update(role=chance.choice(["lead", "engineer"]))
        for each in [User.objects.get(pk=each.pk) for each in people]:  # which keep their memberships for a request
            wanted = _needs(each, clock)
            assert set(approvals_for(each, clock.now.date()).values_list("job", flat=True)) == wanted, (base, each)
            assert decidable_jobs(each, clock.now.date()) == wanted, each
            request = RequestFactory().get("/")
            request.user = each
            assert Frame(request).to_decide == len(wanted), each
            seen.add((bool(further), bool(wanted)))
    assert len(seen) == 4


def _needs(user: User, clock: Clock) -> set[Any]:
    """Return the jobs that need a person, as the domain decides about each."""
    found = set()
    questions = list(Approval.objects.filter(job__state="awaiting_approval").select_related("job__team"))
    decider = Decider.load(user, [question.job for question in questions], now=clock.now)
    for question in questions:
        job = question.job
        try:
            decider.voter_for(job, question)
        except NotPermitted:
            continue
        has_voted = any(vote.voter_id == user.pk for vote in decider.votes_for(question))
        if not has_voted and decider.is_needed(job, question):
            found.add(job.pk)
    return found
