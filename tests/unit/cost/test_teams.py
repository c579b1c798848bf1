"""Tests of ranges for teams like real ones, in strata: nine of ten runs end in their range, in each stratum by itself.

The teams, their programs and how far they misjudge a run are drawn here; estimates know only what earlier jobs of the
same team took. A range is compared with a naive one, the person's own figure times 0.5 to 2.
"""

import math
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from statistics import median

import pytest

from jobs.cost.forecast import forecast
from jobs.cost.learned import NAMES, Learned, Sums, recent_since, run_log
from jobs.cost.likeness import magnitude_of

JUDGED = 400
NAIVE_WIDTH = 2 - 0.5
NOISE = 0.3
"""Deviation of the logarithm of the time of one run, around that of its program."""
BIAS = 0.28
"""Deviation of the logarithm of how far people misjudge the runs of a program."""
MACHINES = ("n1-standard-4", "g2-standard-8", "a2-highgpu-1g", "a3-highgpu-8g")


@dataclass(frozen=True)
class Ran:
    """One job: its program and machine, and its expected and actual hours. Only some are judged."""

    program: int
    machine: str
    expected: float
    actual: float
    is_judged: bool = True


Key = tuple[int, str, int, date]
"""Program, machine, magnitude and month, as of a row in the database."""


class Memory:
    """What a team's jobs taught, in the sums that the database keeps. The team runs one job a day."""

    def __init__(self) -> None:
        self._sums: dict[Key, Sums] = defaultdict(Sums)
        self._today = date(2026, 1, 1)

    def add(self, ran: Ran) -> None:
        """Add an ended job."""
        self._today += timedelta(days=1)
        log = run_log(ran.actual, ran.expected)
        key = ran.program, ran.machine, magnitude_of(ran.expected * 3600), self._today.replace(day=1)
        old = self._sums[key]
        self._sums[key] = Sums(old.runs + 1, old.run_logs + log, old.run_squares + log**2)

    def learned(self, ran: Ran) -> Learned:
        """Return what an estimate for this job knows, as `jobs.requests.learned_figures` selects it."""
        magnitude = magnitude_of(ran.expected * 3600)
        near = [key for key in self._sums if key[:2] == (ran.program, ran.machine) and abs(key[2] - magnitude) <= 1]
        by_month = Counter[date]()
        for key in near:
            by_month[key[3]] += self._sums[key].runs
        since = recent_since(by_month)
        program = [key for key in self._sums if key[0] == ran.program and key[3] >= since]
        same_machine = [key for key in program if key[1] == ran.machine]
        alike = [key for key in near if key[3] >= since]
        return Learned(program=self._total(program), same_machine=self._total(same_machine), alike=self._total(alike))

    def _total(self, keys: list[Key]) -> Sums:
        parts = [self._sums[key] for key in keys]
        return Sums(*(sum(getattr(part, name) for part in parts) for name in NAMES))


def mixed(chance: random.Random) -> Iterator[Ran]:
    """Eight programs, each on two machines, from twenty minutes to a day."""
    biases = [chance.gauss(0.1, BIAS) for _ in range(8)]
    for _ in range(150):
        program = chance.randrange(8)
        machine = MACHINES[(program + chance.randrange(2)) % 4]
        yield run(chance, program, machine, math.exp(chance.uniform(math.log(1 / 3), math.log(24))), biases[program])


def with_toys(chance: random.Random) -> Iterator[Ran]:
    """Long runs on eight H100, and for each of them three toy runs of a minute with the same program."""
    biases = [chance.gauss(0.1, BIAS) for _ in range(4)]
    for _ in range(40):
        program = chance.randrange(4)
        for _ in range(3):
            expected = chance.choice((0.05, 2.0, 8.0))
            yield Ran(program, MACHINES[0], expected, chance.uniform(0.5, 3) / 60, is_judged=False)
        yield run(chance, program, MACHINES[3], chance.uniform(4, 30), biases[program])


def changing(chance: random.Random) -> Iterator[Ran]:
    """A team that learns to judge its runs: at first they last 1.6 times as long as expected, later as expected."""
    for place in range(160):
        bias = math.log(1.6) if place < 40 else 0.0
        yield run(chance, place % 2, MACHINES[2], chance.uniform(1, 10), chance.gauss(bias, 0.1))


def small(chance: random.Random) -> Iterator[Ran]:
    """A team with ten jobs in all, of three programs."""
    biases = [chance.gauss(0.1, BIAS) for _ in range(3)]
    for _ in range(10):
        program = chance.randrange(3)
        yield run(chance, program, MACHINES[2], chance.uniform(0.5, 12), biases[program])


def run(chance: random.Random, program: int, machine: str, expected: float, bias: float) -> Ran:
    return Ran(program, machine, expected, expected * math.exp(chance.gauss(bias, NOISE)))


@pytest.mark.parametrize("team", [mixed, with_toys, changing, small])
def test_nine_of_ten_runs_end_in_their_range_in_each_stratum(team: Callable[[random.Random], Iterator[Ran]]) -> None:
    chance = random.Random(20261126)
    inside, count, widths, shifts = 0, 0, [], []
    while count < JUDGED:
        memory = Memory()
        for ran in team(chance):
            if ran.is_judged:
                found = forecast(ran.expected, timeout=168, learned=memory.learned(ran))
                inside += found.low <= ran.actual <= found.high
                count += 1
                widths.append((found.high - found.low) / ran.expected)
                shifts.append(abs(math.log(found.expected / ran.expected)))
            memory.add(ran)

    print(f"{team.__name__}: {inside / count:.1%} of {count} inside, median width {median(widths):.2f}")
    assert 0.85 <= inside / count <= 0.95
    assert median(widths) <= NAIVE_WIDTH + 1e-9
    if team is with_toys:
        assert median(shifts) < math.log(1.2) + BIAS
