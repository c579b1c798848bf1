"""Tests of changes that give power over money: they apply only when a second person has accepted them."""

from decimal import Decimal
from typing import Any

import pytest
from auditlog.models import LogEntry
from django.contrib.auth.models import User

from dashboard.queries.page_frame import count_for_frame
from jobs import budgets, proposals
from jobs.budget import Passing
from jobs.budgets import BudgetValues
from jobs.errors import NotPermitted
from jobs.models import Budget, Ceiling, Invitation, Membership, PolicyVersion, Proposal, Role, Team
from jobs.people import invitations, members
from jobs.policy_rules import RULES, Rule
from jobs.requests.policy_versions import SavedMeanwhile, Terms, current_version
from tests.conftest import PASSWORD
from tests.domain.conftest import RequestJob
from tests.support.clock import Clock

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]
STRICT = ({"outcome": "ask", "cost_over": "10"},)
LOOSE = ({"outcome": "ask", "cost_over": "1000"},)


def save(team: Team, by: User, clock: Clock, rules: Any, base: int = 0, **terms: Any) -> PolicyVersion | Proposal:
    given = RULES.validate_python(rules)
    return proposals.propose_policy(team, given, Terms(**terms), base=base, by=by, note="needed", now=clock.now)


def accept(row: Any, by: User, clock: Clock, decision: str = "accepted") -> Proposal | None:
    assert isinstance(row, Proposal)
    return proposals.decide(row.pk, decision, by=by, comment="", now=clock.now)


def waiting_for(user: User, clock: Clock) -> int:
    """Return how many changes the badge of a person counts, with their roles of now."""
    fresh = User.objects.get(pk=user.pk)
    return count_for_frame(fresh, clock.now.date()).get("proposals", 0)


class TestPolicy:
    def test_a_looser_one_waits_for_a_second_person(
        self, team: Team, lead: User, other_lead: User, clock: Clock
    ) -> None:
        row = save(team, lead, clock, LOOSE)

        assert current_version(team) is None
        with pytest.raises(NotPermitted):
            accept(row, lead, clock)
        assert current_version(team) is None
        accept(row, other_lead, clock)

        version = current_version(team)
        assert version is not None
        assert (version.rules, version.saved_by) == ([{"outcome": "ask", "cost_over": "1000"}], lead)
        assert accept(row, other_lead, clock) is None, "it is decided once"

    def test_names_the_past_jobs_that_it_would_have_let_pass(
        self, request_job: RequestJob, team: Team, lead: User, clock: Clock
    ) -> None:
        asked = request_job(hours=40)
        request_job()

        row = save(team, lead, clock, LOOSE)

        assert isinstance(row, Proposal)
        assert {"id": str(asked.pk), "name": asked.display_name, "before": "asked", "after": "allowed"} in row.lets_pass

    def test_one_that_has_changed_meanwhile_is_not_applied(
        self, team: Team, lead: User, other_lead: User, clock: Clock
    ) -> None:
        row = save(team, lead, clock, LOOSE)
        save(team, lead, clock, [{"outcome": "refuse", "gpus_over": 4}, *_first(team)])

        with pytest.raises((SavedMeanwhile, ValueError)):
            accept(row, other_lead, clock)

        assert Proposal.objects.get().decision == ""

    def test_accounts_that_one_person_may_have_made_are_no_second_person(
        self, team: Team, lead: User, other_lead: User, admin: User, clock: Clock
    ) -> None:
        puppets = [invited(team, lead, clock, f"puppet{n}") for n in (1, 2)]
        for kind in (Proposal.Kind.ROLE, Proposal.Kind.ACCOUNT):
            Proposal.objects.filter(kind=kind).delete()
        Membership.objects.filter(user__in=puppets).update(role=Role.LEAD)  # of before two people were needed
        for by, decides in ((lead, puppets[0]), (puppets[0], lead), (puppets[0], puppets[1])):
            row = save(team, by, clock, LOOSE)
            with pytest.raises(NotPermitted):
                accept(row, decides, clock)
            assert waiting_for(decides, clock) == 0
            with pytest.raises(NotPermitted):
                proposals.confirm_account(team, puppets[1], by=decides, now=clock.now)
            assert waiting_for(other_lead, clock) == 1
            accept(row, by, clock, "withdrawn")
        proposals.confirm_account(team, puppets[0], by=other_lead, now=clock.now)

        accept(save(team, lead, clock, LOOSE), puppets[0], clock)
        assert current_version(team) is not None

    @pytest.mark.parametrize("who", ["owner", "approver", "stranger"])
    def test_nobody_else_decides(
        self, team: Team, lead: User, clock: Clock, who: str, request: pytest.FixtureRequest
    ) -> None:
        row, outsider = save(team, lead, clock, LOOSE), request.getfixturevalue(who)

        for decision in ("accepted", "declined", "withdrawn"):
            with pytest.raises(NotPermitted):
                accept(row, outsider, clock, decision)

        assert waiting_for(outsider, clock) == 0

    def test_it_can_be_withdrawn_or_declined_and_made_again(
        self, team: Team, lead: User, admin: User, clock: Clock
    ) -> None:
        row = save(team, lead, clock, LOOSE)
        with pytest.raises(proposals.AlreadyProposed):
            save(team, lead, clock, LOOSE)
        accept(row, lead, clock, "withdrawn")
        row = save(team, lead, clock, LOOSE)
        assert waiting_for(admin, clock) == 1
        accept(row, admin, clock, "declined")

        assert current_version(team) is None
        entries = LogEntry.objects.filter(content_type__model="proposal")
        assert [entry.action for entry in entries.order_by("pk")] == [0, 1, 0, 1]

    def test_the_only_site_admin_acts_alone_and_two_do_not(self, team: Team, admin: User, clock: Clock) -> None:
        assert isinstance(save(team, admin, clock, LOOSE), PolicyVersion)
        User.objects.create_superuser("root")
        assert isinstance(save(team, admin, clock, ({"outcome": "allow"},), base=1), Proposal)


