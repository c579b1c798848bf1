"""Runs of seconds cost what their machines are billed until they are gone, as the emulator ends them."""

from decimal import Decimal
from typing import Any

import pytest
from django.contrib.auth.models import User

from jobs import budgets
from jobs.budgets import spent
from jobs.models import Job, Policy, Role
from jobs.policy_rules import Rule
from jobs.requests.policy_versions import Terms, save_policy
from tests.conftest import person
from tests.pages.conftest import _pages_read_the_tests_clock  # noqa: F401 - a fixture
from tests.support import samples
from tests.support.attacker import World
from tests.support.google_bill import bill_of, most_of

pytestmark = pytest.mark.django_db
H100 = {"machineType": "a3-highgpu-8g", "acceleratorType": "NVIDIA_H100_80GB", "acceleratorCount": 8}


def short(name: str, timeout: str, **more: Any) -> dict[str, Any]:
    """Return a job of a hundred machines of eight H100."""
    wanted: dict[str, Any] = {
        "machine": H100,
        "extra_replicas": 99,
        "strategy": "STANDARD",
        "scheduling": {"timeout": timeout},
    }
    return samples.body(**wanted | {"name": name} | more)


def study(name: str, timeout: str) -> dict[str, Any]:
    """Return a study of a hundred trials of one such machine each."""
    return samples.tuning_job(
        name=name, trials=100, parallel=100, machine=H100, strategy="STANDARD", scheduling={"timeout": timeout}
    )


def request_all(world: World, bodies: list[dict[str, Any]]) -> Decimal:
    """Request jobs as one person, let all end, and return what the person has used by Trainboard's own count."""
    world.cloud.script("long")
    for body in bodies:
        world.api().post("/jobs", {"spec": body, "expected_seconds": 1}, key=body["displayName"])
    for _ in range(12):
        world.work(hours=0.1)
    used = spent(world.cloud.now, person_id=world.me.pk).usd
    assert used is not None
    return used


@pytest.mark.parametrize("timeout", ["0.000001s", "0.5s", "29s"])
@pytest.mark.parametrize("kind", [short, study])
def test_do_not_pass_the_ceilings_in_dollars(world: World, admin: User, kind: Any, timeout: str) -> None:
    Policy.objects.update(ask_over_usd=10**9)
    for name, amount in {"job": Decimal(25), "person_day": Decimal(90)}.items():
        budgets.set_ceiling(None, name, amount, by=admin, reason="agreed", now=world.cloud.now)

    used = request_all(world, [kind(f"short-{n}", timeout) for n in range(3)])

    assert used <= 90
    assert world.cloud.jobs() == []


def test_are_in_the_sum_that_a_policy_asks_by(world: World) -> None:
    lead = person("chief", world.team, Role.LEAD)
    rules = [Rule(outcome="ask", person_sum_over="90")]
    save_policy(world.team, rules, Terms(), base=0, by=lead, note="", now=world.cloud.now)

    assert request_all(world, [short(f"short-{n}", "0.5s") for n in range(3)]) <= 90


@pytest.mark.parametrize("timeout", ["1s", "60s", "600s", "3600s"])
@pytest.mark.parametrize("more", [{}, {"restartJobOnWorkerRestart": True}])
def test_cost_until_their_timeout_no_more_than_their_share_of_the_maximum(
    world: World, timeout: str, more: dict[str, bool]
) -> None:
    """One of the four runs that Google may make is within a quarter, with the time after its timeout."""
    Policy.objects.update(ask_over_usd=10**9)

    used = request_all(world, [samples.body(strategy="STANDARD", scheduling={"timeout": timeout} | more)])

    job = Job.objects.get()
    assert job.ended_at is not None
    assert job.max_usd is not None
    assert 0 < used <= job.max_usd / 4
    assert 0 < bill_of(world.cloud.jobs()[0]) <= job.max_usd / 4, "by the emulator's own times"
    assert most_of(job.spec["jobSpec"]) <= job.max_usd
