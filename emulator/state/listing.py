"""Lists: filters over resources, and the records of a page.

Filterable, as the list methods of v1 document it: displayName (= != : with `*`), state (= !=), createTime (= != < <=
> >=), labels.KEY (= != and :* for existence), trainingTaskDefinition for pipelines. Both spellings of a name.
"""

import fnmatch
from collections.abc import Callable, Iterator
from typing import TypeVar

from emulator.protocol import filters, schema, timestamps
from emulator.protocol.errors import invalid
from emulator.protocol.filters import ORDER_TESTS, Comparison
from emulator.state.records import Record

R = TypeVar("R", bound=Record)
Test = Callable[[Record], bool]


def _refused(comparison: Comparison, why: str) -> Exception:
    shown = f'{comparison.field}{comparison.operator}"{comparison.value}"'
    return invalid(f"Invalid filter: {why}: {shown}")


def _label(key: str, one: Comparison) -> Test:
    def of(record: Record) -> str | None:
        value: str | None = record.document.get("labels", {}).get(key)
        return value

    match one.operator:
        case ":" if one.value == "*":
            return lambda record: of(record) is not None
        case "=" | ":":
            return lambda record: of(record) == one.value
        case "!=":
            return lambda record: of(record) != one.value
    raise _refused(one, "labels can be compared with = and != or tested with :*")


def _text(name: str, one: Comparison) -> Test:
    match one.operator:
        case "=":
            return lambda record: record.document.get(name, "") == one.value
        case "!=":
            return lambda record: record.document.get(name, "") != one.value
        case ":":
            pattern = one.value.replace("[", "[[]").replace("?", "[?]")
            return lambda record: fnmatch.fnmatchcase(record.document.get(name, ""), pattern)
    raise _refused(one, f"{one.field} does not support this operator")


def _state(enum: str, one: Comparison) -> Test:
    if one.operator not in ("=", "!="):
        raise _refused(one, f"{one.field} does not support this operator")
    if one.value not in schema.ENUMS[enum]:
        raise _refused(one, f"unknown {enum}")
    return _text("state", one)


def _time(name: str, one: Comparison) -> Test:
    if one.operator not in ORDER_TESTS:
        raise _refused(one, f"{one.field} does not support this operator")
    try:
        moment = timestamps.stamp(timestamps.moment(one.value))
    except ValueError:
        raise _refused(one, "not an RFC 3339 time") from None
    compare = ORDER_TESTS[one.operator]
    return lambda record: compare(record.document[name], moment)


def test_of(kind: type[Record], text: str) -> Test:
    """Compile a list filter for a kind of resource; ApiError 400 if it is wrong. Empty = everything."""
    tree = filters.parse(text)
    if tree is None:
        return lambda record: True  # noqa: ARG005
    known = schema.fields(kind.message)

    def test(one: Comparison) -> Test:
        head, _, key = one.field.partition(".")
        name = schema.camel(head)
        if name == "labels" and key:
            return _label(filters.unquoted(key) if key.startswith('"') else key, one)
        if name == "displayName" or (name == "trainingTaskDefinition" and name in known):
            return _text(name, one)
        if name == "state" and not key:
            return _state(known["state"].of, one)
        if name == "createTime" and not key:
            return _time(name, one)
        raise _refused(one, f"unsupported field '{one.field}'" if one.field else "expected FIELD OPERATOR VALUE")

    return filters.compiled(tree, test)


def label_of(text: str) -> tuple[str, str] | None:
    """Return a (key, value) label that everything a filter finds must have; None if it asks for none."""

    def required(tree: filters.Tree | None) -> tuple[str, str] | None:
        match tree:
            case Comparison(field, "=", value) if field.startswith("labels.") and '"' not in field:
                return field.removeprefix("labels."), value
            case filters.Both(parts):
                return next((found for part in parts if (found := required(part))), None)
        return None

    return required(filters.parse(text))


def page(records: Iterator[R], test: Test, size: int) -> tuple[list[R], bool]:
    """Return up to `size` records that pass, and whether more follow."""
    found: list[R] = []
    for record in records:
        if test(record):
            if len(found) == size:
                return found, True
            found.append(record)
    return found, False
