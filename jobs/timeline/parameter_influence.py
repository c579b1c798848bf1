"""How strongly each parameter of a study correlates with a metric.

For numbers this is Spearman's rank correlation with a quadratic term, because many parameters are best somewhere in the
middle. For text values it is the correlation ratio of the metric's ranks. Both range from 0 (none) to 1. The result
does not show how parameters interact, and it is weak if there are few trials.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from jobs.timeline.trials import Metric, Study, value_of

MIN_TRIALS = 4
"""Fewer results are not evaluated."""
MIN_FOR_CURVE = 10
"""With fewer results the quadratic term is left out, because it fits any three points."""


@dataclass(frozen=True, slots=True)
class Influence:
    """The influence of a parameter. `strength` is 0 to 1.

    `direction` is +1 if the metric grows with the parameter, -1 if it falls, else 0. `middle` is +1 if the metric is
    highest between the ends of the parameter's range, -1 if it is lowest there, else 0.
    """

    parameter: str
    strength: float
    direction: int
    trials: int
    middle: int = 0


def influences(study: Study, metric: Metric) -> list[Influence]:
    """Return the influence of each parameter with enough results, strongest first."""
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
            found.append(_of_numbers(name, _ranks([float(each) for each in given]), ranks))
        else:
            found.append(Influence(name, _ratio([str(each) for each in given], ranks), 0, len(pairs)))
    return sorted(found, key=lambda each: (-each.strength, each.parameter))


def _ranks(values: Sequence[float]) -> list[float]:
    """Return the rank of each value. Equal values share the mean of their ranks."""
    places: dict[float, list[int]] = {}
    for place, value in enumerate(sorted(values)):
        places.setdefault(value, []).append(place)
    return [sum(places[value]) / len(places[value]) for value in values]


def _of_numbers(name: str, given: Sequence[float], ranks: Sequence[float]) -> Influence:
    """Return the multiple rank correlation with a straight line and with a curve that is orthogonal to the line."""
    mean = (len(given) - 1) / 2
    line, values = [each - mean for each in given], [each - mean for each in ranks]
    squares = [each * each for each in line]
    middle, slope = sum(squares) / len(squares), _dot(squares, line) / (sum(squares) or 1.0)
    curve = [square - middle - slope * each for square, each in zip(squares, line, strict=True)]
    straight, bent = _correlation(line, values), 0.0
    if len(given) >= MIN_FOR_CURVE and len(set(given)) > 2:
        bent = _correlation(curve, values)
    strength = min(math.hypot(straight, bent), 1.0)
    if abs(bent) > abs(straight):
        return Influence(name, strength, 0, len(given), -int(math.copysign(1, bent)))
    return Influence(name, strength, int(math.copysign(1, straight)), len(given))


def _dot(one: Sequence[float], other: Sequence[float]) -> float:
    return sum(x * y for x, y in zip(one, other, strict=True))


def _correlation(one: Sequence[float], other: Sequence[float]) -> float:
    """Return the correlation of values whose mean is zero."""
    spread = math.sqrt(_dot(one, one) * _dot(other, other))
    return _dot(one, other) / spread if spread else 0.0


def _ratio(groups: Sequence[str], ranks: Sequence[float]) -> float:
    mean = (len(ranks) - 1) / 2
    total = sum((rank - mean) ** 2 for rank in ranks)
    members: dict[str, list[float]] = {}
    for group, rank in zip(groups, ranks, strict=True):
        members.setdefault(group, []).append(rank)
    between = sum(len(member) * (sum(member) / len(member) - mean) ** 2 for member in members.values())
    return math.sqrt(between / total) if total else 0.0
