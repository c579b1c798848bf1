"""Tests of what the steps of submission decide from the locked row and the time, without a database."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User

from jobs import vertex
from jobs.models import Job, JobEvent
from jobs.submission import cancel, delete, duplicates, retries, submit
from jobs.submission.ports import Change, Event
from jobs.submission.retries import CHECK_AFTER
from jobs.vertex.wire import RemoteJob

NOW = datetime(2026, 3, 2, tzinfo=UTC)
FOLLOWED = {"state": "running", "remote_name": "r", "submit_attempts": 1}
ENDED = {"state": "withdrawn", "submit_attempts": 1}
REMOTE = RemoteJob("projects/p/locations/l/customJobs/7", "JOB_STATE_PENDING", {})


def states(change: Change | None) -> list[str]:
    """Return the states that a change enters."""
    return [event.to_state for event in change.events if event.to_state] if change is not None else []


class TestObjections:
    REFUSED = Change((Event(JobEvent.Kind.STATE, "No.", to_state="submit_failed"),), {"due_at": None}, releases=True)
    ASKED = Change((Event(JobEvent.Kind.STATE, "Hm.", to_state="awaiting_approval"),), {"due_at": None}, releases=True)
    WAITS = Change(columns={"due_at": NOW}, releases=True)

    @pytest.mark.parametrize(
        ("objection", "in_doubt", "attempts", "columns"),
        [
            (REFUSED, False, 0, {"due_at": None}),
            (REFUSED, False, 2, {"due_at": NOW + CHECK_AFTER}),
            (REFUSED, True, 1, {"due_at": NOW + CHECK_AFTER, "attempted_at": NOW}),
            (ASKED, False, 2, {"due_at": None}),
            (ASKED, True, 1, {"due_at": None, "attempted_at": NOW}),
            (WAITS, True, 1, {"due_at": NOW}),
        ],
    )
    def test_what_may_have_arrived_is_looked_up_later(
        self, objection: Change, in_doubt: bool, attempts: int, columns: Mapping[str, Any]
    ) -> None:
        job = Job(state="submitting", submit_attempts=attempts)

        change = submit.objected(objection, was_in_doubt=in_doubt)(job, NOW)

        assert change is not None
        assert (change.columns, change.events) == (columns, objection.events)

    @pytest.mark.parametrize("row", [FOLLOWED, ENDED])
    def test_too_late(self, row: dict[str, Any]) -> None:
        assert submit.objected(self.REFUSED, was_in_doubt=True)(Job(**row), NOW) == Change(releases=True)

    def test_a_cancellation_comes_first(self) -> None:
        job = Job(state="approved", cancel_requested_at=NOW)

        assert states(submit.objected(self.REFUSED, was_in_doubt=False)(job, NOW)) == ["withdrawn"]


@pytest.mark.parametrize(
    ("row", "entered"),
    [
        ({"state": "approved"}, ["submitting"]),
        ({"state": "submitting"}, []),
        ({"state": "submitting", "cancel_requested_at": NOW}, ["withdrawn"]),
        (FOLLOWED | {"cancel_requested_at": NOW}, []),
        (ENDED | {"cancel_requested_at": NOW}, []),
    ],
)
def test_only_what_is_unsent_and_wanted_is_sent(row: dict[str, Any], entered: list[str]) -> None:
    change = submit.begin_create(Job(**row), NOW)

    assert states(change) == entered
    assert ("submit_attempts" in change.columns) == (row in ({"state": "approved"}, {"state": "submitting"}))


@pytest.mark.parametrize("row", [FOLLOWED, ENDED])
def test_an_answer_about_a_settled_row_changes_nothing(row: dict[str, Any]) -> None:
    decides = (
        submit.created(REMOTE),
        submit.absent(NOW, None, 0.0),
        submit.create_failed(vertex.Refused("No.")),
        submit.create_failed(vertex.PermissionDenied("No.")),
        submit.failed(vertex.Unavailable("Nobody listens.")),
    )

    assert [decide(Job(**row), NOW) for decide in decides] == [Change(releases=True)] * len(decides)


def test_a_list_that_follows_no_job_shows_no_other_body() -> None:
    change = submit.adopted(REMOTE)(Job(kind="custom_job", spec={}, **FOLLOWED), NOW)

    assert change == Change(releases=True)


@pytest.mark.parametrize(("state", "entered"), [("approved", ["submitting"]), ("submitting", [])])
def test_an_older_copy_learns_that_it_was_sent(state: str, entered: list[str]) -> None:
    change = submit.created(REMOTE)(Job(state=state), NOW)

    assert (states(change), change.remote) == (entered, REMOTE)


def test_another_workers_attempt_stays_as_it_is() -> None:
    begun, row = Job(state="submitting", claim="a"), Job(state="submitting", claim="b")

    assert submit.not_sent(begun, 11.0)(row, NOW) is None
    assert submit.not_sent(begun, 11.0)(begun, NOW) is not None


class TestRefusedCreates:
    @pytest.mark.parametrize(
        ("failures", "last_error", "ends"),
        [
            (0, "", False),
            (submit.MAX_DENIED - 1, submit.DENIED, False),
            (submit.MAX_DENIED, submit.DENIED, True),
            (submit.MAX_DENIED, "Nobody listens.", False),
        ],
    )
    def test_a_denial_is_repeated_for_a_while(self, failures: int, last_error: str, ends: bool) -> None:
        job = Job(state="submitting", failures=failures, last_error=last_error)

        assert states(submit.create_failed(vertex.PermissionDenied("No."))(job, NOW)) == ["submit_failed"] * ends

    @pytest.mark.parametrize(
        ("error", "ends"),
        [(vertex.Refused("No."), True), (vertex.NotFound("No."), True), (vertex.RateLimited("Later."), False)],
    )
    def test_a_refusal_is_final(self, error: vertex.VertexError, ends: bool) -> None:
        for attempts, due_at in ((1, None), (2, NOW + CHECK_AFTER)):
            change = submit.create_failed(error)(Job(state="submitting", submit_attempts=attempts), NOW)

            assert change is not None
            assert states(change) == ["submit_failed"] * ends
            assert not ends or change.columns["due_at"] == due_at


@pytest.mark.parametrize(
    ("row", "is_marked"),
    [
        ({"state": "awaiting_approval"}, True),
        ({"state": "awaiting_approval", "attempted_at": NOW}, False),
        ({"state": "approved"}, False),
    ],
)
def test_a_job_that_awaits_approval_is_marked_once(row: dict[str, Any], is_marked: bool) -> None:
    assert (duplicates.require_look_up(Job(**row), NOW) is not None) == is_marked


@pytest.mark.parametrize(
    ("row", "is_withdrawn"),
    [
        ({"state": "awaiting_approval"}, True),
        ({"state": "awaiting_approval", "attempted_at": NOW}, True),
        ({"state": "approved"}, True),
        ({"state": "approved", "attempted_at": NOW}, False),
        ({"state": "submitting"}, False),
        (FOLLOWED, False),
    ],
)
def test_what_was_not_sent_is_withdrawn_at_once(row: dict[str, Any], is_withdrawn: bool) -> None:
    change = cancel.request_cancel(User(username="owner"))(Job(**row), NOW)

    assert change is not None
    assert states(change) == ["withdrawn"] * is_withdrawn
    assert change.events[0].message.startswith("owner withdrew" if is_withdrawn else "owner asked to cancel")


@pytest.mark.parametrize(
    "row",
    [
        {"state": "succeeded", "remote_name": "r"},
        FOLLOWED | {"cancel_requested_at": NOW},
    ],
)
def test_what_has_ended_or_is_asked_for_is_not_asked_for(row: dict[str, Any]) -> None:
    assert cancel.request_cancel(User(username="owner"))(Job(**row), NOW) is None


@pytest.mark.parametrize(
    ("row", "due_at"),
    [
        (FOLLOWED, None),
        (FOLLOWED | {"submit_attempts": 2}, NOW + CHECK_AFTER),
        (FOLLOWED | {"cancel_requested_at": NOW, "submit_attempts": 2}, NOW),
        ({"state": "failed", "cancel_requested_at": NOW}, None),
        ({"state": "failed", "deletion_requested_at": NOW}, NOW),
        ({"state": "failed", "deletion_requested_at": NOW, "deleted_at": NOW}, None),
    ],
)
def test_the_next_step(row: dict[str, Any], due_at: datetime | None) -> None:
    assert retries.next_step_at(Job(**row), NOW) == due_at


@pytest.mark.parametrize(("minutes", "is_over"), [(10, False), (10.1, True)])
def test_a_deletion_has_ten_minutes(minutes: float, is_over: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delete, "_requests", lambda _: 1)
    change = delete.check_deletion(NOW)(Job(state="failed"), NOW + timedelta(minutes=minutes))

    assert change is not None
    assert ("deletion_requested_at" in change.columns) == is_over
