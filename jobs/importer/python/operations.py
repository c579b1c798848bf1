"""Evaluate operators on known values, and describe expressions in short.

Every function returns None if the result is not known. Nothing is run.
"""

import ast
from collections.abc import Callable
from operator import add, floordiv, mul, sub, truediv
from typing import Any

from jobs.importer.nodes import Node, is_unknown
from jobs.importer.python.calls import MAX_TEXT, format_percent

MAX_ITEMS = 10_000
MAX_NUMBER = 10**30
ARITHMETIC: dict[type, Callable[[Any, Any], Any]] = {
    ast.Mult: mul,
    ast.Add: add,
    ast.Sub: sub,
    ast.FloorDiv: floordiv,
    ast.Div: truediv,
}


def last_name(expression: ast.expr) -> str:
    """Return `c` for `a.b.c`, `a` for `a`, and "" for any other expression."""
    if isinstance(expression, ast.Attribute):
        return expression.attr
    return expression.id if isinstance(expression, ast.Name) else ""


def name_of(expression: ast.expr) -> str:
    """Return `a` and `a.b` as they are assigned; "" for any other expression."""
    if isinstance(expression, ast.Name):
        return expression.id
    return ast.unparse(expression) if isinstance(expression, ast.Attribute) else ""


def describe(expression: ast.AST) -> str:
    """Return a short text for an expression, without braces."""
    match expression:
        case ast.FormattedValue():
            return describe(expression.value)
        case ast.Name():
            return expression.id
        case ast.Attribute():
            return f"{describe(expression.value)}.{expression.attr}"[-60:]
        case ast.Call():
            return f"{describe(expression.func)}()"
        case ast.Subscript(slice=ast.Constant(value=value)):
            key = str(value)[:60].replace("{", "").replace("}", "")
            return f"{describe(expression.value)}.{key}"[-60:] if isinstance(value, int) else key
    return type(expression).__name__.lower()


def bind_target(target: ast.expr, item: Node) -> dict[str, Node | None] | None:
    """Return the names that are bound by assigning an item to a target."""
    if isinstance(target, ast.Name):
        return {target.id: item}
    if not isinstance(target, ast.Tuple | ast.List) or not isinstance(item.value, list):
        return None
    names = [inner.id for inner in target.elts if isinstance(inner, ast.Name)]
    return dict(zip(names, item.value, strict=True)) if len(names) == len(item.value) == len(target.elts) else None


def operate(operator: ast.operator, left: Node, right: Node, line: int) -> Node | None:
    """Return the result of `left + right`, `left % right` and the like."""
    first, second = left.value, right.value
    kinds = {type(first), type(second)}
    match operator:
        case ast.Mod() if isinstance(first, str):
            return Node(format_percent(first, right), line)
        case ast.Add() if kinds == {str}:
            return Node((first + second)[:MAX_TEXT], line)
        case ast.Add() if list in kinds and all(
            isinstance(each.value, list) or is_unknown(each) for each in (left, right)
        ):
            sides = (each.value if isinstance(each.value, list) else [each] for each in (left, right))
            return Node([item for side in sides for item in side][:MAX_ITEMS], line)
        case ast.BitOr() if kinds == {dict}:
            return Node(first | second, line)
    if type(operator) not in ARITHMETIC or not kinds <= {int, float} or max(abs(first), abs(second)) >= MAX_NUMBER:
        return None
    if isinstance(operator, ast.Div | ast.FloorDiv) and not second:
        return None
    number = ARITHMETIC[type(operator)](first, second)
    return Node(number, line, str(number))


def compare(operator: ast.cmpop, left: Node, right: Node) -> bool | None:
    """Return whether `left == right`, `left in right` or `left is None` holds."""
    parts = [left, *(right.value if isinstance(right.value, list) else [right])]
    if not all(part.is_scalar and not is_unknown(part) for part in parts):
        return None
    held: Any = [part.value for part in parts[1:]] if isinstance(right.value, list) else right.value
    match operator:
        case ast.Eq() | ast.NotEq() if right.is_scalar:
            holds = left.value == held
        case ast.Is() | ast.IsNot() if held is None:
            holds = left.value is None
        case ast.In() | ast.NotIn() if isinstance(held, list | str) and isinstance(left.value, str):
            holds = left.value in held
        case _:
            return None
    return holds is not isinstance(operator, ast.NotEq | ast.IsNot | ast.NotIn)


def is_open(node: Node | None) -> bool:
    """Return whether a value is unknown or None."""
    return node is None or node.value is None or is_unknown(node)


def grow(method: str, holder: Node, value: Node) -> None:
    """Apply append, extend or update to a list or a mapping."""
    if holder.is_scalar or len(holder.value) > MAX_ITEMS:
        return
    if isinstance(holder.value, list) and method == "append":
        holder.value.append(value)
    elif isinstance(holder.value, list) and isinstance(value.value, list):
        holder.value.extend(value.value)
    elif isinstance(holder.value, dict) and isinstance(value.value, dict):
        holder.value.update(value.value)
