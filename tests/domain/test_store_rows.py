"""Tests of what the store of the steps claims, reads and writes, row by row."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.db import connection

from jobs import counts, transitions
from jobs.models import Job, JobEvent, Scope
from jobs.queue.claims import JOB_LEASE
from jobs.submission import adapters
from jobs.submission.adapters import DatabaseStore
from jobs.submission.cancel import cancel, cancel_waiting
from jobs.submission.ports import Change, Event
from jobs.vertex import RemoteJob
from tests.domain.conftest import RequestJob
from tests.support.clock import Clock

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]
NOW = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
NAME = "projects/p/locations/us-central1/customJobs/7"


@pytest.fixture
def store(clock: Clock) -> DatabaseStore:
    return DatabaseStore(clock.clock)


@pytest.fixture
def pair(request_job: RequestJob) -> tuple[Job, Job]:
    return request_job(), request_job()


@pytest.fixture
def submitting(pair: tuple[Job, Job], clock: Clock) -> Job:
    transitions.transition(pair[0], "submitting", now=clock.now, message="x")
    return pair[0]


def remote(clock: Clock, state: str = "PENDING") -> RemoteJob:
    return RemoteJob(NAME, f"JOB_STATE_{state}", {"createTime": clock.now.isoformat()})


def changed(job: Job, columns: dict[str, Any] | None) -> Job:
    """Write columns that the instance does not show, or return a job whose row is gone."""
    if columns is None:
        return Job(pk=uuid4())
    Job.objects.filter(pk=job.pk).update(**columns)
    return job


def test_each_job_is_read_by_its_id(pair: tuple[Job, Job], store: DatabaseStore) -> None:
    assert [store.get(str(job.pk)) for job in pair] == list(pair)
    assert store.get(uuid4()) is None
    assert store.get("none") is None


class TestClaims:
    def test_one_job_is_claimed(self, pair: tuple[Job, Job], store: DatabaseStore, clock: Clock) -> None:
        for job in pair:
            claimed = store.claim(job.pk)

            assert claimed == job
            assert claimed.claimed_until == clock.now + JOB_LEASE
        assert len(set(Job.objects.values_list("claim", flat=True))) == 2

    def test_one_that_expired_before_it_was_read_is_anothers(self, pair: tuple[Job, Job], store: DatabaseStore) -> None:
        """The worker stalls between its two statements, and another one claims the job."""
        rows, is_inside = Job.objects.filter(pk=pair[0].pk), list[bool]()

        def once(execute: Callable[..., Any], sql: str, *rest: Any) -> Any:
            if '"claim"' in sql and sql.startswith("SELECT") and not is_inside:
                is_inside.append(True)
                rows.update(claim=uuid4())
            return execute(sql, *rest)

        with connection.execute_wrapper(once):
            claimed = store.claim(pair[0].pk)

        assert is_inside
        assert claimed is None

    @pytest.mark.parametrize(("releases", "needs_claim"), [(True, True), (False, True), (True, False)])
    def test_the_holder_alone_gives_it_back(
        self, pair: tuple[Job, Job], store: DatabaseStore, releases: bool, needs_claim: bool
    ) -> None:
        claimed, other = store.claim(pair[0].pk), uuid4()
        assert claimed is not None
        if not needs_claim:
            Job.objects.filter(pk=claimed.pk).update(claim=other)

        written = store.apply(claimed, lambda *_: Change(releases=releases), needs_claim=needs_claim)

        assert written is not None
        assert written.job == claimed
        claim = Job.objects.get(pk=claimed.pk).claim
        assert claim == (other if not needs_claim else None if releases else claimed.claim)

    def test_nobody_else_writes(self, pair: tuple[Job, Job], store: DatabaseStore, clock: Clock) -> None:
        claimed, change = store.claim(pair[0].pk), Change(columns={"last_error": "late"})
        assert claimed is not None

        assert store.apply(pair[0], lambda *_: change) is None, "it was read before it was claimed"
        clock.forward(seconds=JOB_LEASE.total_seconds())
        assert store.apply(claimed, lambda *_: change) is None
        assert store.apply(claimed, lambda *_: change, needs_claim=False) is not None
        assert sorted(Job.objects.values_list("last_error", flat=True)) == ["", "late"]

    @pytest.mark.parametrize("columns", [{}, {"claim": uuid4()}, {"state": "withdrawn"}])
    def test_present_prices_are_saved_by_the_holder_of_an_unsent_job(
        self, pair: tuple[Job, Job], store: DatabaseStore, columns: dict[str, Any]
    ) -> None:
        claimed = store.claim(pair[0].pk)
        assert claimed is not None
        Job.objects.filter(pk=claimed.pk).update(**{"last_error": ""} | columns)

        assert store.reassess(claimed) is None

        saved = Job.objects.exclude(price_snapshot=None)
        assert list(saved) == ([] if columns else [claimed])


class TestAnswers:
    def test_one_about_the_followed_job_supersedes_no_row(
        self, submitting: Job, pair: tuple[Job, Job], store: DatabaseStore, clock: Clock
    ) -> None:
        for state in ("PENDING", "QUEUED"):
            clock.forward(seconds=1)
            store.apply(submitting, lambda *_, state=state: Change(remote=remote(clock, state)), needs_claim=False)

        submitting.refresh_from_db()
        assert (submitting.state, submitting.remote_name) == ("queued", NAME)
        assert not pair[1].events.filter(reason="superseded").exists()

    def test_the_first_one_counts_as_a_submission(
        self, submitting: Job, store: DatabaseStore, clock: Clock, monkeypatch: pytest.MonkeyPatch,
        django_capture_on_commit_callbacks: Any,
    ) -> None:  # fmt: skip
        counted = list[float]()
        monkeypatch.setattr(counts, "count_submission", counted.append)
        approved_at = submitting.approved_at
        assert approved_at is not None
        clock.forward(seconds=9)
        with django_capture_on_commit_callbacks(execute=True):
            for _ in range(2):
                store.apply(submitting, lambda *_: Change(remote=remote(clock)), needs_claim=False)

        assert counted == [(clock.now - approved_at).total_seconds()]

    def test_one_is_followed_though_no_approval_is_recorded(
        self, pair: tuple[Job, Job], store: DatabaseStore, clock: Clock
    ) -> None:
        job = pair[0]
        JobEvent.objects.filter(job=job)._raw_delete("default")
        Job.objects.filter(pk=job.pk).update(state="submitting", approved_at=None)

        store.apply(job, lambda *_: Change(remote=remote(clock)), needs_claim=False)

        assert Job.objects.get(pk=job.pk).remote_name == NAME

    @pytest.mark.parametrize(
        ("state", "attempts", "is_due"), [("PENDING", 1, True), ("FAILED", 1, False), ("FAILED", 2, True)]
    )
    def test_one_that_ends_the_job_leaves_only_a_look_up(
        self, submitting: Job, store: DatabaseStore, clock: Clock, state: str, attempts: int, is_due: bool
    ) -> None:
        Job.objects.filter(pk=submitting.pk).update(submit_attempts=attempts)
        change = Change(columns={"due_at": clock.now + timedelta(minutes=5)}, remote=remote(clock, state))

        store.apply(submitting, lambda *_: change, needs_claim=False)

        assert (Job.objects.get(pk=submitting.pk).due_at is not None) == is_due

    def test_one_about_a_row_that_cannot_follow_it_writes_nothing(
        self, pair: tuple[Job, Job], store: DatabaseStore, clock: Clock
    ) -> None:
        transitions.transition(pair[0], "withdrawn", now=clock.now, message="x")
        events = pair[0].events.count()

        with pytest.raises(RuntimeError, match="cannot enter JOB_STATE_PENDING from withdrawn"):
            store.apply(pair[0], lambda *_: Change(remote=remote(clock)), needs_claim=False)

        assert Job.objects.get(pk=pair[0].pk).remote_name == ""
        assert pair[0].events.count() == events


class TestEvents:
    def test_a_move_that_is_impossible_writes_nothing(
        self, pair: tuple[Job, Job], store: DatabaseStore, clock: Clock
    ) -> None:
        event = Event(JobEvent.Kind.STATE, "x", to_state="rejected")

        with pytest.raises(RuntimeError, match="cannot go from approved to rejected"):
            store.apply(pair[0], lambda *_: Change((event,), {"last_error": "x"}), needs_claim=False)

        assert Job.objects.get(pk=pair[0].pk).last_error == ""

    def test_one_without_a_state_changes_none(self, pair: tuple[Job, Job], store: DatabaseStore) -> None:
        event = Event(JobEvent.Kind.SUBMIT_ATTEMPTED, "Sent.", key="submit:1")

        store.apply(pair[0], lambda *_: Change((event,)), needs_claim=False)

        assert pair[0].events.get(once_key="submit:1").to_state == ""
        assert Job.objects.get(pk=pair[0].pk).state == "approved"


@pytest.mark.parametrize("wakes", [True, False])
def test_only_a_change_that_wakes_wakes(pair: tuple[Job, Job], store: DatabaseStore, wakes: bool) -> None:
    store.apply(pair[0], lambda *_: Change(wakes=wakes), needs_claim=False)

    assert Scope.objects.exists() == wakes


@pytest.mark.parametrize("is_asked", [True, False])
def test_approvers_are_asked_what_a_change_asks(
    pair: tuple[Job, Job], store: DatabaseStore, is_asked: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = list[Any]()
    monkeypatch.setattr(adapters, "save_question", lambda _job, question, **_: asked.append(question))
    question: Any = "may it be sent?" if is_asked else None

    store.apply(pair[0], lambda *_: Change(question=question), needs_claim=False)

    assert asked == [question] * is_asked


class TestCancellations:
    @pytest.mark.parametrize(
        ("columns", "is_asked"),
        [
            ({}, True),
            ({"state": "pending"}, True),
            ({"state": "pending", "started_at": NOW}, False),
            ({"state": "pending", "cancel_requested_at": NOW, "cancel_sent_at": NOW}, False),
            ({"state": "failed"}, False),
            (None, False),
        ],
    )
    def test_a_wait_is_ended_once(
        self, pair: tuple[Job, Job], store: DatabaseStore, columns: dict[str, Any] | None, is_asked: bool
    ) -> None:
        assert cancel_waiting(changed(pair[0], columns), message="x", reason="x", store=store) == is_asked

    @pytest.mark.parametrize("columns", [None, {"state": "failed"}])
    def test_one_of_a_row_that_is_gone_or_has_ended_is_none(
        self, pair: tuple[Job, Job], store: DatabaseStore, columns: dict[str, Any] | None, owner: User
    ) -> None:
        assert not cancel(changed(pair[0], columns), by=owner, store=store)
