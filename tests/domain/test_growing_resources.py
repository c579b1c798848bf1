"""A persistent resource that was made elsewhere and grows by itself does so for jobs: what they may add counts."""

from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.contrib.auth.models import User

from jobs import budgets, observation
from jobs.budgets import spent
from jobs.models import Job, PersistentResource, Policy, Role
from jobs.requests.resource_requests import approve_change, ask_for_change
from tests.conftest import person
from tests.pages.conftest import _pages_read_the_tests_clock  # noqa: F401 - a fixture
from tests.support import samples
from tests.support.attacker import World
from tests.support.resources import DISK

pytestmark = pytest.mark.django_db
CEILINGS = {"job": Decimal(25), "hour": Decimal(40), "person_day": Decimal(90), "gpus": Decimal(12)}
POOL = {"machineSpec": samples.A100, "diskSpec": DISK}
GROWS = POOL | {"autoscalingSpec": {"minReplicaCount": "1", "maxReplicaCount": "40"}}


@pytest.fixture
def parent(world: World) -> str:
    Policy.objects.update(ask_over_usd=10**9)
    world.cloud.script("long")
    return f"projects/{world.team.project}/locations/us-central1/persistentResources"


def made_elsewhere(world: World, parent: str, pool: dict[str, Any], *, is_seen: bool = True) -> None:
    """Have a resource with this pool, made without Trainboard, and wait until it runs, and was seen."""
    world.cloud.call("POST", f"{parent}?persistentResourceId=elastic", {"resourcePools": [pool]})
    if is_seen:
        observation.watch_resources(world.cloud.now)
    for _ in range(4):
        world.work(hours=0.5)
    assert PersistentResource.objects.exists() == is_seen


def made_here(world: World, pool: dict[str, Any]) -> None:
    """Have a resource with this pool made as the team's approver and lead agree, and wait until it was seen."""
    one, two = person("one", world.team, Role.APPROVER), person("two", world.team, Role.LEAD)
    change = ask_for_change(
        "create", team=world.team, project=world.team.project, region="us-central1", resource_id="elastic", by=one,
        now=world.cloud.now, body={"resourcePools": [pool]}, lifetime=timedelta(days=1),
    )  # fmt: skip
    assert change is not None
    assert approve_change(change, by=two, now=world.cloud.now)
    for _ in range(4):
        world.work(hours=0.5)


def on_it(world: World, name: str, *, others: int, timeout: str) -> int:
    """Request a job on it with `others` replicas beside the first. Return the status of the answer."""
    body = samples.body(name=name, extra_replicas=others, resource="elastic", scheduling={"timeout": timeout})
    return int(world.api().post("/jobs", {"spec": body, "expected_seconds": 60}, key=name).status_code)


@pytest.mark.parametrize("is_seen", [True, False])
def test_a_job_makes_it_grow_no_further_than_the_ceilings(
    world: World, parent: str, admin: User, is_seen: bool
) -> None:
    for kind, amount in CEILINGS.items():
        budgets.set_ceiling(None, kind, amount, by=admin, reason="agreed", now=world.cloud.now)
    made_elsewhere(world, parent, GROWS, is_seen=is_seen)

    assert on_it(world, "grows", others=39, timeout="604800s") == 422

    for _ in range(6):
        world.work(hours=0.5)
    (found,) = world.cloud.call("GET", parent)["persistentResources"]
    assert int(found["resourcePools"][0]["replicaCount"]) <= 12


def test_what_it_may_add_is_in_use_until_a_day_after_its_end(world: World, parent: str) -> None:
    made_elsewhere(world, parent, GROWS)
    assert on_it(world, "grows", others=3, timeout="3600s") == 201
    job = Job.objects.get()
    hourly = Decimal(job.estimate["adds_usd_per_hour"])
    used = spent(world.cloud.now, person_id=world.me.pk)
    assert (used.gpus, used.usd_per_hour, used.usd) == (4, hourly, job.max_usd)
    assert job.hourly_usd == 0, "the resource's bill has it"
    assert job.max_usd is not None
    assert hourly * 8 <= job.max_usd <= hourly * 9, "four runs of an hour, each with an hour until it scales down"

    for _ in range(12):
        world.work(hours=0.5)

    assert Job.objects.get().is_finished
    ran = spent(world.cloud.now, person_id=world.me.pk)
    assert (ran.gpus, ran.usd_per_hour) == (0, 0)
    assert hourly * 2 <= (ran.usd or 0) <= hourly * 3
    world.cloud.forward(days=1)
    assert spent(world.cloud.now, person_id=world.me.pk).usd == 0


def test_a_job_adds_nothing_to_one_that_does_not_grow(world: World, parent: str) -> None:
    made_elsewhere(world, parent, POOL | {"replicaCount": "4"})

    assert on_it(world, "fits", others=3, timeout="3600s") == 201

    assert (Job.objects.get().max_usd, Job.objects.get().gpus) == (0, 0)


def test_one_that_was_made_here_counts_at_its_largest_already(world: World, parent: str) -> None:
    made_here(world, GROWS | {"replicaCount": "1"})
    before = spent(world.cloud.now, team_id=world.team.pk)
    assert before.gpus == 40

    assert on_it(world, "fits", others=39, timeout="604800s") == 201

    assert spent(world.cloud.now, team_id=world.team.pk).gpus == 40
    assert Job.objects.get().max_usd == 0


def test_what_it_added_stays_in_use_until_the_resource_has_scaled_down(world: World, parent: str) -> None:
    """An hour is assumed. The emulator takes five minutes."""
    made_elsewhere(world, parent, GROWS)
    assert on_it(world, "grows", others=3, timeout="600s") == 201
    while not Job.objects.get().is_finished:
        world.work(hours=0.05)
    (found,) = world.cloud.call("GET", parent)["persistentResources"]
    assert found["resourcePools"][0]["replicaCount"] == "4", "the machines stay"

    stays = spent(world.cloud.now, person_id=world.me.pk)

    assert (stays.gpus, stays.usd_per_hour) == (4, Decimal(Job.objects.get().estimate["adds_usd_per_hour"]))
    world.work(hours=1.1)
    (found,) = world.cloud.call("GET", parent)["persistentResources"]
    assert found["resourcePools"][0]["replicaCount"] == "1"
    gone = spent(world.cloud.now, person_id=world.me.pk)
    assert (gone.gpus, gone.usd_per_hour) == (0, 0)
