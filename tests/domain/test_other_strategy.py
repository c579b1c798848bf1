"""Tests of approving under another strategy: assessed again, bound to the changed job, accepted by its requester."""

from decimal import Decimal
from typing import Any

import pytest
from django.contrib.auth.models import User

from jobs import requests
from jobs.budget import Passing
from jobs.budgets import BudgetValues, create_budget
from jobs.errors import NotAllowed, NotPermitted
from jobs.models import Approval, Job, Membership, Message, Policy, Team, Vote
from jobs.policy_rules import Rule
from jobs.requests.policy_versions import Terms, current_version, save_policy
from jobs.upkeep.audit import audit
from tests.conftest import person
from tests.domain.conftest import RequestJob
from tests.support.clock import Clock
from tests.support.ledger import committed

pytestmark = pytest.mark.django_db


@pytest.fixture
def asked(request_job: RequestJob, team: Team) -> Job:
    """A job on Standard machines that waits for one approval."""
    job = request_job(hours=100, strategy="STANDARD")
    assert job.state == "awaiting_approval"
    return job


def save(team: Team, by: User, clock: Clock, *rules: Rule, **terms: Any) -> None:
    version = current_version(team)
    base = version.number if version is not None else 0
    save_policy(team, rules, Terms(**terms), base=base, by=by, note="", now=clock.now)


def fresh(job: Job) -> Job:
    return Job.objects.get(pk=job.pk)


class TestTheRequesterIsAsked:
    def test_and_the_job_goes_on_when_they_accept(self, asked: Job, approver: User, owner: User, clock: Clock) -> None:
        before, old = Approval.objects.get(), asked.estimate_usd
        assert requests.approve_as(asked, "spot", by=approver, comment="cheaper", now=clock.forward(minutes=1))

        job, question, vote = fresh(asked), Approval.objects.get(), Vote.objects.get()
        assert (job.state, job.strategy) == ("awaiting_approval", "spot")
        assert job.spec["jobSpec"]["scheduling"]["strategy"] == "SPOT"
        assert job.estimate_usd is not None
        assert old is not None
        assert job.estimate_usd < old
        assert question.digest != before.digest
        assert (vote.digest, vote.asked_at) == (question.digest, question.asked_at)
        assert Message.objects.filter(kind="change_proposed").count() == 1

        assert requests.accept_change(job, by=owner, now=clock.forward(minutes=1), digest=question.digest)

        job = fresh(asked)
        assert (job.state, job.approved_usd) == ("approved", job.max_usd)
        assert Approval.objects.get().decided_by == approver
        assert committed(job.team) == job.max_usd
        words = [event.message for event in job.events.filter(kind__in=["changed", "change_answered"]).order_by("id")]
        assert words[0].startswith("approver changed the strategy from Standard (about $")
        assert words[1] == "owner accepted the strategy Spot."
        assert list(audit(clock.now)) == []

    def test_and_may_keep_the_request_as_it_was(self, asked: Job, approver: User, owner: User, clock: Clock) -> None:
        spec, digest = asked.spec, asked.spec_digest
        requests.approve_as(asked, "spot", by=approver, comment="", now=clock.forward(minutes=1))

        assert requests.keep_request(fresh(asked), by=owner, now=clock.forward(minutes=1))

        job = fresh(asked)
        assert (job.state, job.strategy, job.spec, job.spec_digest) == ("awaiting_approval", "standard", spec, digest)
        assert requests.approve(job, by=approver, comment="", now=clock.now), "the vote for Spot counts no more"
        assert fresh(asked).state == "approved"
        assert list(audit(clock.now)) == []

    def test_and_nobody_else(self, asked: Job, approver: User, teammate: User, lead: User, clock: Clock) -> None:
        requests.approve_as(asked, "spot", by=approver, comment="", now=clock.now)

        for by in (approver, teammate, lead):
            with pytest.raises(NotPermitted):
                requests.accept_change(fresh(asked), by=by, now=clock.now)
            with pytest.raises(NotPermitted):
                requests.keep_request(fresh(asked), by=by, now=clock.now)
        assert fresh(asked).state == "awaiting_approval"

    def test_not_any_more_when_their_role_requests_no_jobs(
        self, asked: Job, approver: User, owner: User, clock: Clock
    ) -> None:
        requests.approve_as(asked, "spot", by=approver, comment="", now=clock.now)
        Membership.objects.filter(user=owner).update(role="viewer")

        with pytest.raises(NotPermitted):
            requests.accept_change(fresh(asked), by=owner, now=clock.now)

    def test_about_nothing_where_nothing_was_changed(self, asked: Job, owner: User, clock: Clock) -> None:
        assert not requests.accept_change(asked, by=owner, now=clock.now)
        assert not requests.keep_request(asked, by=owner, now=clock.now)
        assert fresh(asked).state == "awaiting_approval"

    def test_about_what_they_have_seen(self, asked: Job, approver: User, lead: User, owner: User, clock: Clock) -> None:
        requests.approve_as(asked, "spot", by=approver, comment="", now=clock.now)
        seen = Approval.objects.get().digest
        requests.approve_as(fresh(asked), "flex_start", by=lead, comment="", now=clock.forward(minutes=1))

        with pytest.raises(requests.Changed):
            requests.accept_change(fresh(asked), by=owner, now=clock.now, digest=seen)

    def test_after_a_rejection_no_more(self, asked: Job, approver: User, lead: User, owner: User, clock: Clock) -> None:
        requests.approve_as(asked, "spot", by=approver, comment="", now=clock.now)
        requests.reject(fresh(asked), by=lead, comment="not at all", now=clock.now)

        assert not requests.accept_change(fresh(asked), by=owner, now=clock.now)
        assert fresh(asked).state == "rejected"


