"""Tests with 500 jobs of known waits, run times and preemptions: their costs, and what estimates learned from them."""

from collections import Counter
from dataclasses import replace
from datetime import date, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from django.contrib.auth.models import User
from django.db.models import Sum

from dashboard.management.demo.jobs import EXAMPLES
from jobs import requests
from jobs.assessment import assess
from jobs.cost import to_micros
from jobs.cost.learned import MAX_RUN_LOG, run_log
from jobs.cost.likeness import machine_of, program_of
from jobs.models import Job, JobFigures, LearnedFigures, MonthFigures, Policy, Team
from jobs.models.figures import LEARNED as LEARNED_NAMES
from jobs.requests.learned_figures import load_learned
from jobs.strategies import STRATEGIES
from jobs.upkeep import count_all, count_ended
from tests.support import samples
from tests.support.clock import Clock
from tests.support.played_jobs import RATE, Played, Player, add_resource

pytestmark = pytest.mark.django_db
JOBS, LEARNED = 500, 100
INCREMENT = 30


def true_micros(played: Played) -> int:
    """Micro-dollars for the billed time at the price of its request: half minutes, of each trial or of the whole."""
    job = Job.objects.get(pk=played.job.pk)
    assert job.hourly_usd is not None
    is_tuning = job.parallel_trials is not None
    runs = played.billed if is_tuning else [sum(played.billed)]
    seconds = sum(-(-run // INCREMENT) * INCREMENT for run in runs)
    usd = job.hourly_usd * seconds / 3600 / (job.parallel_trials or 1)
    return to_micros(usd)


@pytest.fixture
def played(team: Team, owner: User, clock: Clock) -> list[Played]:
    """The jobs, in their order; every twenty of them the site counts those that have ended."""
    Policy.objects.filter(team=team).update(ask_over_usd=Decimal(10) ** 9)
    add_resource(team, clock.now)
    player = Player(Team.objects.get(pk=team.pk), owner, clock.now)
    found = []
    for number in range(JOBS):
        found.append(player.play())
        if number % 20 == 19:
            sum(count_all())
    return found


def test_cost_what_they_truly_cost_and_lie_in_the_range_that_was_learned(played: list[Played]) -> None:
    figures = JobFigures.objects.in_bulk([each.job.pk for each in played])
    wrong = [each for each in played if figures[each.job.pk].micros != true_micros(each)]
    assert wrong == []
    assert len(figures) == JOBS
    assert {each.job.strategy for each in played} == {"standard", "spot", "flex_start", "reservation", "persistent"}
    assert len({each.job.kind for each in played}) == 3

    judged = Counter[tuple[str, bool]]()
    for each in played[LEARNED:]:
        row = figures[each.job.pk]
        if row.estimated:
            judged[each.job.strategy, bool(row.inside)] += 1
    inside = sum(count for (_, is_inside), count in judged.items() if is_inside)
    assert judged.total() > 300
    assert 0.85 <= inside / judged.total() <= 0.95, judged
    lost_is_right(played, figures)
    sums_are_those_of_their_jobs(figures)


def lost_is_right(played: list[Played], figures: dict[UUID, JobFigures]) -> None:
    """What preemptions undid is the work since the last checkpoint, to the second that checkpoints are known to."""
    cut = [each for each in played if each.preemptions]
    assert len(cut) > 20
    for each in cut:
        row = figures[each.job.pk]
        assert row.preemptions == each.preemptions - (not each.succeeded)
        assert abs(row.teaches["sums"].get("lost_seconds", 0) - each.lost) <= each.preemptions


def sums_are_those_of_their_jobs(figures: dict[UUID, JobFigures]) -> None:
    own, whole = Counter[str](), Counter[str]()
    for row in figures.values():
        own.update(row.teaches.get("sums", {}))
    kept = LearnedFigures.objects.filter(machine="").aggregate(**{name: Sum(name) for name in LEARNED_NAMES})
    others = LearnedFigures.objects.exclude(machine="")
    machines = others.filter(program="").aggregate(**{name: Sum(name) for name in LEARNED_NAMES})
    programs = others.exclude(program="").aggregate(**{name: Sum(name) for name in LEARNED_NAMES})
    whole.update({name: value for name, value in kept.items() if value})
    assert whole == own
    assert machines == programs == kept
    assert own["preemptions"] / (own["machine_seconds"] / 3600) == pytest.approx(RATE, rel=0.25)


class TestOneJob:
    def test_counted_again_changes_no_sum(self, team: Team, owner: User, clock: Clock) -> None:
        played = few(team, owner, clock, 12)
        before = [
            list(LearnedFigures.objects.order_by("pk").values()),
            list(MonthFigures.objects.order_by("pk").values()),
        ]

        Job.objects.filter(pk__in=[each.job.pk for each in played]).update(is_counted=False)
        assert sum(count_all()) == 12

        after = [
            list(LearnedFigures.objects.order_by("pk").values()),
            list(MonthFigures.objects.order_by("pk").values()),
        ]
        assert after == before

    def test_counted_by_the_version_before_is_counted_once_more(self, team: Team, owner: User, clock: Clock) -> None:
        few(team, owner, clock, 12)
        sums = Counter[str]()
        for row in JobFigures.objects.all():
            sums.update(row.teaches.get("sums", {}))
        LearnedFigures.objects.all().delete()
        JobFigures.objects.update(version=0, teaches={}, lost_micros=0, estimated=0, inside=0)
        MonthFigures.objects.update(lost_micros=0, estimated=0, inside=0)

        assert sum(count_all()) == 12

        assert count_ended() == 0
        assert JobFigures.objects.filter(version=0).count() == 0
        assert LearnedFigures.objects.filter(machine="").aggregate(all=Sum("runs"))["all"] == sums["runs"]
        assert MonthFigures.objects.aggregate(all=Sum("estimated"))["all"] == sums["estimated"]

    def test_that_ran_no_time_or_backwards_teaches_no_run_time(self, team: Team, owner: User, clock: Clock) -> None:
        (played,) = few(team, owner, clock, 1)
        start = played.job.requested_at
        for seconds in (0.0, -7200.0, 10.0**9):
            Job.objects.filter(pk=played.job.pk).update(
                running_seconds=seconds, started_at=start - timedelta(days=400), is_counted=False
            )
            count_ended()

            sums = JobFigures.objects.get().teaches["sums"]
            assert abs(sums.get("run_logs", 0)) <= MAX_RUN_LOG
            assert sums.get("runs", 0) == (seconds > 0)
            assert load_learned(team, samples.submission(), clock.now, expected=None)

    def test_of_another_team_teaches_nothing(self, team: Team, other_team: Team, owner: User, clock: Clock) -> None:
        few(team, owner, clock, 12)

        assert load_learned(team, samples.submission(), clock.now, expected=None)
        assert load_learned(other_team, samples.submission(), clock.now, expected=None) == {}

    def test_of_one_strategy_move_the_estimates_of_all_alike(self, team: Team, owner: User, clock: Clock) -> None:
        """Strategies are compared for the same run: who ran quicker than expected under one does so under another."""
        few(team, owner, clock, 12)
        standard = LearnedFigures.objects.filter(strategy="standard", program="", machine="")
        every = LearnedFigures.objects.filter(program="", machine="").aggregate(all=Sum("runs"))["all"]
        assert 0 < standard.aggregate(all=Sum("runs"))["all"] < every

        found = load_learned(team, samples.submission(), clock.now, expected=None)

        assert set(found) == set(STRATEGIES)
        assert len({each.run_factor() for each in found.values()}) == 1
        assert len({each.team.runs for each in found.values()}) > 1

    def test_reads_a_bounded_number_of_rows_with_two_queries(
        self, team: Team, owner: User, clock: Clock, django_assert_num_queries: Any
    ) -> None:
        few(team, owner, clock, 12)

        with django_assert_num_queries(2):  # and what Compute Engine says
            found = load_learned(team, samples.submission(), clock.now, expected=None)

        assert set(found) <= set(STRATEGIES)
        assert found["spot"].program.runs >= found["spot"].same_machine.runs >= found["spot"].alike.runs


def few(team: Team, owner: User, clock: Clock, count: int) -> list[Played]:
    """Play a few jobs and count them."""
    Policy.objects.filter(team=team).update(ask_over_usd=Decimal(10) ** 9)
    add_resource(team, clock.now)
    player = Player(Team.objects.get(pk=team.pk), owner, clock.now)
    found = [player.play() for _ in range(count)]
    sum(count_all())
    return found


EIGHT_H100 = {"machineType": "a3-highgpu-8g", "acceleratorType": "NVIDIA_H100_80GB", "acceleratorCount": 8}


class TestToys:
    """The demo's jobs of a minute beside a long run with the same image, script and arguments."""

    @pytest.mark.parametrize("expected", [timedelta(minutes=3), timedelta(hours=2), timedelta(hours=12)])
    def test_leave_the_figure_of_a_long_run(self, team: Team, owner: User, clock: Clock, expected: timedelta) -> None:
        Policy.objects.filter(team=team).update(ask_over_usd=Decimal(10) ** 9)
        player = Player(Team.objects.get(pk=team.pk), owner, clock.now)
        toy = next(each for each in EXAMPLES if each.name == "penguins-first")
        for _ in range(15):
            player.run(toy.submission(team.project), expected=round(expected.total_seconds()), useful=60)
        sum(count_all())

        long = replace(toy, machine=EIGHT_H100, scheduling={"timeout": "86400s"}).submission(team.project)
        twelve = timedelta(hours=12)
        context = requests.load_context(team, long, now=player.now, by=owner, expected=twelve)
        told = assess(long, context, expected=twelve).estimate

        assert told is not None
        assert told.usd_per_hour is not None
        assert told.expected_usd is not None
        assert told.low_usd is not None
        assert told.high_usd is not None
        own = told.usd_per_hour * 12
        assert abs(told.expected_usd / own - 1) < Decimal("0.2")
        assert told.low_usd < own < told.high_usd


def test_the_newest_months_with_enough_jobs_count(team: Team, clock: Clock) -> None:
    """A team that judged its runs badly last year, and well since, is not corrected any more."""
    job, hour = samples.submission(), timedelta(hours=1)
    alike = {"team": team, "program": program_of(job), "machine": machine_of(job), "magnitude": 6, "tunes": False}
    for month, runs, factor in ((date(2026, 3, 1), 12, 1.0), (date(2026, 2, 1), 8, 1.0), (date(2026, 1, 1), 50, 0.2)):
        log = run_log(factor, 1)
        LearnedFigures.objects.create(**alike, month=month, runs=runs, run_logs=runs * log, run_squares=runs * log**2)

    found = load_learned(team, job, clock.now, expected=hour)["spot"]

    assert (found.alike.runs, found.same_machine.runs, found.program.runs) == (20, 20, 20)
    assert found.run_factor().centre == pytest.approx(0)
    assert load_learned(team, job, clock.now, expected=8 * hour)["spot"].alike.runs == 0
