"""Log lines that are JSON objects, or dictionaries as Python prints them. Pure."""

import ast
import json
import math
from collections.abc import Iterator, Mapping
from typing import Any

from jobs.metrics.names import is_quality, may_be_metric

EPOCH_NAMES = ("epoch", "current_epoch", "epochs_done")
STEP_NAMES = ("global_step", "step", "iteration", "iter", "num_updates", "update", "current_steps")
STEPS_NAMES = ("total_steps", "max_steps", "num_steps")
EPOCHS_NAMES = ("epochs", "total_epochs", "max_epochs", "num_epochs")
MAX_VALUES = 40


def read_object(text: str) -> dict[str, Any] | None:
    """Return the object that begins at the first brace of a line and ends it; None where there is none.

    A logger's words may stand in front of it.
    """
    start = text.find("{")
    if start < 0 or not text.rstrip().endswith("}"):
        return None
    body = text[start:].strip()
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        try:
            value = ast.literal_eval(body)
        except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
            return None
    return value if isinstance(value, dict) and all(isinstance(name, str) for name in value) else None


def number_of(value: Any) -> float | None:
    """Return a finite number, also one that is written as a text; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def first_number(found: Mapping[str, Any], names: tuple[str, ...]) -> float | None:
    """Return the number under the first of the names that holds one."""
    lower = {name.lower(): value for name, value in found.items()}
    return next((number for name in names if (number := number_of(lower.get(name))) is not None), None)


def metrics_in(found: Mapping[str, Any]) -> dict[str, float]:
    """Return the metrics of an object; those one level below carry the name of what holds them."""
    named = _named(found)
    if named:
        return named
    has_place = any(first_number(found, names) is not None for names in (EPOCH_NAMES, STEP_NAMES))
    is_wanted = may_be_metric if has_place else is_quality
    values = {name: value for name, value in _flat(found) if is_wanted(name)}
    return dict(list(values.items())[:MAX_VALUES])


def _named(found: Mapping[str, Any]) -> dict[str, float]:
    """Read one metric that an object names: {"metric": "accuracy", "value": 0.9}, {"name": "loss", "data": {...}}."""
    name = found.get("metric", found.get("name"))
    data = found.get("data")
    value = number_of(data.get("value") if isinstance(data, dict) else found.get("value"))
    return {name: value} if isinstance(name, str) and may_be_metric(name) and value is not None else {}


def _flat(found: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    for name, value in found.items():
        if isinstance(value, dict):
            inner = ((f"{name}/{each}", number_of(item)) for each, item in value.items())
            yield from ((each, number) for each, number in inner if number is not None)
        elif (number := number_of(value)) is not None:
            yield name, number
