"""Metrics of trials: read the output of `cloudml-hypertune`, select the final measurement, detect hopeless trials.

The library writes JSON lines to CLOUD_ML_HP_METRIC_FILE: `timestamp`, `trial`, `global_step`, and the metric's value
under its name. It keeps the newest 100 lines.
"""

import json
import math
import statistics
from pathlib import Path
from typing import Any

from emulator.protocol.documents import Document

MIN_FINISHED = 3
"""Number of trials that must have ended before another one is compared with them."""


def load(file: Path, metric_ids: list[str], *, started: float) -> list[Document]:
    """Return the measurements in a metric file, ordered by step, [] if there is no file yet."""
    try:
        lines = file.read_text().splitlines()
    except OSError:
        return []
    measurements = [measurement for line in lines if (measurement := _measurement(line, metric_ids, started))]
    return sorted(measurements, key=lambda one: int(one.get("stepCount", "0")))


def _measurement(line: str, metric_ids: list[str], started: float) -> Document | None:
    try:
        entry: dict[str, Any] = json.loads(line)
        values = {name: float(entry[name]) for name in metric_ids if name in entry}
        step, moment = int(entry.get("global_step") or 0), float(entry.get("timestamp") or started)
    except (ValueError, TypeError):
        return None
    metrics = [{"metricId": name, "value": value} for name, value in values.items() if math.isfinite(value)]
    if not metrics:
        return None
    measurement: Document = {"metrics": metrics, "elapsedDuration": f"{max(moment - started, 0):.3f}s"}
    return measurement | ({"stepCount": str(step)} if step else {})


def value(measurement: Document, metric: Document) -> float | None:
    """Return the value of a study's metric, with the sign such that greater is better. None if it was not measured."""
    for one in measurement.get("metrics", []):
        if one["metricId"] == metric["metricId"]:
            return -one["value"] if metric.get("goal") == "MINIMIZE" else float(one["value"])
    return None


def final(measurements: list[Document], study: Document) -> Document | None:
    """Return the final measurement: the last one, or the best one if the study selects it."""
    metric = study["metrics"][0]
    measured = [one for one in measurements if value(one, metric) is not None]
    if not measured:
        return None
    if study.get("measurementSelectionType") == "BEST_MEASUREMENT":
        return max(measured, key=lambda one: value(one, metric) or 0.0)
    return measured[-1]


def stops_early(study: Document) -> bool:
    """Return whether the study requests automated stopping."""
    kinds = ("decayCurveStoppingSpec", "medianAutomatedStoppingSpec", "convexAutomatedStoppingSpec")
    return any(kind in study for kind in kinds)


def is_hopeless(study: Document, mine: list[Document], finished: list[list[Document]]) -> bool:
    """Return whether a trial's best value is below the median of others' averages up to its step (median rule)."""
    metric = study["metrics"][0]
    values = [measured for one in mine if (measured := value(one, metric)) is not None]
    if not values or len(finished) < MIN_FINISHED:
        return False
    step = int(mine[-1].get("stepCount", "0"))
    averages = []
    for others in finished:
        upto = [value(one, metric) for one in others if int(one.get("stepCount", "0")) <= step]
        known = [one for one in upto if one is not None]
        if known:
            averages.append(statistics.fmean(known))
    return len(averages) >= MIN_FINISHED and max(values) < statistics.median(averages)
