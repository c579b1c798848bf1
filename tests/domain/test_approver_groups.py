"""Tests of rules with several groups of approvers: each needs its own number, and a vote counts for every group."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User

from jobs import requests, steps
from jobs.errors import NotPermitted
from jobs.messages.about_job import parts_of
from jobs.models import Approval, AskedGroup, Deputy, Job, Membership, Message, PolicyVersion, Team, Vote
from jobs.policy_rules import Rule
from jobs.requests.deciders import Decider
from jobs.requests.policy_versions import Terms, load_policy, save_policy
from jobs.upkeep import watch_approvals
from jobs.upkeep.audit import audit
from tests.conftest import person
from tests.domain.conftest import Cloud, RequestJob
from tests.support.clock import Clock

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]
FINANCE = {"approvers": ["sam", "zoe"]}


@pytest.fixture
def sam(team: Team) -> User:
    person("zoe", team, "approver")
    return person("sam", team, "approver")


def save(team: Team, by: User, clock: Clock, *further: dict[str, Any], base: int = 0, **rule: Any) -> PolicyVersion:
    rules = [Rule.model_validate({"outcome": "ask", "cost_over": "1", "further": further} | rule)]
    terms = Terms(remind_hours=4, expire_hours=10)
    return save_policy(team, rules, terms, base=base, by=by, note="", now=clock.now)


@pytest.fixture
def asked(request_job: RequestJob, team: Team, lead: User, sam: User, clock: Clock) -> Job:
    """A job that needs the approval of a lead, and of sam or zoe."""
    save(team, lead, clock, FINANCE, role="lead")
    return request_job(hours=10)


def state() -> str:
    return str(Job.objects.get().state)


class TestVotes:
    def test_every_group_has_to_approve(self, asked: Job, lead: User, sam: User, clock: Clock) -> None:
        assert requests.approve(asked, by=lead, comment="fine", now=clock.now)
        assert state() == "awaiting_approval"
        event = asked.events.get(kind="voted")
        assert event.message == "lead approved it: fine; 1 of sam, zoe still needed."
        assert event.detail["missing"] == 1

        assert requests.approve(asked, by=sam, comment="", now=clock.now)

        assert state() == "approved"
        assert list(Vote.objects.order_by("pk").values_list("groups", flat=True)) == [[0], [1]]
        assert list(audit(clock.now)) == []

    def test_one_counts_for_every_group_that_the_voter_is_in(
        self, request_job: RequestJob, team: Team, lead: User, clock: Clock
    ) -> None:
        save(team, lead, clock, {"approvers": ["lead"]}, role="lead")
        job = request_job(hours=10)

        requests.approve(job, by=lead, comment="", now=clock.now)

        assert (state(), Vote.objects.get().groups) == ("approved", [0, 1])
        assert list(audit(clock.now)) == []

    def test_of_others_do_not_count_and_nobody_decides_about_an_own_job(
        self, asked: Job, request_job: RequestJob, approver: User, stranger: User, sam: User, clock: Clock
    ) -> None:
        for by in (approver, stranger):
            with pytest.raises(NotPermitted, match="Only leads, sam and zoe of vision decide"):
                requests.approve(asked, by=by, comment="", now=clock.now)
        own = request_job(hours=10, by=sam)
        with pytest.raises(NotPermitted, match="You requested this job"):
            requests.approve(own, by=sam, comment="", now=clock.now)

    def test_a_member_of_a_group_that_has_approved_may_still_reject(
        self, asked: Job, team: Team, lead: User, clock: Clock
    ) -> None:
        other = person("other-lead", team, "lead")
        requests.approve(asked, by=lead, comment="", now=clock.now)
        decider, question = Decider.load(other, [asked], now=clock.now), Approval.objects.get()
        assert not decider.is_needed(asked, question)

        assert requests.reject(asked, by=other, comment="not this month", now=clock.now)

        assert state() == "rejected"

    def test_of_one_who_left_does_not_count_for_any_group(
        self, asked: Job, team: Team, lead: User, sam: User, clock: Clock
    ) -> None:
        requests.approve(asked, by=lead, comment="", now=clock.now)
        Membership.objects.filter(user=lead).update(role="engineer")

        requests.approve(asked, by=sam, comment="", now=clock.now)
        assert state() == "awaiting_approval"

        requests.approve(asked, by=person("other-lead", team, "lead"), comment="", now=clock.now)
        assert state() == "approved"

    def test_of_a_deputy_counts_where_it_is_still_needed(
        self, asked: Job, team: Team, lead: User, sam: User, clock: Clock
    ) -> None:
        other, today = person("other-lead", team, "lead"), clock.now.date()
        last = today + timedelta(days=2)
        Deputy.objects.create(person=sam, deputy=other, first_day=today, last_day=last, named_at=clock.now)
        requests.approve(asked, by=lead, comment="", now=clock.now)

        requests.approve(asked, by=other, comment="", now=clock.now)

        assert state() == "approved"
        assert Vote.objects.get(voter=other).counts_for == sam

    def test_a_reminder_names_who_is_missing(self, asked: Job, lead: User, clock: Clock) -> None:
        watch_approvals(clock.forward(hours=4))
        requests.approve(asked, by=lead, comment="", now=clock.now)
        watch_approvals(clock.forward(hours=4))

        messages = asked.events.filter(kind="approval_due").order_by("id").values_list("message", flat=True)
        assert list(messages) == [
            "The job has waited 4 hours for an approval: 1 lead and 1 of sam, zoe still needed.",
            "The job has waited 8 hours for an approval: 1 of sam, zoe still needed.",
        ]
        reminder = Message.objects.filter(kind=Message.Kind.APPROVAL_REMINDER).order_by("pk").last()
        assert reminder is not None
        why = parts_of(reminder, clock.now).lines[0]
        assert why.startswith(f"{messages[1]} Expected $")
        assert watch_approvals(clock.forward(hours=2)) == 1
        assert state() == "withdrawn"


class TestQuestion:
    def test_keeps_its_groups_in_the_policy_that_asked_and_as_rows(self, asked: Job) -> None:
        approval = Approval.objects.get()
        assert approval.policy["needs"] == {
            "approvals": 1,
            "role": "lead",
            "approvers": [],
            "further": [{"approvals": 1, "role": "approver", "approvers": ["sam", "zoe"]}],
        }
        rows = AskedGroup.objects.order_by("position")
        assert list(rows.values_list("votes_needed", "role_needed", "approver_names", "asked_at")) == [
            (1, "lead", "", approval.asked_at),
            (1, "approver", ",sam,zoe,", approval.asked_at),
        ]
        assert "Decided by 1 lead and 1 of sam, zoe." in approval.findings[0]["message"]

    def test_of_one_group_is_stored_as_before(
        self, request_job: RequestJob, team: Team, lead: User, approver: User, clock: Clock
    ) -> None:
        version = save(team, lead, clock, approvals=2)
        request_job(hours=10)

        assert version.rules == [{"outcome": "ask", "cost_over": "1", "approvals": 2}]
        assert Approval.objects.get().policy["needs"] == {"approvals": 2, "role": "approver", "approvers": []}
        assert not AskedGroup.objects.exists()

    def test_is_asked_again_where_policy_asks_one_more_group(
        self, request_job: RequestJob, team: Team, lead: User, sam: User, cloud: Cloud, clock: Clock
    ) -> None:
        save(team, lead, clock, role="lead")
        job = request_job(hours=10)
        requests.approve(job, by=lead, comment="", now=clock.now)
        save(team, lead, clock, FINANCE, role="lead", base=1)

        steps.advance(job.pk, clock=cloud.clock)

        assert state() == "awaiting_approval"
        assert AskedGroup.objects.count() == 2
        requests.approve(Job.objects.get(), by=lead, comment="", now=cloud.forward(minutes=1))
        requests.approve(Job.objects.get(), by=sam, comment="", now=cloud.now)
        steps.advance(job.pk, clock=cloud.clock)
        assert Job.objects.get().is_remote

    def test_that_a_program_of_before_closed_too_early_is_asked_again(
        self, asked: Job, lead: User, sam: User, cloud: Cloud
    ) -> None:
        requests.approve(asked, by=lead, comment="", now=cloud.now)
        requests.approve(asked, by=sam, comment="", now=cloud.now)
        vote = Vote.objects.get(voter=sam)
        Vote.objects.filter(pk=vote.pk)._raw_delete("default")  # it counted the first group alone
        assert [each.words for each in audit(cloud.now)] == [
            "The job was approved with 0 votes, but 1 of sam, zoe had to approve."
        ]

        cloud.forward(minutes=1)
        steps.advance(asked.pk, clock=cloud.clock)

        assert state() == "awaiting_approval"
        assert cloud.jobs() == []


class TestSaving:
    @pytest.mark.parametrize(
        ("further", "words"),
        [
            ({"role": "lead", "approvals": 2}, "of leads, 2 must approve and only 1 can"),
            ({"role": "lead", "approvers": ["sam"]}, "of sam, 1 must approve and only 0 can"),
            ({"approvers": ["owner"]}, "owner is not an approver or lead of vision"),
            ({"approvers": ["stranger"]}, "stranger is not an approver or lead of vision"),
        ],
    )
    def test_refuses_a_group_that_nobody_can_fill(
        self, team: Team, lead: User, sam: User, stranger: User, clock: Clock, further: dict[str, Any], words: str
    ) -> None:
        with pytest.raises(ValueError, match=words):
            save(team, lead, clock, further)

        assert load_policy(Team.objects.get(pk=team.pk)).version == 0

    def test_takes_at_most_five_groups(self, team: Team, lead: User, clock: Clock) -> None:
        with pytest.raises(ValueError, match="further"):
            save(team, lead, clock, *({} for _ in range(5)))
