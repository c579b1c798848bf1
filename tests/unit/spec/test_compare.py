"""Tests of comparing two jobs field by field."""

from typing import Any

import pytest
from hypothesis import given

from jobs.spec.compare import Change, Difference, alike, compare, side_by_side
from tests.support import samples
from tests.support.specs import jobs

POOL = "jobSpec.workerPoolSpecs[0]"


def told(before: Any, after: Any, **options: Any) -> list[tuple[str, str, Any, Any]]:
    return [(row.field, str(row.change), row.before, row.after) for row in compare(before, after, **options)]


class TestCompare:
    def test_finds_nothing_between_a_job_and_itself(self) -> None:
        assert told(samples.body(), samples.body()) == []

    def test_calls_fields_by_their_path_in_api_names(self) -> None:
        after = samples.body(name="wider", replicas=2, scheduling={"timeout": "60s"})

        assert told(samples.body(), after) == [
            ("displayName", "changed", "resnet-prune", "wider"),
            (f"{POOL}.replicaCount", "changed", "1", "2"),
            ("jobSpec.scheduling.timeout", "changed", "86400s", "60s"),
        ]

    def test_reads_typed_specs_like_bodies(self) -> None:
        before, after = samples.submission().job, samples.submission(replicas=2).job

        assert told(before, after) == told(samples.body(), samples.body(replicas=2))

    @pytest.mark.parametrize("zero", ["0s", "", 0, False, [], {}, "0"])
    def test_tells_an_explicit_zero_from_an_absent_field(self, zero: Any) -> None:
        assert told({"a": {"b": 1}}, {"a": {"b": 1, "c": zero}}) == [("a.c", "added", None, zero)]
        assert told({"a": {"b": 1, "c": zero}}, {"a": {"b": 1}}) == [("a.c", "removed", zero, None)]

    def test_takes_null_for_absent(self) -> None:
        assert told({"a": None, "b": 1}, {"b": 1}) == []

    @pytest.mark.parametrize(
        ("before", "after", "same"),
        [
            (True, 1, False),
            (False, 0, False),
            (1, 1.0, True),
            ("1", 1, False),
            ([True], [1], False),
            ([1], [1.0], True),
        ],
    )
    def test_tells_true_from_one_and_text_from_numbers(self, before: Any, after: Any, same: bool) -> None:
        assert (told({"a": before}, {"a": after}) == []) is same

    def test_goes_through_pools_by_their_place(self) -> None:
        two = samples.body()
        two["jobSpec"]["workerPoolSpecs"].append({"machineSpec": {"machineType": "n1-standard-4"}, "replicaCount": "3"})

        assert told(samples.body(), two) == [
            ("jobSpec.workerPoolSpecs[1].machineSpec.machineType", "added", None, "n1-standard-4"),
            ("jobSpec.workerPoolSpecs[1].replicaCount", "added", None, "3"),
        ]

    def test_tells_a_skipped_pool_from_no_pool(self) -> None:
        before, after = samples.body(), samples.body()
        after["jobSpec"]["workerPoolSpecs"].append({})

        assert told(before, after) == [("jobSpec.workerPoolSpecs[1]", "added", None, {})]

    def test_keeps_arguments_together(self) -> None:
        after = samples.body()
        after["jobSpec"]["workerPoolSpecs"][0]["containerSpec"]["args"] = ["--epochs", "9"]

        assert told(samples.body(), after) == [
            (f"{POOL}.containerSpec.args", "changed", ["--epochs", "3"], ["--epochs", "9"])
        ]


class TestNamedEntries:
    def test_are_matched_by_name_wherever_they_stand(self) -> None:
        before = {"env": [{"name": "LR", "value": "1"}, {"name": "SEED", "value": "7"}]}
        after = {"env": [{"name": "NEW", "value": ""}, {"name": "LR", "value": "2"}]}

        assert told(before, after) == [
            ("env[NEW].value", "added", None, ""),
            ("env[LR].value", "changed", "1", "2"),
            ("env[SEED].value", "removed", "7", None),
        ]

    def test_tell_when_only_their_order_changed(self) -> None:
        one, two = {"name": "A", "value": "1"}, {"name": "B", "value": "$(A)"}

        assert told({"env": [one, two]}, {"env": [two, one]}) == [("env", "changed", ["A", "B"], ["B", "A"])]

    def test_that_repeat_a_name_go_by_their_place(self) -> None:
        twice = [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]

        assert told({"env": twice}, {"env": twice[:1]}) == [
            ("env[1].name", "removed", "A", None),
            ("env[1].value", "removed", "2", None),
        ]

    def test_count_in_studies(self) -> None:
        before = {"studySpec": {"metrics": [{"metricId": "loss", "goal": "MINIMIZE"}]}}
        after = {"studySpec": {"metrics": [{"metricId": "loss", "goal": "MAXIMIZE"}]}}

        assert told(before, after) == [("studySpec.metrics[loss].goal", "changed", "MINIMIZE", "MAXIMIZE")]

    def test_that_say_nothing_but_their_name_are_still_there(self) -> None:
        assert told({"env": []}, {"env": [{"name": "A"}]}) == [("env[A]", "added", None, {})]


class TestNoise:
    def test_of_our_own_labels_is_left_out(self) -> None:
        after = samples.body(labels={"trainboard_job": "1", "trainboard_instance": "x", "phase": "two"})

        assert told(samples.body(), after) == [("labels[phase]", "added", None, "two")]

    def test_of_all_labels_can_be_left_out_but_not_of_fields_that_begin_alike(self) -> None:
        before, after = {"labels": {"a": "1"}, "labelsX": 1}, {"labels": {"b": "1"}, "labelsX": 2}

        assert told(before, after, without=("labels",)) == [("labelsX", "changed", 1, 2)]

    def test_can_be_heard_in_full(self) -> None:
        after = samples.body(labels={"trainboard_job": "1"})

        assert told(samples.body(), after, without=()) == [("labels[trainboard_job]", "added", None, "1")]


class TestSideBySide:
    def test_shows_what_is_alike_too(self) -> None:
        rows = side_by_side(samples.body(), samples.body(replicas=2))

        assert (
            Difference(f"{POOL}.containerSpec.command", Change.SAME, ["python", "train.py"], ["python", "train.py"])
            in rows
        )
        assert [row.change for row in rows].count(Change.CHANGED) == 1

    def test_keeps_removed_fields_where_they_stood(self) -> None:
        fields = [row.field for row in side_by_side({"a": 1, "b": 2, "c": 3}, {"a": 1, "c": 3, "d": 4})]

        assert fields == ["a", "b", "c", "d"]


@given(job=jobs(), other=jobs())
def test_any_two_jobs_can_be_compared_and_both_ways_agree(
    job: tuple[str, dict[str, Any]], other: tuple[str, dict[str, Any]]
) -> None:
    mirror = {Change.ADDED: Change.REMOVED, Change.REMOVED: Change.ADDED}

    forth, back = compare(job[1], other[1], without=()), compare(other[1], job[1], without=())

    assert compare(job[1], job[1]) == []
    assert {(row.field, mirror.get(row.change, row.change)) for row in forth} == {
        (row.field, row.change) for row in back
    }
    assert (forth == []) is alike(without_null(job[1]), without_null(other[1]))


def without_null(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: without_null(item) for name, item in value.items() if item is not None}
    return [without_null(item) for item in value] if isinstance(value, list) else value
