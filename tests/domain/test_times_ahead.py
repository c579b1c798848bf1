"""Tests of a database's clock that is ahead for a while: nothing begins or ends early, and no run is skipped."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from django.conf import settings
from django.contrib.auth.models import User

from jobs.models import Job, ResourceChange, Schedule, Team
from jobs.requests import schedules
from jobs.requests.schedules import Times
from tests.domain.conftest import Handed
from tests.support import resources, samples
from tests.support.clock import Clock

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]


@pytest.fixture
def sweeps(sweep: Callable[[], Handed], clock: Clock) -> Callable[[int], None]:
    """`sweeps(minutes)` lets time pass, with a sweep every half minute."""

    def run(minutes: int) -> None:
        for _ in range(2 * minutes):
            clock.now += timedelta(seconds=30) - settings.SWEEP_INTERVAL
            sweep()

    return run


class TestSchedules:
    """A schedule for 06:00 of every day. It is 09:00 of 2 March 2026, and sweeps have run for a while."""

    @pytest.fixture
    def nightly(self, team: Team, owner: User, clock: Clock, sweeps: Callable[[int], None]) -> Schedule:
        row = schedules.create_schedule(
            Times("nightly", "0 6 * * *", "UTC"), submission=samples.submission(**samples.limited(0.1, {})),
            team=Team.objects.get(pk=team.pk), by=owner, expected=timedelta(hours=0.1), now=clock.now,
        )  # fmt: skip
        sweeps(3)
        return row

    def test_a_day_ahead_for_some_sweeps_begins_and_misses_nothing(
        self, nightly: Schedule, clock: Clock, sweeps: Callable[[int], None]
    ) -> None:
        now, planned = clock.now, nightly.next_at
        clock.now = datetime(2026, 3, 3, 6, 0, 1, tzinfo=UTC)  # the database's clock alone
        sweeps(1)
        clock.now = now
        sweeps(3)

        nightly.refresh_from_db()
        assert (nightly.next_at, nightly.runs.count(), Job.objects.count()) == (planned, 0, 0)

        clock.now = datetime(2026, 3, 3, 5, 55, tzinfo=UTC)
        sweeps(8)
        assert [row.outcome for row in nightly.runs.all()] == ["requested"]

    def test_a_run_that_is_due_soon_after_a_pause_of_the_site_is_requested(
        self, nightly: Schedule, clock: Clock, sweeps: Callable[[int], None]
    ) -> None:
        clock.now = datetime(2026, 3, 3, 6, 5, tzinfo=UTC)
        sweeps(1)
        assert not nightly.runs.exists(), "the clock may have stepped"

        sweeps(2)
        assert [row.outcome for row in nightly.runs.all()] == ["requested"]

    def test_days_ahead_for_long_skip_no_run_once_the_clock_is_right(
        self, nightly: Schedule, clock: Clock, sweeps: Callable[[int], None]
    ) -> None:
        now = clock.now
        clock.now = datetime(2026, 3, 5, 5, 50, tzinfo=UTC)
        sweeps(15)
        assert [row.outcome for row in nightly.runs.order_by("moment")] == ["missed", "requested"]
        clock.now = now
        sweeps(4)

        nightly.refresh_from_db()
        assert nightly.next_at == datetime(2026, 3, 3, 6, tzinfo=UTC)
        for day, runs in ((3, 2), (4, 3), (5, 3), (6, 4)):
            clock.now = datetime(2026, 3, day, 5, 55, tzinfo=UTC)
            sweeps(8)
            assert nightly.runs.count() == runs


def test_a_resource_lives_on_while_the_clock_is_ahead(
    team: Team, owner: User, clock: Clock, sweeps: Callable[[int], None]
) -> None:
    now = clock.now
    resources.seen("night-shift", now=now)
    ResourceChange.objects.create(
        team=team, project=team.project, region="us-central1", resource_id="night-shift", action="create", body={},
        asked_by=owner, asked_at=now, allowed_at=now, ended_at=now, outcome="accepted", lifetime_hours=12,
        deletes_at=now + timedelta(hours=12), usd_per_hour=1, gpus=1,
    )  # fmt: skip
    deletions = ResourceChange.objects.filter(action="delete")
    sweeps(3)
    clock.forward(days=1)  # the database's clock alone
    sweeps(1)
    clock.forward(days=-1)
    sweeps(3)
    assert not deletions.exists()

    clock.forward(hours=12)
    sweeps(3)
    assert deletions.count() == 1