def _first(team: Team) -> list[Any]:
    from jobs.requests.policy_versions import load_policy

    return RULES.dump_python(load_policy(team).rules, mode="json", exclude_defaults=True)  # type: ignore[no-any-return]


BASE = [{"outcome": "ask", "cost_unknown": True}, {"outcome": "ask", "cost_over": "100"}]
LOOSER: list[tuple[str, list[dict[str, Any]]]] = [
    ("a higher amount", [BASE[0], {"outcome": "ask", "cost_over": "101"}]),
    ("a rule that allows, above", [{"outcome": "allow"}, *BASE]),
    ("a rule is gone", [BASE[1]]),
    ("nothing is left", []),
    ("a rule asks of fewer", [BASE[0], BASE[1] | {"regions": ["us-central1"]}]),
    ("an estimate counts instead of the most", [BASE[0], BASE[1] | {"cost_basis": "low"}]),
    ("a rule that asks, above one that asks others", [{"outcome": "ask", "approvers": ["lead"]}, *BASE]),
    ("another person approves", [BASE[0], BASE[1] | {"approvers": ["lead"]}]),
    ("a value is set", [{"outcome": "set", "set_labels": ["a=b"]}, *BASE]),
    ("a value is set, below", [*BASE, {"outcome": "set", "set_labels": ["a=b"]}]),
]
STRICTER: list[tuple[str, list[dict[str, Any]]]] = [
    ("the same", BASE),
    ("a lower amount", [BASE[0], {"outcome": "ask", "cost_over": "99"}]),
    ("a rule that refuses, above", [{"outcome": "refuse", "gpus_over": 8}, *BASE]),
    ("a rule that refuses, below", [*BASE, {"outcome": "refuse", "gpus_over": 8}]),
    ("a rule that requires", [BASE[0], {"outcome": "require", "require_timeout": True}, BASE[1]]),
    ("a rule that asks, below", [*BASE, {"outcome": "ask", "person_sum_over": "500"}]),
    ("other words", [BASE[0], BASE[1] | {"words": "Tell us why."}]),
]


