"""Tests of lifetimes: Trainboard deletes a persistent resource at its end, whatever waits then."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User

from jobs import vertex
from jobs.models import Message, PersistentResource, ResourceChange, Team
from jobs.queue import installation
from jobs.requests.resource_requests import approve_change, ask_for_change
from jobs.translations import translated
from jobs.upkeep import end_lifetimes, resource_lifetimes, warn_of_ends
from jobs.vertex import VertexClient
from tests.domain.conftest import Cloud
from tests.domain.test_resource_requests import WEEK, ask, body, made, work
from tests.support.clock import watch_from
from tests.support.resources import seen

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]


@pytest.fixture(autouse=True)
def _workers_send(cloud: Cloud) -> None:
    watch_from(cloud.now)
    installation.load_installation(cloud.now)


class TestLifetime:
    def test_it_is_deleted_at_its_end(self, cloud: Cloud, team: Team, approver: User, lead: User) -> None:
        made(cloud, team, approver, lead)
        cloud.forward(days=6)
        assert end_lifetimes(cloud.now) == 0
        cloud.forward(days=1)

        assert end_lifetimes(cloud.now) == 1
        assert end_lifetimes(cloud.now) == 0, "it is asked for once"

        work(cloud)
        cloud.forward(minutes=30)
        work(cloud)
        assert PersistentResource.objects.get().gone_at is not None

    def test_people_are_warned_once_before_its_end(self, cloud: Cloud, team: Team, approver: User, lead: User) -> None:
        row = made(cloud, team, approver, lead)
        cloud.forward(days=5, hours=20)
        assert warn_of_ends(cloud.now) == 0
        cloud.forward(hours=6)

        assert warn_of_ends(cloud.now) == 1
        assert warn_of_ends(cloud.now) == 0, "once"

        message = Message.objects.get(kind="resource_ends")
        assert translated(message.words("text")).startswith("The lifetime of night-shift in us-central1 ends in 2")
        assert approve_change(ask(cloud, team, approver, "extend", body={}, before=row.body), by=lead, now=cloud.now)
        work(cloud)
        cloud.forward(days=5)
        assert warn_of_ends(cloud.now) == 0, "it lives longer"
        cloud.forward(days=2)
        assert warn_of_ends(cloud.now) == 1, "and ends again"

    def test_nobody_is_warned_of_one_that_is_gone(self, cloud: Cloud, team: Team, approver: User, lead: User) -> None:
        made(cloud, team, approver, lead)
        PersistentResource.objects.update(gone_at=cloud.now)
        cloud.forward(days=6, hours=12)

        assert warn_of_ends(cloud.now) == 0

    def test_it_is_kept_longer_after_an_approval(self, cloud: Cloud, team: Team, approver: User, lead: User) -> None:
        row = made(cloud, team, approver, lead)
        change = ask(cloud, team, approver, "extend", body={}, before=row.body)
        assert change.awaits_approval
        assert change.most_usd is not None
        cloud.forward(days=6)
        approve_change(change, by=lead, now=cloud.now)
        work(cloud)

        cloud.forward(days=2)
        assert end_lifetimes(cloud.now) == 0
        cloud.forward(days=6)
        assert end_lifetimes(cloud.now) == 1

    @pytest.mark.parametrize("action", ["extend", "resize"])
    def test_asking_for_more_keeps_it_no_longer(
        self, cloud: Cloud, team: Team, approver: User, lead: User, action: str
    ) -> None:
        row = made(cloud, team, approver, lead)
        change = ask(cloud, team, approver, action, body={} if action == "extend" else body(9), before=row.body)
        assert change.awaits_approval
        cloud.forward(days=8)

        assert end_lifetimes(cloud.now) == 1

        change.refresh_from_db()
        assert (change.outcome, change.awaits_approval) == ("refused", False)
        assert not approve_change(change, by=lead, now=cloud.now)

    def test_what_was_allowed_or_is_about_another_one_does_not_end(
        self, cloud: Cloud, team: Team, approver: User, lead: User
    ) -> None:
        row = made(cloud, team, approver, lead)
        other = ask_for_change(
            "create", team=team, project=team.project, region="us-central1", resource_id="another", by=approver,
            now=cloud.now, body=body(), lifetime=WEEK,
        )  # fmt: skip
        change = ask(cloud, team, approver, "extend", body={}, before=row.body)
        approve_change(change, by=lead, now=cloud.now)
        cloud.forward(days=8)

        assert end_lifetimes(cloud.now) == 0, "an allowed change is sent first"

        change.refresh_from_db()
        assert (change.outcome, change.ended_at) == ("", None)
        work(cloud)
        cloud.forward(days=8)
        assert end_lifetimes(cloud.now) == 1
        assert other is not None
        other.refresh_from_db()
        assert other.awaits_approval

    def test_one_whose_creation_was_never_answered_has_it(
        self, cloud: Cloud, team: Team, approver: User, lead: User, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        change, real = ask(cloud, team, approver), VertexClient.change_resource

        def lose(self: VertexClient, action: str, **named: Any) -> None:
            real(self, action, **named)
            raise vertex.Unavailable("The connection was cut.", method="POST", url="")

        def fail(self: VertexClient, **_: Any) -> None:
            raise vertex.Unavailable("Nobody listens.", method="GET", url="")

        with monkeypatch.context() as patch:
            patch.setattr(VertexClient, "change_resource", lose)
            patch.setattr(VertexClient, "persistent_resource", fail)
            approve_change(change, by=lead, now=cloud.now)
            for _ in range(30):
                work(cloud)
                cloud.forward(minutes=5)
        change.refresh_from_db()
        assert (change.outcome, change.deletes_at is None) == ("accepted", False), "a poll has shown it"
        work(cloud)
        assert PersistentResource.objects.get().gone_at is None
        cloud.forward(days=7)

        assert end_lifetimes(cloud.now) == 1

    def test_one_that_a_second_try_finds_to_exist_has_it(
        self, cloud: Cloud, team: Team, approver: User, lead: User, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        change = ask(cloud, team, approver)
        approve_change(change, by=lead, now=cloud.now)
        cloud.fail("persistentResources.create", "lost", times=1)

        def hide(self: VertexClient, **_: Any) -> None:
            raise vertex.NotFound("Not found.", method="GET", url="")

        with monkeypatch.context() as patch:
            patch.setattr(VertexClient, "persistent_resource", hide)  # it exists, but does not show yet
            for _ in range(3):
                work(cloud)
                cloud.forward(seconds=40)
        change.refresh_from_db()
        assert (change.outcome, change.attempted_at is None) == ("", False)
        cloud.forward(minutes=5)
        work(cloud)

        change.refresh_from_db()
        assert (change.outcome, change.deletes_at) == ("accepted", cloud.now + WEEK)
        work(cloud)
        cloud.forward(days=8)
        assert end_lifetimes(cloud.now) == 1

    @pytest.mark.parametrize("is_lost", [False, True])
    def test_one_that_somebody_else_made_under_the_name_is_left_alone(
        self, cloud: Cloud, team: Team, approver: User, lead: User, is_lost: bool
    ) -> None:
        change = ask(cloud, team, approver)
        approve_change(change, by=lead, now=cloud.now)
        if is_lost:
            cloud.fail("persistentResources.create", "reset", times=1)
            work(cloud)
        parent = f"projects/{team.project}/locations/us-central1/persistentResources"
        labels = {"labels": {"trainboard_change": f"{change.pk}", "trainboard_instance": "trainboard"}}
        cloud.call("POST", f"{parent}?persistentResourceId=night-shift", body() | labels)
        cloud.forward(minutes=1)

        work(cloud)

        change.refresh_from_db()
        assert (change.outcome, change.deletes_at) == ("refused", None)
        work(cloud)
        cloud.forward(days=30)
        assert end_lifetimes(cloud.now) == 0

    def test_one_made_elsewhere_is_left_alone(self, cloud: Cloud, team: Team) -> None:
        from tests.support.resources import seen

        seen(now=cloud.now)
        cloud.forward(days=400)

        assert end_lifetimes(cloud.now) == 0

    def test_one_of_the_same_name_made_later_has_its_own(
        self, cloud: Cloud, team: Team, approver: User, lead: User
    ) -> None:
        made(cloud, team, approver, lead)
        ask(cloud, team, approver, "delete", body={})
        work(cloud)
        cloud.forward(minutes=30)
        work(cloud)
        cloud.forward(days=6)
        made(cloud, team, approver, lead)
        cloud.forward(days=2)

        assert end_lifetimes(cloud.now) == 0


def test_resources_that_were_extended_do_not_keep_another_alive(
    cloud: Cloud, team: Team, approver: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resource_lifetimes, "AT_ONCE", 2)

    def change(name: str, action: str, *, asked: timedelta, ends: timedelta) -> None:
        at = cloud.now + asked
        ResourceChange.objects.create(
            team=team, project=team.project, region="us-central1", resource_id=name, action=action, body={},
            asked_by=approver, asked_at=at, allowed_at=at, ended_at=at, outcome="accepted", lifetime_hours=24,
            deletes_at=cloud.now + ends, usd_per_hour=1, gpus=1,
        )  # fmt: skip

    for name in ("kept-1", "kept-2", "kept-3", "over"):
        seen(name, now=cloud.now)
        change(name, "create", asked=timedelta(days=-9), ends=timedelta(days=-8))
        if name != "over":
            change(name, "extend", asked=timedelta(days=-8, hours=-1), ends=timedelta(days=30))
    ResourceChange.objects.filter(resource_id="over").update(deletes_at=cloud.now - timedelta(hours=1))

    assert end_lifetimes(cloud.now) == 1

    assert [row.resource_id for row in ResourceChange.objects.filter(action="delete")] == ["over"]
