"""How closely each parameter of a study goes with a metric: a first look at what matters. Read only.

Of numbers it is Spearman's rank correlation, of words the correlation ratio of the ranks of the metric, both from 0
(none) to 1. It tells nothing of how parameters work together, and little where there are few trials.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from jobs.timeline.trials import Metric, Study, value_of

MIN_TRIALS = 4
"""Fewer results tell nothing."""


@dataclass(frozen=True, slots=True)
class Influence:
    """`strength`: 0 to 1. `direction`: +1 where the metric grows with the parameter, -1 where it falls, 0 for words."""

    parameter: str
    strength: float
    direction: int
    trials: int


def influences(study: Study, metric: Metric) -> list[Influence]:
    """Return the influence of each parameter with enough results, the strongest first."""
    found = []
    for name in study.parameters:
        pairs = [
            (trial.parameters[name], value)
            for trial in study.trials
            if name in trial.parameters and (value := value_of(trial, metric)) is not None
        ]
        if len(pairs) < MIN_TRIALS or len({str(given) for given, _ in pairs}) < 2:
            continue
        given, ranks = [pair[0] for pair in pairs], _ranks([pair[1] for pair in pairs])
        if all(isinstance(each, int | float) for each in given):
            correlation = _correlation(_ranks([float(each) for each in given]), ranks)
            found.append(Influence(name, abs(correlation), int(math.copysign(1, correlation)), len(pairs)))
        else:
            found.append(Influence(name, _ratio([str(each) for each in given], ranks), 0, len(pairs)))
    return sorted(found, key=lambda each: (-each.strength, each.parameter))


def _ranks(values: Sequence[float]) -> list[float]:
    """Return the rank of each value; equal ones share the mean of theirs."""
    places: dict[float, list[int]] = {}
    for place, value in enumerate(sorted(values)):
        places.setdefault(value, []).append(place)
    return [sum(places[value]) / len(places[value]) for value in values]


def _correlation(one: Sequence[float], other: Sequence[float]) -> float:
    mean = (len(one) - 1) / 2
    spread = math.sqrt(sum((x - mean) ** 2 for x in one) * sum((y - mean) ** 2 for y in other))
    return sum((x - mean) * (y - mean) for x, y in zip(one, other, strict=True)) / spread if spread else 0.0


def _ratio(groups: Sequence[str], ranks: Sequence[float]) -> float:
    mean = (len(ranks) - 1) / 2
    total = sum((rank - mean) ** 2 for rank in ranks)
    members: dict[str, list[float]] = {}
    for group, rank in zip(groups, ranks, strict=True):
        members.setdefault(group, []).append(rank)
    between = sum(len(member) * (sum(member) / len(member) - mean) ** 2 for member in members.values())
    return math.sqrt(between / total) if total else 0.0
