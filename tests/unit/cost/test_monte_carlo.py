"""Tests of the restart formulas against an independent simulation, and of the worked examples."""

import math
import random
from dataclasses import dataclass

import pytest

from jobs.cost.distributions import Gamma
from jobs.cost.forecast import _preemptions, forecast_preemptible
from jobs.cost.learned import Learned, Sums, run_log
from jobs.cost.restarts import Run, expected_hours, expected_preemptions, survival
from tests.unit.cost.test_restarts import EIGHT_H100, FOUR_T4, ONE_A100, printed

RUNS = 20_000
WITHIN = 4.0
"""Standard errors: by chance, one of these comparisons fails in about a thousand seeds."""


@dataclass(frozen=True)
class Played:
    """Means over all runs with their standard errors."""

    hours: tuple[float, float]
    preemptions: tuple[float, float]
    survived: tuple[float, float]


def play(run: Run, chance: random.Random) -> tuple[float, int]:
    """Run the job once, minute by minute in principle: return its billed hours and how often it was preempted."""
    billed, cuts = 0.0, 0
    for piece in range(run.pieces):
        length = run.full_piece if piece < run.pieces - 1 else run.last_piece
        wanted = length
        while (until := chance.expovariate(run.preemptions_per_hour)) < wanted:
            billed += until
            cuts += 1
            wanted = run.restart + length
        billed += wanted
    return billed, cuts


def simulate(run: Run, seed: int, runs: int = RUNS) -> Played:
    chance = random.Random(seed)
    played = [play(run, chance) for _ in range(runs)]
    hours, cuts = [each[0] for each in played], [float(each[1]) for each in played]
    return Played(_mean(hours), _mean(cuts), _mean([float(each <= 6) for each in cuts]))


def _mean(values: list[float]) -> tuple[float, float]:
    mean = math.fsum(values) / len(values)
    spread = math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1)
    return mean, math.sqrt(spread / len(values))


def agrees(found: tuple[float, float], formula: float) -> bool:
    mean, error = found
    return abs(mean - formula) <= WITHIN * max(error, 1e-4)


