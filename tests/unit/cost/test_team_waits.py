"""Tests of waits and preemptions learned by teams like real ones, in strata: nine of ten lie in their range in each.

Waits and preemptions depend on the machine and its region and not on the program: they are drawn here for each of
those, and estimates know only what earlier jobs of the same team met.
"""

import math
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from statistics import median

import pytest

from jobs.cost.forecast import forecast_preemptible
from jobs.cost.learned import NAMES, Learned, Sums, run_log, wait_log

JUDGED = 400
NAIVE_WIDTH = 2 - 0.5
BIAS, NOISE = 0.28, 0.3
"""As in the tests of run times: deviations of how far people misjudge their runs, and of single runs."""
RESTART_HOURS, CHECKPOINT_HOURS = 0.125, 0.5
MAX_RATE = 0.012
"""Preemptions per machine-hour: a quarter of the machines within a day, beyond the 5 to 15 % that Google once gave."""


@dataclass(frozen=True)
class Place:
    """A machine in a region: the typical wait in seconds and its deviation, and the preemptions per machine-hour."""

    wait: float
    spread: float
    rate: float
    name: str = ""

    def draw_wait(self, chance: random.Random) -> float:
        return self.wait * math.exp(chance.gauss(0, self.spread))


@dataclass(frozen=True)
class Ran:
    """One Spot job on `replicas` machines of a place, with its expected and its useful hours."""

    place: Place
    replicas: int
    expected: float
    useful: float
    is_judged: bool = True


def place(chance: random.Random, name: str = "") -> Place:
    wait = math.exp(chance.uniform(math.log(40), math.log(7_200)))
    return Place(wait, chance.uniform(0.3, 1), chance.uniform(0, MAX_RATE), name)


def run(chance: random.Random, where: Place, expected: float, bias: float, replicas: int = 1) -> Ran:
    return Ran(where, replicas, expected, expected * math.exp(chance.gauss(bias, NOISE)))


def mixed(chance: random.Random) -> Iterator[Ran]:
    """Six machines and regions, on one to four replicas, from an hour to a day."""
    bias, places = chance.gauss(0.1, BIAS), [place(chance, name) for name in "abcdef"]
    for _ in range(30):
        yield run(chance, chance.choice(places), chance.uniform(1, 24), bias, chance.randint(1, 4))


def with_toys(chance: random.Random) -> Iterator[Ran]:
    """Long runs where machines are rare, and for each three toys of a minute, some on these machines."""
    bias, rare, common = chance.gauss(0.1, BIAS), Place(5_400, 0.8, 0.02, "rare"), Place(30, 0.4, 0.0, "common")
    for _ in range(40):
        for _ in range(3):
            yield Ran(chance.choice((common, common, rare)), 1, 0.05, chance.uniform(0.5, 3) / 60, is_judged=False)
        yield run(chance, rare, chance.uniform(4, 30), bias, 2)


def changing(chance: random.Random) -> Iterator[Ran]:
    """A team whose machines are free at first, and wait four times as long and are preempted twice as often later."""
    bias, before = chance.gauss(0.1, BIAS), place(chance)
    after = Place(before.wait * 4, before.spread, before.rate * 2)
    for number in range(160):
        yield run(chance, before if number < 40 else after, chance.uniform(1, 10), bias)


def small(chance: random.Random) -> Iterator[Ran]:
    """A team with ten jobs in all, on two machines."""
    bias, places = chance.gauss(0.1, BIAS), [place(chance, name) for name in "ab"]
    for _ in range(10):
        yield run(chance, chance.choice(places), chance.uniform(0.5, 12), bias)


def bill(chance: random.Random, ran: Ran) -> tuple[float, int, float]:
    """Return the billed hours of a run, how often it was preempted, and the hours that this lost."""
    hours, preemptions, lost, left = 0.0, 0, 0.0, ran.useful
    while True:
        gap = chance.expovariate(ran.place.rate * ran.replicas) if ran.place.rate else math.inf
        if gap >= left:
            return hours + left, preemptions, lost
        undone = gap % CHECKPOINT_HOURS
        hours, preemptions, lost = hours + gap, preemptions + 1, lost + undone + RESTART_HOURS
        left += undone + RESTART_HOURS - gap


def sums(ran: Ran, wait: float, billed: float, preemptions: int, lost: float) -> Sums:
    log, run_ = wait_log(wait), run_log(ran.useful, ran.expected)
    return Sums(
        runs=1, run_logs=run_, run_squares=run_**2, waits=1, wait_logs=log, wait_squares=log**2,
        machine_seconds=round(billed * 3600 * ran.replicas), preemptions=preemptions, lost_seconds=round(lost * 3600),
    )  # fmt: skip


def plus(left: Sums, right: Sums) -> Sums:
    return Sums(*(getattr(left, name) + getattr(right, name) for name in NAMES))


@pytest.mark.parametrize("team", [mixed, with_toys, changing, small])
def test_nine_of_ten_waits_and_bills_are_in_their_range_in_each_stratum(
    team: Callable[[random.Random], Iterator[Ran]],
) -> None:
    chance = random.Random(20261127)
    inside, count, widths = Counter[str](), Counter[str](), defaultdict[str, list[float]](list)
    while min(count["wait"], count["bill"]) < JUDGED:
        machines, programs = defaultdict[str, Sums](Sums), Sums()
        for ran in team(chance):
            wait, (billed, preemptions, lost) = ran.place.draw_wait(chance), bill(chance, ran)
            learned = Learned(
                program=programs, same_machine=programs, alike=programs, machines=machines[ran.place.name]
            )
            if ran.is_judged:
                found = forecast_preemptible(
                    ran.expected, timeout=168, replicas=ran.replicas, trials=1, allowed=6, interval=CHECKPOINT_HOURS,
                    learned=learned,
                )  # fmt: skip
                judged = [("bill", found.low, billed, found.high, found.own)]
                if (told := learned.wait()) is not None:
                    judged.append(("wait", told.low, wait, told.high, told.usual))
                for name, low, actual, high, middle in judged:
                    inside[name] += low <= actual <= high
                    count[name] += 1
                    widths[name].append((high - low) / middle)
                programs = plus(programs, sums(ran, wait, billed, preemptions, lost))
            machines[ran.place.name] = plus(machines[ran.place.name], sums(ran, wait, billed, preemptions, lost))

    for name in count:
        share = inside[name] / count[name]
        print(f"{team.__name__}, {name}: {share:.1%} of {count[name]} inside, median width {median(widths[name]):.2f}")
        assert 0.85 <= share <= 0.95, name
    assert median(widths["bill"]) <= NAIVE_WIDTH + 1e-9
