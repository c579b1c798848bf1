"""Tests of estimates with history: the range moves and narrows, and the maximum cost never falls."""

import math
import random
from datetime import timedelta
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.cost.forecast import forecast, forecast_preemptible
from jobs.cost.learned import MAX_RUN_LOG, NOT_LEARNED, Learned, Sums, run_log, wait_log
from tests.unit.cost.builders import HOUR, custom_job, known, pool, priced, tuning_job

counts = st.integers(0, 300)


@st.composite
def histories(draw: st.DrawFn) -> Learned:
    """Sums as jobs can make them."""
    parts = []
    for _ in range(3):
        runs = [draw(st.integers(-MAX_RUN_LOG, MAX_RUN_LOG)) for _ in range(draw(st.integers(0, 4)))]
        waits = [draw(st.integers(2700, 14000)) for _ in range(draw(st.integers(0, 4)))]
        preemptions = draw(counts)
        parts.append(
            Sums(
                len(runs), sum(runs), sum(each**2 for each in runs),
                len(waits), sum(waits), sum(each**2 for each in waits),
                draw(st.integers(0, 10**9)), preemptions, preemptions * draw(st.integers(0, 7200)),
            )
        )  # fmt: skip
    alike = parts[0]
    same_machine = alike.minus(_negative(parts[1]))
    program = same_machine.minus(_negative(parts[2]))
    return Learned(program=program, same_machine=same_machine, alike=alike, machines=program, team=program)


def _negative(sums: Sums) -> Sums:
    return Sums().minus(sums)


def learned(factors: list[float], **more: int) -> Learned:
    logs = [run_log(each, 1) for each in factors]
    sums = Sums(runs=len(logs), run_logs=sum(logs), run_squares=sum(each**2 for each in logs), **more)
    known = {"machine": "a2-highgpu-1g", "region": "us-central1"}
    return Learned(program=sums, same_machine=sums, alike=sums, machines=sums, team=sums, **known)


class TestHistory:
    @given(histories(), st.floats(0, 200), st.integers(0, 64), st.integers(1, 50))
    def test_of_any_kind_gives_a_range_around_what_is_expected(
        self, past: Learned, hours: float, replicas: int, trials: int
    ) -> None:
        plain = forecast(hours, timeout=168, learned=past)
        cut = forecast_preemptible(
            hours, timeout=168, replicas=replicas, trials=trials, allowed=6, interval=None, learned=past
        )

        assert 0 <= plain.low <= plain.expected <= plain.high <= 168
        assert 0 <= cut.low <= cut.expected <= cut.high
        assert not math.isnan(cut.high)
        wait = past.wait()
        assert wait is None or 0 <= wait.low <= wait.usual <= wait.high < math.inf

    @given(histories(), st.floats(0.1, 100))
    def test_never_changes_the_most_that_can_be_spent(self, past: Learned, hours: float) -> None:
        job = custom_job(pool("a2-highgpu-1g"), timeout="36000s")
        for strategy in ("standard", "spot", "flex_start"):
            before = priced(job, strategy, timedelta(hours=hours)).most_usd
            assert priced(job, strategy, timedelta(hours=hours), learned=past).most_usd == known(before)

    def test_of_runs_moves_and_narrows_the_range(self) -> None:
        job, chance = custom_job(pool("a2-highgpu-1g")), random.Random(1)
        past = learned([1.5 * math.exp(chance.gauss(0, 0.1)) for _ in range(60)])

        before, after = priced(job, expected=10 * HOUR), priced(job, expected=10 * HOUR, learned=past)

        assert known(after.expected_usd) == pytest.approx(
            known(before.expected_usd) * Decimal("1.5"), rel=Decimal("0.05")
        )
        assert known(after.high_usd) - known(after.low_usd) < (
            known(before.high_usd) - known(before.low_usd)
        ) * Decimal("0.6")
        assert after.basis[0].startswith("You expect 10 hours: $")
        assert "60 jobs like this (same program, a2-highgpu-1g, similar length) took 15" in after.basis[0]

    def test_of_preemptions_raises_rate_and_risk(self) -> None:
        job = custom_job(pool("a2-highgpu-1g", replicas=4))
        past = learned([1.0] * 20, machine_seconds=500 * 3600, preemptions=25, lost_seconds=25 * 1200)

        before, after = priced(job, "spot", 24 * HOUR), priced(job, "spot", 24 * HOUR, learned=past)

        assert before.restarts is not None
        assert after.restarts is not None
        assert after.restarts.preemptions > 5 * before.restarts.preemptions
        assert after.restarts.survival < before.restarts.survival
        assert any(note.startswith("By your jobs: ") for note in after.notes)

    def test_of_a_quiet_region_lowers_the_rate(self) -> None:
        past = learned([1.0] * 20, machine_seconds=20_000 * 3600)

        after = priced(custom_job(pool("a2-highgpu-1g")), "spot", 24 * HOUR, learned=past)

        assert after.restarts is not None
        assert after.restarts.preemptions < 0.01

    def test_of_one_absurd_run_moves_little(self) -> None:
        sane = [1.0] * 20
        job = custom_job(pool())

        with_it = priced(job, expected=HOUR, learned=learned([*sane, 10.0**9]))

        assert known(with_it.expected_usd) < known(priced(job, expected=HOUR).expected_usd) * Decimal("1.2")

    def test_of_many_preemptions_widens_the_range_less_for_many_trials(self) -> None:
        """Trials are preempted one by one, so the sum over forty of them is surer than one."""
        machine, past = (
            pool("a2-highgpu-1g"),
            learned([1.0] * 200, machine_seconds=10_000 * 3600, preemptions=2000, lost_seconds=2000 * 3600),
        )
        once = custom_job(machine)

        one = priced(once, "spot", 5 * HOUR, learned=past, checkpoint_every=5 * HOUR)
        many = priced(
            tuning_job(machine, trials=40, parallel=1), "spot", 5 * HOUR, learned=past, checkpoint_every=5 * HOUR
        )

        assert known(many.high_usd) / known(many.expected_usd) < known(one.high_usd) / known(one.expected_usd)


class TestLogarithms:
    @pytest.mark.parametrize(("useful", "expected"), [(0, 60), (-1, 60), (60, 0), (60, -5), (math.nan, 60)])
    def test_of_no_time_is_refused(self, useful: float, expected: float) -> None:
        with pytest.raises(ValueError, match="above zero"):
            run_log(useful, expected)

    def test_are_cut_at_ten_times(self) -> None:
        assert (run_log(1e12, 1), run_log(1, 1e12)) == (MAX_RUN_LOG, -MAX_RUN_LOG)

    @pytest.mark.parametrize("seconds", [-1e9, 0, 1e15])
    def test_of_a_wait_have_an_end(self, seconds: float) -> None:
        assert 0 < wait_log(seconds) < 20_000

    def test_without_history_tell_no_wait(self) -> None:
        assert NOT_LEARNED.wait() is None