class TestLooser:
    @pytest.mark.parametrize(("what", "rules"), LOOSER, ids=[what for what, _ in LOOSER])
    def test_what_may_let_more_pass(self, what: str, rules: Any) -> None:
        assert proposals.is_looser(_rules(BASE), _rules(rules), Terms(), Terms())

    @pytest.mark.parametrize(("what", "rules"), STRICTER, ids=[what for what, _ in STRICTER])
    def test_what_certainly_lets_no_more_pass(self, what: str, rules: Any) -> None:
        assert not proposals.is_looser(_rules(BASE), _rules(rules), Terms(), Terms())

    @pytest.mark.parametrize(
        ("following", "is_looser"),
        [({"outcome": "refuse", "gpus_over": 8}, True), ({"outcome": "ask", "role": "lead"}, True),
         ({"outcome": "allow", "gpus_over": 8}, False), ({"outcome": "set", "set_labels": ["a=b"]}, False)],
    )  # fmt: skip
    def test_a_rule_that_asks_about_more_may_take_jobs_from_a_later_one(self, following: Any, is_looser: bool) -> None:
        before, after = (_rules([{"outcome": "ask", "cost_over": usd}, following]) for usd in ("100", "99"))

        assert proposals.is_looser(before, after, Terms(), Terms()) is is_looser

    def test_a_rule_that_sets_a_value_for_more_jobs(self) -> None:
        before, after = (_rules([{"outcome": "set", "set_labels": ["a=b"], "cost_over": usd}]) for usd in ("100", "99"))

        assert proposals.is_looser(before, after, Terms(), Terms())

    def test_a_job_is_no_longer_cancelled_above_its_approval(self) -> None:
        assert proposals.is_looser((), (), Terms(cancel_over_approved=True), Terms())

    @pytest.mark.parametrize("after", [{}, {"idle": 0}, {"idle": 3}, {"idle": 5}, {"idle": 4, "stuck": 4}])
    def test_what_is_cancelled_while_it_runs(self, after: dict[str, int]) -> None:
        old = Terms(waste_hours={"idle": 4})
        assert proposals.is_looser((), (), old, Terms(waste_hours=after))
        assert not proposals.is_looser((), (), old, Terms(waste_hours={"idle": 4, "stuck": 0}))

    def test_a_rule_that_allows_may_go(self) -> None:
        allow = {"outcome": "allow", "gpus_over": 1}
        assert not proposals.is_looser(_rules([allow, *BASE]), _rules(BASE), Terms(), Terms())

    @pytest.mark.parametrize(
        ("terms", "is_looser"),
        [({"drift_percent": 5}, True), ({"cancel_at_cap": False}, True), ({"expire_hours": 9}, False),
         ({"cancel_over_approved": True}, False), ({"approvers_choose_strategy": True}, True),
         ({"waste_hours": {"idle": 0, "stuck": 0}}, False), ({"waste_hours": {"idle": 9}}, True)],
    )  # fmt: skip
    def test_terms(self, terms: Any, is_looser: bool) -> None:
        assert proposals.is_looser((), (), Terms(), Terms(**terms)) is is_looser


def _rules(given: Any) -> tuple[Rule, ...]:
    return RULES.validate_python(given)


class TestBudget:
    @pytest.fixture
    def row(self, team: Team, lead: User, clock: Clock) -> Budget:
        values = BudgetValues("vision", Decimal(100), Passing.ASK)
        return budgets.create_budget(team, values, by=lead, reason="agreed", now=clock.now)

    @pytest.mark.parametrize(
        ("usd", "passing", "waits"),
        [(101, "ask", True), (100, "warn", True), (99, "ask", False), (100, "stop", False), (200, "stop", True)],
    )
    def test_a_higher_or_weaker_one_waits(
        self, row: Budget, lead: User, other_lead: User, clock: Clock, usd: int, passing: str, waits: bool
    ) -> None:
        values = BudgetValues("vision", Decimal(usd), Passing(passing))

        found = proposals.propose_budget(row, values, version=1, by=lead, reason="more", now=clock.now)

        row.refresh_from_db()
        assert (found is not None) is waits is (row.version == 1)
        if found is not None:
            accept(found, other_lead, clock)
            row.refresh_from_db()
        assert (row.amount_usd, row.passing) == (usd, passing)

    def test_closing_one_waits(self, row: Budget, lead: User, admin: User, clock: Clock) -> None:
        found = proposals.propose_closing(row, version=1, by=lead, reason="over", now=clock.now)
        row.refresh_from_db()
        assert row.closed_at is None

        accept(found, admin, clock)

        row.refresh_from_db()
        assert row.closed_at == clock.now

    def test_a_proposer_who_is_no_lead_any_more_changes_nothing(
        self, row: Budget, team: Team, lead: User, other_lead: User, clock: Clock
    ) -> None:
        found = proposals.propose_closing(row, version=1, by=lead, reason="over", now=clock.now)
        members.remove_member(team, Membership.objects.get(user=lead).pk, by=other_lead)

        with pytest.raises(NotPermitted):
            accept(found, other_lead, clock)

        row.refresh_from_db()
        assert row.closed_at is None


