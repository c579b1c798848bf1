"""Tests of changes of persistent resources by a worker: once, recorded, and only by those who may."""

import uuid
from collections.abc import Callable
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from django.contrib.auth.models import User

from jobs import steps, tasks, vertex
from jobs.clients import client
from jobs.errors import NotPermitted
from jobs.models import PersistentResource, ResourceChange, Role, Scope, Team
from jobs.queue import installation, rate_limit
from jobs.requests.resource_requests import approve_change, ask_for_change
from jobs.submission import resize_body
from jobs.submission.resource_changes import MAX_START_SECONDS
from jobs.vertex import VertexClient
from tests.conftest import person
from tests.domain.conftest import Cloud
from tests.support import samples
from tests.support.clock import watch_from
from tests.support.resources import DISK, Resources

pytestmark = pytest.mark.both_databases

BODY = {"resourcePools": [{"machineSpec": samples.A100, "diskSpec": DISK, "replicaCount": "2"}]}


@pytest.fixture
def resources(cloud: Cloud, team: Team) -> Resources:
    watch_from(cloud.now)
    installation.load_installation(cloud.now)
    return Resources(cloud._emulator, cloud.forward)


def second(team: Team) -> User:
    return User.objects.filter(username="second").first() or person("second", team, Role.LEAD)


def ask(action: str, cloud: Cloud, team: Team, by: User, body: dict[str, Any] | None = None) -> ResourceChange:
    """Ask for a change, and have it approved where it adds cost."""
    row = PersistentResource.objects.first()
    change = ask_for_change(
        action,
        team=team,
        project=team.project,
        region="us-central1",
        resource_id="night-shift",
        by=by,
        now=cloud.now,
        body=body,
        lifetime=timedelta(days=7) if action in ("create", "extend") else None,
        before=row.body if row is not None else None,
    )
    assert change is not None
    if change.awaits_approval:
        assert approve_change(change, by=second(team), now=cloud.now)
        change.refresh_from_db()
    return change


def work(cloud: Cloud) -> None:
    """What a sweep hands out, done; then what it found, looked at."""
    for change_id in steps.due_resource_changes(cloud.now):
        steps.change_resource(change_id, clock=cloud.clock)
    Scope.objects.filter(kind="persistent_resource").update(due_at=cloud.now)
    for scope_id in steps.due_scopes(cloud.now):
        steps.observe(scope_id, clock=cloud.clock)


class TestChanges:
    def test_create_resize_reboot_and_delete_one(
        self, resources: Resources, cloud: Cloud, team: Team, approver: User
    ) -> None:
        created = ask("create", cloud, team, approver, BODY)
        work(cloud)
        cloud.forward(minutes=30)
        work(cloud)
        row = PersistentResource.objects.get()
        assert (row.state, row.body["resourcePools"][0]["replicaCount"]) == ("RUNNING", "2")
        created.refresh_from_db()
        assert (created.outcome, created.attempted_at, created.due_at) == ("accepted", None, None)

        ask("resize", cloud, team, approver, resize_body(row, {0: 3}))
        work(cloud)
        cloud.forward(minutes=30)
        work(cloud)
        row.refresh_from_db()
        assert row.body["resourcePools"][0]["replicaCount"] == "3"

        ask("reboot", cloud, team, approver)
        work(cloud)
        row.refresh_from_db()
        assert row.state == "REBOOTING"
        cloud.forward(minutes=30)

        ask("delete", cloud, team, approver)
        work(cloud)
        cloud.forward(minutes=30)
        work(cloud)
        row.refresh_from_db()
        assert row.gone_at is not None
        assert set(ResourceChange.objects.values_list("outcome", flat=True)) == {"accepted"}

    def test_what_vertex_ai_refuses_is_told(
        self, resources: Resources, cloud: Cloud, team: Team, approver: User
    ) -> None:
        change = ask("create", cloud, team, approver, {"resourcePools": []})
        work(cloud)

        change.refresh_from_db()
        assert (change.outcome, change.due_at) == ("refused", None)
        assert change.message

    def test_deleting_what_is_gone_is_done(
        self, resources: Resources, cloud: Cloud, team: Team, approver: User
    ) -> None:
        change = ask("delete", cloud, team, approver)
        work(cloud)

        change.refresh_from_db()
        assert (change.outcome, change.message) == ("accepted", "Vertex AI no longer has the persistent resource.")

    def test_one_is_open_at_a_time(self, cloud: Cloud, team: Team, approver: User) -> None:
        ask("reboot", cloud, team, approver)

        second = ask_for_change(
            "delete",
            team=team,
            project=team.project,
            region="us-central1",
            resource_id="night-shift",
            by=approver,
            now=cloud.now,
        )
        assert second is None

    @pytest.mark.parametrize("who", ["owner", "stranger"])
    def test_engineers_and_strangers_change_nothing(
        self, cloud: Cloud, team: Team, who: str, request: pytest.FixtureRequest
    ) -> None:
        with pytest.raises(NotPermitted):
            ask("delete", cloud, team, request.getfixturevalue(who))

        assert not ResourceChange.objects.exists()