class TestWhereApproversMayChoose:
    def test_the_job_goes_on_at_once(
        self, request_job: RequestJob, team: Team, lead: User, approver: User, clock: Clock
    ) -> None:
        save(team, lead, clock, Rule(outcome="ask", cost_over="25"), approvers_choose_strategy=True)
        job = request_job(hours=100, strategy="STANDARD")

        assert requests.approve_as(job, "spot", by=approver, comment="", now=clock.now)

        assert (fresh(job).state, fresh(job).strategy) == ("approved", "spot")
        assert not Message.objects.filter(kind="change_proposed").exists()
        assert list(audit(clock.now)) == []

    def test_all_who_are_needed_vote_for_the_changed_job(
        self, request_job: RequestJob, team: Team, lead: User, approver: User, clock: Clock
    ) -> None:
        rule = Rule(outcome="ask", cost_over="25", approvals=2)
        save(team, lead, clock, rule, approvers_choose_strategy=True)
        job, third = request_job(hours=100, strategy="STANDARD"), person("third", team, "approver")
        requests.approve(job, by=third, comment="as it is", now=clock.now)

        requests.approve_as(fresh(job), "spot", by=approver, comment="", now=clock.now)
        assert fresh(job).state == "awaiting_approval", "the first vote was for another job"

        requests.approve(fresh(job), by=lead, comment="", now=clock.now)
        assert fresh(job).state == "approved"
        assert list(audit(clock.now)) == []


class TestItIsJudged:
    def test_by_the_same_policy(
        self, request_job: RequestJob, team: Team, lead: User, approver: User, clock: Clock
    ) -> None:
        no_spot = Rule(outcome="refuse", strategies=["spot"], words="Not on Spot.")
        leads = Rule(outcome="ask", strategies=["flex_start"], role="lead")
        save(team, lead, clock, no_spot, leads, Rule(outcome="ask", cost_over="25"))
        job = request_job(hours=100, strategy="STANDARD")

        with pytest.raises(NotAllowed, match=r"Not on Spot"):
            requests.approve_as(job, "spot", by=approver, comment="", now=clock.now)
        with pytest.raises(NotPermitted, match="Only leads"):
            requests.approve_as(fresh(job), "flex_start", by=approver, comment="", now=clock.now)

        assert (fresh(job).strategy, fresh(job).spec_digest) == ("standard", job.spec_digest)
        assert Vote.objects.count() == 0
        assert not job.events.filter(kind="changed").exists()

    @pytest.mark.parametrize(
        ("strategy", "error"), [("", ValueError), ("overnight", ValueError), ("standard", requests.Changed)]
    )
    def test_only_under_another_one_that_exists(
        self, asked: Job, approver: User, clock: Clock, strategy: str, error: type[Exception]
    ) -> None:
        with pytest.raises(error):
            requests.approve_as(asked, strategy, by=approver, comment="", now=clock.now)

    def test_and_refused_where_it_names_no_resource(self, asked: Job, approver: User, clock: Clock) -> None:
        with pytest.raises(ValueError, match="needs a value"):
            requests.approve_as(asked, "persistent", by=approver, comment="", now=clock.now)

    def test_for_the_amount_that_the_approver_has_seen(self, asked: Job, approver: User, clock: Clock) -> None:
        with pytest.raises(requests.Changed):
            requests.approve_as(asked, "spot", by=approver, comment="", now=clock.now, expected_usd=Decimal("0.01"))
        assert fresh(asked).strategy == "standard"

    def test_and_held_against_budgets(
        self, asked: Job, team: Team, lead: User, approver: User, owner: User, clock: Clock
    ) -> None:
        create_budget(
            team, BudgetValues("tight", Decimal(1), Passing.STOP, (100,)), dimension="", value="",
            by=lead, reason="test", now=clock.now,
        )  # fmt: skip

        with pytest.raises(NotAllowed):
            requests.approve_as(asked, "spot", by=approver, comment="", now=clock.now)
        assert fresh(asked).strategy == "standard"


def test_nobody_approves_an_own_job_or_without_the_role_under_any_strategy(
    asked: Job, owner: User, teammate: User, stranger: User, clock: Clock
) -> None:
    Policy.objects.filter(team=asked.team).update(ask_over_usd=25)
    Membership.objects.filter(user=owner).update(role="lead")

    for by in (owner, teammate, stranger):
        with pytest.raises(NotPermitted):
            requests.approve_as(asked, "spot", by=by, comment="", now=clock.now)
    assert fresh(asked).strategy == "standard"
