"""Tests of the forecast on the spend page and in the API, against hand-computed sums."""

from datetime import date, timedelta
from decimal import Decimal

import pytest
from django.contrib.auth.models import User

from dashboard.queries.spend import get_month
from jobs import timeline
from jobs.cost.month_forecast import Source
from jobs.models import Job, Schedule, Team
from jobs.requests.schedules import next_of
from tests.pages.conftest import MakeJob, SignIn, text_in
from tests.support.api import caller
from tests.support.clock import Clock

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]


class TestForecast:
    """The job of the pages' tests costs $2.78 an hour and is expected for six minutes."""

    def test_counts_what_runs_is_allowed_and_is_scheduled(
        self, make_job: MakeJob, clock: Clock, team: Team, owner: User, signed_in: SignIn
    ) -> None:
        running, waiting = make_job("running"), make_job("queued")
        hourly = Decimal(running.estimate["usd_per_hour"])
        Job.objects.filter(pk=running.pk).update(started_at=clock.now, running_since=clock.now, hourly_usd=hourly)
        schedule(team, owner, waiting, clock, cron="0 6 * * *", last_day=date(2026, 3, 4))
        clock.forward(minutes=2)
        running.refresh_from_db()
        spent = timeline.cost_so_far(running, clock.now) or Decimal(0)
        expected, low, high = (Decimal(waiting.estimate[f"{name}_usd"]) for name in ("expected", "low", "high"))

        found = get_month([team], date(2026, 3, 1), "person", clock.now).forecast

        assert found is not None
        assert found.parts[Source.RUNNING] == round(expected - spent, 2)
        assert found.parts[Source.COMMITTED] == round(expected, 2)
        assert found.parts[Source.SCHEDULED] == round(2 * expected, 2)  # on the third and the fourth of March
        assert found.low_usd == round(max(low, spent) + 3 * low, 2)
        assert found.high_usd == round(4 * high, 2)
        page = text_in(signed_in(owner).get("/spend/").content.decode(), "forecast")
        assert "Runs of schedules" in page

    def test_takes_runs_of_a_schedule_as_they_were(
        self, make_job: MakeJob, clock: Clock, team: Team, owner: User
    ) -> None:
        first, second = make_job("succeeded"), make_job("succeeded")
        rows = Job.objects.filter(pk__in=[first.pk, second.pk])
        rows.update(started_at=clock.now, ended_at=clock.now, hourly_usd=2, running_since=None)
        rows.filter(pk=first.pk).update(running_seconds=3600)
        rows.filter(pk=second.pk).update(running_seconds=3 * 3600)
        row = schedule(team, owner, first, clock, cron="0 */1 * * *")
        for job, hour in ((first, 1), (second, 2)):
            moment = clock.now - timedelta(hours=hour)
            row.runs.create(moment=moment, made_at=moment, outcome="requested", job=job)

        found = get_month([team], date(2026, 3, 1), "person", clock.now).forecast

        # Each costs $2 to $6, $4 on average, and takes two hours, so that every second time is left out: from 10:00 on
        # March 2, seven runs that day and twelve on each of 29 days.
        assert found is not None
        assert found.parts[Source.SCHEDULED] == 4 * (7 + 29 * 12)

    def test_is_in_the_api(self, make_job: MakeJob, owner: User) -> None:
        api = caller(owner)
        assert api.get("/forecast").json() is None
        job = make_job("queued")

        found = api.get("/forecast", team="vision").json()

        expected = round(Decimal(job.estimate["expected_usd"]), 2)
        assert (found["month"], found["committed_usd"], found["usd"]) == ("2026-03-01", f"{expected}", f"{expected}")
        assert api.get("/forecast", team="audio").status_code == 422


def schedule(team: Team, owner: User, like: Job, clock: Clock, cron: str, last_day: date | None = None) -> Schedule:
    """Make a schedule of a job's spec, in UTC."""
    row = Schedule(
        team=team, owner=owner, name=cron, cron=cron, time_zone="UTC", last_day=last_day, kind=like.kind,
        spec=like.spec, region=like.region, expected_seconds=like.expected_seconds,
        created_at=clock.now, updated_at=clock.now,
    )  # fmt: skip
    row.next_at = next_of(row, clock.now)
    row.save()
    return row