class TestWithoutAnswer:
    """The call arrives and its answer is lost."""

    @pytest.fixture
    def lost(self, monkeypatch: pytest.MonkeyPatch) -> list[str]:
        """Lose the answer of the next change."""
        real, actions = VertexClient.change_resource, list[str]()

        def change(self: VertexClient, action: str, **named: Any) -> None:
            real(self, action, **named)
            actions.append(action)
            if len(actions) == 1:
                raise vertex.Unavailable("The connection was cut.", method="POST", url="")

        monkeypatch.setattr(VertexClient, "change_resource", change)
        return actions

    @pytest.mark.parametrize("action", ["create", "resize", "reboot", "delete"])
    def test_it_is_not_sent_twice(
        self, resources: Resources, cloud: Cloud, team: Team, approver: User, lost: list[str], action: str
    ) -> None:
        if action != "create":
            resources.create("night-shift", replicas=2)
            Scope.objects.get_or_create(project="vision-research", region="us-central1", kind="persistent_resource")
            work(cloud)
        row = PersistentResource.objects.first()
        body = BODY if action == "create" else resize_body(row, {0: 3}) if action == "resize" and row else {}
        change = ask(action, cloud, team, approver, body)
        work(cloud)
        change.refresh_from_db()
        assert change.ended_at is None
        assert change.attempted_at is not None

        cloud.forward(seconds=20)
        work(cloud)

        change.refresh_from_db()
        assert change.outcome == "accepted"
        assert lost == [action]

    def test_a_reboot_of_which_nothing_is_seen_is_not_repeated(
        self, resources: Resources, cloud: Cloud, team: Team, approver: User, lost: list[str]
    ) -> None:
        resources.create("night-shift")
        change = ask("reboot", cloud, team, approver)
        work(cloud)
        cloud.forward(hours=1)

        work(cloud)

        change.refresh_from_db()
        assert change.outcome == "unknown"
        assert lost == ["reboot"]

    def test_what_surely_did_not_arrive_is_sent_again(
        self, resources: Resources, cloud: Cloud, team: Team, approver: User, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def refuse(self: VertexClient, action: str, **_: Any) -> None:
            error = vertex.Unavailable("Nobody listens.", method="POST", url="")
            error.may_have_happened = False
            raise error

        with monkeypatch.context() as patch:
            patch.setattr(VertexClient, "change_resource", refuse)
            change = ask("create", cloud, team, approver, BODY)
            work(cloud)
        change.refresh_from_db()
        assert (change.attempted_at, change.ended_at) == (None, None)
        assert "Nobody listens" in change.last_error
        cloud.forward(minutes=2)
        work(cloud)

        change.refresh_from_db()
        assert change.outcome == "accepted"


class TestStalledWorker:
    """A worker waits for the database for a minute, while its claim expires and another one takes the step."""

    @pytest.fixture
    def stalls(self, cloud: Cloud) -> Callable[[Callable[[], object]], None]:
        """`stalls(meanwhile)` lets the next step stall right before its call."""

        def plan(meanwhile: Callable[[], object]) -> None:
            def stall(*_: Any, **__: Any) -> None:
                spend.undo()
                cloud.forward(minutes=1)
                meanwhile()

            spend = pytest.MonkeyPatch()
            spend.setattr(rate_limit, "spend", stall)

        return plan

    def test_sends_no_resize_after_a_later_one(
        self, resources: Resources, cloud: Cloud, team: Team, approver: User, stalls: Any
    ) -> None:
        resources.create("night-shift", replicas=2)
        Scope.objects.get_or_create(project="vision-research", region="us-central1", kind="persistent_resource")
        work(cloud)
        row = PersistentResource.objects.get()
        ask("resize", cloud, team, approver, resize_body(row, {0: 3}))

        def others_go_on() -> None:
            work(cloud)
            cloud.forward(minutes=30)
            work(cloud)
            row.refresh_from_db()
            ask("resize", cloud, team, approver, resize_body(row, {0: 2}))
            work(cloud)
            cloud.forward(minutes=30)

        stalls(others_go_on)
        work(cloud)

        cloud.forward(minutes=30)
        work(cloud)
        row.refresh_from_db()
        assert row.body["resourcePools"][0]["replicaCount"] == "2"
        assert cloud.calls()["persistentResources.patch"] == 2

    def test_restarts_no_machine_after_another_one_did(
        self, resources: Resources, cloud: Cloud, team: Team, approver: User, stalls: Any
    ) -> None:
        resources.create("night-shift")
        ask("reboot", cloud, team, approver)

        stalls(lambda: work(cloud))
        work(cloud)

        assert cloud.calls()["persistentResources.reboot"] == 1

    def test_leaves_the_doubt_of_another_one_when_its_own_call_was_refused(
        self, resources: Resources, cloud: Cloud, team: Team, approver: User, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        resources.create("night-shift")
        change = ask("reboot", cloud, team, approver)
        other = uuid.uuid4()

        def refuse(self: VertexClient, *_: Any, **__: Any) -> None:
            ResourceChange.objects.filter(pk=change.pk).update(claim=other, attempted_at=cloud.now)
            raise vertex.RateLimited("Too many.", method="POST", url="")

        monkeypatch.setattr(VertexClient, "change_resource", refuse)
        work(cloud)

        change.refresh_from_db()
        assert (change.claim, change.attempted_at) == (other, cloud.now)

    def test_sends_nothing_after_a_write_that_took_too_long(
        self, resources: Resources, cloud: Cloud, team: Team, approver: User
    ) -> None:
        resources.create("night-shift")
        change = ask("reboot", cloud, team, approver)
        slow: Any = SimpleNamespace(now=cloud.clock.now, monotonic=iter([0.0, MAX_START_SECONDS + 0.1]).__next__)

        steps.change_resource(change.pk, clock=slow)

        change.refresh_from_db()
        assert (change.attempted_at, change.ended_at) == (None, None)
        cloud.forward(minutes=1)
        work(cloud)
        assert cloud.calls()["persistentResources.reboot"] == 1


def test_a_sweep_hands_it_out(cloud: Cloud, team: Team, approver: User, monkeypatch: pytest.MonkeyPatch) -> None:
    handed = []
    monkeypatch.setattr(tasks.change_resource, "apply_async", lambda **how: handed.append(how["kwargs"]["change_id"]))
    monkeypatch.setattr("jobs.clock.read_database_clock", lambda: cloud.now)
    watch_from(cloud.now)
    installation.load_installation(cloud.now)
    change = ask("reboot", cloud, team, approver)

    tasks.sweep()

    assert handed == [change.pk]


def test_an_id_that_is_none_never_becomes_an_address(cloud: Cloud) -> None:
    with pytest.raises(vertex.Refused):
        client().change_resource("delete", project="p", region="us-central1", resource_id="../x", body={})


class TestAfterARestore:
    def test_a_reboot_is_not_sent_again(self, resources: Resources, cloud: Cloud, team: Team, approver: User) -> None:
        ask("create", cloud, team, approver, BODY)
        work(cloud)
        cloud.forward(minutes=30)
        change = ask("reboot", cloud, team, approver)
        installation.mark_restored("a test", now=cloud.now)

        work(cloud)

        change.refresh_from_db()
        assert change.outcome == "unknown"
        assert "the database was restored" in change.message
        assert "persistentResources.reboot" not in cloud.calls()

    def test_a_resource_that_was_created_again_is_kept(
        self, resources: Resources, cloud: Cloud, team: Team, approver: User
    ) -> None:
        change = ask("delete", cloud, team, approver)
        ResourceChange.objects.filter(pk=change.pk).update(due_at=None)
        cloud.forward(minutes=30)
        client().change_resource(
            "create", project=team.project, region="us-central1", resource_id="night-shift", body=BODY
        )
        ResourceChange.objects.filter(pk=change.pk).update(due_at=cloud.now)
        installation.mark_restored("a test", now=cloud.now)

        work(cloud)

        change.refresh_from_db()
        assert change.outcome == "accepted"
        assert "is kept" in change.message
        assert "persistentResources.delete" not in cloud.calls()
