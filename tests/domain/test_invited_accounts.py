"""Tests that an invited account and whoever invited it count as one person until somebody else has confirmed it."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import User

from dashboard.queries.page_frame import count_for_frame
from jobs import proposals, requests
from jobs.errors import NotPermitted
from jobs.models import Job, Membership, Proposal, Role, Team
from jobs.people import invitations
from jobs.policy_rules import Rule
from jobs.requests import resource_requests
from jobs.requests.deputies import name_deputy
from jobs.requests.policy_versions import Terms, save_policy
from tests.conftest import PASSWORD, person
from tests.domain.conftest import RequestJob
from tests.domain.test_proposals import accept, invited
from tests.support import samples
from tests.support.clock import Clock

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]


class TestInvitedAccounts:
    @pytest.fixture
    def puppet(self, team: Team, lead: User, clock: Clock) -> User:
        """An approver of earlier times, whose account the lead has invited."""
        new = invited(team, lead, clock)
        Proposal.objects.all().delete()
        Membership.objects.filter(user=new).update(role=Role.APPROVER)
        return new

    def asked(self, request_job: RequestJob, lead: User) -> Job:
        job = request_job(hours=40, by=lead)
        assert job.state == "awaiting_approval"
        return job

    def test_do_not_approve_what_their_inviter_requested(
        self, request_job: RequestJob, team: Team, lead: User, approver: User, puppet: User, clock: Clock
    ) -> None:
        job = self.asked(request_job, lead)

        with pytest.raises(NotPermitted, match="invited your account"):
            requests.approve(job, by=puppet, comment="", now=clock.now)

        job.refresh_from_db()
        assert job.state == "awaiting_approval"
        assert requests.approve(job, by=approver, comment="", now=clock.now)

    def test_request_nothing_that_their_inviter_approves(
        self, request_job: RequestJob, team: Team, lead: User, other_lead: User, admin: User, clock: Clock
    ) -> None:
        new = invited(team, lead, clock)  # an engineer until somebody accepts the role
        job, other = self.asked(request_job, new), self.asked(request_job, new)

        with pytest.raises(NotPermitted, match="You invited the requester's account"):
            requests.approve(job, by=lead, comment="", now=clock.now)

        assert requests.approve(other, by=other_lead, comment="", now=clock.now)
        proposals.confirm_account(team, new, by=admin, now=clock.now)
        assert requests.approve(job, by=lead, comment="", now=clock.now)

    def test_request_nothing_that_a_deputy_approves_for_their_inviter(
        self, request_job: RequestJob, team: Team, lead: User, clock: Clock
    ) -> None:
        job, friend, day = (
            self.asked(request_job, invited(team, lead, clock)),
            person("friend", team, "engineer"),
            clock.now.date(),
        )
        name_deputy(lead, "friend", first_day=day, last_day=day + timedelta(days=3), now=clock.now)

        with pytest.raises(NotPermitted):
            requests.approve(job, by=friend, comment="", now=clock.now)

    def test_request_what_a_site_admin_who_invited_them_approves(
        self, request_job: RequestJob, team: Team, admin: User, clock: Clock
    ) -> None:
        job = self.asked(request_job, invited(team, admin, clock))

        assert requests.approve(job, by=admin, comment="", now=clock.now)

    def test_ask_for_no_machines_that_their_inviter_approves(
        self, team: Team, lead: User, other_lead: User, clock: Clock
    ) -> None:
        new = invited(team, lead, clock)
        Membership.objects.filter(user=new).update(role=Role.APPROVER)
        for by, decides in ((new, lead), (lead, new)):
            change = resource_requests.ask_for_change(
                "create", team=team, project=team.project, region="us-central1", resource_id=f"of-{by.pk}", by=by,
                now=clock.now, lifetime=timedelta(days=1), body={"resourcePools": [{"machineSpec": samples.A100}]},
            )  # fmt: skip
            assert change is not None
            with pytest.raises(NotPermitted, match="invited"):
                resource_requests.approve_change(change, by=decides, now=clock.now)
            day, others = clock.now.date(), User.objects.in_bulk([decides.pk, other_lead.pk])
            counted = [count_for_frame(others[each.pk], day)["resources"] for each in (decides, other_lead)]
            assert counted == [0, 1], "the badge counts what the person may decide"
            assert resource_requests.approve_change(change, by=other_lead, now=clock.now)

    def test_approve_what_others_requested(self, request_job: RequestJob, puppet: User, clock: Clock) -> None:
        assert requests.approve(request_job(hours=40), by=puppet, comment="", now=clock.now)

    def test_do_so_when_a_second_person_has_confirmed_the_account(
        self, request_job: RequestJob, team: Team, lead: User, other_lead: User, puppet: User, clock: Clock
    ) -> None:
        for by in (lead, puppet):
            with pytest.raises(NotPermitted):
                proposals.confirm_account(team, puppet, by=by, now=clock.now)
        proposals.confirm_account(team, puppet, by=other_lead, now=clock.now)

        assert requests.approve(self.asked(request_job, lead), by=puppet, comment="", now=clock.now)

    def test_do_not_when_a_second_person_has_confirmed_another_account(
        self, request_job: RequestJob, team: Team, lead: User, other_lead: User, puppet: User, clock: Clock
    ) -> None:
        proposals.confirm_account(team, invited(team, lead, clock, "bob"), by=other_lead, now=clock.now)

        with pytest.raises(NotPermitted, match="invited your account"):
            requests.approve(self.asked(request_job, lead), by=puppet, comment="", now=clock.now)

    def test_do_so_when_a_second_person_has_accepted_the_role(
        self, request_job: RequestJob, team: Team, lead: User, admin: User, clock: Clock
    ) -> None:
        new = invited(team, lead, clock)
        accept(Proposal.objects.get(), admin, clock)

        assert requests.approve(self.asked(request_job, lead), by=new, comment="", now=clock.now)

    def test_approve_nothing_for_another_account_of_their_inviter(
        self, request_job: RequestJob, team: Team, lead: User, approver: User, admin: User, clock: Clock
    ) -> None:
        day = clock.now.date()
        for by in (lead, admin):
            first, second = (proposals.accept_invitation_as(
                invitations.invite(team, f"{n}@example.com", Role.ENGINEER, by=by, now=clock.now)[1],
                f"{n}-of-{by}", PASSWORD, now=clock.now,
            ) for n in ("one", "two"))  # fmt: skip
            name_deputy(approver, second.username, first_day=day, last_day=day, now=clock.now)
            job = self.asked(request_job, first)
            if by == admin:  # who invites a whole team, and may do everything anyway
                assert requests.approve(job, by=second, comment="", now=clock.now)
                continue
            with pytest.raises(NotPermitted, match="One person invited"):
                requests.approve(job, by=second, comment="", now=clock.now)

    def test_are_no_deputies_against_their_inviter(
        self, request_job: RequestJob, team: Team, lead: User, approver: User, clock: Clock
    ) -> None:
        new = invited(team, lead, clock)
        day = clock.now.date()
        name_deputy(approver, new.get_username(), first_day=day, last_day=day + timedelta(days=3), now=clock.now)

        with pytest.raises(NotPermitted):
            requests.approve(self.asked(request_job, lead), by=new, comment="", now=clock.now)

    def test_are_not_both_of_two_who_have_to_approve(
        self, team: Team, request_job: RequestJob, lead: User, approver: User, puppet: User, clock: Clock
    ) -> None:
        save_policy(team, [Rule(outcome="ask", approvals=2)], Terms(), base=0, by=lead, note="", now=clock.now)
        for first, second in ((lead, puppet), (puppet, lead)):
            job = request_job(hours=40)
            assert requests.approve(job, by=first, comment="", now=clock.now)

            for decide in (requests.approve, requests.reject):
                with pytest.raises(NotPermitted, match="counts as one with yours has approved it"):
                    decide(job, by=second, comment="seen", now=clock.now)

            assert Job.objects.get(pk=job.pk).state == "awaiting_approval"
            assert requests.approve(job, by=approver, comment="", now=clock.now)
            assert Job.objects.get(pk=job.pk).state == "approved"

    def test_are_not_both_of_two_who_have_to_approve_through_a_deputy(
        self, team: Team, request_job: RequestJob, lead: User, approver: User, puppet: User, clock: Clock
    ) -> None:
        save_policy(team, [Rule(outcome="ask", approvals=2)], Terms(), base=0, by=lead, note="", now=clock.now)
        day, third = clock.now.date(), person("third", team, Role.APPROVER)
        name_deputy(approver, puppet.username, first_day=day, last_day=day, now=clock.now)
        job, other = request_job(hours=40), request_job(hours=40)
        Membership.objects.filter(user=puppet).update(role=Role.ENGINEER)  # votes for the approver alone
        assert requests.approve(job, by=puppet, comment="", now=clock.now)
        assert requests.approve(other, by=lead, comment="", now=clock.now)

        for asked, by in ((job, lead), (other, puppet)):
            with pytest.raises(NotPermitted):
                requests.approve(asked, by=by, comment="", now=clock.now)
            assert requests.approve(asked, by=third, comment="", now=clock.now)

    def test_are_not_both_of_two_who_have_to_approve_machines(
        self, team: Team, lead: User, other_lead: User, approver: User, puppet: User, clock: Clock
    ) -> None:
        save_policy(team, [Rule(outcome="ask", approvals=2)], Terms(), base=0, by=lead, note="", now=clock.now)
        change = resource_requests.ask_for_change(
            "create", team=Team.objects.get(), project=team.project, region="us-central1", resource_id="two",
            by=approver, now=clock.now, lifetime=timedelta(days=1),
            body={"resourcePools": [{"machineSpec": samples.A100}]},
        )  # fmt: skip
        assert change is not None
        assert resource_requests.approve_change(change, by=puppet, now=clock.now)

        with pytest.raises(NotPermitted, match="counts as one with yours has approved it"):
            resource_requests.approve_change(change, by=lead, now=clock.now)

        assert resource_requests.approve_change(change, by=other_lead, now=clock.now)
        change.refresh_from_db()
        assert change.allowed_at is not None
