"""Tests of the gate before persistent resources: who approves them, what they may cost, and when they end."""

from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from auditlog.models import LogEntry
from django.contrib.auth.models import User

from jobs import steps
from jobs.budget import Passing
from jobs.budgets import BudgetValues, create_budget
from jobs.errors import NotAllowed, NotPermitted
from jobs.models import PersistentResource, ResourceChange, Role, Scope, Team
from jobs.policy_rules import RULES
from jobs.queue import installation
from jobs.requests.policy_versions import Terms, save_policy
from jobs.requests.resource_requests import approve_change, ask_for_change, reject_change
from jobs.submission import resize_body
from tests.conftest import person
from tests.domain.conftest import Cloud
from tests.support import samples
from tests.support.clock import watch_from
from tests.support.ledger import committed
from tests.support.resources import DISK, seen

WEEK = timedelta(days=7)
pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]


def body(replicas: int = 2, most: int = 0) -> dict[str, Any]:
    pool: dict[str, Any] = {"machineSpec": samples.A100, "diskSpec": DISK, "replicaCount": str(replicas)}
    if most:
        pool["autoscalingSpec"] = {"minReplicaCount": "1", "maxReplicaCount": str(most)}
    return {"resourcePools": [pool]}


@pytest.fixture
def rules(team: Team, lead: User, cloud: Cloud) -> Callable[..., None]:
    """`rules([{"outcome": "allow"}])` is the team's policy from now on."""

    def save(given: list[dict[str, Any]]) -> None:
        found = RULES.validate_python(given)
        save_policy(team, found, Terms(), base=0, by=lead, note="", now=cloud.now)

    return save


@pytest.fixture(autouse=True)
def _workers_send(cloud: Cloud) -> None:
    watch_from(cloud.now)
    installation.load_installation(cloud.now)


def ask(cloud: Cloud, team: Team, by: User, action: str = "create", **changes: Any) -> ResourceChange:
    lifetime = WEEK if action in ("create", "extend") else None
    values: dict[str, Any] = {"region": "us-central1", "body": body(), "lifetime": lifetime} | changes
    team = Team.objects.get(pk=team.pk)  # with the policy of now
    change = ask_for_change(
        action, team=team, project=team.project, resource_id="night-shift", by=by, now=cloud.now, **values
    )
    assert change is not None
    return change


def work(cloud: Cloud) -> None:
    for change_id in steps.due_resource_changes(cloud.now):
        steps.change_resource(change_id, clock=cloud.clock)
    Scope.objects.filter(kind="persistent_resource").update(due_at=cloud.now)
    for scope_id in steps.due_scopes(cloud.now):
        steps.observe(scope_id, clock=cloud.clock)


def made(cloud: Cloud, team: Team, by: User, approver: User, **changes: Any) -> PersistentResource:
    """Have a resource made, and wait until it runs."""
    assert approve_change(ask(cloud, team, by, **changes), by=approver, now=cloud.now)
    work(cloud)
    cloud.forward(minutes=30)
    work(cloud)
    return PersistentResource.objects.get()


class TestApproval:
    def test_nobody_makes_machines_alone(self, cloud: Cloud, team: Team, approver: User, lead: User) -> None:
        change = ask(cloud, team, approver)
        work(cloud)
        cloud.forward(days=1)
        work(cloud)
        assert not PersistentResource.objects.exists()
        with pytest.raises(NotPermitted, match="somebody else"):
            approve_change(change, by=approver, now=cloud.now)

        assert approve_change(change, by=lead, now=cloud.now)

        work(cloud)
        assert PersistentResource.objects.get().resource_id == "night-shift"
        assert not approve_change(change, by=lead, now=cloud.now), "it was decided before"

    @pytest.mark.parametrize("who", ["owner", "stranger"])
    def test_engineers_and_strangers_decide_nothing(
        self, cloud: Cloud, team: Team, approver: User, who: str, request: pytest.FixtureRequest
    ) -> None:
        change, outsider = ask(cloud, team, approver), request.getfixturevalue(who)

        for decide in (approve_change, reject_change):
            with pytest.raises(NotPermitted):
                decide(change, by=outsider, now=cloud.now)

        change.refresh_from_db()
        assert (change.due_at, change.ended_at, change.approved_by) == (None, None, [])

    def test_whatever_makes_it_due_sends_nothing_that_nobody_approved(
        self, cloud: Cloud, team: Team, approver: User
    ) -> None:
        change = ask(cloud, team, approver)
        ResourceChange.objects.update(due_at=cloud.now)

        steps.change_resource(change.pk, clock=cloud.clock)
        work(cloud)

        assert not PersistentResource.objects.exists()

    def test_as_many_approve_as_the_policy_asks_for(
        self, cloud: Cloud, team: Team, approver: User, lead: User, rules: Any
    ) -> None:
        second = person("second", team, Role.LEAD)
        rules([{"outcome": "ask", "cost_over": "100", "approvals": 2, "role": "lead"}])
        change = ask(cloud, team, approver)
        with pytest.raises(NotPermitted):
            approve_change(change, by=person("another", team, Role.APPROVER), now=cloud.now)

        assert approve_change(change, by=lead, now=cloud.now)
        change.refresh_from_db()
        assert change.awaits_approval
        assert not approve_change(change, by=lead, now=cloud.now), "a person approves once"
        assert approve_change(change, by=second, now=cloud.now)

        change.refresh_from_db()
        assert change.due_at == cloud.now

    def test_a_rejection_or_withdrawal_ends_it(self, cloud: Cloud, team: Team, approver: User, lead: User) -> None:
        for by, words in ((lead, "lead rejected it."), (approver, "approver withdrew it.")):
            change = ask(cloud, team, approver)

            assert reject_change(change, by=by, now=cloud.now)

            change.refresh_from_db()
            assert (change.outcome, change.message) == ("refused", words)
            assert not approve_change(change, by=lead, now=cloud.now)

    def test_each_step_is_in_the_audit_log(self, cloud: Cloud, team: Team, approver: User, lead: User) -> None:
        approve_change(ask(cloud, team, approver), by=lead, now=cloud.now)

        entries = LogEntry.objects.filter(content_type__model="resourcechange").order_by("pk")
        assert [entry.action for entry in entries] == [LogEntry.Action.CREATE, LogEntry.Action.UPDATE]
        assert "approved_by" in entries[1].changes


