"""Filters of lists of resources.

Filterable, as the list methods of v1 document: displayName (= != : with `*`), state (= !=), createTime (= != < <= >
>=), labels.KEY (= != and :* for existence), trainingTaskDefinition for pipelines. Names may have either spelling.
"""

import fnmatch
from collections.abc import Callable

from emulator.protocol import filters, schema, timestamps
from emulator.protocol.errors import invalid
from emulator.protocol.filters import ORDER_TESTS, Comparison
from emulator.state.records import Record

Test = Callable[[Record], bool]


def _error(comparison: Comparison, why: str) -> Exception:
    shown = f'{comparison.field}{comparison.operator}"{comparison.value}"'
    return invalid(f"Invalid filter: {why}: {shown}")


def _label(key: str, one: Comparison) -> Test:
    def get(record: Record) -> str | None:
        value: str | None = record.document.get("labels", {}).get(key)
        return value

    match one.operator:
        case ":" if one.value == "*":
            return lambda record: get(record) is not None
        case "=" | ":":
            return lambda record: get(record) == one.value
        case "!=":
            return lambda record: get(record) != one.value
    raise _error(one, "labels can be compared with = and != or tested with :*")


def _text(name: str, one: Comparison) -> Test:
    match one.operator:
        case "=":
            return lambda record: record.document.get(name, "") == one.value
        case "!=":
            return lambda record: record.document.get(name, "") != one.value
        case ":":
            pattern = one.value.replace("[", "[[]").replace("?", "[?]")
            return lambda record: fnmatch.fnmatchcase(record.document.get(name, ""), pattern)
    raise _error(one, f"{one.field} does not support this operator")


def _state(enum: str, one: Comparison) -> Test:
    if one.operator not in ("=", "!="):
        raise _error(one, f"{one.field} does not support this operator")
    if one.value not in schema.ENUMS[enum]:
        raise _error(one, f"unknown {enum}")
    return _text("state", one)


def _time(name: str, one: Comparison) -> Test:
    if one.operator not in ORDER_TESTS:
        raise _error(one, f"{one.field} does not support this operator")
    try:
        moment = timestamps.format_time(timestamps.parse_time(one.value))
    except ValueError:
        raise _error(one, "not an RFC 3339 time") from None
    compare = ORDER_TESTS[one.operator]
    return lambda record: compare(record.document[name], moment)


def compile_filter(kind: type[Record], text: str) -> Test:
    """Compile a list filter for a kind of resource. An empty one matches everything.

    Raise ApiError 400 if it is invalid.
    """
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
        raise _error(one, f"unsupported field '{one.field}'" if one.field else "expected FIELD OPERATOR VALUE")

    return filters.compile_tree(tree, test)


def required_label(text: str) -> tuple[str, str] | None:
    """Return a (key, value) label that a filter requires of every record, None if it requires none."""

    def find(tree: filters.Tree | None) -> tuple[str, str] | None:
        match tree:
            case Comparison(field, "=", value) if field.startswith("labels.") and '"' not in field:
                return field.removeprefix("labels."), value
            case filters.Both(parts):
                return next((label for part in parts if (label := find(part))), None)
        return None

    return find(filters.parse(text))
