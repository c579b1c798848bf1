"""Tests of what the steps of submission decide from the locked row and the time, without a database."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any
from unittest.mock import MagicMock

import pytest
from django.contrib.auth.models import User

from jobs import vertex
from jobs.models import Job, JobEvent
from jobs.queue.installation import Trust
from jobs.submission import cancel, delete, duplicates, retries, submit
from jobs.submission.found_spec import found_columns
from jobs.submission.ports import Change, Event, Written
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


class TestAbsence:
    @pytest.mark.parametrize(
        ("attempted", "restored", "known", "words"),
        [
            (None, None, 0.0, ""),
            (1, None, 1.0, "An earlier try had no answer."),
            (None, 1, 0.0, "The database was restored or restarted."),
            (None, 500, 0.0, ""),
            (500, None, 1.0, "An earlier try had no answer."),
            (1, None, 500.0, "An earlier try had no answer."),
            (500, None, 500.0, ""),
        ],
    )
    def test_is_certain_after_the_window_by_both_clocks(
        self, attempted: int | None, restored: int | None, known: float, words: str
    ) -> None:
        attempted_at, restored_at = (at and NOW - timedelta(seconds=at) for at in (attempted, restored))
        job = Job(state="submitting", attempted_at=attempted_at)

        change = submit.absent(NOW, restored_at, known)(job, NOW)

        assert change is not None
        assert change.releases == bool(words)
        assert change.columns.get("last_error", "").startswith(words)
        assert change.columns["attempted_at"] == (attempted_at if words else None)

    @pytest.mark.parametrize("attempts", [0, 1])
    def test_saves_a_look_up_where_nothing_was_sent(self, attempts: int) -> None:
        change = submit.absent(NOW, None, 0.0)(Job(state="approved", submit_attempts=attempts), NOW)

        assert change is not None
        assert change.columns.get("duplicates_checked_at") == (None if attempts else NOW)


class TestLostClaims:
    """Another worker has the claim, or the row is gone, so that nothing is written."""

    @pytest.fixture
    def ports(self) -> MagicMock:
        ports = MagicMock()
        ports.store.apply.return_value = ports.store.reassess.return_value = None
        ports.store.trust.return_value = Trust(NOW, True, None)
        ports.remote.find.return_value = []
        ports.clock.monotonic.return_value = ports.doubts.note.return_value = 0.0
        return ports

    def test_nothing_is_sent(self, ports: MagicMock) -> None:
        submit.submit(Job(state="approved", requested_at=NOW), ports)

        ports.store.apply.assert_called_once()
        ports.remote.create.assert_not_called()

    def test_nothing_is_sent_after_a_look_up(self, ports: MagicMock) -> None:
        job = Job(state="submitting", requested_at=NOW, attempted_at=NOW, claimed_until=NOW)

        submit.submit(job, ports)

        ports.store.apply.assert_called_once()
        ports.store.reassess.assert_not_called()

    def test_a_look_up_that_is_to_be_repeated_ends_the_step(self, ports: MagicMock) -> None:
        job = Job(state="submitting", requested_at=NOW, attempted_at=NOW, claimed_until=NOW)
        ports.store.apply.return_value = Written(Job(state="submitting", claim=None), 0.0, is_changed=True)

        submit.submit(job, ports)

        ports.store.reassess.assert_not_called()

    def test_nothing_is_cancelled(self, ports: MagicMock) -> None:
        submit.follow(Job(state="submitting"), [REMOTE], ports)

        ports.remote.cancel.assert_not_called()


@pytest.mark.parametrize("row", [FOLLOWED, ENDED, {"state": "submitting", "remote_name": "r"}])
def test_an_answer_about_a_settled_row_changes_nothing(row: dict[str, Any]) -> None:
    decides = (
        submit.created(REMOTE),
        submit.absent(NOW, None, 0.0),
        submit.create_failed(vertex.Refused("No.")),
        submit.create_failed(vertex.PermissionDenied("No.")),
        submit.failed(vertex.Unavailable("Nobody listens.")),
    )

    assert [decide(Job(**row), NOW) for decide in decides] == [Change(releases=True)] * len(decides)


def test_a_found_job_with_the_same_body_changes_no_column() -> None:
    body = {"displayName": "x", "jobSpec": {"workerPoolSpecs": []}}
    remote = RemoteJob(REMOTE.name, REMOTE.state, body)

    assert found_columns(Job(kind="custom_job", spec=body), remote) == {}


def test_a_list_that_follows_no_job_shows_no_other_body(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(submit, "found_columns", lambda *_: {"spec": {"displayName": "another"}})
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


def test_the_pause_is_the_one_that_was_asked_for() -> None:
    error = vertex.RateLimited("Later.", retry_after=timedelta(minutes=7))

    assert retries.pause_after(error, 0) == timedelta(minutes=7)
    assert retries.pause_after(None, 0) == retries.FIRST_PAUSE


@pytest.mark.parametrize(("minutes", "is_over"), [(10, False), (10.1, True)])
def test_a_deletion_has_ten_minutes(minutes: float, is_over: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delete, "_requests", lambda _: 1)
    change = delete.check_deletion(NOW)(Job(state="failed"), NOW + timedelta(minutes=minutes))

    assert change is not None
    assert ("deletion_requested_at" in change.columns) == is_over
