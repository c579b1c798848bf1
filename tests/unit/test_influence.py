"""Tests of how strongly parameters correlate with a metric, and of plotting trials across them."""

import re
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dashboard.drawing.parallel_chart import FOOT, TOP, Axis, draw_parallel
from jobs.models import Trial
from jobs.timeline import Metric, Study, influences

METRIC = Metric("accuracy", is_more_better=True)


def study_of(rows: list[tuple[dict[str, Any], float]]) -> Study:
    trials = tuple(
        Trial(trial_id=str(number), state="SUCCEEDED", parameters=given, metrics={"accuracy": value})
        for number, (given, value) in enumerate(rows, 1)
    )
    names = tuple(dict.fromkeys(name for given, _ in rows for name in given))
    return Study((METRIC,), (), names, trials, trials[-1:], 10, 2, None)


def test_a_parameter_that_the_metric_follows_is_first() -> None:
    study = study_of([({"lr": n, "noise": (n * 7) % 5}, float(n)) for n in range(1, 9)])

    first, second = influences(study, METRIC)

    assert (first.parameter, first.strength, first.direction, first.trials) == ("lr", pytest.approx(1), 1, 8)
    assert second.strength < 0.6


def test_one_that_it_falls_with_says_so() -> None:
    (found,) = influences(study_of([({"lr": -n}, float(n)) for n in range(6)]), METRIC)

    assert (found.strength, found.direction) == (pytest.approx(1), -1)


def test_one_that_is_best_in_the_middle_is_close_too() -> None:
    rows = [({"lr": 10 ** (n / 10), "same": n % 2}, -abs(n - 20.0)) for n in range(41)]

    first, second = influences(study_of(rows), METRIC)

    assert (first.parameter, first.direction, first.middle) == ("lr", 0, 1)
    assert first.strength > 0.9
    assert second.strength < 0.1
    (low,) = influences(study_of([({"lr": n}, abs(n - 20.0)) for n in range(41)]), METRIC)
    assert (low.direction, low.middle) == (0, -1)


def test_few_results_tell_nothing_of_a_middle() -> None:
    (found,) = influences(study_of([({"lr": n}, -abs(n - 2.0)) for n in range(5)]), METRIC)

    assert (found.strength, found.middle) == (pytest.approx(0), 0)


def test_words_are_compared_as_groups() -> None:
    study = study_of([({"opt": "adam" if n > 3 else "sgd"}, float(n)) for n in range(8)])

    (found,) = influences(study, METRIC)

    assert found.direction == 0
    assert 0.8 < found.strength <= 1


def test_few_results_or_one_value_tell_nothing() -> None:
    assert influences(study_of([({"lr": n}, 1.0) for n in range(3)]), METRIC) == []
    assert influences(study_of([({"lr": 1}, float(n)) for n in range(9)]), METRIC) == []


numbers = st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(10**9), 10**9)


@example([(0.0, 1.0), (0.0, 1.0), (0.0, 62405107911.0), (0.0, 3.4713993561975123e-298)])
@given(st.lists(st.tuples(numbers | st.sampled_from(["a", "b"]), st.floats(-1e300, 1e300)), min_size=4, max_size=20))
def test_any_study_has_strengths_between_none_and_all(pairs: list[tuple[Any, float]]) -> None:
    study = study_of([({"x": given}, value) for given, value in pairs])

    for found in influences(study, METRIC):
        assert -1e-9 <= found.strength <= 1 + 1e-9
    for y in map(float, re.findall(r' y[12]="(-?[\d.]+|nan)"', draw_parallel(study, METRIC))):
        assert TOP - 1 <= y <= FOOT + 1


@given(st.lists(numbers, min_size=1, max_size=10))
def test_every_value_lies_on_its_axis(values: list[float]) -> None:
    axis = Axis("x", values)

    for value in values:
        assert TOP - 0.01 <= axis.down(value) <= FOOT + 0.01


def test_nothing_is_drawn_of_one_trial_or_without_a_metric() -> None:
    assert draw_parallel(study_of([({"lr": 1}, 1.0)]), METRIC) == ""
    assert draw_parallel(study_of([({"lr": 1}, 1.0)] * 3), None) == ""


def test_the_chart_says_what_it_shows() -> None:
    chart = draw_parallel(study_of([({"lr": n, "opt": "<b>"}, float(n)) for n in range(5)]), METRIC)

    assert 'aria-label="5 trials across lr, opt and accuracy; the best is trial 5."' in chart
    assert "<b>" not in chart
