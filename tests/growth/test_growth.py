"""Tests of the search for inputs that grow: with a count in place of a clock, so that they never depend on time."""

from random import Random

from tests.growth.inputs import Recipe, growth_of, worst_growth
from tests.growth.patterns import subjects

LENGTHS = (500, 1_000, 2_000)


def pairs(text: str) -> float:
    """Return a cost that is quadratic in the dots of a text that ends without a colon, else linear."""
    dots = text.count(".")
    return len(text) + (dots * dots if not text.endswith(":") else 0)


def test_the_fastest_growth_is_found() -> None:
    found = worst_growth(pairs, ["a", ":", "x.", "-"], Random(1), 200, LENGTHS)

    assert "." in found.recipe.unit + found.recipe.second
    assert found.ratio > 3.5


def test_linear_cost_doubles() -> None:
    found = worst_growth(len, ["a", "b"], Random(1), 50, LENGTHS)

    assert 1.5 < found.ratio < 2.5


def test_one_disturbed_measurement_does_not_count() -> None:
    costs = iter([1.0, 2.0, 20.0, 8.0])

    assert growth_of(lambda _: next(costs), Recipe("", "a"), (1, 2, 4, 8)).ratio < 1


def test_a_recipe_has_the_length_asked_for() -> None:
    assert len(Recipe("<", "ab", "=", "c", ">").text(1_000)) == 1_003
    assert len(Recipe("", "ab").text(1_000)) == 1_000


def test_every_kind_of_place_is_found() -> None:
    found = {subject.name: subject for subject in subjects()}

    assert found["jobs/spec/secret_texts.py LOGIN"].method == "finditer"
    assert found["jobs/catalog/compute.py NAME"].method == "fullmatch"
    assert found["jobs/strategies/rules/identity.py EMAIL.pattern"].method == "fullmatch"
    assert found["jobs/importer/detect.py FIRST_LINES[0][1]"].method == "fullmatch"
    assert found["jobs/importer/detect.py LANGUAGES[0][1]"].method == "finditer"
    assert any(name.startswith("jobs/spec/programs.py line") for name in found)
    assert any("[0]" in name for name in found)
    assert len(found) > 200
