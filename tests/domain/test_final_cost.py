"""Tests of the final cost: the emulator's record of the job's runs, at the prices when it was sent."""

from datetime import datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db.models import F

from jobs import requests, steps
from jobs.models import Job, JobFigures, Price, Team
from jobs.prices.record import record_price
from jobs.states import JobState
from jobs.upkeep import count_ended
from tests.domain.conftest import Cloud, RequestJob, Submit, watch
from tests.support.truth import machine_spans

pytestmark = pytest.mark.django_db
RESOURCE = "a2-highgpu-1g"


def true_run(cloud: Cloud, job: Job) -> timedelta:
    """Return how long the machines of the job ran, as the emulator itself recorded it."""
    return sum((end - start for start, end in machine_spans(cloud.truth(job.remote_name))), timedelta())


def in_micros(usd_per_hour: Decimal, run: timedelta) -> int:
    increments = -(-run // timedelta(seconds=30))
    return int((usd_per_hour * increments * 30 / 3600 * 1_000_000).to_integral_value(ROUND_HALF_UP))


def price(strategy: str, usd: str, admin: User, now: datetime) -> None:
    basis = Price.Basis.VERTEX_TRAINING if strategy == "standard" else Price.Basis.COMPUTE_ENGINE
    record_price(
        (RESOURCE, "us-central1", strategy, basis), Decimal(usd), source="a bill", source_url="", as_of=now.date(),
        is_official=False, reason="It changed.", by=admin, now=now,
    )  # fmt: skip


@pytest.mark.parametrize("script", ["happy", "preempted", "fails", "always-preempted"])
def test_is_that_of_the_runs_that_vertex_ai_had(submit: Submit, cloud: Cloud, script: str) -> None:
    job = submit(script)

    watch(cloud, job, minutes=400, every=15)

    assert job.is_finished
    count_ended()
    run = true_run(cloud, job)
    assert run
    assert abs(job.running_seconds - run.total_seconds()) <= 1
    assert JobFigures.objects.get().micros == in_micros(job.hourly_usd, timedelta(seconds=round(run.total_seconds())))


class TestPrices:
    @pytest.fixture
    def admin(self) -> User:
        return User.objects.create_superuser("price-admin")

    def test_are_those_of_the_submission_and_never_of_later(
        self, request_job: RequestJob, cloud: Cloud, admin: User
    ) -> None:
        cloud.script("happy")
        job = request_job(hours=1)
        before = job.hourly_usd
        assert before is not None
        price("spot", "1.00", admin, cloud.now)
        price("standard", "9.00", admin, cloud.now)
        cloud.forward(seconds=30)

        steps.advance(job.pk, clock=cloud.clock)
        job.refresh_from_db()
        assert job.is_remote
        sent_at = job.hourly_usd
        assert sent_at is not None
        assert sent_at < before
        assert Decimal(job.price_snapshot["usd_per_hour"]) == pytest.approx(sent_at)
        assert Decimal(job.price_snapshot["standard_usd_per_hour"]) > 9

        price("spot", "70.00", admin, cloud.now)
        price("standard", "700.00", admin, cloud.now)
        watch(cloud, job, minutes=60)
        assert job.state == JobState.SUCCEEDED
        count_ended()
        figures = JobFigures.objects.get()
        cost = in_micros(sent_at, timedelta(seconds=round(job.running_seconds)))
        assert figures.micros == cost
        standard = Decimal(job.price_snapshot["standard_usd_per_hour"])
        rounding = standard / sent_at  # the micro-dollars that it is computed from are rounded too
        assert figures.saved_micros == pytest.approx(figures.micros * (rounding - 1), abs=rounding)

        price("standard", "7000.00", admin, cloud.now)
        Job.objects.filter(pk=job.pk).update(is_counted=False)
        count_ended()
        again = JobFigures.objects.get()
        assert (again.micros, again.saved_micros) == (figures.micros, figures.saved_micros)

    def test_that_vanished_before_it_was_sent_ask_a_person(
        self, request_job: RequestJob, cloud: Cloud, admin: User
    ) -> None:
        job = request_job(hours=1)
        key = (RESOURCE, "us-central1", "spot", Price.Basis.COMPUTE_ENGINE)
        record_price(
            key, None, source="a page", source_url="", as_of=cloud.now.date(), is_official=False,
            reason="No longer sold.", by=admin, now=cloud.now,
        )  # fmt: skip

        steps.advance(job.pk, clock=cloud.clock)

        job.refresh_from_db()
        assert job.state == JobState.AWAITING_APPROVAL
        assert job.price_snapshot is None
        event = job.events.filter(to_state=JobState.AWAITING_APPROVAL).get()
        assert "The cost of this job is not known" in event.message

    def test_are_kept_only_by_the_worker_that_holds_the_job(self, request_job: RequestJob, cloud: Cloud) -> None:
        job = request_job(hours=1)
        held = Job.objects.get(pk=job.pk)
        held.claim = None
        Job.objects.filter(pk=job.pk).update(claim="00000000-0000-4000-8000-000000000001")

        from jobs.submission.reassessment import reassess

        assert reassess(held, cloud.now) is None
        job.refresh_from_db()
        assert job.price_snapshot is None


def test_history_lowers_no_limit(request_job: RequestJob, cloud: Cloud, team: Team) -> None:
    """Many short and quiet jobs narrow the range; what may be spent at most stays what it was."""
    first = request_job(hours=2)
    for number in range(5):
        job = request_job(hours=2, name=f"quick-{number}")
        Job.objects.filter(pk=job.pk).update(
            state="succeeded", started_at=cloud.now, ended_at=cloud.now + timedelta(minutes=20), running_seconds=1200,
            submitted_at=F("requested_at"), is_counted=False, due_at=None,
        )  # fmt: skip
    count_ended()

    last = request_job(hours=2, name="last")

    assert "5 jobs like this" in last.estimate["basis"][0]
    assert Decimal(last.estimate["own_usd"]) == pytest.approx(Decimal(first.estimate["own_usd"]), rel=Decimal("0.02"))
    assert Decimal(last.estimate["high_usd"]) >= Decimal(last.estimate["own_usd"])
    assert Decimal(last.estimate["expected_usd"]) < Decimal(first.estimate["expected_usd"])
    assert last.max_usd == first.max_usd


def test_a_range_says_how_often_it_held(submit: Submit, cloud: Cloud, team: Team, owner: Any) -> None:
    job = submit("happy", hours=0.15)
    watch(cloud, job, minutes=60)
    assert job.state == JobState.SUCCEEDED
    count_ended()

    held = JobFigures.objects.get()
    assert (held.estimated, held.inside) == (1, 1)
    context = requests.load_context(team, requests.submission_of(job), now=cloud.now)
    assert (context.learned["spot"].team.estimated, context.learned["spot"].team.inside) == (1, 1)
