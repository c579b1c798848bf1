"""Choose the parameters of a trial: at random, along a grid, or where earlier trials were good.

The default search, in place of Vertex AI's Bayesian optimization, is a tree-structured Parzen estimator:
1. The first trials are random.
2. Finished trials are sorted. The best quarter is "good", the rest is "bad".
3. Candidates are drawn around good points. The one most typical of good and least typical of bad points is used.
"""

import itertools
import math
import random

from emulator.protocol.documents import Document
from emulator.tuning import space
from emulator.tuning.space import Point

RANDOM_TRIALS = 4
GOOD_SHARE = 0.25
CANDIDATES = 32
WIDTH = 0.15
Observation = tuple[Point, float]  # value: greater is better


def suggest(study: Document, seen: list[Observation], *, number: int, seed: str) -> Point | None:
    """Return the parameters of trial `number` (from 1), None if a grid has no more. The seed makes it repeatable."""
    parameters = study["parameters"]
    algorithm = study.get("algorithm", "ALGORITHM_UNSPECIFIED")
    if algorithm == "GRID_SEARCH":
        return next(itertools.islice(space.grid(parameters), number - 1, number), None)
    generator = random.Random(f"{seed}/{number}")  # noqa: S311  # repeatable, not secret
    if algorithm == "RANDOM_SEARCH" or len(seen) < RANDOM_TRIALS:
        return space.point(parameters, lambda parameter: space.value_at(parameter, generator.random()))
    ranked = sorted(seen, key=lambda one: one[1], reverse=True)
    count = max(1, math.ceil(len(ranked) * GOOD_SHARE))
    good, bad = [one[0] for one in ranked[:count]], [one[0] for one in ranked[count:]]
    drawn = [_draw_near(parameters, generator.choice(good), generator) for _ in range(CANDIDATES)]
    return max(drawn, key=lambda one: _score(parameters, one, good, bad))


def _draw_near(parameters: list[Document], centre: Point, generator: random.Random) -> Point:
    def draw(parameter: Document) -> space.Value:
        name = parameter["parameterId"]
        if name not in centre or generator.random() < WIDTH:
            return space.value_at(parameter, generator.random())
        if "categoricalValueSpec" in parameter:
            return centre[name]
        position = space.position_of(parameter, centre[name]) + generator.gauss(0, WIDTH)
        return space.value_at(parameter, min(max(position, 0.0), 1.0))

    return space.point(parameters, draw)


def _score(parameters: list[Document], at: Point, good: list[Point], bad: list[Point]) -> float:
    total = 0.0
    for parameter in space.active(parameters, at):
        total += math.log(_density(parameter, at, good)) - math.log(_density(parameter, at, bad))
    return total


def _density(parameter: Document, at: Point, points: list[Point]) -> float:
    name = parameter["parameterId"]
    here = space.position_of(parameter, at[name])
    nearby = 0.1  # no value is impossible
    for other in points:
        if name in other:
            there = space.position_of(parameter, other[name])
            is_category = "categoricalValueSpec" in parameter
            nearby += float(here == there) if is_category else math.exp(-(((here - there) / WIDTH) ** 2) / 2)
    return nearby / (len(points) + 0.1)
