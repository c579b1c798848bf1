"""Tests of votes: how many policy requires, who may vote, and that none is changed or counted twice."""

from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.contrib.auth.models import User

from jobs import requests, steps
from jobs.errors import NotAllowed, NotPermitted
from jobs.models import Approval, Deputy, Job, Membership, Policy, PolicyVersion, Team, Vote
from jobs.policy_rules import Rule
from jobs.requests.policy_versions import SavedMeanwhile, Terms, save_policy
from jobs.upkeep.audit import audit
from tests.conftest import person
from tests.domain.conftest import Cloud, RequestJob
from tests.support.clock import Clock

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]


def save(team: Team, by: User, clock: Clock, *rules: Rule, base: int = 0, **terms: Any) -> PolicyVersion:
    return save_policy(team, rules, Terms(**terms), base=base, by=by, note="because", now=clock.now)


@pytest.fixture
def asked(request_job: RequestJob, team: Team, lead: User, approver: User, clock: Clock) -> Job:
    """A job that needs the approval of two approvers."""
    save(team, lead, clock, Rule(outcome="ask", cost_over="1", approvals=2))
    return request_job(hours=10)


class TestVersions:
    def test_are_what_counts_from_then_on(self, request_job: RequestJob, team: Team, lead: User, clock: Clock) -> None:
        save(team, lead, clock, Rule(outcome="refuse", strategies=["spot"], words="Not on Spot."))

        with pytest.raises(NotAllowed, match="Not on Spot"):
            request_job()
        assert request_job(strategy="STANDARD", hours=100).state == "approved"

    def test_never_change(self, team: Team, lead: User, clock: Clock) -> None:
        version = save(team, lead, clock)

        for attempt in (version.save, version.delete, PolicyVersion.objects.all().delete,
                        lambda: PolicyVersion.objects.update(number=9)):  # fmt: skip
            with pytest.raises(TypeError):
                attempt()

    def test_of_two_leads_who_save_at_once_the_second_is_told(self, team: Team, lead: User, clock: Clock) -> None:
        other = person("other-lead", team, "lead")
        save(team, lead, clock, Rule(outcome="allow"))

        with pytest.raises(SavedMeanwhile, match="lead has saved another version"):
            save(team, other, clock, Rule(outcome="refuse"))

        assert Policy.objects.get(team=team).current.number == 1
        assert save(team, other, clock, Rule(outcome="refuse"), base=1).number == 2

    @pytest.mark.parametrize("who", ["owner", "approver", "stranger"])
    def test_are_saved_by_leads_only(self, team: Team, who: str, request: pytest.FixtureRequest, clock: Clock) -> None:
        with pytest.raises(NotPermitted):
            save(team, request.getfixturevalue(who), clock, Rule(outcome="allow"))

    def test_name_only_approvers_of_the_team(self, team: Team, lead: User, owner: User, clock: Clock) -> None:
        for rule in (Rule(outcome="ask", approvers=["owner"]), Rule(outcome="ask", approvers=["lead"], approvals=2)):
            with pytest.raises(ValueError, match="Rule 1"):
                save(team, lead, clock, rule)

    def test_a_judgement_stores_version_and_figures(self, asked: Job) -> None:
        detail = asked.events.get(kind="judged").detail["policy"]

        assert (detail["version"], detail["rule"], detail["needs"]["approvals"]) == (1, 1, 2)
        assert Decimal(detail["figures"]["most_usd"]) > 1
        assert Approval.objects.get().policy == detail


