"""Conditions of a program, as far as they are known without running it."""

import ast

from jobs.convert.sdk.values import Values
from jobs.convert.texts.nodes import Node


def truth(values: Values, test: ast.expr) -> bool | None:
    """Tell whether a condition holds: `==`, `!=` and `in` of known values, and their `not`; None when unknown."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        inner = truth(values, test.operand)
        return None if inner is None else not inner
    if not isinstance(test, ast.Compare) or len(test.ops) != 1:
        return None
    left, right = values.of(test.left), values.of(test.comparators[0])
    if not _is_known(left) or not _is_known(right):
        return None
    if isinstance(test.ops[0], ast.In | ast.NotIn):
        if not isinstance(right.value, list | str) or not isinstance(left.value, str):
            return None
        held = right.value if isinstance(right.value, str) else [item.value for item in right.value]
        return (left.value in held) is isinstance(test.ops[0], ast.In)
    if isinstance(test.ops[0], ast.Eq | ast.NotEq) and left.is_scalar and right.is_scalar:
        return bool(left.value == right.value) is isinstance(test.ops[0], ast.Eq)
    return None


def _is_known(node: Node) -> bool:
    parts = node.value if isinstance(node.value, list) else [node]
    return all(part.is_scalar and not (isinstance(part.value, str) and "${" in part.value) for part in parts)
