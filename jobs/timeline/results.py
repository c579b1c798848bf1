"""The results of a job for tables of runs: of each metric its last, lowest and highest value. Pure."""

import math

from jobs.metrics import Record, importance
from jobs.metrics.names import LOSSES, words_of

Result = tuple[float, float, float]
"""(last, lowest, highest)"""
MAX_RESULTS = 16
LOWER = LOSSES | frozenset(
    "ppl perp perplexity rmse mae mse mape wer cer fid bpc bpb brier eer mr error err squared absolute cost".split()
)
"""A metric with one of these words is better the lower it is."""


def results_of(record: Record) -> dict[str, Result]:
    """Return {metric: result} of the metrics in a record, the most important MAX_RESULTS.

    A series is kept thinned, so its lowest or highest value may be one that was dropped. If several replicas or trials
    wrote a metric, the last value is that of the newest line.
    """
    found: dict[str, tuple[float, Result]] = {}
    for series in sorted(record.series, key=lambda each: importance(each.name)):
        points = [point for point in series.shown if math.isfinite(point[2])]
        if not points:
            continue
        values = [value for _at, _step, value in points]
        at, last, low, high = points[-1][0], values[-1], min(values), max(values)
        if series.name in found:
            before_at, before = found[series.name]
            low, high = min(low, before[1]), max(high, before[2])
            at, last = (at, last) if at >= before_at else (before_at, before[0])
        elif len(found) == MAX_RESULTS:
            continue
        found[series.name] = (at, (last, low, high))
    return {name: result for name, (_at, result) in found.items()}


def is_lower_better(metric: str) -> bool:
    """Return whether a metric is better the lower it is, by its name: a loss or an error."""
    return not LOWER.isdisjoint(words_of(metric))
