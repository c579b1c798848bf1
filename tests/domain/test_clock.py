"""Tests that the database's time decides, on both databases, whatever the clock of this process shows."""

from datetime import UTC, datetime, timedelta

import pytest
from django.utils import timezone

from jobs.clock import DatabaseClock, database_now

pytestmark = pytest.mark.both_databases


@pytest.mark.django_db
def test_the_database_tells_the_time_in_utc_and_moves_on_inside_a_transaction() -> None:
    before = datetime.now(UTC) - timedelta(seconds=2)

    first = database_now()
    while (second := database_now()) == first:
        pass

    assert before < first < second < datetime.now(UTC) + timedelta(seconds=2)
    assert second.utcoffset() == timedelta()


@pytest.mark.django_db
def test_a_process_whose_own_clock_is_a_day_off_is_told_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timezone, "now", lambda: datetime.now(UTC) + timedelta(days=1))

    assert DatabaseClock().now() < datetime.now(UTC) + timedelta(seconds=2)
