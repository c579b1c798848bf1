"""Tests that an allowed change of a persistent resource is checked again before it is sent, as a job is."""

from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.contrib.auth.models import User

from jobs import budgets, steps
from jobs.budget import Passing
from jobs.budgets import BudgetValues, create_budget
from jobs.errors import NotAllowed
from jobs.models import AllowedResource, PersistentResource, ResourceChange, Role, Team
from jobs.policy_rules import RULES
from jobs.requests import resource_figures
from jobs.requests.policy_versions import Terms, current_version, save_policy
from jobs.requests.resource_requests import approve_change, check_again
from jobs.submission import resize_body
from tests.conftest import person
from tests.domain.conftest import Cloud
from tests.domain.test_resource_requests import ask, body, made, work
from tests.support.ledger import committed
from tests.support.resources import seen

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]
Way = Callable[[], None]


@pytest.fixture
def allowed(cloud: Cloud, team: Team, approver: User, lead: User) -> ResourceChange:
    """An approved creation that was not sent yet."""
    change = ask(cloud, team, approver)
    assert approve_change(change, by=lead, now=cloud.now)
    return change


def rules(team: Team, lead: User, cloud: Cloud, *given: dict[str, Any], **terms: Any) -> None:
    version = current_version(team)
    base = version.number if version is not None else 0
    save_policy(team, RULES.validate_python(given), Terms(**terms), base=base, by=lead, note="", now=cloud.now)


def dearer(monkeypatch: pytest.MonkeyPatch, percent: int) -> None:
    """Raise every price."""
    hourly = resource_figures.hourly_of

    def raised(*of: Any) -> Decimal | None:
        usd = hourly(*of)
        return None if usd is None else usd * (100 + percent) / 100

    monkeypatch.setattr(resource_figures, "hourly_of", raised)


class TestRefused:
    @pytest.mark.parametrize("what", ["ceiling", "region", "key", "project", "budget"])
    def test_what_was_forbidden_since_is_not_sent(
        self, cloud: Cloud, team: Team, approver: User, lead: User, admin: User, what: str
    ) -> None:
        key = {"encryptionSpec": {"kmsKeyName": "projects/p/locations/l/keyRings/r/cryptoKeys/k"}}
        change = ask(cloud, team, approver, body=body() | key)
        assert approve_change(change, by=lead, now=cloud.now)
        if what == "ceiling":
            budgets.set_ceiling(team, "hour", Decimal(1), by=admin, reason="agreed", now=cloud.now)
        elif what == "region":
            rules(team, lead, cloud, {"outcome": "refuse", "regions": ["europe-west4"], "in_other_regions": True})
        elif what == "key":
            AllowedResource.objects.create(team=team, kind="key", name="another")
        elif what == "project":
            Team.objects.filter(pk=team.pk).update(project="elsewhere")
        else:
            values = BudgetValues("machines", Decimal(100), Passing.STOP)
            create_budget(team, values, by=lead, reason="agreed", now=cloud.now)

        work(cloud)

        change.refresh_from_db()
        assert change.outcome == "refused"
        assert change.message.startswith("Trainboard checked it again before sending it and refused it: ")
        assert not PersistentResource.objects.exists()
        assert committed(team, now=cloud.now) == 0

    def test_a_restart_of_machines_above_a_new_ceiling(
        self, cloud: Cloud, team: Team, approver: User, lead: User, admin: User
    ) -> None:
        row = made(cloud, team, approver, lead)
        change = ask(cloud, team, approver, "reboot", body={}, before=row.body)
        budgets.set_ceiling(None, "gpus", Decimal(1), by=admin, reason="agreed", now=cloud.now)

        work(cloud)

        change.refresh_from_db()
        assert (change.outcome, cloud.calls().get("persistentResources.reboot", 0)) == ("refused", 0)

    def test_a_size_that_was_smaller_when_it_was_asked_for(
        self, cloud: Cloud, team: Team, approver: User, lead: User
    ) -> None:
        row = made(cloud, team, approver, lead)
        change = ask(cloud, team, approver, "resize", body=resize_body(row, {0: 1}), before=row.body)
        assert change.due_at is not None, "it is smaller, so nobody is asked"
        smaller = resize_body(row, {0: 0}) | {"name": row.body.get("name", "")}
        PersistentResource.objects.update(body=row.body | smaller)  # somebody has made it smaller elsewhere

        work(cloud)

        change.refresh_from_db()
        assert (change.outcome, change.allowed_at, cloud.calls().get("persistentResources.patch", 0)) == ("", None, 0)
        assert approve_change(change, by=lead, now=cloud.now)

    def test_nothing_stops_a_deletion_or_a_smaller_size(
        self, cloud: Cloud, team: Team, approver: User, lead: User, admin: User
    ) -> None:
        row = made(cloud, team, approver, lead)
        rules(team, lead, cloud, {"outcome": "refuse"})
        budgets.set_ceiling(team, "hour", Decimal(0), by=admin, reason="agreed", now=cloud.now)

        for action, given in (("resize", resize_body(row, {0: 1})), ("delete", {})):
            change = ask(cloud, team, approver, action, body=given, before=row.body)
            work(cloud)
            change.refresh_from_db()
            assert change.outcome == "accepted"
            cloud.forward(minutes=30)
            work(cloud)


