"""Programs as trees: parsing, also the cells of notebooks, and the calls found in them."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from jobs.convert.texts.nodes import Node

MAGIC = re.compile(r"^([ \t]*)(?=[!%])", re.MULTILINE)


@dataclass
class Made:
    """A call that makes a job, with the arguments of the call that runs it."""

    maker: str
    args: Node
    run: Node | None = None
    name: str = ""


def parsed(text: str) -> ast.Module:
    """Parse a program; lines of a notebook's own commands are passed over where it is none with them."""
    try:
        return ast.parse(text)
    except SyntaxError:
        return ast.parse(MAGIC.sub(r"\1#", text))


def uses(outer: Made, inner: Made) -> bool:
    """Tell whether a tuning job runs a custom job."""
    if outer is inner or outer.maker != "HyperparameterTuningJob":
        return False
    custom = outer.args.get("custom_job")
    return custom is not None and (custom.value is inner.args.value or custom.line == inner.args.line)


def in_order(expression: ast.expr) -> Iterator[ast.Call]:
    """Yield the calls of an expression, inner ones first."""
    found = [node for node in ast.walk(expression) if isinstance(node, ast.Call)]
    return reversed(found)
