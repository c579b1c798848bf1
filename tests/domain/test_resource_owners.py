"""Tests that a persistent resource belongs to the team that asked for it, also where teams share a project."""

from typing import Any

import pytest
from django.contrib.auth.models import User

from jobs.errors import NotPermitted
from jobs.models import Membership, PersistentResource, ResourceChange, Role, Team
from jobs.queue import installation
from jobs.requests.resource_owners import owner_of
from jobs.requests.resource_requests import approve_change
from jobs.submission import resize_body
from jobs.upkeep import end_lifetimes
from tests.conftest import person
from tests.domain.conftest import Cloud
from tests.domain.test_resource_requests import ask, body, made, work
from tests.support.clock import watch_from
from tests.support.resources import seen

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]
PLACE = ("vision-research", "us-central1", "night-shift")


@pytest.fixture(autouse=True)
def _workers_send(cloud: Cloud) -> None:
    watch_from(cloud.now)
    installation.load_installation(cloud.now)


@pytest.fixture
def others(team: Team) -> Team:
    """Another team with the same project."""
    return Team.objects.create(name="others", project=team.project)


@pytest.fixture
def stranger(others: Team) -> User:
    return person("one", others, Role.APPROVER)


@pytest.fixture
def second_stranger(others: Team) -> User:
    return person("two", others, Role.LEAD)


def wanted(row: PersistentResource, action: str) -> dict[str, Any]:
    return {"body": resize_body(row, {0: 8}) if action == "resize" else {}, "before": row.body}


@pytest.mark.parametrize("action", ["resize", "extend", "reboot", "delete"])
def test_another_team_of_the_project_changes_nothing(
    cloud: Cloud, team: Team, approver: User, lead: User, others: Team, stranger: User, action: str
) -> None:
    row = made(cloud, team, approver, lead, body=body(1))
    count = ResourceChange.objects.count()

    with pytest.raises(NotPermitted, match="belongs to another team"):
        ask(cloud, others, stranger, action, **wanted(row, action))

    assert ResourceChange.objects.count() == count
    assert owner_of(*PLACE) == team.pk
    ask(cloud, team, approver, action, **wanted(row, action))


def test_a_change_that_was_allowed_before_is_refused(
    cloud: Cloud, team: Team, approver: User, lead: User, others: Team, stranger: User, second_stranger: User
) -> None:
    """As one that a version without owners has recorded."""
    row = made(cloud, team, approver, lead, body=body(1))
    change = ask(cloud, team, approver, "resize", **wanted(row, "resize"))
    ResourceChange.objects.filter(pk=change.pk).update(team=others, asked_by=stranger)
    change.refresh_from_db()
    assert approve_change(change, by=second_stranger, now=cloud.now)

    work(cloud)

    change.refresh_from_db()
    assert (change.outcome, change.message) == (
        "refused",
        "Trainboard checked it again before sending it and refused it: "
        "This persistent resource belongs to another team of the project.",
    )


def test_one_made_elsewhere_belongs_to_whoever_has_made_it_larger_first(
    cloud: Cloud, team: Team, approver: User, lead: User, others: Team, stranger: User
) -> None:
    parent = f"projects/{team.project}/locations/us-central1/persistentResources"
    cloud.call("POST", f"{parent}?persistentResourceId=night-shift", body(1))
    row = seen(now=cloud.now, replicas=1, body={"createTime": cloud.now.isoformat()})
    cloud.forward(minutes=30)
    assert owner_of(*PLACE) is None
    theirs = ask(cloud, others, stranger, "reboot", **wanted(row, "reboot"))
    work(cloud)
    theirs.refresh_from_db()
    assert (theirs.outcome, owner_of(*PLACE)) == ("accepted", None)
    cloud.forward(minutes=30)

    assert approve_change(ask(cloud, team, approver, "resize", **wanted(row, "resize")), by=lead, now=cloud.now)
    work(cloud)

    assert owner_of(*PLACE) == team.pk
    with pytest.raises(NotPermitted):
        ask(cloud, others, stranger, "delete", **wanted(row, "delete"))


def test_a_later_one_of_the_name_belongs_to_whoever_made_that(
    cloud: Cloud, team: Team, approver: User, lead: User, others: Team, stranger: User, second_stranger: User
) -> None:
    made(cloud, team, approver, lead, body=body(1))
    ask(cloud, team, approver, "delete", body={})
    work(cloud)
    assert owner_of(*PLACE) == team.pk, "it exists until Vertex AI has deleted it"
    cloud.forward(minutes=30)
    work(cloud)
    assert owner_of(*PLACE) is None
    cloud.forward(days=1)

    made(cloud, others, stranger, second_stranger, body=body(1))

    assert owner_of(*PLACE) == others.pk


def test_a_team_without_the_project_owns_nothing_in_it(
    cloud: Cloud, team: Team, approver: User, lead: User, others: Team, stranger: User
) -> None:
    row = made(cloud, team, approver, lead, body=body(1))
    Team.objects.filter(pk=team.pk).update(project="elsewhere")

    ask(cloud, others, stranger, "delete", **wanted(row, "delete"))

    cloud.forward(days=8)
    work(cloud)
    assert ResourceChange.objects.get(action="delete").outcome == "accepted"


def test_its_lifetime_ends_whoever_has_left(cloud: Cloud, team: Team, approver: User, lead: User) -> None:
    made(cloud, team, approver, lead, body=body(1))
    Membership.objects.filter(user=approver).delete()
    cloud.forward(days=8)

    assert end_lifetimes(cloud.now) == 1
    work(cloud)

    assert ResourceChange.objects.get(action="delete").outcome == "accepted"


@pytest.mark.parametrize("how", ["removed", "engineer", "deactivated"])
def test_what_somebody_asked_for_who_has_left_is_not_sent(
    cloud: Cloud, team: Team, approver: User, lead: User, how: str
) -> None:
    change = ask(cloud, team, approver)
    assert approve_change(change, by=lead, now=cloud.now)
    if how == "removed":
        Membership.objects.filter(user=approver).delete()
    elif how == "engineer":
        Membership.objects.filter(user=approver).update(role=Role.ENGINEER)
    else:
        User.objects.filter(pk=approver.pk).update(is_active=False)

    work(cloud)

    change.refresh_from_db()
    assert change.outcome == "refused"
    assert change.message.endswith(f"{approver.get_username()} may no longer change persistent resources of {team}.")
    assert change.deletes_at is None
    cloud.forward(hours=1)
    work(cloud)
    assert not PersistentResource.objects.exists()
