"""The only site admin acts alone, but not the thief of an old session: what gives power needs the password again."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from jobs.models import Budget, Membership, PolicyVersion, Role, Team
from tests.conftest import PASSWORD, person
from tests.pages.conftest import text_of
from tests.support.clock import Clock

pytestmark = pytest.mark.django_db
LOOSER = {
    "rule-TOTAL_FORMS": "1", "rule-INITIAL_FORMS": "0", "rule-0-outcome": "allow", "rule-0-cost_basis": "most",
    "base": "0", "drift_percent": "0", "remind_hours": "0", "expire_hours": "0", "action": "save", "note": "x",
}  # fmt: skip


@pytest.fixture
def browser(admin: User, clock: Clock, settings: Any) -> Client:
    """A browser of the only site admin with an old session."""
    browser = Client()
    browser.post("/accounts/login/", {"username": admin.username, "password": PASSWORD})
    clock.forward(seconds=settings.CONFIRM_AGE.total_seconds() + 1)
    return browser


def asks(browser: Client, path: str, form: dict[str, str]) -> bool:
    return "Confirm that it is you" in text_of(browser.post(path, form, follow=True))


def test_a_looser_policy(browser: Client, team: Team) -> None:
    assert asks(browser, f"/policy/?team={team.pk}", LOOSER | {"team": str(team.pk)})
    assert not PolicyVersion.objects.exists()


@pytest.mark.parametrize("closes", [True, False])
def test_a_budget_that_limits_less(browser: Client, team: Team, clock: Clock, closes: bool) -> None:
    row = Budget.objects.create(
        team=team, name="all", dimension="team", value="", amount_usd=100, passing="stop", created_at=clock.now
    )
    form = {"name": "all", "amount": "99999", "passing": "stop", "thresholds": "50", "reason": "x"}
    path = f"/budgets/{row.pk}/close/" if closes else f"/budgets/{row.pk}/"

    assert asks(browser, path, form | {"version": str(row.version)})

    row.refresh_from_db()
    assert row.amount_usd == 100
    assert row.closed_at is None


def test_a_role_with_power(browser: Client, team: Team) -> None:
    mate = person("mate", team, Role.ENGINEER)
    person("new", Team.objects.create(name="other", project="elsewhere"), Role.ENGINEER)
    member = Membership.objects.get(user=mate)
    path = f"/teams/{team.pk}/members/"

    assert asks(browser, path, {"do": "role", "member": str(member.pk), "role": "lead"})
    assert asks(browser, path, {"do": "add", "name": "new", "role": "lead"})

    assert not Membership.objects.filter(team=team, role=Role.LEAD).exists()


@pytest.mark.parametrize(
    ("path", "form"),
    [
        ("/teams/{}/invitations/", {"email": "new@example.com", "role": "lead"}),
        ("/teams/{}/project/", {"project": "elsewhere", "acts_as": "powerful@elsewhere.iam.gserviceaccount.com"}),
        ("/teams/{}/allowed/", {"kind": "service_account", "name": "powerful@elsewhere.iam.gserviceaccount.com"}),
        ("/rules/region_is_given/", {"severity": "off", "reason": "x"}),
        ("/prices/record/", {"key": "x", "usd": "0.01"}),
        ("/prices/accept/", {}),
    ],
)
def test_what_opens_a_door(browser: Client, team: Team, path: str, form: dict[str, str]) -> None:
    assert asks(browser, path.format(team.pk), form)


def test_a_preview_of_a_policy_does_not_ask(browser: Client, team: Team) -> None:
    form = LOOSER | {"team": str(team.pk), "action": "test"}

    assert not asks(browser, f"/policy/?team={team.pk}", form)
