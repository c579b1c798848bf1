"""Tests of which open requests, caps and further attempts the sweep takes up, row by row."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from importlib import import_module
from typing import Any

import pytest
from django.contrib.auth.models import User

from jobs import requests, transitions
from jobs.fallback import Plan, Reason, Step
from jobs.models import Approval, Fallback, FallbackAttempt, Job, Policy, Team
from jobs.observation.record import mark_seen
from jobs.upkeep import approvals as approvals_of_upkeep
from jobs.upkeep import capped_jobs, due_approvals, extend_open_approvals, open_fallbacks, watch_approvals, watch_caps
from tests.domain.conftest import RequestJob
from tests.support import samples
from tests.support.clock import Clock

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]
NOW = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
LATER, BEFORE = NOW + timedelta(hours=1), NOW - timedelta(hours=1)
fallbacks_of_upkeep = import_module("jobs.upkeep.fallbacks")


class TestApprovals:
    @pytest.fixture
    def asked(self, request_job: RequestJob, team: Team) -> tuple[Job, Job]:
        """Two jobs that wait for an approval."""
        Policy.objects.filter(team=team).update(ask_over_usd=0)
        return request_job(), request_job()

    @pytest.mark.parametrize(
        ("columns", "is_due"),
        [
            ({}, False),
            ({"expires_at": NOW}, True),
            ({"remind_at": NOW}, True),
            ({"expires_at": LATER, "remind_at": LATER}, False),
            ({"expires_at": NOW, "remind_at": NOW, "decision": "approved"}, False),
        ],
    )
    def test_is_due(self, asked: tuple[Job, Job], columns: dict[str, Any], is_due: bool) -> None:
        Approval.objects.update(expires_at=None, remind_at=None)
        Approval.objects.filter(job=asked[0]).update(**columns)

        assert due_approvals(NOW).count() == is_due

    @pytest.mark.parametrize("column", ["expires_at", "remind_at"])
    @pytest.mark.parametrize("since", ["decided", "postponed", "closed", "withdrawn"])
    def test_one_that_changed_since_it_was_found_is_left_alone(
        self, asked: tuple[Job, Job], column: str, since: str
    ) -> None:
        step = approvals_of_upkeep._expire if column == "expires_at" else approvals_of_upkeep._remind
        Approval.objects.update(expires_at=None, remind_at=None)
        Approval.objects.filter(job=asked[0]).update(**{column: NOW})
        found = Approval.objects.get(job=asked[0])
        columns: dict[str, Any] = {"decided": {"decision": "approved"}, "postponed": {column: LATER}}
        Approval.objects.filter(pk=found.pk).update(**columns.get(since, {column: None} if since == "closed" else {}))
        if since == "withdrawn":
            Job.objects.filter(pk=asked[0].pk).update(state="approved")
        events = asked[0].events.count()

        assert not step(found, NOW)

        assert Job.objects.get(pk=asked[0].pk).state == ("approved" if since == "withdrawn" else "awaiting_approval")
        assert asked[0].events.count() == events
        assert due_approvals(NOW).count() == 0

    def test_a_step_changes_its_own_question_only(self, asked: tuple[Job, Job], clock: Clock) -> None:
        Approval.objects.filter(job=asked[0]).update(expires_at=NOW, remind_at=NOW)
        Approval.objects.filter(job=asked[1]).update(expires_at=LATER, remind_at=NOW)

        assert watch_approvals(NOW) == 2

        rows = Approval.objects.order_by("pk").values_list("expires_at", "remind_at")
        (expired, reminded), again = rows, rows.get(job=asked[1])[1]
        assert expired == (None, None)
        assert reminded[0] == LATER
        assert again > NOW
        assert list(asked[1].events.filter(kind="approval_due").values_list("message", flat=True)) == [
            "The job has waited 0 hours for an approval."
        ]

    @pytest.mark.parametrize(
        ("columns", "later"),
        [
            ({"asked_at": BEFORE - timedelta(hours=1)}, 1.0),
            ({"asked_at": BEFORE}, 1.0),
            ({"asked_at": NOW - timedelta(minutes=15)}, 0.25),
            ({"asked_at": NOW}, 0.0),
            ({"asked_at": LATER}, 0.0),
            ({"asked_at": BEFORE, "decision": "approved"}, 0.0),
            ({"asked_at": BEFORE, "expires_at": None}, None),
        ],
    )
    def test_only_open_ones_last_longer_after_an_hour_without_the_site(
        self, asked: tuple[Job, Job], columns: dict[str, Any], later: float | None
    ) -> None:
        Approval.objects.update(expires_at=None, asked_at=NOW)
        Approval.objects.filter(job=asked[0]).update(**{"expires_at": LATER} | columns)

        assert extend_open_approvals(BEFORE, NOW) == bool(later)

        ends = Approval.objects.get(job=asked[0]).expires_at
        assert ends == (None if later is None else LATER + timedelta(hours=later))


class TestCaps:
    @pytest.mark.parametrize(
        ("columns", "is_watched"),
        [
            ({}, True),
            ({"cap_usd": None}, False),
            ({"cap_reported": 80}, True),
            ({"cap_reported": 100}, False),
            ({"started_at": None}, False),
            ({"state": "succeeded", "ended_at": NOW}, False),
        ],
    )
    def test_only_running_jobs_below_their_cap_are_watched(
        self, request_job: RequestJob, columns: dict[str, Any], is_watched: bool
    ) -> None:
        watched, other = request_job(), request_job()
        common = {"state": "running", "started_at": BEFORE, "cap_usd": Decimal("0.01"), "cap_cancels": True}
        common |= {"hourly_usd": Decimal(1), "running_since": BEFORE, "remote_name": "n"}
        Job.objects.filter(pk=watched.pk).update(**common | columns)
        mark_seen([watched.pk], now=NOW)

        assert list(capped_jobs()) == [watched] * is_watched
        assert watch_caps(NOW) == is_watched
        assert set(Job.objects.exclude(cancel_requested_at=None)) == {watched} - (set() if is_watched else {watched})
        assert not other.events.filter(kind__startswith="cap").exists()

    def test_a_job_without_a_price_has_no_cost_to_watch(self, request_job: RequestJob) -> None:
        job = request_job()
        columns = {"state": "running", "started_at": BEFORE, "running_since": BEFORE, "remote_name": "n"}
        Job.objects.update(cap_usd=Decimal(1), hourly_usd=None, **columns)
        mark_seen([job.pk], now=NOW)

        assert watch_caps(NOW) == 0


class TestFurtherAttempts:
    @pytest.fixture
    def begin(self, request_job: RequestJob, team: Team, owner: User, clock: Clock) -> Callable[..., Fallback]:
        """`begin("a")` is a request whose job waits, and whose plan has a second attempt after an hour."""

        def start(key: str, reasons: frozenset[Reason] = frozenset(Reason)) -> Fallback:
            plan = Plan((Step("standard"),), reasons, wait_hours=1)
            asked = requests.RequestOptions(
                Team.objects.get(pk=team.pk), owner, timedelta(minutes=6), clock.now, plan=plan
            )
            submission = samples.submission(**samples.limited(0.1, {}, least=4))
            (job,) = requests.request_jobs([submission], asked, request_key=key)
            return Fallback.objects.get(attempts__job=job)

        return start

    @pytest.mark.parametrize(
        ("of_job", "of_plan", "waits"),
        [
            ({}, {}, True),
            ({"state": "pending"}, {}, True),
            ({"state": "running"}, {}, False),
            ({"state": "pending", "started_at": NOW}, {}, False),
            ({"cancel_requested_at": NOW}, {}, False),
            ({"approved_at": None}, {}, False),
            ({"approved_at": NOW + timedelta(minutes=1)}, {}, False),
            ({}, {"wait_hours": None}, False),
            ({}, {"ended_at": NOW}, False),
        ],
    )
    def test_waits_too_long(
        self, begin: Callable[..., Fallback], of_job: dict[str, Any], of_plan: dict[str, Any], waits: bool
    ) -> None:
        row, other = begin("a"), begin("b")
        now = NOW + timedelta(hours=1)
        Job.objects.filter(attempt__fallback=other).update(approved_at=now)
        Job.objects.filter(attempt__fallback=row).update(**of_job)
        Fallback.objects.filter(pk=row.pk).update(**of_plan)

        assert fallbacks_of_upkeep._waiting(now) == [row.pk] * waits

    def test_only_those_whose_attempts_have_all_ended_go_on(self, begin: Callable[..., Fallback], clock: Clock) -> None:
        ended, live, over = begin("a"), begin("b"), begin("c")
        for row in (ended, over):
            Job.objects.filter(attempt__fallback=row).update(state="failed", ended_at=NOW)
        Fallback.objects.filter(pk=over.pk).update(ended_at=NOW)

        assert set(open_fallbacks()) == {ended, live}
        assert fallbacks_of_upkeep._ended() == [ended.pk]

    def test_a_step_touches_its_own_request_only(self, begin: Callable[..., Fallback], clock: Clock) -> None:
        rows = begin("a"), begin("b")
        FallbackAttempt.objects.filter(fallback=rows[1]).update(number=2)
        clock.forward(hours=2)

        assert fallbacks_of_upkeep._end_wait(rows[0].pk, clock.clock)

        states = {row: FallbackAttempt.objects.get(fallback=row).job.state for row in rows}
        assert states == {rows[0]: "withdrawn", rows[1]: "approved"}
        assert fallbacks_of_upkeep.make_next_attempt(rows[0].pk, now=clock.now)
        assert [row.attempts.count() for row in rows] == [2, 1]
        assert not fallbacks_of_upkeep._end_wait(rows[0].pk, clock.clock), "no other can follow the last one"

    @pytest.mark.parametrize(
        ("number", "state", "is_told"), [(1, "withdrawn", True), (1, "succeeded", False), (2, "withdrawn", False)]
    )
    def test_an_end_is_told_where_another_attempt_was_expected(
        self, begin: Callable[..., Fallback], clock: Clock, number: int, state: str, is_told: bool
    ) -> None:
        row = begin("a")
        if number == 2:
            job = FallbackAttempt.objects.get(fallback=row).job
            transitions.transition(job, "withdrawn", now=clock.now, reason="fallback", message="x")
            assert fallbacks_of_upkeep.make_next_attempt(row.pk, now=clock.now)
        job = FallbackAttempt.objects.get(fallback=row, number=number).job
        Job.objects.filter(pk=job.pk).update(state=state, ended_at=clock.now)

        assert fallbacks_of_upkeep.make_next_attempt(row.pk, now=clock.now)

        assert Fallback.objects.get(pk=row.pk).ended_at == clock.now
        assert job.events.filter(once_key="fallback:ended").exists() == is_told

    def test_a_wait_goes_on_if_nothing_follows_it(self, begin: Callable[..., Fallback], clock: Clock) -> None:
        row = begin("a", frozenset({Reason.INTERNAL}))
        clock.forward(hours=2)

        assert not fallbacks_of_upkeep._end_wait(row.pk, clock.clock)

        assert FallbackAttempt.objects.get(fallback=row).job.state == "approved"

    def test_an_end_is_written_to_its_own_plan(self, begin: Callable[..., Fallback], clock: Clock, owner: User) -> None:
        rows = sorted((begin("a"), begin("b")), key=lambda row: row.pk, reverse=True)
        job, other = (FallbackAttempt.objects.get(fallback=row).job for row in rows)

        assert requests.fallbacks.stop_attempts(job, by=owner, now=clock.now)
        assert not requests.fallbacks.stop_attempts(job, by=owner, now=clock.now)

        assert set(open_fallbacks()) == {rows[1]}
        assert not other.events.filter(kind="fallback").exists()
        transitions.transition(other, "withdrawn", now=clock.now, reason="fallback", message="x")
        assert fallbacks_of_upkeep.make_next_attempt(rows[1].pk, now=clock.now)
        assert not requests.fallbacks.stop_attempts(other, by=owner, now=clock.now), "another attempt follows it"
