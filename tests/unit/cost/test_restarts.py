"""Tests of the arithmetic of Spot jobs that are preempted and restart."""

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.cost.restarts import (
    CHECKPOINT_HOURS,
    LIKELY,
    LIKELY_HIGH,
    LIKELY_LOW,
    Run,
    daly_interval,
    expected_hours,
    expected_preemptions,
    outlook,
    preemptions_per_hour,
    survival,
    young_interval,
)

MINUTE = 1 / 60
ONE_A100 = Run(work=24, interval=1, checkpoint=1 / 60, preemptions_per_hour=0.05, restart=1 / 6)
EIGHT_H100 = Run(work=100, interval=0.5, checkpoint=0.05, preemptions_per_hour=0.10, restart=0.25)
FOUR_T4 = Run(
    work=10,
    interval=daly_interval(checkpoint=1 / 30, preemptions_per_hour=0.04),
    checkpoint=1 / 30,
    preemptions_per_hour=0.04,
    restart=0.20,
)


def printed(value: float, digits: int = 6) -> str:
    """The number to that many significant digits, as the worked examples print it."""
    return f"{value:.{digits}g}"


class TestCheckpointInterval:
    @pytest.mark.parametrize(
        ("hours_between", "minutes"),
        [(24, "116.6898"), (6, "56.713"), (0.25, "9.1409")],
    )
    def test_gives_the_figures_of_the_paper(self, hours_between: float, minutes: str) -> None:
        interval = daly_interval(checkpoint=5 * MINUTE, preemptions_per_hour=1 / hours_between)

        assert abs(interval / MINUTE - float(minutes)) < 0.5 * 10 ** -len(minutes.partition(".")[2])

    @pytest.mark.parametrize(
        ("run", "young", "daly"),
        [
            (ONE_A100, "0.816497", "0.805423"),
            (EIGHT_H100, "1", "0.966944"),
            (FOUR_T4, "1.29099", "1.26887"),
        ],
    )
    def test_gives_the_worked_examples(self, run: Run, young: str, daly: str) -> None:
        given_rates = {"checkpoint": run.checkpoint, "preemptions_per_hour": run.preemptions_per_hour}

        assert printed(young_interval(**given_rates)) == young
        assert printed(daly_interval(**given_rates)) == daly

    def test_is_the_mean_time_between_cuts_when_a_checkpoint_takes_twice_that_long(self) -> None:
        assert daly_interval(checkpoint=1, preemptions_per_hour=2) == 0.5

    def test_has_no_end_when_nothing_is_preempted(self) -> None:
        assert daly_interval(checkpoint=1, preemptions_per_hour=0) == math.inf
        assert young_interval(checkpoint=1, preemptions_per_hour=0) == math.inf

    def test_refuses_a_free_checkpoint(self) -> None:
        with pytest.raises(ValueError, match="take some time"):
            daly_interval(checkpoint=0, preemptions_per_hour=1)


class TestPreemptionRate:
    @pytest.mark.parametrize(("daily_share", "rate"), [(0.05, "0.00213722"), (0.15, "0.00677162")])
    def test_follows_from_the_share_that_is_preempted_within_a_day(self, daily_share: float, rate: str) -> None:
        assert printed(preemptions_per_hour(daily_share=daily_share)) == rate

    def test_grows_with_the_number_of_replicas(self) -> None:
        one = preemptions_per_hour(daily_share=0.1)

        assert preemptions_per_hour(daily_share=0.1, replicas=4) == pytest.approx(4 * one)

    @pytest.mark.parametrize("share", [-0.1, 1, 1.5])
    def test_refuses_what_is_no_share(self, share: float) -> None:
        with pytest.raises(ValueError, match="between 0 and 1"):
            preemptions_per_hour(daily_share=share)


class TestExpectedTime:
    @pytest.mark.parametrize(
        ("run", "pieces", "uncut", "hours", "preemptions"),
        [
            (ONE_A100, 24, "24.3833", "25.2226", "1.26113"),
            (EIGHT_H100, 200, "109.95", "115.89", "11.589"),
            (FOUR_T4, 8, "10.2333", "10.5846", "0.423385"),
        ],
    )
    def test_gives_the_worked_examples(self, run: Run, pieces: int, uncut: str, hours: str, preemptions: str) -> None:
        assert run.pieces == pieces
        assert printed(run.uncut_hours) == uncut
        assert printed(expected_hours(run)) == hours
        assert printed(expected_preemptions(run)) == preemptions

    @pytest.mark.parametrize(("run", "hours"), [(ONE_A100, "46.7906"), (EIGHT_H100, "225830"), (FOUR_T4, "12.3944")])
    def test_without_checkpoints_gives_the_worked_examples(self, run: Run, hours: str) -> None:
        assert printed(expected_hours(replace(run, interval=math.inf))) == hours

    @pytest.mark.parametrize(
        ("run", "interval", "hours"),
        [(ONE_A100, "0.8", "25.1989"), (EIGHT_H100, "0.970874", "113.451"), (FOUR_T4, "1.25", "10.584")],
    )
    def test_is_least_at_the_interval_of_the_worked_examples(self, run: Run, interval: str, hours: str) -> None:
        best = min((replace(run, interval=run.work / n) for n in range(1, 400)), key=expected_hours)

        assert printed(best.interval) == interval
        assert printed(expected_hours(best)) == hours

    def test_is_the_uncut_time_when_nothing_is_preempted(self) -> None:
        calm = replace(ONE_A100, preemptions_per_hour=0)

        assert expected_hours(calm) == calm.uncut_hours
        assert expected_preemptions(calm) == 0

    def test_has_no_end_when_the_job_can_hardly_ever_finish(self) -> None:
        hopeless = replace(EIGHT_H100, preemptions_per_hour=5000.0)

        assert expected_hours(hopeless) == math.inf
        assert survival(hopeless) == 0

    def test_of_no_work_is_zero_however_often_machines_go(self) -> None:
        idle = replace(EIGHT_H100, work=0, preemptions_per_hour=5000.0)

        assert expected_hours(idle) == 0
        assert survival(idle) == 1


