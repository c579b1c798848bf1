"""Tests of settings cached by a process: read once in ten seconds, and at once after its own change."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import transaction

from jobs import cache, known_quotas, requests
from jobs import clock as clocks
from jobs.cache import Recent, Unchanged
from jobs.models import AllowedResource, QuotaReading, RuleSetting, Team
from jobs.requests.allowed_resources import recent_allowed
from jobs.requests.rule_settings import recent_severities
from tests.support.clock import Clock

PLACE = {"project": "vision-research", "region": "us-central1"}
Change = Callable[[User, Team, datetime], Any]


def set_rule(admin: User, _team: Team, now: datetime) -> RuleSetting:
    return RuleSetting(code="spot_saves_checkpoints", severity="off", set_by=admin, set_at=now)


def allow(_admin: User, team: Team, _now: datetime) -> AllowedResource:
    return AllowedResource(team=team, kind="bucket", name="vision-training")


def record_quota(_admin: User, _team: Team, now: datetime) -> QuotaReading:
    return QuotaReading(**PLACE, metric="gpus", quota_id="Q", limit=8, used=3, read_at=now)


def ask(model: type, team: Team, now: datetime) -> Any:
    """Return what is kept of these rows."""
    if model is RuleSetting:
        return recent_severities(now)
    return recent_allowed(team, now) if model is AllowedResource else known_quotas.recent_quotas(**PLACE, now=now)


@pytest.mark.parametrize("change", [set_rule, allow, record_quota])
class TestSettings:
    def test_a_change_of_this_process_counts_at_once(
        self, change: Change, admin: User, team: Team, clock: Clock
    ) -> None:
        row = change(admin, team, clock.now)
        before = ask(type(row), team, clock.now)

        row.save()
        after = ask(type(row), team, clock.now)
        row.delete()

        assert after != before
        assert ask(type(row), team, clock.now) == before

    def test_a_change_of_another_process_counts_after_ten_seconds(
        self, change: Change, admin: User, team: Team, clock: Clock, django_assert_num_queries: Any
    ) -> None:
        row = change(admin, team, clock.now)
        before = ask(type(row), team, clock.now)
        type(row).objects.bulk_create([row])  # sends no signal, as the other process sends none here

        with django_assert_num_queries(0):
            assert ask(type(row), team, clock.forward(seconds=10)) == before
        assert ask(type(row), team, clock.forward(seconds=1)) != before


class TestWhatIsAssessedForARequest:
    def test_is_never_what_is_kept(self, admin: User, team: Team, clock: Clock) -> None:
        requests.load_context(team, now=clock.now, is_preview=True)
        RuleSetting.objects.bulk_create([set_rule(admin, team, clock.now)])
        AllowedResource.objects.bulk_create([allow(admin, team, clock.now)])

        context = requests.load_context(team, now=clock.now)
        preview = requests.load_context(team, now=clock.now, is_preview=True)

        assert context.severities == {"spot_saves_checkpoints": "off"}
        assert context.allowed
        assert context.allowed.buckets == {"vision-training"}
        assert preview.severities == {}

    def test_what_one_team_may_use_is_not_another_s(self, team: Team, other_team: Team, clock: Clock) -> None:
        AllowedResource.objects.create(team=team, kind="bucket", name="vision-training")

        assert recent_allowed(team, clock.now).buckets
        assert not recent_allowed(other_team, clock.now).buckets


class TestRecent:
    def test_what_changes_while_it_is_read_is_not_kept(self, clock: Clock) -> None:
        values = iter("ab")

        def load(_key: None, _now: datetime) -> str:
            value = next(values)
            if value == "a":
                kept.forget()
            return value

        kept: Recent[None, str] = Recent(load)

        assert kept.get(None, clock.now) == "a"
        assert kept.get(None, clock.now) == "b"

    def test_what_is_read_before_the_commit_is_not_kept(
        self, clock: Clock, db: None, django_capture_on_commit_callbacks: Any
    ) -> None:
        values = iter("abc")
        kept: Recent[None, str] = Recent(lambda _key, _now: next(values))

        with django_capture_on_commit_callbacks(execute=True), transaction.atomic():
            kept.forget_changed()
            assert kept.get(None, clock.now) == "a"

        assert kept.get(None, clock.now) == "b"

    def test_keeps_a_bounded_number_and_forgets_all(self, clock: Clock) -> None:
        loads: list[int] = []
        kept: Recent[int, None] = Recent(lambda key, _now: loads.append(key))
        for key in range(cache.MAX_KEPT + 1):
            kept.get(key, clock.now)
        kept.get(cache.MAX_KEPT, clock.now)
        kept.get(0, clock.now)
        assert len(loads) == cache.MAX_KEPT + 2

        cache.forget_all()
        kept.get(0, clock.now)
        assert loads[-2:] == [0, 0]


class TestDisplayedTime:
    def test_is_asked_for_once_in_ten_seconds_and_counted_on(
        self, clock: Clock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        counted = [1_000.0]
        monkeypatch.setattr(clocks, "read_database_clock", lambda: clock.now)
        monkeypatch.setattr(clocks.time, "monotonic", lambda: counted[0])
        monkeypatch.setattr(clocks, "_asked", None)
        first = clocks.display_now()
        clock.forward(hours=1)
        counted[0] += clocks.DISPLAY_SECONDS

        assert (clocks.display_now() - first).total_seconds() == clocks.DISPLAY_SECONDS
        counted[0] += 0.1
        assert clocks.display_now() == clock.now


class TestUnchanged:
    def test_keeps_a_value_while_its_version_stays_and_only_so_long(self, clock: Clock) -> None:
        kept: Unchanged[str, str] = Unchanged(seconds=60, max_kept=5)
        kept.keep("job", 1, "running", clock.now)

        assert kept.get("job", 1, clock.forward(seconds=60)) == "running"
        assert kept.get("job", 2, clock.now) is None, "it has changed"
        assert kept.get("job", 1, clock.forward(seconds=1)) is None, "it is too old"
        assert kept.get("job", 1, clock.forward(seconds=-120)) is None, "the clock was set back"
        assert kept.get("another", 1, clock.now) is None

    def test_keeps_a_bounded_number_and_forgets_all(self, clock: Clock) -> None:
        kept: Unchanged[int, int] = Unchanged(seconds=60, max_kept=5)
        for key in range(6):
            kept.keep(key, 0, key, clock.now)
        assert [kept.get(key, 0, clock.now) for key in range(6)] == [None, None, None, None, None, 5]

        cache.forget_all()
        assert kept.get(5, 0, clock.now) is None
