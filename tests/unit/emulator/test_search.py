"""Tests of choosing parameters: spaces, grids, conditions, and a search that improves."""

import statistics
from typing import Any

import pytest

from emulator.tuning import measures, search, space

DOUBLE = {"parameterId": "x", "doubleValueSpec": {"minValue": 0.001, "maxValue": 10.0}}
INTEGER = {"parameterId": "n", "integerValueSpec": {"minValue": "1", "maxValue": "4"}}
CATEGORY = {"parameterId": "kind", "categoricalValueSpec": {"values": ["a", "b", "c"]}}
DISCRETE = {"parameterId": "size", "discreteValueSpec": {"values": [8.0, 32.0, 64.0]}}
PARENT = CATEGORY | {
    "conditionalParameterSpecs": [{"parentCategoricalValues": {"values": ["b"]}, "parameterSpec": INTEGER}]
}
SCALES = ["UNIT_LINEAR_SCALE", "UNIT_LOG_SCALE", "UNIT_REVERSE_LOG_SCALE"]


class TestSpace:
    """Values and their places."""

    @pytest.mark.parametrize("scale", SCALES)
    @pytest.mark.parametrize("unit", [0.0, 0.2, 0.5, 1.0])
    def test_a_place_leads_to_a_value_and_back(self, scale: str, unit: float) -> None:
        parameter = DOUBLE | {"scaleType": scale}
        value = space.value_at(parameter, unit)

        assert 0.001 <= float(value) <= 10
        assert space.position_of(parameter, value) == pytest.approx(unit)

    def test_a_log_scale_is_finer_below_and_a_reverse_one_above(self) -> None:
        middle = {scale: float(space.value_at(DOUBLE | {"scaleType": scale}, 0.5)) for scale in SCALES}

        assert middle["UNIT_LOG_SCALE"] == pytest.approx(0.1)
        assert middle["UNIT_LINEAR_SCALE"] == pytest.approx(5.0005)
        assert middle["UNIT_REVERSE_LOG_SCALE"] == pytest.approx(9.901)

    @pytest.mark.parametrize(("parameter", "allowed"), [(INTEGER, {1, 2, 3, 4}), (DISCRETE, {8.0, 32.0, 64.0})])
    def test_only_allowed_values_come_out(self, parameter: dict[str, Any], allowed: set[float]) -> None:
        assert {space.value_at(parameter, place / 50) for place in range(51)} == allowed

    def test_a_grid_has_every_point_once(self) -> None:
        points = list(space.grid([CATEGORY, DISCRETE]))

        assert len(points) == 9
        assert len({tuple(point.items()) for point in points}) == 9

    def test_a_grid_has_a_long_range_of_integers(self) -> None:
        points = list(space.grid([INTEGER | {"integerValueSpec": {"minValue": "1", "maxValue": "5000"}}]))

        assert points == [{"n": value} for value in range(1, 5_001)]

    def test_conditional_parameters_appear_under_their_parent_only(self) -> None:
        points = list(space.grid([PARENT]))

        assert [point["kind"] for point in points] == ["a", "b", "b", "b", "b", "c"]
        assert all(("n" in point) == (point["kind"] == "b") for point in points)


class TestSearch:
    """Which point comes next."""

    def test_a_grid_ends(self) -> None:
        study = {"parameters": [CATEGORY], "algorithm": "GRID_SEARCH"}

        found = [search.suggest(study, [], number=number, seed="s") for number in (1, 2, 3, 4)]

        assert found == [{"kind": "a"}, {"kind": "b"}, {"kind": "c"}, None]

    def test_random_is_repeatable_and_different_each_time(self) -> None:
        study = {"parameters": [DOUBLE], "algorithm": "RANDOM_SEARCH"}
        first = [search.suggest(study, [], number=number, seed="s") for number in range(1, 6)]

        assert first == [search.suggest(study, [], number=number, seed="s") for number in range(1, 6)]
        assert len({point["x"] for point in first if point}) == 5

    def test_the_default_search_finds_better_points_than_chance(self) -> None:
        def score(point: dict[str, Any]) -> float:
            place = space.position_of(DOUBLE, point["x"])
            return -((place - 0.3) ** 2) - (point["kind"] != "b")

        def late_mean(algorithm: str, seed: str) -> float:
            study = {"parameters": [DOUBLE, CATEGORY], "algorithm": algorithm}
            seen: list[search.Observation] = []
            for number in range(1, 31):
                point = search.suggest(study, seen, number=number, seed=seed)
                assert point is not None
                seen.append((point, score(point)))
            return statistics.fmean(value for _, value in seen[15:])

        seeds = [str(seed) for seed in range(10)]
        guided = statistics.fmean(late_mean("ALGORITHM_UNSPECIFIED", seed) for seed in seeds)
        blind = statistics.fmean(late_mean("RANDOM_SEARCH", seed) for seed in seeds)

        assert guided > blind + 0.3


def curve(*values: float) -> list[dict[str, Any]]:
    """Measurements of one metric, one per step."""
    return [
        {"stepCount": str(step), "metrics": [{"metricId": "m", "value": value}]} for step, value in enumerate(values, 1)
    ]


class TestMeasures:
    """What trials report."""

    def test_reads_what_the_library_writes(self, tmp_path: Any) -> None:
        file = tmp_path / "output.metrics"
        file.write_text(
            '{"global_step": "2", "m": "0.5", "timestamp": 101.5, "trial": "1"}\n'
            '{"global_step": "1", "m": "0.7", "timestamp": 100.5, "trial": "1"}\n'
            '{"global_step": "3", "other": "1"}\nnot json\n{"m": "nan", "global_step": "4"}\n'
        )

        found = measures.load(file, ["m"], started=100.0)

        assert found == [
            {"stepCount": "1", "metrics": [{"metricId": "m", "value": 0.7}], "elapsedDuration": "0.500s"},
            {"stepCount": "2", "metrics": [{"metricId": "m", "value": 0.5}], "elapsedDuration": "1.500s"},
        ]
        assert measures.load(tmp_path / "none", ["m"], started=0) == []

    @pytest.mark.parametrize(
        ("selection", "goal", "step"),
        [
            ("LAST_MEASUREMENT", "MAXIMIZE", "3"),
            ("BEST_MEASUREMENT", "MAXIMIZE", "2"),
            ("BEST_MEASUREMENT", "MINIMIZE", "1"),
        ],
    )
    def test_the_last_or_the_best_counts(self, selection: str, goal: str, step: str) -> None:
        study = {"metrics": [{"metricId": "m", "goal": goal}], "measurementSelectionType": selection}

        final = measures.final(curve(1, 3, 2), study)

        assert final is not None
        assert final["stepCount"] == step

    def test_who_is_below_the_median_is_hopeless(self) -> None:
        study = {"metrics": [{"metricId": "m", "goal": "MAXIMIZE"}]}
        others = [curve(1, 2), curve(2, 3), curve(3, 4)]

        assert measures.is_hopeless(study, curve(0.5, 0.6), others)
        assert not measures.is_hopeless(study, curve(0.5, 9), others)
        assert not measures.is_hopeless(study, curve(0.5), others[:2])
