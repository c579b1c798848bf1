"""Tests of a study: the best trial by metric and goal, the front of several, counts, and progress of the search."""

import itertools
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs import timeline
from jobs.models import Job, Trial
from jobs.timeline.trials import Study, progress, ranked, study

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
ACCURACY = {"metricId": "accuracy", "goal": "MAXIMIZE"}
LOSS = {"metricId": "loss", "goal": "MINIMIZE"}


def job(*metrics: dict[str, Any], in_pipeline: bool = False, **body: Any) -> Job:
    search = {"studySpec": {"metrics": list(metrics), "parameters": body.pop("parameters", [])}} | body
    return Job(spec={"trainingTaskInputs": search} if in_pipeline else search)


def trial(number: int, state: str = "SUCCEEDED", **metrics: float) -> Trial:
    return Trial(trial_id=str(number), state=state, metrics=metrics, parameters={"lr": number / 10}, started_at=NOON)


def told(found: Job, *trials: Trial) -> Study:
    made = study(found, trials)
    assert made is not None
    return made


def best(*args: Any) -> list[str]:
    return [each.trial_id for each in told(*args).best]


class TestBest:
    def test_follows_the_goal(self) -> None:
        trials = [trial(1, accuracy=0.5, loss=3), trial(2, accuracy=0.9, loss=2), trial(3, accuracy=0.7, loss=1)]

        assert best(job(ACCURACY), *trials) == ["2"]
        assert best(job(LOSS), *trials) == ["3"]
        assert best(job({"metricId": "accuracy"}), *trials) == ["2"], "a goal that is not said means more is better"

    def test_of_equals_the_first_counts(self) -> None:
        assert best(job(ACCURACY), trial(2, accuracy=0.9), trial(10, accuracy=0.9), trial(1, accuracy=0.1)) == ["2"]

    def test_only_what_succeeded_and_reported_counts(self) -> None:
        trials = [
            trial(1, "INFEASIBLE", accuracy=0.99), trial(2, "ACTIVE", accuracy=0.98), trial(3), trial(4, accuracy=0.1)
        ]  # fmt: skip

        assert best(job(ACCURACY), *trials) == ["4"]
        assert best(job(ACCURACY), *trials[:3]) == []

    def test_several_metrics_have_a_front(self) -> None:
        trials = [
            trial(1, accuracy=0.9, loss=5), trial(2, accuracy=0.8, loss=3), trial(3, accuracy=0.7, loss=4),
            trial(4, accuracy=0.6, loss=1), trial(5, accuracy=0.8, loss=3), trial(6, accuracy=0.99),
        ]  # fmt: skip

        assert best(job(ACCURACY, LOSS), *trials) == ["1", "2", "4", "5"]

    def test_a_limit_is_no_objective_and_must_be_kept(self) -> None:
        fair = {"metricId": "fairness", "goal": "MAXIMIZE", "safetyConfig": {"safetyThreshold": 0.5}}
        trials = [trial(1, accuracy=0.9, fairness=0.4), trial(2, accuracy=0.8, fairness=0.5), trial(3, accuracy=0.95)]

        found = told(job(ACCURACY, fair), *trials)

        assert [each.trial_id for each in found.best] == ["2"]
        assert [metric.id for metric in found.metrics] == ["accuracy", "fairness"]
        assert [step.best for step in progress(found, found.objectives[0])] == [None, 0.8, 0.8]

    @given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=1, max_size=25))
    def test_the_front_holds_exactly_what_no_other_beats(self, points: list[tuple[int, int]]) -> None:
        trials = [trial(number, accuracy=one, loss=two) for number, (one, two) in enumerate(points, 1)]

        def beats(one: tuple[int, int], other: tuple[int, int]) -> bool:
            return one != other and one[0] >= other[0] and one[1] <= other[1]

        unbeaten = {str(place) for place, point in enumerate(points, 1) if not any(beats(p, point) for p in points)}
        assert set(best(job(ACCURACY, LOSS), *trials)) == unbeaten


