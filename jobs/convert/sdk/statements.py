"""The calls of a program that make jobs, and the order in which they are found."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from jobs.convert.sdk.makers import CREATES
from jobs.convert.texts.nodes import Node


@dataclass
class Made:
    """A call that makes a job, with the arguments of the call that runs it."""

    maker: str
    args: Node
    run: Node | None = None
    name: str = ""
    is_open: bool = False


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
