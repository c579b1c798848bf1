"""The calls of a program that make jobs, and the order in which they are found."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

from jobs.convert.sdk.makers import CREATES
from jobs.convert.texts.nodes import Node, folded

RESOURCES = ("_gca_resource", "gca_resource")
"""Where the SDK's classes keep the request that they send."""


@dataclass
class Made:
    """A call that makes a job, with the arguments of the call that runs it.

    `function` is the function that makes it and was not called yet; `edits` are the fields that are set in the request.
    """

    maker: str
    args: Node
    run: Node | None = None
    name: str = ""
    is_open: bool = False
    function: str = ""
    edits: list[tuple[list[str | int], Node]] = field(default_factory=list)


def uses(outer: Made, inner: Made) -> bool:
    """Tell whether a tuning job runs a custom job, or a client's call sends a message."""
    if outer is inner:
        return False
    if outer.maker in CREATES:
        sent = (outer.args.get("request") or outer.args).get(CREATES[outer.maker][0])
        return sent is not None and sent.value is inner.args.value
    if outer.maker != "HyperparameterTuningJob":
        return False
    custom = outer.args.get("custom_job")
    return custom is not None and (custom.value is inner.args.value or custom.line == inner.args.line)


def in_order(expression: ast.expr) -> Iterator[ast.Call]:
    """Yield the calls of an expression, inner ones first."""
    found = [node for node in ast.walk(expression) if isinstance(node, ast.Call)]
    return reversed(found)


def put(holder: Node, path: list[str | int], node: Node) -> bool:
    """Set what lies at a path of names and places below a node; False where there is no such place."""
    for step, follows in zip(path, [*path[1:], None], strict=True):
        held = holder.value
        if isinstance(held, list) and isinstance(step, int) and step < len(held):
            if follows is None:
                held[step] = node
            holder = held[step]
        elif isinstance(held, dict) and isinstance(step, str):
            name = next((name for name in held if folded(name) == folded(step)), step)
            if follows is None:
                held[name] = node
            holder = held.setdefault(name, Node({}, node.line))
        else:
            return False
    return True


def is_open(node: Node | None) -> bool:
    """Tell whether a value is not known, or None."""
    return node is None or node.value is None or (isinstance(node.value, str) and "${" in node.value)


def is_dict(value: ast.expr) -> bool:
    """Tell whether an expression is a call of dict."""
    return isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == "dict"
