"""The space of a study's parameters. Converts a parameter's values to numbers between 0 and 1, and back.

A *point* is `{parameterId: value}`. It has conditional parameters only if their parent's value requires them. Source:
StudySpec.ParameterSpec in the v1 protos (scales, conditions).
"""

import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from emulator.protocol.documents import Document

Value = float | int | str
Point = dict[str, Value]
Draw = Callable[[Document], Value]
CONDITIONS = ("parentDiscreteValues", "parentIntValues", "parentCategoricalValues")


def choices(parameter: Document) -> list[Value] | None:
    """Return the values of a parameter with a list of them, or with at most 1,000 integers, else None."""
    if "categoricalValueSpec" in parameter:
        return list(parameter["categoricalValueSpec"].get("values", []))
    if "discreteValueSpec" in parameter:
        return list(parameter["discreteValueSpec"].get("values", []))
    if "integerValueSpec" in parameter:
        low, high = (int(value) for value in bounds(parameter))
        return list(range(low, high + 1)) if high - low < 1_000 else None
    return None


def bounds(parameter: Document) -> tuple[float, float]:
    """Return the minimum and the maximum of a numeric parameter."""
    spec = parameter.get("doubleValueSpec") or parameter.get("integerValueSpec")
    if spec is None:
        values = parameter["discreteValueSpec"]["values"]
        return float(values[0]), float(values[-1])
    return float(spec.get("minValue", 0)), float(spec.get("maxValue", 0))


def value_at(parameter: Document, unit: float) -> Value:
    """Return the value at a position between 0 and 1, by the parameter's scale."""
    if "categoricalValueSpec" in parameter:
        values: list[str] = parameter["categoricalValueSpec"]["values"]
        return values[min(int(unit * len(values)), len(values) - 1)]
    low, high = bounds(parameter)
    scale = parameter.get("scaleType", "UNIT_LINEAR_SCALE")
    if scale == "UNIT_LOG_SCALE":
        number = math.exp(math.log(low) + unit * (math.log(high) - math.log(low)))
    elif scale == "UNIT_REVERSE_LOG_SCALE":
        number = high + low - math.exp(math.log(high) - unit * (math.log(high) - math.log(low)))
    else:
        number = low + unit * (high - low)
    number = min(max(number, low), high)
    if "integerValueSpec" in parameter:
        return round(number)
    if "discreteValueSpec" in parameter:
        return float(min(parameter["discreteValueSpec"]["values"], key=lambda one: abs(one - number)))
    return number


def position_of(parameter: Document, value: Value) -> float:
    """Return the position of a value between 0 and 1. A category has the middle of its share."""
    if "categoricalValueSpec" in parameter:
        values = parameter["categoricalValueSpec"]["values"]
        return float((values.index(value) + 0.5) / len(values))
    low, high = bounds(parameter)
    number = float(value)
    if high == low:
        return 0.5
    scale = parameter.get("scaleType", "UNIT_LINEAR_SCALE")
    if scale == "UNIT_LOG_SCALE":
        return (math.log(number) - math.log(low)) / (math.log(high) - math.log(low))
    if scale == "UNIT_REVERSE_LOG_SCALE":
        return (math.log(high) - math.log(high + low - number)) / (math.log(high) - math.log(low))
    return (number - low) / (high - low)


def _children(parameter: Document, value: Value) -> Iterator[Document]:
    """Yield the conditional parameters for a parent's value."""
    for conditional in parameter.get("conditionalParameterSpecs", []):
        wanted: list[Any] = next(
            (conditional[name].get("values", []) for name in CONDITIONS if name in conditional), []
        )
        if any(_equal(value, one) for one in wanted):
            yield conditional["parameterSpec"]


def _equal(value: Value, wanted: Any) -> bool:
    if isinstance(value, str):
        return bool(value == wanted)
    return abs(float(value) - float(wanted)) <= 1e-10


def point(parameters: list[Document], draw: Draw) -> Point:
    """Return a point whose values are drawn one by one, conditional ones after their parents."""
    values: Point = {}
    for parameter in parameters:
        value = draw(parameter)
        values[parameter["parameterId"]] = value
        values |= point(list(_children(parameter, value)), draw)
    return values


def active(parameters: list[Document], at: Point) -> Iterator[Document]:
    """Yield the parameters that have a value in a point."""
    for parameter in parameters:
        if parameter["parameterId"] in at:
            yield parameter
            yield from active(list(_children(parameter, at[parameter["parameterId"]])), at)


def grid(parameters: list[Document]) -> Iterator[Point]:
    """Yield every point of a space without real parameters. The last parameter varies fastest."""
    if not parameters:
        yield {}
        return
    first, *rest = parameters
    values: Iterable[Value] = choices(first) or []
    if "integerValueSpec" in first:  # also a range that is too long to list
        low, high = bounds(first)
        values = range(int(low), int(high) + 1)
    for value in values:
        for inside in grid(list(_children(first, value))):
            for other in grid(rest):
                yield {first["parameterId"]: value, **inside, **other}
