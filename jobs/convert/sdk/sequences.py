"""Lists and mappings of a program that are made of others: joined, or taken item by item.

Source: Python's manual, "Displays for lists, sets and dictionaries", read 2026-11-21.
"""

import ast
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from jobs.convert.sdk.conditions import truth
from jobs.convert.sdk.naming import call_name
from jobs.convert.texts.nodes import Node, node_of

if TYPE_CHECKING:
    from jobs.convert.sdk.values import Values

MOST_TURNS = 200
Comprehension = ast.ListComp | ast.GeneratorExp | ast.DictComp


def joined(left: Node, right: Node) -> list[Node] | None:
    """Return the items of `left + right`; a side that is not known stays as one hole between the others."""
    if not isinstance(left.value, list) and not isinstance(right.value, list):
        return None
    found: list[Node] = []
    for side in (left, right):
        if isinstance(side.value, list):
            found += side.value
        elif isinstance(side.value, str) and "${" in side.value:
            found.append(side)
        else:
            return None
    return found


def comprehended(scope: "Values", expression: Comprehension, depth: int) -> Node | None:
    """Return what `[... for name in items if ...]` gives; None where the items or a condition are not known."""
    loop = expression.generators[0]
    items = _items(scope, loop.iter, depth)
    if len(expression.generators) != 1 or not items or len(items) > MOST_TURNS:
        return None
    listed: list[Node] = []
    mapped: dict[str, Node] = {}
    for item in items:
        names = _bound(loop.target, item)
        scope.turns -= 1
        if names is None or scope.turns < 0:
            return None
        with _with(scope, names):
            answers = [truth(scope, test) for test in loop.ifs]
            if None in answers:
                return None
            if not all(answers):
                continue
            if isinstance(expression, ast.DictComp):
                mapped[scope.of(expression.key, depth).text()] = scope.of(expression.value, depth)
            else:
                listed.append(scope.of(expression.elt, depth))
    return Node(mapped if isinstance(expression, ast.DictComp) else listed, expression.lineno)


def _items(scope: "Values", expression: ast.expr, depth: int) -> list[Node] | None:
    """Return what a loop goes through: a list, the names of a mapping, its items or values."""
    part = ""
    if isinstance(expression, ast.Call) and not expression.args and isinstance(expression.func, ast.Attribute):
        part, expression = call_name(expression), expression.func.value
        if part not in ("items", "keys", "values"):
            return None
    node = scope.of(expression, depth)
    if isinstance(node.value, list) and not part:
        return list(node.value)
    if not isinstance(node.value, dict):
        return None
    names = [Node(name, item.line) for name, item in node.value.items()]
    if part in ("", "keys"):
        return names
    held = list(node.value.values())
    return held if part == "values" else [node_of([*pair], node.line) for pair in zip(names, held, strict=True)]


def _bound(target: ast.expr, item: Node) -> dict[str, Node] | None:
    """Return the names that one turn binds."""
    if isinstance(target, ast.Name):
        return {target.id: item}
    if not isinstance(target, ast.Tuple) or not isinstance(item.value, list) or len(item.value) != len(target.elts):
        return None
    names = [inner.id for inner in target.elts if isinstance(inner, ast.Name)]
    return dict(zip(names, item.value, strict=True)) if len(names) == len(target.elts) else None


@contextmanager
def _with(scope: "Values", names: dict[str, Node]) -> Iterator[None]:
    before = {name: scope.names[name] for name in names if name in scope.names}
    scope.names.update(names)
    try:
        yield
    finally:
        for name in names:
            scope.names.pop(name, None)
        scope.names.update(before)
