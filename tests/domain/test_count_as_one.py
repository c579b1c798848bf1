"""The rule by which two accounts count as one person: in memory, in SQL, and in what each person may decide."""

from itertools import product

import pytest
from django.contrib.auth.models import User
from django.db.models import F
from hypothesis import HealthCheck, example, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase

from dashboard.queries.page_frame import count_for_frame
from jobs import proposals
from jobs.errors import NotPermitted
from jobs.models import Invitation, Proposal, ResourceChange, Role, Team
from jobs.requests import resource_requests
from jobs.requests.one_person import CountAsOne, count_as_one, why_one, with_inviters
from tests.conftest import person
from tests.support.clock import Clock
from tests.support.examples import examples

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]
PEOPLE = range(4)
PAIRS = st.tuples(st.sampled_from(PEOPLE), st.sampled_from(PEOPLE))
CONFIRMATIONS = st.tuples(
    st.sampled_from(["role", "account", "budget"]), st.sampled_from(["accepted", "declined"]), PAIRS
)


class TestRule(TestCase):
    def setUp(self) -> None:
        self.clock, self.team = Clock(), Team.objects.create(name="vision", project="vision-research")
        self.people = [person(f"person{number}", self.team, Role.LEAD) for number in PEOPLE]

    @example([(0, 1), (0, 2)], [], {3})  # two accounts of one inviter
    @example([(0, 1), (0, 2)], [], {0})  # of a site admin
    @example([(0, 1), (2, 1)], [("account", "accepted", (1, 2))], set())  # the first is confirmed, by the second
    @given(st.lists(PAIRS, max_size=4), st.lists(CONFIRMATIONS, max_size=2), st.sets(st.sampled_from(PEOPLE)))
    @hypothesis_settings(max_examples=examples(2), suppress_health_check=list(HealthCheck))
    def test_is_the_same_everywhere(
        self,
        invited: list[tuple[int, int]],
        confirmed: list[tuple[str, str, tuple[int, int]]],
        admins: set[int],
    ) -> None:
        self.write(invited, confirmed, admins)
        rows = with_inviters(User.objects.all()).in_bulk([each.pk for each in self.people])
        for decider, requester in product(rows.values(), repeat=2):
            is_one = why_one(decider, requester) is not None
            assert count_as_one(decider.pk, requester.pk) is is_one
            assert User.objects.filter(CountAsOne(decider.pk, F("pk")), pk=requester.pk).exists() is is_one
            assert decider.pk != requester.pk or is_one
            for row in Proposal.objects.filter(decision="", proposed_by=requester):
                assert proposals.may_decide(decider, row) is not is_one
            change = ResourceChange.objects.get(asked_by=requester)
            assert self.approves(change, decider) is not is_one
        for each in rows.values():
            ones = sum(why_one(each, other) is not None for other in rows.values())
            counts = count_for_frame(each, self.clock.now.date())
            assert counts["proposals"] == counts["resources"] == len(PEOPLE) - ones

    def write(
        self, invited: list[tuple[int, int]], confirmed: list[tuple[str, str, tuple[int, int]]], admins: set[int]
    ) -> None:
        """Write who invited whom, who confirmed whom, and one open change for two people of each person."""
        now = self.clock.now
        for number, each in enumerate(self.people):
            User.objects.filter(pk=each.pk).update(is_superuser=number in admins)
            self.propose("budget", f"-{number}", each)
            ResourceChange.objects.create(
                team=self.team, project=self.team.project, region="us-central1", resource_id=f"r{number}",
                action="create", asked_by=each, asked_at=now, needs=[{"approvals": 2}], lifetime_hours=1,
            )  # fmt: skip
        for number, (by, whom) in enumerate(invited):
            Invitation.objects.create(
                team=self.team, email="x@example.com", role="approver", digest=str(number), invited_at=now,
                expires_at=now, invited_by=self.people[by], accepted_by=self.people[whom],
                accepted_at=self.clock.forward(seconds=1),
            )  # fmt: skip
        for kind, decision, (whom, by) in confirmed:
            row = self.propose(kind, str(self.people[whom].pk), self.people[by])
            Proposal.objects.filter(pk=row.pk).update(decision=decision, decided_by=self.people[by])

    def propose(self, kind: str, subject: str, by: User) -> Proposal:
        return Proposal.objects.create(
            team=self.team, kind=kind, subject=subject, before={}, wanted={}, proposed_by=by, proposed_at=self.clock.now
        )

    def approves(self, change: ResourceChange, by: User) -> bool:
        """Return whether a person may approve a change that two have to approve. Takes the approval back."""
        try:
            return resource_requests.approve_change(change, by=by, now=self.clock.now)
        except NotPermitted:
            return False
        finally:
            ResourceChange.objects.filter(pk=change.pk).update(approved_by=[])
