"""Lists: filters over resources, pages, opaque tokens that belong to one request.

Filterable, as the list methods of v1 document it: displayName (= != : with `*`), state (= !=), createTime (= != < <=
> >=), labels.KEY (= != and :* for existence), trainingTaskDefinition for pipelines. Both spellings of a name.
"""

import base64
import binascii
import fnmatch
import hashlib
import json
from collections.abc import Callable, Iterator
from typing import TypeVar

from emulator.protocol import filters, schema, timestamps
from emulator.protocol.errors import invalid
from emulator.protocol.filters import Comparison
from emulator.state.records import Record

R = TypeVar("R", bound=Record)
Test = Callable[[Record], bool]
MAX_PAGE = 100
TIME_TESTS: dict[str, Callable[[str, str], bool]] = {
    "=": lambda mine, theirs: mine == theirs,
    "!=": lambda mine, theirs: mine != theirs,
    "<": lambda mine, theirs: mine < theirs,
    "<=": lambda mine, theirs: mine <= theirs,
    ">": lambda mine, theirs: mine > theirs,
    ">=": lambda mine, theirs: mine >= theirs,
}


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
    if one.operator not in TIME_TESTS:
        raise _refused(one, f"{one.field} does not support this operator")
    try:
        moment = timestamps.stamp(timestamps.moment(one.value))
    except ValueError:
        raise _refused(one, "not an RFC 3339 time") from None
    compare = TIME_TESTS[one.operator]
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


def _digest(bound: tuple[str, ...]) -> str:
    return hashlib.sha256("\0".join(bound).encode()).hexdigest()[:16]


def token(position: list[object], *bound: str) -> str:
    """Return an opaque token for a place in a list; `bound`: the request's other parameters."""
    return base64.urlsafe_b64encode(json.dumps([_digest(bound), *position]).encode()).decode().rstrip("=")


def position(text: str, *bound: str) -> list[object] | None:
    """Read a token back; None if empty, ApiError 400 if it is none or belongs to another request."""
    if not text:
        return None
    try:
        digest, *found = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    except (ValueError, binascii.Error, TypeError):
        raise invalid("The page token is not valid.") from None
    if digest != _digest(bound):
        raise invalid("The page token belongs to a request with other parameters.")
    return list(found)


def page_size(text: str, *, usual: int = MAX_PAGE, most: int = MAX_PAGE) -> int:
    """Read a page size: nothing or 0 = usual, more than most = most; ApiError 400 for nonsense."""
    try:
        size = int(text or 0)
    except ValueError:
        raise invalid(f"Invalid value at 'page_size' (TYPE_INT32), \"{text}\"") from None
    if size < 0:
        raise invalid("The page size must not be negative.")
    return min(size or usual, most)


def page(records: Iterator[R], test: Test, size: int) -> tuple[list[R], bool]:
    """Return up to `size` records that pass, and whether more follow."""
    found: list[R] = []
    for record in records:
        if test(record):
            if len(found) == size:
                return found, True
            found.append(record)
    return found, False
