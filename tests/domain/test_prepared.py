"""Queries whose SQL is made once: the rows are those of the queryset, whoever asks, whenever, from whichever thread."""

from collections.abc import Callable

import pytest
from django.contrib.auth.models import User
from django.db.models import QuerySet
from pytest_django.asserts import assertNumQueries

from jobs.models import Membership, Policy, Prepared, RuleSetting, Team, given
from tests.conftest import person
from tests.domain.test_concurrency import together
from tests.support.clock import Clock

ROLES = ["approver", "lead"]


def teams(user: object) -> QuerySet[Team]:
    """The teams in which `user` has one of ROLES, with their policies, by name."""
    found = Team.objects.select_related("policy").order_by("name")
    return found.filter(memberships__user=user, memberships__role__in=ROLES)


@pytest.fixture
def second(other_team: Team) -> Team:
    """The other team, with limits of its own."""
    Policy.objects.create(team=other_team, ask_over_usd=5)
    return other_team


@pytest.fixture
def prepared() -> Prepared[Team]:
    return Prepared(lambda: teams(given("user")))


def plainly(rows: "list[Team] | QuerySet[Team]") -> list[tuple[str, object]]:
    return [(team.name, team.policy.ask_over_usd) for team in rows]


@pytest.mark.django_db
class TestRows:
    def test_are_those_of_the_queryset(self, team: Team, second: Team, prepared: Prepared[Team]) -> None:
        both, none = person("both", team, "lead"), person("none", team, "viewer")
        Membership.objects.create(team=second, user=both, role="approver")

        for user in (both, none, both):
            assert plainly(prepared.rows(user=user.pk)) == plainly(teams(user))

        assert len(prepared.rows(user=both.pk)) == 2

    def test_cost_one_query_with_what_is_joined(self, approver: User, prepared: Prepared[Team]) -> None:
        with assertNumQueries(1):
            assert plainly(prepared.rows(user=approver.pk))

    def test_are_read_anew(self, team: Team, approver: User, prepared: Prepared[Team]) -> None:
        before = plainly(prepared.rows(user=approver.pk))
        Policy.objects.filter(team=team).update(ask_over_usd=77)

        assert plainly(prepared.rows(user=approver.pk)) == plainly(teams(approver)) != before

    def test_of_values_are_tuples(self, admin: User, clock: Clock) -> None:
        RuleSetting.objects.create(code="spot_uses_a2_or_a3", severity="refuse", set_by=admin, set_at=clock.now)
        settings = Prepared(lambda: RuleSetting.objects.filter(code=given("code")).values_list("code", "severity"))

        assert settings.rows(code="spot_uses_a2_or_a3") == [("spot_uses_a2_or_a3", "refuse")]
        assert settings.rows(code="'; --") == []

    def test_need_every_value(self, prepared: Prepared[Team]) -> None:
        with pytest.raises(KeyError, match="user"):
            prepared.rows()


@pytest.mark.django_db(transaction=True)
def test_threads_that_ask_at_once_get_their_own_rows(team: Team, second: Team, prepared: Prepared[Team]) -> None:
    people = [person(f"p{at}", (team, second)[at % 2], "lead") for at in range(4)]
    ask: Callable[[int], list[tuple[str, object]]] = lambda at: plainly(prepared.rows(user=people[at].pk))  # noqa: E731

    assert together(ask) == [plainly(teams(each)) for each in people]
