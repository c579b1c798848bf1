"""Tests of observed persistent resources: what the list returns, what is gone, and that no failure changes a row."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from jobs import observation, steps, tasks
from jobs.models import PersistentResource, Policy, Scope, Team
from jobs.observation.persistent_resources import IDLE_PAUSE
from jobs.queue import claims, rate_limit
from tests.domain.conftest import Cloud, RequestJob
from tests.domain.test_concurrency import together
from tests.support.resources import Resources

N1 = {"machineType": "n1-standard-8"}


@pytest.fixture
def resources(cloud: Cloud, team: Team) -> Resources:
    """`resources.create("night-shift")` makes one at Vertex AI, in the team's project and region."""
    return Resources(cloud._emulator, cloud.forward)


@pytest.fixture
def scope(cloud: Cloud, team: Team) -> Scope:
    """The place of the team, as the sweep finds it."""
    assert observation.watch_resources(cloud.now) == 1
    return Scope.objects.get(kind="persistent_resource")


def look(cloud: Cloud) -> Scope:
    """Look at the persistent resources now, due or not."""
    Scope.objects.filter(kind="persistent_resource").update(due_at=cloud.now)
    for scope_id in steps.due_scopes(cloud.now):
        steps.observe(scope_id, clock=cloud.clock)
    return Scope.objects.get(kind="persistent_resource")


