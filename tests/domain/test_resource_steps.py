"""Tests of single steps of a change of a persistent resource: what each answer means, and which row is written."""

from collections.abc import Callable
from datetime import timedelta
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import User

from jobs import vertex
from jobs.models import ResourceChange, Scope, Team
from jobs.models.persistent_resource import CHANGE_LABEL
from jobs.submission import resource_changes
from jobs.submission.resource_changes import MAX_OPEN, send_change
from jobs.vertex import VertexClient, timestamp
from tests.support.clock import Clock

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]
Make = Callable[..., ResourceChange]
POOLS = [{"replicaCount": "2"}, {"replicaCount": 1}]
SIZE = {"resourcePools": POOLS}
NOT_FOUND = vertex.NotFound("It is not there.")


@pytest.fixture
def make(team: Team, owner: User, clock: Clock) -> Make:
    """`make("resize", body=...)` is a change that is due, of a resource of its own."""

    def change(action: str, **columns: Any) -> ResourceChange:
        return ResourceChange.objects.create(
            team=team, project=team.project, region="us-central1", resource_id=f"r{ResourceChange.objects.count()}",
            action=action, asked_by=owner, **{"asked_at": clock.now, "due_at": clock.now} | columns,
        )  # fmt: skip

    return change


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What Vertex AI answers: "found" to a look, "change" to a call. An exception is raised, a function is called."""
    plan: dict[str, Any] = {"found": NOT_FOUND, "change": None, "calls": 0}

    def answer(name: str) -> Any:
        if isinstance(plan[name], Exception):
            raise plan[name]
        return plan[name]() if callable(plan[name]) else plan[name]

    def call(*_: Any, **__: Any) -> None:
        plan["calls"] += 1
        answer("change")

    monkeypatch.setattr(VertexClient, "persistent_resource", lambda *_, **__: answer("found"))
    monkeypatch.setattr(VertexClient, "change_resource", call)
    return plan


@pytest.mark.parametrize(
    ("action", "state", "found", "outcome"),
    [
        ("create", "RUNNING", {}, "refused"),
        ("create", "RUNNING", {"labels": "trainboard_change"}, "refused"),
        ("create", "RUNNING", {"labels": {CHANGE_LABEL: "of another"}}, "refused"),
        ("create", "RUNNING", {"labels": {CHANGE_LABEL: "ours"}}, "accepted"),
        ("create", "", NOT_FOUND, None),
        ("resize", "UPDATING", {}, "accepted"),
        ("resize", "RUNNING", SIZE, "accepted"),
        ("resize", "RUNNING", {"resourcePools": [POOLS[0], {"replicaCount": "2"}]}, None),
        ("resize", "RUNNING", {"resourcePools": POOLS[:1]}, None),
        ("resize", "RUNNING", {}, None),
        ("resize", "", NOT_FOUND, "refused"),
        ("delete", "UPDATING", {}, None),
        ("delete", "STOPPING", {}, "accepted"),
        ("delete", "RUNNING", {"createTime": "before"}, None),
        ("delete", "RUNNING", {"createTime": "after"}, "accepted"),
        ("delete", "", NOT_FOUND, "accepted"),
        ("reboot", "UPDATING", SIZE, "unknown"),
        ("reboot", "REBOOTING", {}, "accepted"),
        ("reboot", "RUNNING", {"createTime": "after"}, "unknown"),
        ("reboot", "", NOT_FOUND, "refused"),
    ],
)
def test_a_call_without_an_answer_is_settled_by_what_is_there(
    make: Make, answers: dict[str, Any], clock: Clock, action: str, state: str, found: Any, outcome: str | None
) -> None:
    change = make(action, body=SIZE if action == "resize" else {}, attempted_at=clock.now)
    if isinstance(found, dict):
        moments = {"before": clock.now - timedelta(days=1), "after": clock.now + timedelta(minutes=1)}
        if moment := moments.get(found.get("createTime", "")):
            found = found | {"createTime": timestamp(moment)}
        if found.get("labels") == {CHANGE_LABEL: "ours"}:
            found = {"labels": {CHANGE_LABEL: change.mark}}
        found = SimpleNamespace(raw=found, state=state)
    answers["found"] = found

    settled = resource_changes._look(change, clock.now)

    assert (settled[0] if settled is not None else None) == outcome


def test_a_change_without_pools_has_no_size() -> None:
    assert not resource_changes._has_size(SIZE, {})


def test_a_call_that_certainly_left_no_trace_is_made_again(make: Make, answers: dict[str, Any], clock: Clock) -> None:
    change = make("create", attempted_at=clock.now)

    send_change(change.pk, clock=clock.clock)
    send_change(change.pk, clock=clock.clock)

    change.refresh_from_db()
    assert (change.outcome, answers["calls"]) == ("accepted", 1)
    assert Scope.objects.get().due_at == clock.now


def test_one_that_was_sent_is_settled_though_it_would_be_refused_now(
    make: Make, answers: dict[str, Any], clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    change = make("delete", attempted_at=clock.now)
    monkeypatch.setattr(resource_changes, "check_again", lambda *_: False)

    send_change(change.pk, clock=clock.clock)

    change.refresh_from_db()
    assert change.outcome == "accepted"


@pytest.mark.parametrize(("action", "outcome"), [("delete", "accepted"), ("resize", "refused")])
def test_one_that_vanishes_between_the_look_and_the_call_is_gone(
    make: Make, answers: dict[str, Any], clock: Clock, action: str, outcome: str
) -> None:
    change = make(action, body=SIZE)
    answers |= {"found": SimpleNamespace(raw={}, state="RUNNING"), "change": NOT_FOUND}

    send_change(change.pk, clock=clock.clock)

    change.refresh_from_db()
    assert (change.outcome, answers["calls"]) == (outcome, 1)


def test_a_name_that_is_taken_by_what_does_not_show_is_tried_again(
    make: Make, answers: dict[str, Any], clock: Clock
) -> None:
    change = make("create", attempted_at=clock.now)
    answers["change"] = vertex.Refused("It exists.", status=resource_changes.TAKEN)

    send_change(change.pk, clock=clock.clock)

    change.refresh_from_db()
    assert (change.outcome, change.ended_at) == ("", None)
    assert "does not show it yet" in change.last_error


def test_only_what_nobody_approved_waits(make: Make, answers: dict[str, Any], clock: Clock) -> None:
    waiting, needing_nobody = make("delete", needs=["lead"]), make("delete")
    allowed = make("delete", needs=["lead"], allowed_at=clock.now)

    for change in (waiting, needing_nobody, allowed):
        send_change(change.pk, clock=clock.clock)

    ended = ResourceChange.objects.exclude(ended_at=None).order_by("pk")
    assert list(ended) == [needing_nobody, allowed]


class TestGivenUp:
    @pytest.fixture(autouse=True)
    def _is_allowed(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(resource_changes, "check_again", lambda *_: True)

    @pytest.mark.parametrize(
        ("may_have_happened", "hours", "outcome"),
        [(False, 5, "refused"), (True, 5, "unknown"), (True, None, "unknown")],
    )
    def test_after_an_hour_and_no_other(
        self,
        make: Make,
        answers: dict[str, Any],
        clock: Clock,
        may_have_happened: bool,
        hours: int | None,
        outcome: str,
    ) -> None:
        other = make("reboot", attempted_at=clock.now, due_at=None)
        change = make("create", lifetime_hours=hours, asked_at=clock.now - MAX_OPEN - timedelta(seconds=1))
        answers["change"] = error = vertex.Unavailable("Nobody listens.")
        error.may_have_happened = may_have_happened

        send_change(change.pk, clock=clock.clock)

        change.refresh_from_db()
        other.refresh_from_db()
        assert (change.outcome, change.ended_at, change.due_at) == (outcome, clock.now, None)
        assert (change.deletes_at is not None) == (outcome == "unknown" and hours is not None)
        assert (other.outcome, other.ended_at) == ("", None)
        assert Scope.objects.get().due_at == clock.now

    def test_not_before(self, make: Make, answers: dict[str, Any], clock: Clock) -> None:
        change = make("create", asked_at=clock.now - MAX_OPEN)
        answers["change"] = vertex.Unavailable("Nobody listens.")

        send_change(change.pk, clock=clock.clock)

        change.refresh_from_db()
        assert (change.outcome, change.ended_at) == ("", None)

    def test_not_while_it_waits_for_a_new_approval(
        self, make: Make, answers: dict[str, Any], clock: Clock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        change = make("create", asked_at=clock.now - timedelta(days=1))
        monkeypatch.setattr(resource_changes, "check_again", lambda *_: False)

        send_change(change.pk, clock=clock.clock)

        change.refresh_from_db()
        assert (change.outcome, answers["calls"]) == ("", 0)

    def test_not_after_another_worker_has_ended_it(self, make: Make, answers: dict[str, Any], clock: Clock) -> None:
        change = make("create", asked_at=clock.now - timedelta(days=1))

        def end_and_fail() -> None:
            ResourceChange.objects.filter(pk=change.pk).update(outcome="accepted", ended_at=clock.now, claim=uuid4())
            raise vertex.Unavailable("The connection was cut.")

        answers["change"] = end_and_fail

        send_change(change.pk, clock=clock.clock)

        change.refresh_from_db()
        assert change.outcome == "accepted"
