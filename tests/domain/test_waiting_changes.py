"""Tests that a change which waits for a second person reaches those who can accept it, by message and badge."""

from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.contrib.auth.models import User

from dashboard.queries.page_frame import count_for_frame
from jobs import budgets, messages, proposals
from jobs.messages.route import route
from jobs.models import Delivery, Invitation, Membership, Message, Role, Team
from jobs.policy_rules import RULES
from jobs.requests.policy_versions import Terms
from jobs.requests.resource_requests import approve_change, ask_for_change
from tests.conftest import person
from tests.support import samples
from tests.support.clock import Clock

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]


def receivers(now: Any) -> set[str]:
    route(now)
    rows = Delivery.objects.filter(message__kind="change_waits", via="browser")
    return set(rows.values_list("person__username", flat=True))


def waiting(user: User, clock: Clock) -> tuple[int, int]:
    """Return the changes for two people and of resources that the badge counts for a person."""
    found = count_for_frame(User.objects.get(pk=user.pk), clock.now.date())
    return found.get("proposals", 0), found.get("resources", 0)


def test_a_looser_policy_reaches_other_leads_and_site_admins(
    team: Team, lead: User, other_lead: User, approver: User, owner: User, admin: User, stranger: User, clock: Clock
) -> None:
    rules = RULES.validate_python([{"outcome": "allow"}])
    proposals.propose_policy(team, rules, Terms(), base=0, by=lead, note="needed", now=clock.now)

    assert receivers(clock.now) == {"lena", "admin"}
    content = messages.content_of(Message.objects.get(), clock.now)
    assert "lead proposes to change the policy of vision." in content.lines
    assert [waiting(each, clock) for each in (lead, other_lead, admin, approver, owner, stranger)] == [
        (0, 0), (1, 0), (1, 0), (0, 0), (0, 0), (0, 0),
    ]  # fmt: skip


def test_nobody_is_told_of_what_applies_at_once(team: Team, admin: User, clock: Clock) -> None:
    proposals.propose_policy(
        team, RULES.validate_python([{"outcome": "allow"}]), Terms(), base=0, by=admin, note="needed", now=clock.now
    )  # fmt: skip

    assert receivers(clock.now) == set()


def test_a_ceiling_reaches_site_admins_only(
    team: Team, other_lead: User, admin: User, second_admin: User, clock: Clock
) -> None:
    for of in (team, None):
        for usd in (10, 20):
            proposals.propose_ceiling(of, "job", Decimal(usd), by=admin, reason="agreed", now=clock.now)

    assert receivers(clock.now) == {"root"}
    assert [waiting(each, clock) for each in (admin, second_admin, other_lead)] == [(0, 0), (2, 0), (0, 0)]
    assert budgets.has_ceilings(team)


def test_a_role_is_no_change_that_its_person_accepts(
    team: Team, lead: User, other_lead: User, owner: User, clock: Clock
) -> None:
    member = Membership.objects.get(team=team, user=owner)
    proposals.propose_role(team, member, Role.LEAD, by=lead, now=clock.now)
    Membership.objects.filter(pk=member.pk).update(role=Role.LEAD)  # meanwhile, by a site admin

    assert [waiting(each, clock) for each in (other_lead, owner, lead)] == [(1, 0), (0, 0), (0, 0)]


def test_machines_reach_approvers_and_leads(team: Team, approver: User, lead: User, owner: User, clock: Clock) -> None:
    second = person("second", team, Role.APPROVER)
    change = ask_for_change(
        "create", team=team, project=team.project, region="us-central1", resource_id="night-shift", by=approver,
        now=clock.now, lifetime=timedelta(days=1), body={"resourcePools": [{"machineSpec": samples.A100}]},
    )  # fmt: skip
    assert change is not None

    assert receivers(clock.now) == {"lead", "second"}
    assert [waiting(each, clock) for each in (approver, lead, second, owner)] == [(0, 0), (0, 1), (0, 1), (0, 0)]
    assert approve_change(change, by=lead, now=clock.now)
    assert waiting(second, clock) == (0, 0)


def test_machines_that_somebody_has_approved_wait_for_somebody_else(
    team: Team, approver: User, lead: User, other_lead: User, admin: User, clock: Clock
) -> None:
    change = ask_for_change(
        "create", team=team, project=team.project, region="us-central1", resource_id="night-shift", by=approver,
        now=clock.now, lifetime=timedelta(days=1), body={"resourcePools": [{"machineSpec": samples.A100}]},
    )  # fmt: skip
    assert change is not None
    change.needs = [{"approvals": 3}]
    change.save(update_fields=["needs"])
    everybody = (lead, other_lead, admin)
    assert [waiting(each, clock)[1] for each in everybody] == [1, 1, 1]

    assert approve_change(change, by=lead, now=clock.now)
    assert [waiting(each, clock)[1] for each in everybody] == [0, 1, 1]
    Invitation.objects.create(
        team=team, email="x@example.com", role="lead", digest="1", invited_at=clock.now, expires_at=clock.now,
        invited_by=lead, accepted_by=other_lead, accepted_at=clock.now,
    )  # fmt: skip

    assert [waiting(each, clock)[1] for each in everybody] == [0, 0, 1], "an account of the lead's counts as theirs"
    assert approve_change(change, by=admin, now=clock.now)
    assert [waiting(each, clock)[1] for each in everybody] == [0, 0, 0]
