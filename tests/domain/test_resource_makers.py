"""A persistent resource is ours if it has the label of our creation: its name alone shows nothing."""

from typing import Any

import pytest
from django.contrib.auth.models import User

from jobs import vertex
from jobs.models import PersistentResource, ResourceChange, Team
from jobs.queue import installation
from jobs.requests.resource_owners import owner_of
from jobs.requests.resource_requests import approve_change
from jobs.submission import resize_body
from jobs.upkeep import end_lifetimes
from jobs.vertex import VertexClient
from tests.domain.conftest import Cloud
from tests.domain.test_resource_requests import WEEK, ask, body, made, work
from tests.support.clock import watch_from

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]
PLACE = ("vision-research", "us-central1", "night-shift")
PARENT = "projects/vision-research/locations/us-central1/persistentResources"


@pytest.fixture(autouse=True)
def _workers_send(cloud: Cloud) -> None:
    watch_from(cloud.now)
    installation.load_installation(cloud.now)


def others_make_it(cloud: Cloud) -> None:
    """Have a program make a resource of the name, and wait until it runs."""
    cloud.call("POST", f"{PARENT}?persistentResourceId=night-shift", body(3))
    cloud.forward(minutes=30)


def in_its_place(cloud: Cloud) -> None:
    """Have a program replace the resource of the name by one of its own."""
    cloud.call("DELETE", f"{PARENT}/night-shift")
    cloud.forward(minutes=30)
    others_make_it(cloud)


def replicas(cloud: Cloud) -> list[str]:
    """Return the number of machines of each resource that runs."""
    found = cloud.call("GET", PARENT).get("persistentResources", [])
    return [pool["replicaCount"] for each in found if each["state"] == "RUNNING" for pool in each["resourcePools"]]


@pytest.fixture
def unknown(cloud: Cloud, team: Team, approver: User, lead: User, monkeypatch: pytest.MonkeyPatch) -> ResourceChange:
    """A creation whose name is taken, while no read has an answer for an hour."""
    others_make_it(cloud)
    change = ask(cloud, team, approver)
    approve_change(change, by=lead, now=cloud.now)

    def fail(self: VertexClient, **_: Any) -> None:
        raise vertex.Unavailable("Nobody listens.", method="GET", url="")

    with monkeypatch.context() as patch:
        patch.setattr(VertexClient, "persistent_resource", fail)
        patch.setattr(VertexClient, "persistent_resources", fail)
        for _ in range(30):
            work(cloud)
            cloud.forward(minutes=5)
    change.refresh_from_db()
    assert (change.outcome, change.deletes_at is None) == ("unknown", False)
    return change


def test_one_whose_name_was_taken_is_left_to_whoever_made_it(cloud: Cloud, team: Team, unknown: ResourceChange) -> None:
    work(cloud)

    unknown.refresh_from_db()
    assert (unknown.outcome, unknown.deletes_at, unknown.message) == (
        "refused", None, "Vertex AI has a persistent resource of this name that somebody else has made.",
    )  # fmt: skip
    assert owner_of(*PLACE) is None
    cloud.forward(days=8)
    assert end_lifetimes(cloud.now) == 0
    assert replicas(cloud) == ["3"]


def test_nothing_ends_it_before_a_poll_has_shown_it_either(
    cloud: Cloud, team: Team, approver: User, unknown: ResourceChange
) -> None:
    cloud.forward(days=8)
    ask(cloud, team, approver, "delete", body={})

    work(cloud)
    cloud.forward(minutes=30)

    assert ResourceChange.objects.get(action="delete").outcome == "refused"
    assert replicas(cloud) == ["3"]
    work(cloud)
    assert end_lifetimes(cloud.now) == 0


@pytest.mark.parametrize("action", ["delete", "resize", "reboot", "lifetime"])
def test_nothing_is_sent_to_another_of_the_name(
    cloud: Cloud, team: Team, approver: User, lead: User, action: str
) -> None:
    row = made(cloud, team, approver, lead, body=body(4))
    in_its_place(cloud)
    before = cloud.call("GET", f"{PARENT}/night-shift")
    if action == "lifetime":
        cloud.forward(days=8)
        assert end_lifetimes(cloud.now) == 1
    else:
        wanted = {"body": resize_body(row, {0: 1}) if action == "resize" else {}, "before": row.body}
        ask(cloud, team, approver, action, **wanted)

    work(cloud)

    change = ResourceChange.objects.latest("pk")
    assert (change.outcome, change.message) == (
        "refused",
        "Vertex AI has a persistent resource of this name that somebody else has made. Nothing was sent.",
    )
    cloud.forward(minutes=30)
    after = cloud.call("GET", f"{PARENT}/night-shift")
    assert (after["createTime"], after["resourcePools"]) == (before["createTime"], before["resourcePools"])
    work(cloud)
    cloud.forward(days=30)
    assert end_lifetimes(cloud.now) == 0, "nobody has given it a lifetime"
    assert owner_of(*PLACE) is None
    ask(cloud, team, approver, "delete", body={})
    work(cloud)
    cloud.forward(minutes=30)
    assert replicas(cloud) == [], "the team may delete it as one that was made elsewhere"


def test_an_unanswered_creation_that_arrived_keeps_its_lifetime(
    cloud: Cloud, team: Team, approver: User, lead: User
) -> None:
    made(cloud, team, approver, lead)
    ResourceChange.objects.update(outcome="unknown")

    work(cloud)

    change = ResourceChange.objects.get()
    assert (change.outcome, change.deletes_at is None) == ("accepted", False)
    assert owner_of(*PLACE) == team.pk
    cloud.forward(days=8)
    assert end_lifetimes(cloud.now) == 1
    work(cloud)
    cloud.forward(minutes=30)
    work(cloud)
    assert PersistentResource.objects.get().gone_at is not None


def test_an_earlier_unanswered_creation_takes_no_lifetime_from_a_later_one(
    cloud: Cloud, team: Team, approver: User, lead: User
) -> None:
    made(cloud, team, approver, lead)
    later = ResourceChange.objects.get()
    earlier = ResourceChange.objects.get()
    earlier.pk, earlier.asked_at, earlier.outcome = None, later.asked_at - WEEK, "unknown"
    earlier.save()

    work(cloud)

    later.refresh_from_db()
    assert later.deletes_at is not None
    assert owner_of(*PLACE) == team.pk
