"""Conditions of a program, as far as they are known without running it."""

import ast
from typing import TYPE_CHECKING

from jobs.convert.texts.nodes import Node

if TYPE_CHECKING:
    from jobs.convert.sdk.values import Values


def truth(values: "Values", test: ast.expr) -> bool | None:
    """Tell whether a condition holds: `==`, `!=`, `in`, `is None`, a known value, with `not`, `and`, `or`; or None.

    An empty text, list or mapping is not known: programs leave them empty for people and loops to fill.
    """
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        inner = truth(values, test.operand)
        return None if inner is None else not inner
    if isinstance(test, ast.BoolOp):
        answers = [truth(values, part) for part in test.values]
        decides = isinstance(test.op, ast.Or)
        return decides if decides in answers else None if None in answers else not decides
    if isinstance(test, ast.Compare):
        return _compared(values, test) if len(test.ops) == 1 else None
    return _holds(values.of(test)) if isinstance(test, ast.Name | ast.Constant | ast.Attribute) else None


def _compared(values: "Values", test: ast.Compare) -> bool | None:
    left, right = values.of(test.left), values.of(test.comparators[0])
    if not _is_known(left) or not _is_known(right):
        return None
    sign = test.ops[0]
    if isinstance(sign, ast.Is | ast.IsNot):
        if right.value is not None:
            return None
        return (left.value is None) is isinstance(sign, ast.Is)
    if isinstance(sign, ast.In | ast.NotIn):
        if not isinstance(right.value, list | str) or not isinstance(left.value, str):
            return None
        held = right.value if isinstance(right.value, str) else [item.value for item in right.value]
        return (left.value in held) is isinstance(sign, ast.In)
    if isinstance(sign, ast.Eq | ast.NotEq) and left.is_scalar and right.is_scalar:
        return bool(left.value == right.value) is isinstance(sign, ast.Eq)
    return None


def _holds(node: Node) -> bool | None:
    if isinstance(node.value, str | list | dict):
        return True if node.value and not (isinstance(node.value, str) and "${" in node.value) else None
    return bool(node.value)


def _is_known(node: Node) -> bool:
    parts = node.value if isinstance(node.value, list) else [node]
    return all(part.is_scalar and not (isinstance(part.value, str) and "${" in part.value) for part in parts)
