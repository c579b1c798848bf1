"""Tests of ceilings and changes for two people in Chromium: axe finds nothing, they fit a phone, light and dark."""

import os
from decimal import Decimal
from pathlib import Path

import pytest
from django.contrib.auth.models import User

from jobs import budgets, proposals
from jobs.models import Membership, Role, Team
from jobs.policy_rules import RULES
from jobs.requests.policy_versions import Terms
from tests.conftest import person
from tests.pages.conftest import MakeJob
from tests.pages.test_browser import OpenWindow, chromium, window
from tests.support.accessibility import faults
from tests.support.clock import Clock

__all__ = ["chromium", "window"]
pytestmark = pytest.mark.browser
PICTURES = os.environ.get("TRAINBOARD_TEST_PICTURES")
"""A folder for pictures of the pages, to look at them."""


@pytest.fixture
def waiting(make_job: MakeJob, team: Team, owner: User, admin: User, clock: Clock) -> list[str]:
    """Ceilings of which some is used, and a change of each kind that waits; return the addresses."""
    lead = person("lead", team, Role.LEAD)
    make_job("awaiting_approval")
    make_job("running")
    for of, kind, amount in ((team, "job", 900), (team, "hour", 40), (None, "person_day", 60), (None, "gpus", 3)):
        budgets.set_ceiling(of, kind, Decimal(amount), by=admin, reason="agreed with finance", now=clock.now)
    User.objects.create_superuser("root")
    rules = RULES.validate_python([{"outcome": "ask", "cost_over": "5000", "person_sum_over": "900"}])
    policy = proposals.propose_policy(team, rules, Terms(drift_percent=10), base=0, by=lead, note="more", now=clock.now)
    proposals.propose_role(team, Membership.objects.get(user=owner), "approver", by=lead, now=clock.now)
    proposals.propose_ceiling(None, "gpus", Decimal(64), by=admin, reason="a bigger grant", now=clock.now)
    return ["/ceilings/", "/proposals/", f"/proposals/{policy.pk}/"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_page_is_accessible_and_fits(window: OpenWindow, waiting: list[str], scheme: str) -> None:
    wrong: dict[str, list[str]] = {}
    for width in (1280, 390):
        view = window(color_scheme=scheme, viewport={"width": width, "height": 900}).sign_in("admin")
        for address in waiting:
            view.page.goto(address)
            if PICTURES:
                name = f"{address.strip('/').replace('/', '-')}-{scheme}-{width}.png"
                view.page.screenshot(path=Path(PICTURES) / name, full_page=True)
            wrong[f"{address} at {width}"] = faults(view)

    assert {address: found for address, found in wrong.items() if found} == {}