class TestAskedAgain:
    def test_if_it_costs_more_than_was_approved(
        self, cloud: Cloud, team: Team, lead: User, allowed: ResourceChange, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        before = committed(team, now=cloud.now)
        dearer(monkeypatch, 10)

        work(cloud)

        allowed.refresh_from_db()
        assert allowed.awaits_approval
        assert (allowed.approved_by, committed(team, now=cloud.now)) == ([], 0)
        assert not PersistentResource.objects.exists()
        assert approve_change(allowed, by=lead, now=cloud.now)
        assert committed(team, now=cloud.now) > before
        work(cloud)
        assert PersistentResource.objects.get().resource_id == "night-shift"

    def test_not_within_the_drift_that_the_policy_allows(
        self, cloud: Cloud, team: Team, lead: User, allowed: ResourceChange, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        rules(team, lead, cloud, {"outcome": "allow"}, drift_percent=10)
        dearer(monkeypatch, 9)

        work(cloud)

        assert PersistentResource.objects.exists()

    def test_if_the_policy_asks_more_or_other_people_now(
        self, cloud: Cloud, team: Team, approver: User, lead: User, allowed: ResourceChange
    ) -> None:
        second = person("second", team, Role.LEAD)
        rules(team, lead, cloud, {"outcome": "ask", "cost_over": "100", "approvals": 2, "role": "lead"})

        work(cloud)

        assert not PersistentResource.objects.exists()
        assert approve_change(allowed, by=lead, now=cloud.now)
        allowed.refresh_from_db()
        assert allowed.awaits_approval
        assert approve_change(allowed, by=second, now=cloud.now)
        work(cloud)
        assert PersistentResource.objects.exists()

    def test_if_more_time_or_machines_became_dearer(
        self, cloud: Cloud, team: Team, approver: User, lead: User, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        row = made(cloud, team, approver, lead)
        changes = []
        for action, given in (("extend", {}), ("resize", resize_body(row, {0: 3}))):
            changes.append(ask(cloud, team, approver, action, body=given, before=row.body))
            assert approve_change(changes[-1], by=lead, now=cloud.now)
            if action == "extend":
                work(cloud)
        dearer(monkeypatch, 10)

        work(cloud)

        changes[1].refresh_from_db()
        assert changes[1].awaits_approval


class TestSizes:
    def test_a_size_that_was_not_seen_yet_is_no_way_back_to_the_old_one(
        self, cloud: Cloud, team: Team, approver: User, lead: User
    ) -> None:
        row = made(cloud, team, approver, lead)
        ask(cloud, team, approver, "resize", body=resize_body(row, {0: 1}), before=row.body)
        work(cloud)

        back = ask(cloud, team, approver, "resize", body=resize_body(row, {0: 2}), before=row.body)

        assert back.awaits_approval, "before is what a poll saw earlier"

    def test_one_made_elsewhere_counts_when_it_was_made_larger_here(
        self, cloud: Cloud, team: Team, approver: User, lead: User
    ) -> None:
        row = made(cloud, team, approver, lead)
        ResourceChange.objects.all().delete()
        assert budgets.spent(cloud.now, team_id=team.pk).gpus == 0
        more = ask(cloud, team, approver, "resize", body=resize_body(row, {0: 3}), before=row.body)
        assert approve_change(more, by=lead, now=cloud.now)
        work(cloud)
        more.refresh_from_db()

        used = budgets.spent(cloud.now, team_id=team.pk, person_id=approver.pk)

        assert (used.gpus, used.usd_per_hour) == (3, more.usd_per_hour)
        assert used.usd == pytest.approx(more.most_usd)

    def test_policy_ceilings_and_budgets_count_one_made_elsewhere_alike(
        self, cloud: Cloud, team: Team, approver: User, lead: User, admin: User
    ) -> None:
        """Nobody ends it, so it counts for the longest lifetime and OUTAGE: 97 days."""
        row = seen(now=cloud.now, replicas=1)
        more = ask(cloud, team, approver, "resize", body=resize_body(row, {0: 4}), before=row.body)
        assert more.usd_per_hour is not None
        assert more.most_usd is not None
        assert more.most_usd == pytest.approx(more.usd_per_hour * 24 * 97)
        budgets.set_ceiling(None, "job", round(more.most_usd - 1, 2), by=admin, reason="agreed", now=cloud.now)
        with pytest.raises(NotAllowed, match="ceiling"):
            approve_change(more, by=lead, now=cloud.now)

        budgets.set_ceiling(None, "job", round(more.most_usd + 1, 2), by=admin, reason="agreed", now=cloud.now)
        assert approve_change(more, by=lead, now=cloud.now)

        assert budgets.spent(cloud.now, team_id=team.pk).usd == pytest.approx(more.most_usd)
        assert committed(team, now=cloud.now) == pytest.approx(more.most_usd)
        PersistentResource.objects.update(gone_at=cloud.now + timedelta(hours=1))
        assert committed(team, now=cloud.now) == 0

    def test_more_time_counts_the_size_that_vertex_ai_has_accepted(
        self, cloud: Cloud, team: Team, approver: User, lead: User
    ) -> None:
        row = made(cloud, team, approver, lead, body=body(1))
        larger = ask(cloud, team, approver, "resize", body=resize_body(row, {0: 10}), before=row.body)
        assert approve_change(larger, by=lead, now=cloud.now)
        for change_id in steps.due_resource_changes(cloud.now):
            steps.change_resource(change_id, clock=cloud.clock)
        larger.refresh_from_db()
        assert larger.outcome == "accepted"
        row.refresh_from_db()

        longer = ask(cloud, team, approver, "extend", body={}, before=row.body)
        assert (longer.usd_per_hour, longer.gpus) == (larger.usd_per_hour, 10)

        ResourceChange.objects.filter(pk=longer.pk).update(usd_per_hour=1, most_usd=1)
        longer.refresh_from_db()
        longer.allowed_at = cloud.now
        assert not check_again(longer, cloud.now), "before it is sent, too"

    def test_a_restart_counts_the_size_that_vertex_ai_has_accepted(
        self, cloud: Cloud, team: Team, approver: User, lead: User, admin: User
    ) -> None:
        row = made(cloud, team, approver, lead, body=body(1))
        larger = ask(cloud, team, approver, "resize", body=resize_body(row, {0: 10}), before=row.body)
        ResourceChange.objects.filter(pk=larger.pk).update(
            outcome="accepted", allowed_at=cloud.now, ended_at=cloud.now, due_at=None
        )
        budgets.set_ceiling(None, "gpus", Decimal(9), by=admin, reason="fewer", now=cloud.now)

        with pytest.raises(NotAllowed, match="ceiling"):
            ask(cloud, team, approver, "reboot", body={}, before=row.body)

    def test_a_second_one_with_its_name_counts_no_smaller(
        self, cloud: Cloud, team: Team, approver: User, lead: User
    ) -> None:
        change = ask(cloud, team, approver)
        assert approve_change(change, by=lead, now=cloud.now)
        for _ in range(2):
            work(cloud)
            with pytest.raises(NotAllowed, match="already"):
                ask(cloud, team, approver, body=body(1))
            cloud.forward(hours=2)

        ask(cloud, team, approver, "delete", body={})
        work(cloud)
        cloud.forward(minutes=30)
        work(cloud)
        assert ask(cloud, team, approver, body=body(1), lifetime=timedelta(days=1)).awaits_approval