class TestSimulation:
    @pytest.mark.parametrize(
        ("run", "runs"), [(ONE_A100, RUNS), (EIGHT_H100, RUNS // 10), (FOUR_T4, RUNS)], ids=["E1", "E2", "E3"]
    )
    def test_agrees_with_the_formulas_within_its_standard_error(self, run: Run, runs: int) -> None:
        played = simulate(run, seed=12345, runs=runs)

        assert agrees(played.hours, expected_hours(run)), played
        assert agrees(played.preemptions, expected_preemptions(run)), played
        assert agrees(played.survived, survival(run)), played

    def test_would_notice_a_formula_that_is_five_percent_off(self) -> None:
        played = simulate(EIGHT_H100, seed=12345, runs=RUNS // 10)

        assert not agrees(played.hours, 1.05 * expected_hours(EIGHT_H100))
        assert not agrees(played.preemptions, 1.05 * expected_preemptions(EIGHT_H100))

    def test_has_the_distribution_of_preemptions_that_the_range_is_made_of(self) -> None:
        """Each preemption costs the same time here, which is exposed as well."""
        chance, rate, uncut, loss = random.Random(7), 0.05, 30.0, 4.0
        seen = [0] * 12
        for _ in range(RUNS):
            left, cuts = uncut, 0
            while (until := chance.expovariate(rate)) < left:
                left += loss - until
                cuts += 1
            seen[min(cuts, 11)] += 1

        for count, probability in list(_preemptions(rate * uncut, rate * loss))[:8]:
            error = math.sqrt(probability * (1 - probability) / RUNS)
            assert abs(seen[int(count)] / RUNS - probability) <= WITHIN * error


class TestCosts:
    """Section 4 of the worked examples: prices are given there, hours come from the formulas."""

    @pytest.mark.parametrize(
        ("run", "spot", "standard", "spot_cost", "standard_cost", "saving", "break_even"),
        [
            (ONE_A100, 2.479025, 4.22439, "62.5275", "101.385", "0.383269", "1.70405"),
            (EIGHT_H100, 63.78450242, 101.007352, "7391.98", "10100.7", "0.268174", "1.58357"),
            (FOUR_T4, 1.674076, 3.357990, "17.7195", "33.5799", "0.472319", "2.00587"),
        ],
    )
    def test_come_out_to_the_digits_of_the_notes(
        self, run: Run, spot: float, standard: float, spot_cost: str, standard_cost: str, saving: str, break_even: str
    ) -> None:
        hours = expected_hours(run)

        assert float(printed(spot * hours)) == pytest.approx(float(spot_cost), rel=2e-6)
        assert float(printed(standard * run.work)) == pytest.approx(float(standard_cost), rel=1e-5)
        assert 1 - spot * hours / (standard * run.work) == pytest.approx(float(saving), abs=5e-6)
        assert standard / spot == pytest.approx(float(break_even), rel=5e-6)


class TestGamma:
    @pytest.mark.parametrize(
        ("shape", "share", "value"), [(1, 0.95, 2.99573), (4, 0.05, 1.36632), (4, 0.95, 7.75366), (20, 0.95, 27.8792)]
    )
    def test_has_the_quantiles_of_the_tables(self, shape: float, share: float, value: float) -> None:
        """Half of the chi-squared quantiles for 2, 8 and 40 degrees of freedom."""
        assert Gamma(shape, 1.0).quantile(share) == pytest.approx(value, rel=0.012)


def learn(rate: float, every: float, chance: random.Random) -> Learned:
    """Return the figures learned from the times of 100 runs and the preemptions of 60."""
    logs = [run_log(factor(chance), 1) for _ in range(100)]
    runs = [train(chance.uniform(0.33, 1.5), rate, every, chance) for _ in range(60)]
    hours, cuts, lost = (math.fsum(each[place] for each in runs) for place in range(3))
    sums = Sums(
        runs=len(logs), run_logs=sum(logs), run_squares=sum(each**2 for each in logs),
        machine_seconds=round(hours * 3600), preemptions=round(cuts), lost_seconds=round(lost * 3600),
    )  # fmt: skip
    return Learned(program=sums, same_machine=sums, alike=sums, machines=sums, team=sums)


def factor(chance: random.Random) -> float:
    """Draw the ratio of actual to expected run time."""
    return math.exp(chance.gauss(math.log(1.25), 0.2))


def train(expected: float, rate: float, every: float, chance: random.Random) -> tuple[float, int, float]:
    """Return the billed hours of a run that saves its work `every` so many, its preemptions, and hours lost."""
    wanted, billed, cuts, lost = expected * factor(chance), 0.0, 0, 0.0
    while (until := chance.expovariate(rate)) < wanted:
        saved = until // every * every
        wanted, billed, cuts, lost = wanted - saved, billed + until, cuts + 1, lost + until - saved
    return billed + wanted, cuts, lost


@pytest.mark.parametrize("every", [0.5, 100.0], ids=["from a checkpoint", "from the beginning"])
@pytest.mark.parametrize("rate", [0.01, 0.05, 0.25])
def test_nine_of_ten_runs_end_in_the_range_that_earlier_ones_have_taught(rate: float, every: float) -> None:
    """Also where machines are preempted up to sixty times as often as is documented."""
    chance, inside, count = random.Random(20261123), 0, 0
    for _ in range(6):
        learned = learn(rate, every, chance)
        for _ in range(400):
            expected = round(chance.uniform(0.33, 1.5), 1)
            found = forecast_preemptible(
                expected, timeout=168, replicas=1, trials=1, allowed=6, interval=None, learned=learned
            )
            billed, _, _ = train(expected, rate, every, chance)
            inside, count = inside + (found.low <= billed <= found.high), count + 1

    assert 0.85 <= inside / count <= 0.95
