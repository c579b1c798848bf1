"""Search for the input on which a function's cost grows fastest when the input doubles.

The search changes recipes: a start, one or two units that are repeated, what is between them and an end. The cost is
given by the caller, so that a test can count and needs no clock.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from random import Random

Cost = Callable[[str], float]
"""Returns what a function costs with a text, in any unit."""
SHORT = 600
"""Characters of the texts with which recipes are compared."""
MAX_PART = 60
"""Characters of a part of a recipe."""
KEPT = 6
"""Recipes whose growth is measured."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """How to make a text of any length."""

    start: str
    unit: str
    middle: str = ""
    second: str = ""
    end: str = ""

    def text(self, length: int) -> str:
        """Return a text of about `length` characters."""
        share = length // 2 if self.second else length
        first = self.unit * max(share // len(self.unit), 1)
        second = self.second * max(share // len(self.second), 1) if self.second else ""
        return self.start + first + self.middle + second + self.end


@dataclass(frozen=True, slots=True)
class Growth:
    """The cost of a recipe at lengths that double."""

    recipe: Recipe
    costs: tuple[float, ...]

    @property
    def ratio(self) -> float:
        """By how much the cost multiplies when the length doubles: 2 is linear, 4 quadratic.

        It is the smaller of the last two ratios, so that one disturbed measurement does not count.
        """
        ratios = [after / before for before, after in zip(self.costs, self.costs[1:], strict=False) if before > 0]
        return min(ratios[-2:], default=1.0)


def worst_growth(cost: Cost, words: Sequence[str], random: Random, tries: int, lengths: Sequence[int]) -> Growth:
    """Return the fastest growth among the costliest recipes that `tries` changes find."""
    costly = [(cost(recipe.text(SHORT)), index, recipe) for index, recipe in enumerate(Recipe("", w) for w in words)]
    for index in range(len(costly), len(costly) + tries):
        recipe = _changed(random.choice(costly)[2], words, random)
        costly.append((cost(recipe.text(SHORT)), index, recipe))
        if len(costly) > KEPT * 8:
            costly = sorted(costly, reverse=True)[: KEPT * 4]
    kept = _different(recipe for _, _, recipe in sorted(costly, reverse=True))
    return max((growth_of(cost, recipe, lengths) for recipe in kept), key=lambda growth: growth.ratio)


def growth_of(cost: Cost, recipe: Recipe, lengths: Sequence[int]) -> Growth:
    """Return the costs of a recipe at lengths that double."""
    return Growth(recipe, tuple(cost(recipe.text(length)) for length in lengths))


def _different(recipes: Iterable[Recipe]) -> list[Recipe]:
    kept: dict[tuple[str, str], Recipe] = {}
    for recipe in recipes:
        kept.setdefault((recipe.unit, recipe.second), recipe)
        if len(kept) == KEPT:
            break
    return list(kept.values())


def _changed(recipe: Recipe, words: Sequence[str], random: Random) -> Recipe:
    part = random.choice(("start", "unit", "unit", "middle", "second", "end", "less"))
    if part == "less":
        return replace(recipe, second="", middle="") if recipe.second else replace(recipe, start="", end="")
    word, before = random.choice(words), getattr(recipe, part)
    return replace(recipe, **{part: random.choice((word, before + word, word + before))[:MAX_PART]})
