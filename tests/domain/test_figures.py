"""Tests that the figures of ended jobs equal a count of the jobs, whatever happens in whatever order."""

from collections import Counter
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db.models import Sum
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase

from jobs import timeline, transitions
from jobs.cost import to_micros
from jobs.models import Job, JobEvent, JobFigures, MonthFigures, Team
from jobs.states import LOCAL_MOVES, may_follow
from jobs.timeline import wait_bucket, wait_percentile
from jobs.upkeep import count_ended
from tests.domain.conftest import RequestJob
from tests.support.clock import Clock
from tests.support.month_figures import sums_of_jobs, sums_of_months

pytestmark = pytest.mark.django_db
START = datetime(2026, 3, 2, 9, tzinfo=UTC)
ENDS = ("succeeded", "failed", "cancelled", "expired", "lost")
STEPS = ("submitting", "queued", "pending", "running", *ENDS)


def counted_directly() -> Counter[tuple[Any, ...]]:
    """Return the number of jobs and their micro-dollars by month, team, strategy and outcome, from the jobs."""
    found: Counter[tuple[Any, ...]] = Counter()
    for job in Job.objects.exclude(ended_at=None):
        usd = timeline.cost_so_far(job, job.ended_at) or Decimal(0)
        key = (f"{job.ended_at:%Y-%m}", job.team_id, job.strategy, job.state)
        found[*key, "jobs"] += 1
        found[*key, "micros"] += to_micros(usd)
    return +found


def counted_by_month() -> Counter[tuple[Any, ...]]:
    found: Counter[tuple[Any, ...]] = Counter()
    for row in MonthFigures.objects.all():
        key = (f"{row.month:%Y-%m}", row.team_id, row.strategy, row.outcome)
        found[*key, "jobs"] += row.jobs
        found[*key, "micros"] += row.micros
    return +found


class TestCounting(TestCase):
    @given(
        st.lists(
            st.tuples(st.integers(0, 3), st.sampled_from((*STEPS, "count")), st.integers(1, 60 * 24 * 9)), max_size=40
        )
    )
    def test_equals_a_direct_count_after_any_history(self, steps: list[tuple[int, str, int]]) -> None:
        team = Team.objects.create(name="vision", project="vision-research")
        owner = User.objects.create_user("owner-of-many")
        now = START
        jobs = [made(team, owner, number, now) for number in range(4)]
        for number, step, minutes in steps:
            now += timedelta(minutes=minutes)
            if step == "count":
                count_ended()
            elif may_follow(jobs[number].state, step):
                transitions.transition(jobs[number], step, now=now, message="It went on.")
        count_ended()

        assert counted_by_month() == counted_directly()
        assert sums_of_months() == sums_of_jobs()
        assert not Job.objects.filter(is_counted=False, ended_at__isnull=False).exists()
        assert count_ended() == 0


def made(team: Team, owner: Any, number: int, now: Any) -> Job:
    """Return an approved job as `requests` writes it, cheap enough to make many."""
    job = Job.objects.create(
        team=team, owner=owner, display_name=f"job-{number}", project=team.project, region="us-central1",
        strategy=("spot", "standard")[number % 2], machines="1 × a2-highgpu-1g", spec={"jobSpec": {}},
        request_key=str(number), expected_seconds=60, hourly_usd=None if number == 3 else Decimal("1.5"),
        state="", state_since=now, requested_at=now,
    )  # fmt: skip
    assert "approved" in LOCAL_MOVES[""]
    transitions.transition(job, "approved", now=now, message="It is allowed.")
    return job


def run(job: Job, clock: Clock, *states: str, minutes: int = 60) -> None:
    for state in states:
        transitions.transition(job, state, now=clock.forward(minutes=minutes), message="It went on.")


class TestOneJob:
    def test_counts_what_it_cost_saved_and_waited(self, request_job: RequestJob, clock: Clock) -> None:
        job = request_job(strategy="SPOT")
        run(job, clock, "submitting", "queued", "pending", "running", "succeeded")

        assert count_ended() == 1
        row = JobFigures.objects.get()
        assert row.seconds == 3600
        assert row.micros == to_micros(job.hourly_usd)
        assert row.saved_micros > 0
        assert row.wait_bucket == wait_bucket(timedelta(hours=4))
        assert (row.outcome, row.strategy, row.owner) == ("succeeded", "spot", job.owner)

    def test_that_never_ran_costs_and_waits_nothing(self, request_job: RequestJob, clock: Clock) -> None:
        run(request_job(), clock, "withdrawn")

        count_ended()

        row = JobFigures.objects.get()
        assert (row.micros, row.unpriced, row.wait_bucket, row.seconds) == (0, 0, timeline.NEVER_RAN, 0)

    def test_whose_spec_cannot_be_read_is_counted_without_savings(self, request_job: RequestJob, clock: Clock) -> None:
        job = request_job(strategy="SPOT")
        Job.objects.filter(pk=job.pk).update(spec={"jobSpec": 7})
        run(job, clock, "submitting", "queued", "pending", "running", "succeeded")

        assert count_ended() == 1
        assert JobFigures.objects.get().saved_micros == 0

    def test_counts_preemptions_with_the_last_one(self, request_job: RequestJob, clock: Clock) -> None:
        job = request_job(strategy="SPOT")
        run(job, clock, "submitting", "queued", "pending", "running")
        for number, kind in enumerate(("restarted", "restarted", "machines_lost")):
            transitions.record_event(
                job, JobEvent.Kind(kind), now=clock.now, message="Lost.", reason="preempted", once_key=str(number)
            )
        run(job, clock, "failed")

        count_ended()

        assert JobFigures.objects.get().preemptions == 3

    def test_is_counted_again_when_something_is_learned_of_it(self, request_job: RequestJob, clock: Clock) -> None:
        job = request_job(strategy="SPOT")
        run(job, clock, "submitting", "queued", "pending", "running", "failed")
        count_ended()

        transitions.record_event(
            job, JobEvent.Kind.MACHINES_LOST, now=clock.now, message="Lost.", reason="preempted", once_key="lost"
        )
        count_ended()

        assert JobFigures.objects.get().preemptions == 1
        assert MonthFigures.objects.aggregate(all=Sum("preemptions"), jobs=Sum("jobs")) == {"all": 1, "jobs": 1}


def test_the_command_counts_everything(request_job: RequestJob, clock: Clock, capsys: Any) -> None:
    for _ in range(3):
        run(request_job(), clock, "withdrawn")

    call_command("count_jobs")
    call_command("count_jobs")

    assert capsys.readouterr().out.split("\n")[:2] == [
        "3 jobs counted",
        "0 jobs counted",
    ]


@given(st.lists(st.integers(0, 4 * 86_400), min_size=1, max_size=60), st.floats(0.05, 0.95))
def test_a_percentile_of_waits_is_at_most_twice_or_half_the_real_one(seconds: list[int], share: float) -> None:
    counts = Counter(wait_bucket(timedelta(seconds=each)) for each in seconds)
    found = wait_percentile(counts, share)

    assert found is not None
    place = next(at for at in range(len(seconds)) if at + 1 >= share * len(seconds))
    real = sorted(seconds)[place]
    assert real / 2 - 15 <= found.total_seconds() <= 2 * real + 15