class TestSurvival:
    @pytest.mark.parametrize(
        ("run", "probability"),
        [(ONE_A100, "0.999348"), (EIGHT_H100, "0.066903"), (FOUR_T4, "0.999997")],
    )
    def test_gives_the_worked_examples(self, run: Run, probability: str) -> None:
        assert printed(survival(run)) == probability

    def test_is_one_when_nothing_is_preempted(self) -> None:
        assert survival(replace(EIGHT_H100, preemptions_per_hour=0)) == 1

    def test_with_no_restart_allowed_is_the_chance_of_an_uncut_run(self) -> None:
        uncut = math.exp(-ONE_A100.preemptions_per_hour * ONE_A100.uncut_hours)

        assert survival(ONE_A100, allowed=0) == pytest.approx(uncut)


def figures(least: float, most: float) -> st.SearchStrategy[float]:
    """Numbers that a person could mean: six decimals."""
    return st.floats(least, most).map(lambda value: round(value, 6))


runs = st.builds(
    Run,
    work=figures(0, 1000),
    interval=figures(0.01, 1000) | st.just(math.inf),
    checkpoint=figures(0, 5),
    preemptions_per_hour=figures(0, 100),
    restart=figures(0, 5),
)


class TestAnyRun:
    @given(runs)
    def test_takes_at_least_its_uncut_time(self, run: Run) -> None:
        assert expected_hours(run) >= run.uncut_hours * (1 - 1e-9)

    @given(runs)
    def test_survives_with_a_probability(self, run: Run) -> None:
        assert 0 <= survival(run) <= 1

    @given(runs, figures(0, 100))
    def test_never_gets_shorter_or_safer_with_more_preemptions(self, run: Run, more: float) -> None:
        worse = replace(run, preemptions_per_hour=run.preemptions_per_hour + more)

        assert expected_hours(worse) >= expected_hours(run) * (1 - 1e-9)
        assert survival(worse) <= survival(run) + 1e-9

    @pytest.mark.parametrize("field", ["work", "checkpoint", "preemptions_per_hour", "restart", "interval"])
    def test_refuses_negative_figures(self, field: str) -> None:
        with pytest.raises(ValueError, match="negative"):
            replace(ONE_A100, **{field: -1.0})


class TestOutlook:
    def test_takes_the_best_interval_when_none_is_given(self) -> None:
        seen = outlook(24, replicas=1, assumption=LIKELY)

        rate = preemptions_per_hour(daily_share=0.10)
        assert seen.interval_hours == daly_interval(checkpoint=CHECKPOINT_HOURS, preemptions_per_hour=rate)
        assert seen.billed_hours > 24

    def test_keeps_the_interval_that_is_given(self) -> None:
        assert outlook(24, replicas=1, assumption=LIKELY, interval=4).interval_hours == 4

    def test_gets_worse_with_every_assumption_and_replica(self) -> None:
        seen = [outlook(24, replicas=n, assumption=each) for n in (1, 16) for each in (LIKELY_LOW, LIKELY, LIKELY_HIGH)]

        for better, worse in zip(seen[:2] + seen[3:5], seen[1:3] + seen[4:], strict=True):
            assert better.billed_hours < worse.billed_hours
            assert better.survival > worse.survival

    def test_counts_the_restarts_that_are_allowed(self) -> None:
        seen = [outlook(48, replicas=16, assumption=LIKELY, allowed=allowed).survival for allowed in (0, 3, 6)]

        assert seen == sorted(seen)
        assert len(set(seen)) == 3

    def test_of_a_job_without_machines_is_calm(self) -> None:
        assert outlook(24, replicas=0, assumption=LIKELY_HIGH).as_dict() == {
            "billed_hours": 24,
            "interval_hours": None,
            "preemptions": 0,
            "survival": 1,
        }

    def test_of_a_hopeless_job_has_no_end(self) -> None:
        body = outlook(24, replicas=10**9, assumption=LIKELY, interval=24).as_dict()

        assert (body["billed_hours"], body["preemptions"], body["survival"]) == (None, None, 0)
