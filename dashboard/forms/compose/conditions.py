"""Conditional parameters: a tree in the body, rows in the form. Each row names its parent and the condition."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from django.core.exceptions import ValidationError

from dashboard.forms.compose.layout import PARAMETERS
from dashboard.forms.fields.numbers import parse_number

CHILDREN = "conditionalParameterSpecs"
CONDITIONS = {"integerValueSpec": "parentIntValues", "categoricalValueSpec": "parentCategoricalValues"}
"""From the value spec of a parent to the condition for it."""
NUMBERS = "parentDiscreteValues"
"""The condition for every other parent: a discrete one, or one that a rule has to refuse."""


@dataclass(frozen=True, slots=True)
class Row:
    """A ParameterSpec without the children that have rows of their own.

    `parent` is the id of a parameter above it, "" if the parameter is unconditional. `values` are the values of the
    parent for which it is used, as text.
    """

    body: Mapping[str, Any]
    parent: str = ""
    values: tuple[str, ...] = ()


class Tree(NamedTuple):
    """The tree made of rows, and the path of each row in the form's body."""

    parameters: list[dict[str, Any]]
    paths: list[str]


def rows_of(body: Mapping[str, Any], parent: str = "", values: tuple[str, ...] = ()) -> Iterator[Row]:
    """Yield the row of a parameter, which is used for `values` of its parent, and then the rows of its children."""
    yield Row({name: value for name, value in body.items() if name != CHILDREN}, parent, values)
    for child in body.get(CHILDREN, []):
        given = [child[name].get("values", []) for name in (*CONDITIONS.values(), NUMBERS) if name in child]
        texts = tuple(str(value) for value in given[0]) if given else ()
        yield from rows_of(child.get("parameterSpec", {}), str(body.get("parameterId", "")), texts)


def tree_of(rows: Sequence[Row]) -> Tree:
    """Return the tree. A row is below the nearest row above it that has the id of its parent, else at the top level."""
    tree = Tree([], [])
    nearest: dict[object, tuple[dict[str, Any], str]] = {}
    for row in rows:
        body = dict(row.body)
        if row.parent and row.parent in nearest:
            parent, path = nearest[row.parent]
            children = parent[CHILDREN] = [*parent.get(CHILDREN, [])]
            tree.paths.append(f"{path}.{CHILDREN}[{len(children)}].parameterSpec")
            children.append(_condition(parent, row.values) | {"parameterSpec": body})
        else:
            tree.paths.append(f"{PARAMETERS}[{len(tree.parameters)}]")
            tree.parameters.append(body)
        nearest[body.get("parameterId")] = body, tree.paths[-1]
    return tree


def _condition(parent: Mapping[str, Any], values: Sequence[str]) -> dict[str, Any]:
    for spec, condition in CONDITIONS.items():
        if spec in parent:
            return {condition: {"values": list(values)} if values else {}}
    return {NUMBERS: {"values": [_number(value) for value in values]} if values else {}}


def _number(text: str) -> int | float | str:
    """Return the number. Return text that is not a number unchanged, because the spec has its own message for it."""
    try:
        return parse_number(text)
    except ValidationError:
        return text
