"""Tests of the cost of persistent resources: rows of sizes, daily bills, and the sums that budgets use."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.contrib.auth.models import User

from jobs import budgets, observation, steps, transitions
from jobs.budget import Passing
from jobs.budgets import watch_budgets
from jobs.budgets.resources import record_resource
from jobs.models import CostEntry, Job, PersistentResource, ResourceChange, ResourceSize, Scope, Team
from jobs.observation.resource_sizes import record_sizes
from tests.conftest import person
from tests.domain.conftest import Cloud, RequestJob
from tests.support.clock import Clock
from tests.support.ledger import check_ledger, idle_by_day, list_left, spent
from tests.support.resources import Resources, seen

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]
PLACE = {"project": "vision-research", "region": "us-central1"}
REPLICA_USD = Decimal("3.673385") * Decimal("1.15") + 100 * Decimal("0.1955") / 730
"""An A100 machine at the standard price with its boot disk, by docs/cost.md, section 1."""


def usd(replica_hours: float) -> Decimal:
    return round(REPLICA_USD * Decimal(repr(replica_hours)), 6)


def see(now: datetime, **changes: Any) -> PersistentResource:
    """Write the resource as it is listed at `now`, and its size; `is_gone` for a list without it."""
    is_gone = changes.pop("is_gone", False)
    row = seen(now=now, **changes) if not is_gone else PersistentResource.objects.get()
    scope = Scope(kind="persistent_resource", **PLACE)
    if is_gone:
        PersistentResource.objects.update(gone_at=now)
    record_sizes(scope, [] if is_gone else [row], [row.resource_id] if is_gone else [], now)
    return PersistentResource.objects.get()


def run(job: Job, now: datetime) -> Job:
    for state, columns in (("submitting", {}), ("running", {"remote_name": f"{PLACE['project']}/{job.pk}"})):
        assert transitions.transition(job, state, now=now, message="It goes on.", **columns)
    return job


def end(job: Job, now: datetime) -> None:
    assert transitions.transition(job, "succeeded", now=now, message="It ended.")


class TestBill:
    def test_idle_replicas_are_paid_by_who_created_them_the_others_by_their_jobs_teams(
        self, request_job: RequestJob, team: Team, owner: User, clock: Clock
    ) -> None:
        others = Team.objects.create(name="neighbours", project=team.project, default_region="us-central1")
        ResourceChange.objects.create(
            team=others, **PLACE, resource_id="night-shift", action="create", asked_by=owner, asked_at=clock.now,
            outcome="accepted", ended_at=clock.now,
        )  # fmt: skip
        see(clock.now, replicas=4)
        job = run(request_job(resource="night-shift"), clock.now)
        end(job, clock.forward(hours=6))
        watch_budgets(clock.forward(hours=4))

        assert spent(others, clock.now) == usd(4 * 10 - 6)
        assert spent(others, clock.now, "resource", "night-shift in us-central1") == usd(34)
        assert spent(others, clock.now, "strategy", "persistent") == usd(34)
        assert spent(team, clock.now) == usd(6)
        assert spent(team, clock.now, "resource", "night-shift in us-central1") == 0
        check_ledger(clock.now)

    def test_follows_its_size(self, team: Team, clock: Clock) -> None:
        see(clock.now, replicas=2)
        see(clock.forward(hours=3), replicas=2)
        see(clock.now, replicas=5, state="UPDATING")
        see(clock.forward(hours=1), replicas=5)
        see(clock.forward(hours=1), replicas=5, state="STOPPING")
        watch_budgets(clock.forward(hours=9))

        assert sum(idle_by_day(team).values()) == usd(2 * 3 + 5 * 2)
        assert [row.is_up for row in ResourceSize.objects.order_by("pk")] == [True, True, False]

    def test_ends_where_a_list_holds_it_no_more(self, team: Team, clock: Clock) -> None:
        see(clock.now, replicas=1)
        see(clock.forward(hours=2), is_gone=True)
        watch_budgets(clock.forward(hours=10))
        watch_budgets(clock.forward(days=40))

        assert sum(idle_by_day(team).values()) == usd(2)

    def test_that_is_made_again_begins_anew(self, team: Team, clock: Clock) -> None:
        see(clock.now, replicas=1)
        see(clock.forward(hours=2), is_gone=True)
        started = clock.forward(hours=5)
        see(clock.forward(minutes=3), replicas=3, body={"startTime": started.isoformat().replace("+00:00", "Z")})
        watch_budgets(clock.forward(minutes=57))

        assert sum(idle_by_day(team).values()) == usd(2 + 3)

    def test_of_a_project_of_several_teams_is_nobodys_where_it_was_made_elsewhere(
        self, team: Team, clock: Clock
    ) -> None:
        Team.objects.create(name="neighbours", project=team.project, default_region="us-central1")
        see(clock.now)
        watch_budgets(clock.forward(hours=2))

        assert not CostEntry.objects.exists()
        assert ResourceSize.objects.get().team is None

    def test_is_not_made_up_where_no_price_is_known(self, team: Team, clock: Clock) -> None:
        pool = {"machineSpec": {"machineType": "future-9"}, "replicaCount": "2"}
        see(clock.now, pools=[pool])
        watch_budgets(clock.forward(hours=2))

        assert ResourceSize.objects.get().replica_usd == [None]
        assert idle_by_day(team) == {}


class TestDays:
    def test_are_those_of_utc_in_every_time_zone(self, team: Team, clock: Clock) -> None:
        """Four hours around the end of a month, which begins earlier in Tokyo and later in California."""
        clock.forward(seconds=(datetime(2026, 3, 31, 21, tzinfo=UTC) - clock.now).total_seconds())
        see(clock.now, replicas=1)
        watch_budgets(clock.forward(hours=4))

        assert idle_by_day(team) == {"2026-03-31": usd(3), "2026-04-01": usd(1)}
        assert spent(team, datetime(2026, 3, 1, tzinfo=UTC)) == usd(3)
        assert spent(team, datetime(2026, 4, 1, tzinfo=UTC)) == usd(1)

    def test_of_before_stay_when_the_last_ones_are_counted_again(self, team: Team, clock: Clock) -> None:
        see(clock.now, replicas=1)
        for _ in range(10):
            watch_budgets(clock.forward(hours=12))

        assert sum(idle_by_day(team).values()) == pytest.approx(usd(120), abs=Decimal("0.00001"))
        assert spent(team, clock.now) == sum(idle_by_day(team).values())
        check_ledger(clock.now)

    def test_are_counted_again_when_the_end_of_a_job_is_learned_late(
        self, request_job: RequestJob, team: Team, clock: Clock
    ) -> None:
        see(clock.now, replicas=1)
        job = run(request_job(resource="night-shift"), clock.now)
        began = clock.now
        watch_budgets(clock.forward(hours=4))
        assert idle_by_day(team) == {}

        transitions.transition(
            job, "succeeded", now=clock.now, occurred_at=began + timedelta(hours=1), message="It ended."
        )
        watch_budgets(clock.forward(minutes=6))

        assert sum(idle_by_day(team).values()) == usd(3.1)
        assert spent(team, clock.now) == pytest.approx(usd(4.1), abs=Decimal("0.00001"))
        check_ledger(clock.now)


class TestSums:
    def test_are_added_once_by_two_workers(self, team: Team, clock: Clock) -> None:
        row = see(clock.now, replicas=1)
        now = clock.forward(hours=1)

        assert [record_resource(row, now), record_resource(row, now)] == [True, False]
        assert spent(team, now) == usd(1)

    def test_count_against_the_budget_of_the_team(self, team: Team, clock: Clock) -> None:
        lead = person("lead", team, "lead")
        values = budgets.BudgetValues("vision", Decimal(100), Passing.STOP)
        budgets.create_budget(team, values, by=lead, reason="agreed", now=clock.now)
        see(clock.now, replicas=1)
        watch_budgets(clock.forward(hours=3))

        ((_, left),) = list_left(clock.now)
        assert left.spent_usd == usd(3)


class TestObserved:
    def test_from_its_first_start_until_somebody_else_deletes_it(self, cloud: Cloud, team: Team) -> None:
        resources = Resources(cloud._emulator, cloud.forward)
        assert observation.watch_resources(cloud.now) == 1

        def look() -> None:
            Scope.objects.filter(kind="persistent_resource").update(due_at=cloud.now)
            for scope_id in steps.due_scopes(cloud.now):
                steps.observe(scope_id, clock=cloud.clock)

        resources.create("shared", replicas=3)
        look()
        started = ResourceSize.objects.get()
        assert started.at == cloud.moment(PersistentResource.objects.get().body["startTime"]) < cloud.now
        assert (started.team, started.resource_pools[0]["replicaCount"]) == (team, "3")
        look()
        cloud.forward(hours=1)
        resources.delete("shared")
        for _ in range(6):
            cloud.forward(minutes=5)
            look()

        last = ResourceSize.objects.order_by("pk").last()
        assert last is not None
        assert (ResourceSize.objects.count(), last.is_up) == (2, False)
        watch_budgets(cloud.forward(hours=5))
        assert sum(idle_by_day(team).values()) == usd(3 * ((last.at - started.at) / timedelta(hours=1)))

    def test_sizes_are_never_changed(self, team: Team, clock: Clock) -> None:
        see(clock.now)

        with pytest.raises(TypeError, match="never changed"):
            ResourceSize.objects.update(is_up=False)
        with pytest.raises(TypeError, match="never deleted"):
            ResourceSize.objects.all().delete()
