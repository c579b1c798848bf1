"""Tests of pages of somebody in many teams: a menu replaces the tabs, and works without JavaScript."""

import re
from datetime import datetime

import pytest
from django.contrib.auth.models import User
from django.test import Client

from jobs.models import Budget, Channel, Membership, Team
from tests.pages.conftest import SignIn, text_of
from tests.support.clock import Clock

PAGES = ("/policy/", "/spend/")


@pytest.fixture
def lead(team: Team) -> User:
    user = User.objects.create_user("many")
    Membership.objects.create(team=team, user=user, role="lead")
    return user


def join(user: User, count: int) -> list[Team]:
    """Make somebody the lead of further teams, `count` in all."""
    teams = [Team.objects.create(name=f"team {number:02d}", project="p") for number in range(2, count + 1)]
    Membership.objects.bulk_create([Membership(team=each, user=user, role="lead") for each in teams])
    return teams


def addresses_in(page: str, of: str) -> list[str]:
    return re.findall(rf'href="({re.escape(of)}[^"]*)"', page)


def budget(team: Team, name: str, at: datetime) -> None:
    Budget.objects.create(team=team, name=name, dimension="team", amount_usd=5, passing="ask", created_at=at)


class TestChoice:
    @pytest.mark.parametrize("path", PAGES)
    def test_has_tabs_for_six_teams(self, path: str, lead: User, signed_in: SignIn) -> None:
        join(lead, 6)

        page = signed_in(lead).get(path).content.decode()

        assert "team-menu" not in page
        assert page.count('class="tab" href="?team=') == 6

    @pytest.mark.parametrize("path", PAGES)
    def test_has_a_menu_of_links_for_seven(self, path: str, lead: User, signed_in: SignIn) -> None:
        last = join(lead, 7)[-1]
        client = signed_in(lead)

        page = client.get(path).content.decode()

        menu = page[page.index('<details class="menu long boxed" id="team-menu">') :]
        assert f'href="?team={last.pk}"' in menu[: menu.index("</details>")]
        assert 'class="tab" href="?team=' not in page
        assert "Team team 07" in text_of(client.get(f"{path}?team={last.pk}"))

    @pytest.mark.parametrize("path", PAGES)
    def test_shows_strangers_none_of_them(self, path: str, lead: User, stranger: User, signed_in: SignIn) -> None:
        last = join(lead, 7)[-1]
        client = signed_in(stranger)

        assert "team 07" not in client.get(path).content.decode()
        assert client.get(f"{path}?team={last.pk}").status_code == 404


class TestActions:
    def test_one_team_has_a_button(self, lead: User, team: Team, signed_in: SignIn) -> None:
        client = signed_in(lead)

        for path, of in (("/budgets/", "/budgets/new/"), ("/messages/channels/", "/messages/channels/new/")):
            page = client.get(path).content.decode()
            assert addresses_in(page, of) == [f"{of}{team.pk}/"]
            assert "boxed" not in page

    def test_more_have_a_menu_with_all(self, lead: User, team: Team, signed_in: SignIn) -> None:
        keys = [team.pk, *(each.pk for each in join(lead, 40))]
        client = signed_in(lead)

        for path, of in (
            ("/budgets/", "/budgets/new/"),
            ("/messages/channels/", "/messages/channels/new/"),
            ("/spend/", "/spend/billing/"),
        ):
            found = addresses_in(client.get(path).content.decode(), of)
            assert sorted(found) == sorted(f"{of}{key}/" for key in keys)


class TestLists:
    def test_budgets_stand_below_their_team(self, lead: User, team: Team, signed_in: SignIn, clock: Clock) -> None:
        other = join(lead, 2)[0]
        for each in (team, other):
            budget(each, f"of {each}", clock.now)
        Membership.objects.filter(user=lead, team=other).update(role="viewer")

        text = text_of(signed_in(lead).get("/budgets/"))

        assert text.index("team 02 of team 02") < text.index("vision of vision")

    def test_only_teams_with_channels_have_a_table(
        self, lead: User, team: Team, engineer: Client, clock: Clock
    ) -> None:
        other, client = join(lead, 2)[0], Client()
        client.force_login(lead)
        assert "No channels yet" in text_of(client.get("/messages/channels/"))
        Channel.objects.create(
            team=team, via="slack", name="ops", address="https://a.org", created_by=lead, created_at=clock.now
        )

        page = client.get("/messages/channels/").content.decode()

        assert f'id="team-{team.pk}"' in page
        assert f'id="team-{other.pk}"' not in page
        assert engineer.get("/messages/channels/").status_code == 404