class TestCeiling:
    def test_raising_or_removing_one_needs_another_site_admin(
        self, team: Team, admin: User, second_admin: User, lead: User, clock: Clock
    ) -> None:
        data: dict[str, Any] = {"by": admin, "reason": "so", "now": clock.now}
        assert proposals.propose_ceiling(team, "gpus", Decimal(8), **data) is None
        assert proposals.propose_ceiling(team, "gpus", Decimal(4), **data) is None
        row = proposals.propose_ceiling(team, "gpus", Decimal(9), **data)
        assert Ceiling.objects.get().amount == 4
        for who in (admin, lead):
            with pytest.raises(NotPermitted):
                accept(row, who, clock)
        assert waiting_for(lead, clock) == 0

        accept(row, second_admin, clock)

        assert Ceiling.objects.get().amount == 9
        row = proposals.propose_ceiling(team, "gpus", None, **data)
        accept(row, second_admin, clock)
        assert not Ceiling.objects.exists()

    def test_no_lead_and_no_deactivated_admin_accepts_that_of_a_team(
        self, team: Team, lead: User, admin: User, clock: Clock
    ) -> None:
        other = User.objects.create_superuser("root")
        budgets.set_ceiling(team, "gpus", Decimal(8), by=admin, reason="agreed", now=clock.now)
        row = proposals.propose_ceiling(team, "gpus", Decimal(80), by=admin, reason="more", now=clock.now)
        other.is_active = False

        for by in (lead, other):
            with pytest.raises(NotPermitted):
                accept(row, by, clock)

        assert waiting_for(lead, clock) == 0
        assert Ceiling.objects.get().amount == 8

    def test_no_lead_proposes_one(self, team: Team, lead: User, clock: Clock) -> None:
        with pytest.raises(NotPermitted):
            proposals.propose_ceiling(team, "gpus", Decimal(1), by=lead, reason="so", now=clock.now)

    def test_one_that_was_lowered_meanwhile_is_not_raised(
        self, team: Team, admin: User, second_admin: User, clock: Clock
    ) -> None:
        data: dict[str, Any] = {"reason": "so", "now": clock.now}
        proposals.propose_ceiling(team, "gpus", Decimal(8), by=admin, **data)
        row = proposals.propose_ceiling(team, "gpus", Decimal(9), by=admin, **data)
        proposals.propose_ceiling(team, "gpus", Decimal(2), by=second_admin, **data)

        with pytest.raises(ValueError, match="in the meantime"):
            accept(row, second_admin, clock)

        assert Ceiling.objects.get().amount == 2


class TestRoles:
    def test_an_approver_or_lead_needs_a_second_person(
        self, team: Team, owner: User, lead: User, other_lead: User, clock: Clock
    ) -> None:
        member = Membership.objects.get(user=owner)

        row = proposals.propose_role(team, member, Role.APPROVER, by=lead, now=clock.now)

        assert Membership.objects.get(user=owner).role == Role.ENGINEER
        accept(row, other_lead, clock)
        assert Membership.objects.get(user=owner).role == Role.APPROVER

    def test_a_lower_role_needs_none(self, team: Team, approver: User, lead: User, clock: Clock) -> None:
        member = Membership.objects.get(user=approver)

        assert proposals.propose_role(team, member, Role.ENGINEER, by=lead, now=clock.now) is None

    def test_nobody_accepts_their_own_role(
        self, team: Team, lead: User, approver: User, admin: User, clock: Clock
    ) -> None:
        User.objects.create_superuser("root")
        Membership.objects.create(team=team, user=admin, role=Role.ENGINEER)
        row = proposals.propose_role(team, Membership.objects.get(user=admin), Role.LEAD, by=lead, now=clock.now)

        with pytest.raises(NotPermitted):
            accept(row, admin, clock)

    def test_whoever_is_invited_as_an_approver_joins_as_an_engineer(
        self, team: Team, lead: User, admin: User, clock: Clock
    ) -> None:
        new = invited(team, lead, clock)

        assert Membership.objects.get(user=new).role == Role.ENGINEER
        accept(Proposal.objects.get(), admin, clock)
        assert Membership.objects.get(user=new).role == Role.APPROVER


def invited(team: Team, by: User, clock: Clock, name: str = "ada") -> User:
    """Invite somebody as an approver, and let them make their account."""
    row, secret = invitations.invite(team, f"{name}@example.com", Role.APPROVER, by=by, now=clock.now)
    new = proposals.accept_invitation_as(secret, name, PASSWORD, now=clock.now)
    assert Invitation.objects.get(pk=row.pk).accepted_by == new
    return new
