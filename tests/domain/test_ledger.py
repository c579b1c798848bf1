"""Tests of the ledger: its entries are what the emulator recorded, to the micro-dollar, whatever is learned late."""

from collections import Counter
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from jobs import budgets, observation, steps, timeline
from jobs.budget import Passing
from jobs.budgets import BudgetValues, watch_budgets
from jobs.models import AllowedResource, CostEntry, Job, JobFigures, MonthFigures, Price, Team
from jobs.prices.record import record_price
from jobs.upkeep import count_ended
from jobs.upkeep.retention import prune
from tests.domain.conftest import Cloud, RequestJob, look, watch
from tests.domain.test_late_log import LATE, read_rest
from tests.domain.test_resource_spend import usd
from tests.domain.test_start_repair import Past, repaired
from tests.support.clock import Clock
from tests.support.ledger import check_ledger, idle_by_day, list_left, spent
from tests.support.resources import Resources
from tests.support.running_emulator import Running, running
from tests.support.truth import machine_spans

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]
HALF_MINUTE = timedelta(seconds=30)
ZONES = ["America/Los_Angeles", "Pacific/Kiritimati"]
"""A month begins eight hours after that of UTC, and fourteen before."""


def micros(usd_per_hour: Decimal, ran: timedelta) -> int:
    """Return the cost of a run that is billed in half minutes, rounded once."""
    seconds = -(-ran // HALF_MINUTE) * 30
    return int((usd_per_hour * seconds / 3600 * 1_000_000).to_integral_value(ROUND_HALF_UP))


def true_months(cloud: Cloud, job: Job) -> dict[date, int]:
    """Return {first day of a month: micro-dollars} of a job by the emulator's record and the price in the row."""
    assert job.hourly_usd is not None
    spans = machine_spans(cloud.truth(job.remote_name))
    found, before = dict[date, int](), 0
    for month in sorted({start.astimezone(UTC).date().replace(day=1) for span in spans for start in span}):
        end = datetime.combine((month + timedelta(days=32)).replace(day=1), datetime.min.time(), UTC)
        until = micros(job.hourly_usd, sum((max(min(to, end) - at, timedelta()) for at, to in spans), timedelta()))
        found[month], before = until - before, until
    return found


def months_of(job: Job) -> dict[date, int]:
    """Return the same by the entries of the job."""
    found = Counter[date]()
    for entry in job.costs.filter(kind="run"):
        assert entry.project == job.project
        found[entry.day.replace(day=1)] += entry.micros
    return dict(found)


@pytest.fixture
def late(tmp_path: Path, clock: Clock, settings: Any, db: None) -> Iterator[Running]:
    """An emulator whose log is late."""
    with running(
        tmp_path / "late", scripted=True, start=clock.now.timestamp(), is_waited_for=False, log_lateness=LATE
    ) as emulator:
        settings.VERTEX_ENDPOINT = settings.LOGGING_ENDPOINT = settings.STORAGE_ENDPOINT = emulator.url
        settings.MONITORING_ENDPOINT = emulator.url
        settings.POLL_INTERVAL = timedelta(seconds=10)
        yield emulator


def send(cloud: Cloud, request_job: RequestJob, *, run_seconds: int, cuts: tuple[int, ...] = (), **changes: Any) -> Job:
    """Request and send a job that runs so long after it was preempted after so many seconds of each run before."""
    cloud.script("happy", queue_seconds=60, run_seconds=run_seconds, preempt_after=list(cuts))
    job = request_job(**changes)
    steps.advance(job.pk, clock=cloud.clock)
    job.refresh_from_db()
    assert job.is_remote, job.last_error
    return job


@pytest.mark.parametrize("zone", ZONES)
def test_a_preempted_job_across_the_end_of_a_month_costs_what_it_ran_in_each(
    cloud: Cloud, request_job: RequestJob, team: Team, clock: Clock, zone: str
) -> None:
    with timezone.override(zone):
        cloud.forward(seconds=(datetime(2026, 3, 31, 22, 7, 13, tzinfo=UTC) - clock.now).total_seconds())
        job = send(cloud, request_job, run_seconds=2 * 3600 + 7, cuts=(3_000, 1_777), strategy="SPOT")
        for _ in range(4):
            watch(cloud, job, minutes=60, every=15)
            watch_budgets(cloud.now)
        watch(cloud, job, minutes=600, every=15)
        assert (job.state, job.restarts) == ("succeeded", 2)
        count_ended(cloud.now)

        wanted = true_months(cloud, job)
        assert set(wanted) == {date(2026, 3, 1), date(2026, 4, 1)}
        assert months_of(job) == wanted
        assert {month: spent(team, month) * 1_000_000 for month in wanted} == wanted
        job.refresh_from_db()
        assert timeline.cost_so_far(job, cloud.now) == Decimal(sum(wanted.values())) / 1_000_000
        check_ledger(cloud.now)


def test_two_projects_a_resource_a_new_price_and_a_late_log_are_the_truth(
    late: Running, request_job: RequestJob, team: Team, clock: Clock
) -> None:
    cloud = Cloud(late, clock)
    AllowedResource.objects.create(team=team, kind="project", name="vision-two")
    Resources(late, cloud.forward).create("shared", replicas=2)
    observation.watch_resources(cloud.now)
    look(cloud)
    cuts = (1_111, 2_222)
    jobs = [
        send(cloud, request_job, run_seconds=3_333, cuts=cuts, name="first"),
        send(cloud, request_job, run_seconds=1_234, name="elsewhere", project="vision-two"),
    ]
    record_price(
        ("a2-highgpu-1g", "us-central1", "spot", Price.Basis.COMPUTE_ENGINE), Decimal("2.7512345"), source="a bill",
        source_url="", as_of=cloud.now.date(), is_official=False, reason="It rose.",
        by=User.objects.create_superuser("price-admin"), now=cloud.now,
    )  # fmt: skip
    jobs.append(send(cloud, request_job, run_seconds=4_321, cuts=cuts, name="dearer"))
    for job in jobs:
        watch(cloud, job, minutes=300, every=15)
        count_ended(cloud.now)
    read_rest(cloud)
    while count_ended(cloud.now):
        pass
    watch_budgets(cloud.now)

    rows = [Job.objects.get(pk=job.pk) for job in jobs]
    assert [row.restarts for row in rows] == [2, 0, 2]
    assert rows[0].hourly_usd != rows[2].hourly_usd
    for row in rows:
        assert months_of(row) == true_months(cloud, row)
        assert set(row.costs.values_list("usd_per_hour", "price")) == {(row.hourly_usd, row.price_snapshot["at"])}
    total = sum(sum(months_of(row).values()) for row in rows)
    idle = sum(idle_by_day(team).values())
    assert idle > usd(1)
    assert spent(team, cloud.now) == Decimal(total) / 1_000_000 + idle
    check_ledger(cloud.now)


class TestLearnedLate:
    def test_changes_every_figure_at_once_by_another_entry(
        self, request_job: RequestJob, team: Team, lead: User, clock: Clock
    ) -> None:
        values = BudgetValues("vision", Decimal(100), Passing.STOP)
        budgets.create_budget(team, values, by=lead, reason="agreed", now=clock.now)
        past = Past(request_job(), clock)
        past.falsely_started().state("pending", 20).state("running", 175.4).state("succeeded", 775.4)
        price = past.job.hourly_usd
        assert price is not None

        def figures() -> set[Decimal]:
            job, now = Job.objects.get(pk=past.job.pk), past.at(9_000)
            ((_, left),) = list_left(now)
            kept = (JobFigures.objects.get().micros, MonthFigures.objects.get().micros, job.cost_micros)
            return {timeline.cost_so_far(job, now), spent(team, now), left.spent_usd} | {
                Decimal(each) / 1_000_000 for each in kept if each is not None
            }  # type: ignore[arg-type]

        while count_ended(past.at(800)):
            pass
        before = list(CostEntry.objects.order_by("pk").values())
        assert figures() == {Decimal(micros(price, timedelta(seconds=600.2))) / 1_000_000}

        repaired(past, clock)

        assert figures() == {Decimal(micros(price, timedelta(seconds=600))) / 1_000_000}
        *kept, correction = CostEntry.objects.order_by("pk").values()
        assert kept == before
        assert correction["micros"] < 0
        check_ledger(past.at(9_000))

    def test_of_other_labels_moves_what_was_spent(self, request_job: RequestJob, team: Team, clock: Clock) -> None:
        """A job that was found to run with another body counts where that body says."""
        past = Past(request_job(labels={"phase": "one"}), clock)
        past.state("submitting", 0).state("running", 10).state("succeeded", 3_610)
        count_ended(past.at(4_000))
        before = spent(team, clock.now)
        assert spent(team, clock.now, "label", "phase=one") == before > 0

        body = past.job.spec | {"labels": {"phase": "two"}}
        Job.objects.filter(pk=past.job.pk).update(spec=body, is_counted=False)
        count_ended(past.at(4_100))

        assert spent(team, clock.now, "label", "phase=one") == 0
        assert spent(team, clock.now, "label", "phase=two") == spent(team, clock.now) == before
        check_ledger(past.at(4_100))


def test_the_day_that_ended_is_recorded_before_pages_add_what_is_not(request_job: RequestJob, clock: Clock) -> None:
    """Pages count what was not recorded yet to the present day, so none of it may be of the day before."""
    past = Past(request_job(), clock)
    midnight = (clock.now + timedelta(days=1)).replace(hour=0, minute=0, second=0, microsecond=0)
    past.state("submitting", 0).state("running", 10)
    watch_budgets(midnight - timedelta(seconds=20))
    watch_budgets(midnight + timedelta(seconds=20))

    assert past.job.costs.filter(day=midnight.date()).exists()
    assert Job.objects.get(pk=past.job.pk).cost_until == midnight + timedelta(seconds=20)


def test_entries_are_never_changed_and_outlive_what_is_pruned(
    request_job: RequestJob, team: Team, clock: Clock
) -> None:
    past = Past(request_job(), clock)
    past.state("submitting", 0).state("running", 10).state("succeeded", 3_610)
    count_ended(past.at(4_000))
    before = list(CostEntry.objects.values()), spent(team, clock.now)

    with pytest.raises(TypeError, match="never changed"):
        CostEntry.objects.update(micros=0)
    with pytest.raises(TypeError, match="never deleted"):
        CostEntry.objects.all().delete()
    sum(count for _, count in prune(clock.forward(days=4_000)))

    assert (list(CostEntry.objects.values()), spent(team, past.created)) == before