@pytest.mark.usefixtures("scope")
class TestRows:
    def test_a_resource_is_found_with_its_state_and_body(self, resources: Resources, cloud: Cloud) -> None:
        resources.create("night-shift", machine=N1, replicas=2)

        scope = look(cloud)

        pool = PersistentResource.objects.get()
        assert (pool.project, pool.region, pool.resource_id) == ("vision-research", "us-central1", "night-shift")
        assert (pool.state, pool.state_since, pool.seen_at, pool.gone_at) == ("RUNNING", cloud.now, cloud.now, None)
        assert pool.body["resourcePools"][0]["machineSpec"] == N1
        assert (scope.answered_at, scope.last_error, scope.failures) == (cloud.now, "", 0)

    def test_an_answer_that_repeats_changes_only_when_it_was_seen(self, resources: Resources, cloud: Cloud) -> None:
        resources.create("night-shift")
        look(cloud)
        before = PersistentResource.objects.values().get()
        cloud.forward(minutes=1)

        look(cloud)

        assert PersistentResource.objects.values().get() == before | {"seen_at": cloud.now}

    def test_a_change_of_state_is_dated(self, resources: Resources, cloud: Cloud) -> None:
        resources.create("night-shift", wait=False)
        look(cloud)
        assert PersistentResource.objects.get().state == "PROVISIONING"
        began = cloud.now

        cloud.forward(minutes=20)
        look(cloud)

        pool = PersistentResource.objects.get()
        assert (pool.state, pool.state_since) == ("RUNNING", cloud.now)
        assert pool.state_since > began

    def test_what_is_missing_from_a_complete_list_is_gone_and_may_come_back(
        self, resources: Resources, cloud: Cloud
    ) -> None:
        resources.create("night-shift")
        resources.create("day-shift")
        look(cloud)
        resources.delete("night-shift")
        gone_at = cloud.forward(minutes=10)

        look(cloud)
        cloud.forward(minutes=10)
        look(cloud)

        assert PersistentResource.objects.get(resource_id="night-shift").gone_at == gone_at, (
            "the first look that missed it counts"
        )
        assert list(PersistentResource.objects.existing().values_list("resource_id", flat=True)) == ["day-shift"]
        resources.create("night-shift")
        look(cloud)
        pool = PersistentResource.objects.get(resource_id="night-shift")
        assert (pool.gone_at, pool.state_since) == (None, cloud.now)

    def test_odd_entries_are_left_out_and_told_and_nothing_counts_as_gone(
        self, resources: Resources, cloud: Cloud, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        resources.create("night-shift")
        look(cloud)
        name = "projects/1/locations/us-central1/persistentResources"
        odd = [7, {"name": 3}, {"name": f"{name}/new-one", "state": "HIBERNATING" * 9, "displayName": "d" * 400}]
        answer_with(monkeypatch, {"persistentResources": odd})

        scope = look(cloud)

        assert "2 entries of the list" in scope.last_error
        assert scope.failures == 0
        new = PersistentResource.objects.get(resource_id="new-one")
        assert new.state.startswith("HIBERNATINGHIBER")
        assert (len(new.state), len(new.display_name)) == (64, 128)
        assert PersistentResource.objects.get(resource_id="night-shift").gone_at is None


class TestTrouble:
    @pytest.mark.parametrize("fault", ["503", "html", "truncated", "reset", "403"])
    def test_a_failure_leaves_the_rows_and_is_told(
        self, scope: Scope, resources: Resources, cloud: Cloud, fault: str
    ) -> None:
        resources.create("night-shift")
        look(cloud)
        before = list(PersistentResource.objects.values())
        cloud.forward(minutes=1)
        cloud.fail("persistentResources.list", fault)

        scope = look(cloud)

        assert list(PersistentResource.objects.values()) == before
        assert (scope.failing_since, scope.failures, scope.claim) == (cloud.now, 1, None)
        assert scope.last_error
        assert scope.due_at is not None
        assert scope.due_at > cloud.now

    def test_a_429_is_obeyed(self, scope: Scope, cloud: Cloud) -> None:
        cloud.fail("persistentResources.list", "429", retry_after=77)

        assert look(cloud).due_at == cloud.now + timedelta(seconds=77)

    def test_our_own_budget_is_spent_and_its_end_is_no_failure(self, scope: Scope, cloud: Cloud, settings: Any) -> None:
        settings.READS_PER_MINUTE = 5
        rate_limit.forget()
        look(cloud)

        scope = look(cloud)

        assert "at most 5 read calls a minute" in scope.last_error
        assert (scope.failures, scope.failing_since) == (0, None)
        assert cloud.calls()["persistentResources.list"] == 1

    def test_a_second_page_that_fails_marks_nothing_as_gone(
        self, scope: Scope, resources: Resources, cloud: Cloud, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        resources.create("night-shift")
        look(cloud)
        answer_with(monkeypatch, {"nextPageToken": "more"}, {"persistentResources": "none"})

        scope = look(cloud)

        assert PersistentResource.objects.get().gone_at is None
        assert scope.failures == 1

    def test_a_worker_that_lost_the_scope_drops_what_it_learned(
        self, scope: Scope, resources: Resources, cloud: Cloud, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        resources.create("night-shift")
        monkeypatch.setattr(claims, "renew_poll", lambda *_, **__: False)

        look(cloud)

        assert not PersistentResource.objects.exists()

    @pytest.mark.django_db(transaction=True)
    def test_two_workers_never_look_at_one_place_at_once(
        self, scope: Scope, resources: Resources, cloud: Cloud
    ) -> None:
        resources.create("night-shift")
        Scope.objects.update(due_at=cloud.now)

        together(lambda _: steps.observe(scope.pk, clock=cloud.clock))

        assert cloud.calls()["persistentResources.list"] == 1
        assert PersistentResource.objects.count() == 1


class TestPlaces:
    def test_a_team_s_usual_region_and_those_of_its_policy(self, team: Team, cloud: Cloud) -> None:
        Policy.objects.update(regions=["europe-west4", "us-central1", "moon-base1", 7, {}])

        observation.watch_resources(cloud.now)

        regions = Scope.objects.filter(kind="persistent_resource").values_list("region", flat=True)
        assert sorted(regions) == ["europe-west4", "us-central1"]
        assert observation.watch_resources(cloud.now) == 0

    def test_the_sweep_sees_to_it_for_two_queries(
        self, scope: Scope, cloud: Cloud, django_assert_num_queries: Any
    ) -> None:
        with django_assert_num_queries(2):
            assert observation.watch_resources(cloud.now) == 0

    @pytest.mark.django_db(transaction=True)
    def test_the_sweep_hands_the_place_out(self, team: Team, cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> None:
        handed_out: list[dict[str, Any]] = []
        monkeypatch.setattr(tasks.observe, "apply_async", lambda **options: handed_out.append(options["kwargs"]))
        monkeypatch.setattr("jobs.clock.read_database_clock", lambda: cloud.now)

        tasks.sweep()  # finds the place
        cloud.forward(seconds=10)
        tasks.sweep()

        assert [each["scope_id"] for each in handed_out] == [Scope.objects.get().pk]

    def test_a_region_where_only_a_job_uses_one_is_looked_at_while_it_lives(
        self, scope: Scope, request_job: RequestJob, cloud: Cloud
    ) -> None:
        job = request_job(resource="far-away", region="europe-west4")
        there = Scope.objects.get(kind="persistent_resource", region="europe-west4")
        assert there.due_at == cloud.now

        steps.observe(there.pk, clock=cloud.clock)
        there.refresh_from_db()
        assert there.due_at == cloud.now + timedelta(seconds=10)
        Scope.objects.filter(pk=there.pk).delete()
        steps.observe(scope.pk, clock=cloud.clock)
        there = Scope.objects.get(region="europe-west4", kind="persistent_resource")
        assert there.due_at == cloud.now, "each look at the project makes sure of it"

        steps.cancel(job, by=job.owner, clock=cloud.clock)
        steps.observe(there.pk, clock=cloud.clock)
        there.refresh_from_db()
        assert there.due_at is None


class TestCadence:
    def test_seldom_while_nobody_needs_it(self, scope: Scope, cloud: Cloud) -> None:
        assert look(cloud).due_at == cloud.now + IDLE_PAUSE

    def test_often_while_a_job_uses_one(self, scope: Scope, request_job: RequestJob, cloud: Cloud) -> None:
        job = request_job(resource="night-shift")
        assert look(cloud).due_at == cloud.now + timedelta(seconds=10)

        steps.cancel(job, by=job.owner, clock=cloud.clock)
        assert look(cloud).due_at == cloud.now + IDLE_PAUSE

    def test_soon_when_somebody_looks_and_not_twice_within_the_poll_interval(
        self, scope: Scope, cloud: Cloud, django_assert_num_queries: Callable[[int], Any]
    ) -> None:
        look(cloud)
        with django_assert_num_queries(1):
            observation.follow_resources(["vision-research"], now=cloud.now)
        assert steps.due_scopes(cloud.now) == [], "it was seen a moment ago"

        cloud.forward(seconds=11)
        observation.follow_resources(["speech-research"], now=cloud.now)
        observation.follow_resources(["vision-research"], region="europe-west1", now=cloud.now - timedelta(days=1))
        assert scope.pk not in steps.due_scopes(cloud.now)
        observation.follow_resources(["vision-research"], now=cloud.now)
        assert scope.pk in steps.due_scopes(cloud.now)

    def test_whoever_looks_does_not_shorten_the_pause_after_a_failure(self, scope: Scope, cloud: Cloud) -> None:
        cloud.fail("persistentResources.list", "503", retry_after=100)
        look(cloud)
        cloud.forward(seconds=50)

        observation.follow_resources(["vision-research"], now=cloud.now)

        assert steps.due_scopes(cloud.now) == []

    def test_a_region_that_nobody_watched_is_looked_at_once(self, scope: Scope, cloud: Cloud) -> None:
        look(cloud)
        observation.follow_resources(["vision-research"], region="no-region", now=cloud.now)
        assert steps.due_scopes(cloud.now) == []

        observation.follow_resources(["vision-research"], region="europe-west4", now=cloud.now)

        (there,) = steps.due_scopes(cloud.now)
        steps.observe(there, clock=cloud.clock)
        assert Scope.objects.get(pk=there).due_at is None


def answer_with(monkeypatch: pytest.MonkeyPatch, *answers: dict[str, Any]) -> None:
    """Let the next calls of the client bring these JSON objects."""
    waiting = list(answers)
    monkeypatch.setattr("jobs.vertex.caller.answers.read", lambda *_: waiting.pop(0) if waiting[1:] else waiting[0])
