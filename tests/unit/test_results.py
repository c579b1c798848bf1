"""Tests of the results that tables of runs show: last, lowest and highest of each metric."""

import json
import math

import pytest

from jobs.metrics import Record, Series
from jobs.timeline.results import MAX_RESULTS, is_lower_better, results_of


def series(name: str, *values: float, source: str = "workerpool0-0", start: float = 0.0) -> Series:
    points = [(start + at, at, value) for at, value in enumerate(values)]
    return Series(name, source, points, count=len(points), last=points[-1])


def test_a_metric_has_its_last_lowest_and_highest_value() -> None:
    record = Record([series("loss", 3.0, 0.5, 0.7), series("accuracy", 0.1, 0.9, 0.8)])

    assert results_of(record) == {"loss": (0.7, 0.5, 3.0), "accuracy": (0.8, 0.1, 0.9)}


def test_replicas_are_taken_together_and_the_newest_line_is_the_last() -> None:
    record = Record([series("loss", 3.0, 0.5, start=50.0), series("loss", 4.0, 0.9, source="workerpool1-0")])

    assert results_of(record) == {"loss": (0.5, 0.5, 4.0)}


def test_what_is_no_number_is_left_out() -> None:
    found = results_of(Record([series("loss", 1.0, math.nan, math.inf), series("accuracy", math.nan)]))

    assert found == {"loss": (1.0, 1.0, 1.0)}
    assert json.loads(json.dumps(found, allow_nan=False)) == {"loss": [1.0, 1.0, 1.0]}


def test_the_most_important_metrics_are_kept() -> None:
    found = results_of(Record([*(series(f"train/loss_{n}", 1.0) for n in range(MAX_RESULTS)), series("val_loss", 2.0)]))

    assert len(found) == MAX_RESULTS
    assert "val_loss" in found


@pytest.mark.parametrize(
    ("name", "is_lower"),
    [("loss", True), ("val_loss", True), ("WER", True), ("trainLoss", True), ("accuracy", False), ("f1", False),
     ("eval/perplexity", True), ("reward", False)],
)  # fmt: skip
def test_losses_and_errors_are_better_the_lower_they_are(name: str, *, is_lower: bool) -> None:
    assert is_lower_better(name) is is_lower