class TestQuorum:
    def test_the_job_goes_on_with_the_last_vote(self, asked: Job, approver: User, second: User, clock: Clock) -> None:
        assert requests.approve(asked, by=approver, comment="fine", now=clock.now)
        assert asked.state == "awaiting_approval"
        assert asked.events.get(kind="voted").message == "approver approved it: fine; 1 more of 2 needed."

        assert requests.approve(asked, by=second, comment="", now=clock.now)

        assert Job.objects.get().state == "approved"
        assert list(audit(clock.now)) == []

    def test_nobody_votes_twice(self, asked: Job, approver: User, clock: Clock) -> None:
        assert requests.approve(asked, by=approver, comment="", now=clock.now)
        assert not requests.approve(asked, by=approver, comment="", now=clock.now)

        assert Vote.objects.count() == 1
        assert Job.objects.get().state == "awaiting_approval"

    def test_one_rejection_ends_it(self, asked: Job, approver: User, second: User, clock: Clock) -> None:
        requests.approve(asked, by=approver, comment="", now=clock.now)

        assert requests.reject(asked, by=second, comment="too much", now=clock.now)

        assert Job.objects.get().state == "rejected"

    def test_the_vote_of_a_member_who_left_does_not_count(
        self, asked: Job, approver: User, second: User, lead: User, clock: Clock
    ) -> None:
        requests.approve(asked, by=approver, comment="", now=clock.now)
        Membership.objects.filter(user=approver).delete()

        requests.approve(asked, by=second, comment="", now=clock.now)
        assert Job.objects.get().state == "awaiting_approval"

        requests.approve(Job.objects.get(), by=lead, comment="", now=clock.now)
        assert Job.objects.get().state == "approved"

    def test_a_deactivated_account_does_not_vote(self, asked: Job, approver: User, clock: Clock) -> None:
        User.objects.filter(pk=approver.pk).update(is_active=False)

        with pytest.raises(NotPermitted):
            requests.approve(asked, by=approver, comment="", now=clock.now)

    def test_votes_never_change(self, asked: Job, approver: User, clock: Clock) -> None:
        requests.approve(asked, by=approver, comment="", now=clock.now)
        vote = Vote.objects.get()

        for attempt in (vote.save, vote.delete, Vote.objects.all().delete, lambda: Vote.objects.update(comment="")):
            with pytest.raises(TypeError):
                attempt()

    def test_a_job_with_fewer_votes_than_asked_is_not_sent(
        self, asked: Job, approver: User, second: User, cloud: Cloud
    ) -> None:
        requests.approve(asked, by=approver, comment="", now=cloud.now)
        Approval.objects.update(votes_needed=1)  # as if a program of before had counted one answer as enough
        lead_vote = requests.approve(asked, by=second, comment="", now=cloud.now)
        assert lead_vote
        Approval.objects.update(votes_needed=3)

        steps.advance(asked.pk, clock=cloud.clock)

        assert Job.objects.get().state == "awaiting_approval"
        assert cloud.jobs() == []

    def test_a_policy_that_asks_more_people_asks_again(
        self, request_job: RequestJob, team: Team, lead: User, approver: User, cloud: Cloud, clock: Clock
    ) -> None:
        save(team, lead, clock, Rule(outcome="ask", cost_over="1"))
        job = request_job(hours=10)
        requests.approve(job, by=approver, comment="", now=clock.now)
        save(team, lead, clock, Rule(outcome="ask", cost_over="1", approvals=2), base=1)

        steps.advance(job.pk, clock=cloud.clock)

        assert Job.objects.get().state == "awaiting_approval"
        assert Approval.objects.get().votes_needed == 2
        assert "is no longer valid" in job.events.latest("id").message

    def test_named_people_and_leads_alone_decide_where_policy_says_so(
        self, request_job: RequestJob, team: Team, lead: User, approver: User, second: User, clock: Clock
    ) -> None:
        save(team, lead, clock, Rule(outcome="ask", cost_over="1", approvers=["second"]))
        job = request_job(hours=10)
        for by in (approver, lead):
            with pytest.raises(NotPermitted, match="Only second"):
                requests.approve(job, by=by, comment="", now=clock.now)
        assert requests.approve(job, by=second, comment="", now=clock.now)

        save(team, lead, clock, Rule(outcome="ask", cost_over="1", role="lead"), base=1)
        job = request_job(hours=10)
        with pytest.raises(NotPermitted, match="Only leads"):
            requests.approve(job, by=approver, comment="", now=clock.now)
        assert requests.approve(job, by=lead, comment="", now=clock.now)


