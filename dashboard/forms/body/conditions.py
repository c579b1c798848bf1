"""Conditional parameters: a tree in the body; in the form rows, of which each names its parent and when it counts."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from django.core.exceptions import ValidationError

from dashboard.forms.fields.numbers import read_number

CHILDREN = "conditionalParameterSpecs"
CONDITIONS = {"integerValueSpec": "parentIntValues", "categoricalValueSpec": "parentCategoricalValues"}
"""From the range of a parent to the condition that goes with it."""
NUMBERS = "parentDiscreteValues"
"""The condition of every other parent: of one of some numbers, and where a rule has to say that it does not go."""
CONDITION = "condition"
"""What stands for a row's condition in a path: `studySpec.parameters[2].condition`."""
LIST = "studySpec.parameters"


@dataclass(frozen=True, slots=True)
class Row:
    """A ParameterSpec without the children that have rows of their own.

    `parent` is the id of a parameter above it, "" where the parameter always counts; `values` are the parent's values
    for which it does, as text.
    """

    body: Mapping[str, Any]
    parent: str = ""
    values: tuple[str, ...] = ()


class Grown(NamedTuple):
    """The tree of some rows, and for each row its path in the body."""

    parameters: list[dict[str, Any]]
    paths: list[str]

    def place(self, path: str) -> str:
        """Return a path in the tree as a path in the rows: `studySpec.parameters[NUMBER OF THE ROW].REST`."""
        there = {own: f"{LIST}[{at}]" for at, own in enumerate(self.paths)}
        there |= {
            own.removesuffix(".parameterSpec"): f"{LIST}[{at}].{CONDITION}"
            for at, own in enumerate(self.paths)
            if own.endswith(".parameterSpec")
        }
        above = [own for own in there if path == own or path.startswith((f"{own}.", f"{own}["))]
        longest = max(above, key=len, default="")
        return there[longest] + path[len(longest) :] if longest else path


def rows_of(body: Mapping[str, Any], parent: str = "", values: tuple[str, ...] = ()) -> Iterator[Row]:
    """Yield the row of a parameter, which counts for `values` of its parent, and then those of its children."""
    yield Row({name: value for name, value in body.items() if name != CHILDREN}, parent, values)
    for child in body.get(CHILDREN, []):
        given = [child[name].get("values", []) for name in (*CONDITIONS.values(), NUMBERS) if name in child]
        texts = tuple(str(value) for value in given[0]) if given else ()
        yield from rows_of(child.get("parameterSpec", {}), str(body.get("parameterId", "")), texts)


def grown(rows: Sequence[Row]) -> Grown:
    """Return the tree: each row below the nearest one above it that has the id of its parent, or else on its own."""
    found = Grown([], [])
    nearest: dict[object, tuple[dict[str, Any], str]] = {}
    for row in rows:
        body = dict(row.body)
        if row.parent and row.parent in nearest:
            parent, path = nearest[row.parent]
            children = parent[CHILDREN] = [*parent.get(CHILDREN, [])]
            found.paths.append(f"{path}.{CHILDREN}[{len(children)}].parameterSpec")
            children.append(_condition(parent, row.values) | {"parameterSpec": body})
        else:
            found.paths.append(f"{LIST}[{len(found.parameters)}]")
            found.parameters.append(body)
        nearest[body.get("parameterId")] = body, found.paths[-1]
    return found


def _condition(parent: Mapping[str, Any], values: Sequence[str]) -> dict[str, Any]:
    for spec, condition in CONDITIONS.items():
        if spec in parent:
            return {condition: {"values": list(values)} if values else {}}
    return {NUMBERS: {"values": [_number(value) for value in values]} if values else {}}


def _number(text: str) -> int | float | str:
    """Return the number, or the text that is none, for which the spec has its own words."""
    try:
        return read_number(text)
    except ValidationError:
        return text