class TestRules:
    def test_a_region_that_policy_refuses(self, cloud: Cloud, team: Team, approver: User, rules: Any) -> None:
        rules([{"outcome": "refuse", "regions": ["europe-west4"], "in_other_regions": True}])

        with pytest.raises(NotAllowed, match="policy of the team refuses"):
            ask(cloud, team, approver)

        assert not ResourceChange.objects.exists()

    def test_a_rule_that_allows_does_not_replace_the_approval(
        self, cloud: Cloud, team: Team, approver: User, rules: Any
    ) -> None:
        rules([{"outcome": "allow"}])

        assert ask(cloud, team, approver).awaits_approval

    def test_a_lifetime_is_needed(self, cloud: Cloud, team: Team, approver: User) -> None:
        for lifetime in (None, timedelta(), timedelta(days=91), timedelta(days=-1)):
            with pytest.raises(NotAllowed, match="lifetime"):
                ask(cloud, team, approver, lifetime=lifetime)

    def test_the_amount_is_the_lifetime_and_a_week_without_trainboard(
        self, cloud: Cloud, team: Team, approver: User
    ) -> None:
        change = ask(cloud, team, approver)

        assert change.usd_per_hour is not None
        assert change.most_usd is not None
        assert abs(change.most_usd - change.usd_per_hour * 24 * 14) < Decimal("0.01")

    def test_an_autoscaled_pool_counts_at_its_largest(self, cloud: Cloud, team: Team, approver: User) -> None:
        small = ask(cloud, team, approver)
        reject_change(small, by=approver, now=cloud.now)

        large = ask(cloud, team, approver, body=body(1, most=200))

        assert large.usd_per_hour is not None
        assert small.usd_per_hour is not None
        assert large.usd_per_hour == pytest.approx(small.usd_per_hour * 100, abs=Decimal("0.0001"))

    def test_what_has_no_price_is_asked_about(self, cloud: Cloud, team: Team, approver: User) -> None:
        unknown = {"resourcePools": [{"machineSpec": {"machineType": "z9-mega"}, "replicaCount": "5"}]}

        change = ask(cloud, team, approver, body=unknown)

        assert (change.most_usd, change.awaits_approval) == (None, True)


