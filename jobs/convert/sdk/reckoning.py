"""Sums and products of known numbers."""

import ast
from typing import Any

LARGEST = 10**30


def reckon(sign: ast.operator, first: Any, second: Any) -> int | float | None:
    """Return the number that two numbers give; None for anything else, and for what grows too large."""
    for value in (first, second):
        if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < LARGEST:
            return None
    if isinstance(sign, ast.Mult):
        return first * second  # type: ignore[no-any-return]
    if isinstance(sign, ast.Add):
        return first + second  # type: ignore[no-any-return]
    if isinstance(sign, ast.Sub):
        return first - second  # type: ignore[no-any-return]
    if isinstance(sign, ast.FloorDiv | ast.Div) and second:
        return first // second if isinstance(sign, ast.FloorDiv) else first / second  # type: ignore[no-any-return]
    return None