class TestDrift:
    @pytest.mark.parametrize(("percent", "state"), [(0, "awaiting_approval"), (50, "running")])
    def test_beyond_what_policy_allows_voids_the_approval(
        self,
        request_job: RequestJob,
        team: Team,
        lead: User,
        approver: User,
        cloud: Cloud,
        clock: Clock,
        percent: int,
        state: str,
    ) -> None:
        save(team, lead, clock, Rule(outcome="ask", cost_over="1"), drift_percent=percent)
        job = request_job(hours=10)
        requests.approve(job, by=approver, comment="", now=cloud.now)
        Job.objects.update(approved_usd=job.max_usd * Decimal("0.8"))  # as if prices had risen by a quarter

        steps.advance(job.pk, clock=cloud.clock)

        assert (Job.objects.get().state == "awaiting_approval") is (state == "awaiting_approval")


class TestDeputy:
    @pytest.fixture
    def away(self, approver: User, teammate: User, clock: Clock) -> Deputy:
        """The approver is away for three days; the teammate, an engineer, decides meanwhile."""
        today = clock.now.date()
        return Deputy.objects.create(
            person=approver, deputy=teammate, first_day=today, last_day=today + timedelta(days=2), named_at=clock.now
        )

    def test_votes_for_the_person_and_the_vote_says_so(
        self, asked: Job, away: Deputy, teammate: User, approver: User, clock: Clock
    ) -> None:
        assert requests.approve(asked, by=teammate, comment="", now=clock.now)

        vote = Vote.objects.get()
        assert (vote.voter, vote.counts_for) == (teammate, approver)
        with pytest.raises(NotPermitted):
            requests.approve(asked, by=person("third", asked.team, "engineer"), comment="", now=clock.now)

    def test_and_the_person_have_one_vote_together(
        self, asked: Job, away: Deputy, teammate: User, approver: User, clock: Clock
    ) -> None:
        requests.approve(asked, by=approver, comment="", now=clock.now)

        with pytest.raises(NotPermitted):
            requests.approve(asked, by=teammate, comment="", now=clock.now)

    def test_before_and_after_the_days_is_none(self, asked: Job, away: Deputy, teammate: User, clock: Clock) -> None:
        for now in (clock.now - timedelta(days=1), clock.now + timedelta(days=3)):
            with pytest.raises(NotPermitted):
                requests.approve(asked, by=teammate, comment="", now=now)

    def test_does_not_decide_about_the_job_of_the_person(
        self, request_job: RequestJob, asked: Job, away: Deputy, teammate: User, approver: User, clock: Clock
    ) -> None:
        job = request_job(hours=10, by=approver)

        with pytest.raises(NotPermitted):
            requests.approve(job, by=teammate, comment="", now=clock.now)

    def test_does_not_decide_about_an_own_job(
        self, request_job: RequestJob, asked: Job, away: Deputy, teammate: User, clock: Clock
    ) -> None:
        job = request_job(hours=10, by=teammate)

        with pytest.raises(NotPermitted, match="You requested this job"):
            requests.approve(job, by=teammate, comment="", now=clock.now)


class TestCap:
    def test_is_what_was_approved_and_asks_nobody_again(
        self, asked: Job, approver: User, second: User, cloud: Cloud
    ) -> None:
        requests.approve(asked, by=approver, comment="", now=cloud.now, cap_usd=Decimal(9))
        requests.approve(asked, by=second, comment="", now=cloud.now, cap_usd=Decimal(12))
        assert Job.objects.get().approved_usd == 9

        steps.advance(asked.pk, clock=cloud.clock)

        assert Job.objects.get().is_remote
