"""Switches of the guards in a copy: each guard can be off while a test runs.

The modules of a copy call this where a guard is evaluated (`switched.py`). It imports nothing of the site.
"""

from typing import TypeVar

Value = TypeVar("Value")

active: int | None = None
"""Number of the guard that is off."""
reached = set[int]()
"""Numbers of the guards whose absence would have changed a value since this was last cleared."""


def is_off(number: int) -> bool:
    """Return whether this lock, write or term of a filter is off, and record that it was reached."""
    reached.add(number)
    return number == active


def value_of(number: int, value: Value, neutral: bool) -> Value | bool:
    """Return a condition's value, or `neutral` while it is off. It counts as reached if the two differ."""
    if bool(value) != neutral:
        reached.add(number)
    return neutral if number == active else value
