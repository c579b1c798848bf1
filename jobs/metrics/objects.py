"""Parse log lines that are JSON objects, or dictionaries as Python prints them. Pure."""

import ast
import json
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

from jobs.metrics.names import is_metric, is_quality, may_be_metric, words_of

EPOCH_NAMES = ("epoch", "current_epoch", "epochs_done")
STEP_NAMES = (
    "global_step", "step", "iteration", "iter", "itr", "num_updates", "update", "current_steps", "training_iteration",
    "total_timesteps", "num_timesteps", "episode",
)  # fmt: skip
STEPS_NAMES = ("total_steps", "max_steps", "num_steps")
EPOCHS_NAMES = ("epochs", "total_epochs", "max_epochs", "num_epochs")
TEXT_NAMES = ("message", "msg", "event", "text")
"""Fields in which a structured log has its text."""
HOLDERS = frozenset({"metrics", "data", "values", "results", "result", "logs", "log", "scores", "extra"})
"""Names of objects that contain metrics but are not part of their names. Other names become a prefix."""
MAX_VALUES = 40
MAX_DEPTH = 3
"""Objects inside each other: RLlib has `learners`, a policy, its losses."""

CALLS = re.compile(r"(?<![\w.])(?:\w+\.)*+[A-Za-z_]\w*+\(\s*([-+.\w]+)\s*(?:,[^()]*)?\)")
"""Numbers as numpy and PyTorch print them: np.float64(0.5), tensor(0.5, device='cuda:0')."""
_NO_NUMBER = re.compile(r"(?<![\w'\"])[-+]?(?:nan|inf)(?![\w'\"])")


def read_object(text: str) -> tuple[dict[str, Any], str] | None:
    """Return the object that begins at the first brace of a line and the text around it, or None if there is none."""
    start = text.find("{")
    if start < 0 or (end := text.rfind("}") + 1) <= start or text[start + 1 : end].lstrip()[:1] not in ("'", '"'):
        return None
    value = _parsed(text[start:end])
    if not isinstance(value, dict) or not all(isinstance(name, str) for name in value):
        return None
    return value, f"{text[:start]} {text[end:]}"


def _parsed(body: str) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        pass
    try:
        return ast.literal_eval(_NO_NUMBER.sub("None", CALLS.sub(r"\1", body) if "(" in body else body))
    except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
        return None


def number_of(value: Any) -> float | None:
    """Return a finite number, which may be written as text or as a list of the same, or None for anything else."""
    value = value[0] if isinstance(value, list) and value and value.count(value[0]) == len(value) else value
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def first_number(found: Mapping[str, Any], names: tuple[str, ...]) -> float | None:
    """Return the number under the first of the names that has one."""
    lower = {name.lower(): value for name, value in found.items()}
    return next((number for name in names if (number := number_of(lower.get(name))) is not None), None)


def positions_in(found: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of an object and its metric containers, by name without the part before a slash."""
    held = [value for name, value in found.items() if name.lower() in HOLDERS and isinstance(value, dict)]
    return {str(name).rpartition("/")[2]: value for each in (found, *held) for name, value in each.items()}


def text_in(found: Mapping[str, Any]) -> str:
    """Return the text of a structured log entry, or "" if there is none."""
    return next((found[name] for name in TEXT_NAMES if isinstance(found.get(name), str)), "")


def metrics_in(found: Mapping[str, Any], *, has_place: bool) -> dict[str, float]:
    """Return the metrics of an object. Names below are prefixed with those of their containers.

    `has_place` means that there is an epoch or a step. Without one, an object with more settings than metrics has none.
    """
    named = _named(found)
    if named:
        return named
    flat = dict(_flat(found, depth=0 if has_place else MAX_DEPTH - 1))
    if has_place:
        values = {name: value for name, value in flat.items() if may_be_metric(name)}
    else:
        values = {name: value for name, value in flat.items() if is_quality(name) and is_measure(name, f"{value:g}")}
        others = {name: value for name, value in flat.items() if name not in values and may_be_metric(name)}
        settings = [value for name, value in others.items() if not is_metric(name)]
        if len(settings) > len(values):
            return {}
        # Next to results, the learning rate and what else is measured are metrics, too.
        if len(values) > 1 or (values and not any(value % 1 for value in settings)):
            values = {name: value for name, value in flat.items() if name in values or (name in others and value % 1)}
    return dict(list(values.items())[:MAX_VALUES])


def is_measure(name: str, number: str) -> bool:
    """Return whether a number can be a measurement. An integer above 1 can be one only for a reward."""
    return not number.isdigit() or float(number) <= 1 or not {"reward", "rewards", "rew"}.isdisjoint(words_of(name))


def _named(found: Mapping[str, Any]) -> dict[str, float]:
    """Return one metric that an object names: {"metric": "accuracy", "value": 0.9}, {"name": "loss", "data": {...}}."""
    name = found.get("metric", found.get("name"))
    data = found.get("data")
    value = number_of(data.get("value") if isinstance(data, dict) else found.get("value"))
    return {name: value} if isinstance(name, str) and may_be_metric(name) and value is not None else {}


def _flat(found: Mapping[str, Any], prefix: str = "", depth: int = 0) -> Iterator[tuple[str, float]]:
    for name, value in found.items():
        if isinstance(value, dict) and depth < MAX_DEPTH:
            yield from _flat(value, prefix if str(name).lower() in HOLDERS else f"{prefix}{name}/", depth + 1)
        elif (number := number_of(value)) is not None:
            yield f"{prefix}{name}", number