class TestBudgets:
    def limit(self, team: Team, usd: int, by: User, cloud: Cloud) -> None:
        values = BudgetValues("machines", Decimal(usd), Passing.STOP)
        create_budget(team, values, by=by, reason="agreed", now=cloud.now)

    def test_a_budget_that_stops_refuses_it(self, cloud: Cloud, team: Team, approver: User, lead: User) -> None:
        self.limit(team, 100, lead, cloud)

        with pytest.raises(NotAllowed, match="It may cost"):
            ask(cloud, team, approver)

    def test_that_of_a_person_counts_all_their_machines(
        self, cloud: Cloud, team: Team, approver: User, lead: User
    ) -> None:
        first = ask(cloud, team, approver)
        assert first.most_usd is not None
        values = BudgetValues("hers", first.most_usd + 1, Passing.STOP)
        of = {"dimension": "person", "value": str(approver.pk)}
        create_budget(team, values, by=lead, reason="agreed", now=cloud.now, **of)
        approve_change(first, by=lead, now=cloud.now)

        with pytest.raises(NotAllowed, match="It may cost"):
            ask_for_change(
                "create", team=team, project=team.project, region="us-central1", resource_id="another", by=approver,
                now=cloud.now, body=body(), lifetime=WEEK,
            )  # fmt: skip

    def test_and_refuses_the_approval_when_it_was_spent_meanwhile(
        self, cloud: Cloud, team: Team, approver: User, lead: User
    ) -> None:
        change = ask(cloud, team, approver)
        self.limit(team, 100, lead, cloud)

        with pytest.raises(NotAllowed):
            approve_change(change, by=lead, now=cloud.now)

        change.refresh_from_db()
        assert (change.approved_by, change.due_at) == ([], None)

    def test_an_approved_one_is_committed_until_it_is_gone(
        self, cloud: Cloud, team: Team, approver: User, lead: User
    ) -> None:
        change = ask(cloud, team, approver)
        assert change.most_usd is not None
        assert committed(team, now=cloud.now) == 0
        approve_change(change, by=lead, now=cloud.now)
        assert abs(committed(team, now=cloud.now) - change.most_usd) < Decimal("0.01")
        work(cloud)
        cloud.forward(days=3)
        work(cloud)
        assert abs(committed(team, now=cloud.now) - change.most_usd * 11 / 14) < Decimal("0.02")

        ask(cloud, team, approver, "delete", body={})
        work(cloud)
        cloud.forward(minutes=30)
        work(cloud)
        assert committed(team, now=cloud.now) == 0

    def test_what_vertex_ai_refuses_is_not_committed(
        self, cloud: Cloud, team: Team, approver: User, lead: User
    ) -> None:
        bad = body() | {"reservedIpRanges": "no list"}
        approve_change(ask(cloud, team, approver, body=bad), by=lead, now=cloud.now)
        work(cloud)

        assert ResourceChange.objects.get().outcome == "refused"
        assert committed(team, now=cloud.now) == 0


class TestResize:
    def test_more_machines_are_approved_and_fewer_are_not(
        self, cloud: Cloud, team: Team, approver: User, lead: User
    ) -> None:
        row = made(cloud, team, approver, lead)

        more = ask(cloud, team, approver, "resize", body=resize_body(row, {0: 3}), before=row.body)
        assert more.awaits_approval
        reject_change(more, by=approver, now=cloud.now)
        fewer = ask(cloud, team, approver, "resize", body=resize_body(row, {0: 1}), before=row.body)

        assert not fewer.awaits_approval
        assert fewer.due_at == cloud.now

    def test_a_spent_budget_or_a_policy_refuses_no_smaller_resource(
        self, cloud: Cloud, team: Team, approver: User, lead: User, rules: Any
    ) -> None:
        row = made(cloud, team, approver, lead)
        create_budget(team, BudgetValues("machines", Decimal(1), Passing.STOP), by=lead, reason="agreed", now=cloud.now)
        rules([{"outcome": "refuse"}])

        fewer = ask(cloud, team, approver, "resize", body=resize_body(row, {0: 1}), before=row.body)

        assert fewer.due_at == cloud.now
        with pytest.raises(NotAllowed):
            ask_for_change(
                "resize", team=Team.objects.get(pk=team.pk), project=team.project, region="us-central1",
                resource_id="other", by=approver, now=cloud.now, body=resize_body(row, {0: 9}), before=row.body,
            )  # fmt: skip

    def test_counts_the_rest_of_the_lifetime(self, cloud: Cloud, team: Team, approver: User, lead: User) -> None:
        row = made(cloud, team, approver, lead)
        cloud.forward(days=5)

        more = ask(cloud, team, approver, "resize", body=resize_body(row, {0: 3}), before=row.body)

        assert more.usd_per_hour is not None
        assert more.most_usd is not None
        assert abs(more.most_usd / more.usd_per_hour / 24 - 9) < 1, "two days, and seven without Trainboard"


def test_more_gpus_wait_for_an_approval_though_they_cost_less(cloud: Cloud, team: Team, approver: User) -> None:
    """Eight H100 less pay for a hundred T4 more."""
    t4 = {"machineType": "n1-standard-4", "acceleratorType": "NVIDIA_TESLA_T4", "acceleratorCount": 1}
    h100 = {"machineType": "a3-highgpu-8g", "acceleratorType": "NVIDIA_H100_80GB", "acceleratorCount": 8}
    pools = [{"machineSpec": h100, "replicaCount": "2"}, {"machineSpec": t4, "replicaCount": "1"}]
    row = seen(now=cloud.now, pools=[pool | {"diskSpec": DISK} for pool in pools])

    larger = ask(cloud, team, approver, "resize", body=resize_body(row, {0: 1, 1: 100}), before=row.body)

    assert (larger.awaits_approval, larger.gpus) == (True, 108)
