"""How many examples a property is tried with: the profile decides (`tests/conftest.py`); slow ones take a share."""

from hypothesis import settings

FEW = 25
"""Of a run of all tests, the same in every run."""
MANY = 1_000
"""Of `make search`, new in every run."""


def examples(one_in: int, *, least: int = 5) -> int:
    """Return the number of examples for a property of which each example is slow."""
    return max(least, settings.default.max_examples // one_in)