class TestFigures:
    def test_counts_states_failures_and_what_runs(self) -> None:
        found = told(
            job(ACCURACY, maxTrialCount=20, parallelTrialCount=4, maxFailedTrialCount=3),
            trial(1, accuracy=1), trial(2, "INFEASIBLE"), trial(3, "ACTIVE"), trial(4, "STOPPING"),
            trial(5, "REQUESTED"),
        )  # fmt: skip

        assert found.counts == {"SUCCEEDED": 1, "INFEASIBLE": 1, "ACTIVE": 1, "STOPPING": 1, "REQUESTED": 1}
        assert (found.failed, found.allowed_failures, found.running) == (1, 3, 2)
        assert (found.most, found.parallel) == (20, 4)

    def test_failures_that_nobody_limited_are_vertex_ais_to_judge(self) -> None:
        assert told(job(ACCURACY, maxTrialCount=2)).allowed_failures is None

    @pytest.mark.parametrize("odd", [None, "x", [1], {"a": 1}, "9" * 99, -3, True, float("nan"), [{"metricId": [2]}]])
    def test_a_body_in_an_odd_form_is_read_as_far_as_it_can_be(self, odd: Any) -> None:
        body = {"studySpec": {"metrics": odd, "parameters": odd}, "maxTrialCount": odd, "parallelTrialCount": odd}

        found = told(Job(spec=body | {"maxFailedTrialCount": odd}), trial(1, accuracy=1), trial(2, "INFEASIBLE"))

        assert (found.succeeded, found.failed) == (1, 1)
        assert timeline.summary(found).startswith("2 trials: 1 succeeded, 1 infeasible")
        assert timeline.parallel_trials(Job(spec=body)) >= 1

    def test_trials_stand_in_the_order_of_their_numbers(self) -> None:
        found = told(job(ACCURACY), trial(10), trial(9), Trial(trial_id="x", state="ACTIVE"), trial(1))

        assert [each.trial_id for each in found.trials] == ["x", "1", "9", "10"]

    def test_the_search_of_a_pipeline_is_in_its_inputs(self) -> None:
        assert told(job(ACCURACY, in_pipeline=True, maxTrialCount=7)).most == 7
        assert study(Job(spec={"jobSpec": {}}), []) is None
        assert study(Job(spec={"trainingTaskInputs": {"workerPoolSpecs": []}}), []) is None

    def test_parameters_stand_as_in_the_spec_then_what_else_was_tried(self) -> None:
        nested = {"parameterId": "depth", "conditionalParameterSpecs": [{"parameterSpec": {"parameterId": "width"}}]}

        found = told(
            job(ACCURACY, parameters=[nested, {"parameterId": "lr"}]), Trial(trial_id="1", parameters={"z": 1})
        )

        assert found.parameters == ("depth", "width", "lr", "z")


class TestProgress:
    def test_the_best_so_far_is_carried_on(self) -> None:
        found = told(
            job(LOSS), trial(1, loss=5), trial(2, "INFEASIBLE"), trial(3, loss=7), trial(4, loss=2), trial(5, "ACTIVE")
        )

        steps = progress(found, found.objectives[0])

        assert [step.value for step in steps] == [5, None, 7, 2, None]
        assert [step.best for step in steps] == [5, 5, 5, 2, 2]

    @given(st.lists(st.one_of(st.none(), st.floats(-5, 5)), max_size=20))
    def test_the_best_so_far_never_gets_worse(self, values: list[float | None]) -> None:
        trials = [trial(n) if value is None else trial(n, accuracy=value) for n, value in enumerate(values, 1)]
        found = told(job(ACCURACY), *trials)

        line = [step.best for step in progress(found, found.objectives[0]) if step.best is not None]

        assert all(before <= after for before, after in itertools.pairwise(line))
        assert line[-1:] == [max(value for value in values if value is not None)] if line else True

    def test_ranks_the_best_first_and_what_has_no_value_last(self) -> None:
        found = told(job(LOSS), trial(1), trial(2, loss=5), trial(3, "INFEASIBLE", loss=0), trial(4, loss=2))

        assert [each.trial_id for each in ranked(found, found.objectives[0])] == ["4", "2", "1", "3"]
