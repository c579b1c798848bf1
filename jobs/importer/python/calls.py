"""Evaluate calls of Python and of Google's libraries that only hold or change values. Nothing is run.

Unknown values that a text needs become placeholders. Source: Python's manual, "Built-in Functions", "Format String
Syntax" and "printf-style String Formatting"; google-cloud-aiplatform 2.7.0, read 2026-11-21.
"""

import itertools
import re
import string
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from jobs.importer.nodes import Node, is_unknown, node_of
from jobs.spec import KINDS
from jobs.spec.shape import message_names

MESSAGES = message_names(KINDS.values()) | {"TuningTaskInputs", "Duration"}
PASSING = frozenset(
    """ParseDict loads str Path list tuple Struct Value deepcopy copy from_json dumps serialize_parameters
    serialize_metrics Strategy AcceleratorType""".split()
)
"""Calls that return their first argument."""
CASTING = re.compile(r"to_.*(?:value|struct|proto)", re.IGNORECASE)
MAX_TEXT = 200_000
METHODS = frozenset("lower upper strip lstrip rstrip replace removeprefix removesuffix split".split())
"""String methods whose result is known without running anything."""
PERCENT = re.compile(r"%(?:\((\w+)\))?[-+ #0]*\d*(?:\.\d+)?([a-zA-Z%])")
LOOKUPS, ITEMS = ("get", "getenv"), ("keys", "values", "items")
SECONDS = {"days": 86400, "hours": 3600, "minutes": 60, "seconds": 1, "weeks": 604800}
NAMED = MESSAGES | PASSING | METHODS | {*LOOKUPS, *ITEMS, "timedelta", "dict", "format", "join"}


def is_value(name: str) -> bool:
    """Return whether `value_of_call` handles a call with this last name, such as `WorkerPoolSpec`."""
    return name in NAMED or name.endswith(("ParameterSpec", "Request")) or CASTING.match(name) is not None


def uses_named_arguments(name: str, owner: Node | None) -> bool:
    """Return whether the value of such a call depends on its keyword arguments."""
    is_open_text = name == "format" and (owner is None or is_unknown(owner))
    return not is_open_text and name not in PASSING | METHODS | {*LOOKUPS, *ITEMS, "join"}


def value_of_call(
    name: str, owner: Node | None, given: Sequence[Node], named: Mapping[str, Node], line: int
) -> Node | None:
    """Return the value of `owner.name(*given, **named)` or `name(*given, **named)`; None if it is not known.

    `os.path.join` has the name `path.join`.
    """
    first = given[0] if given else None
    if name in LOOKUPS and first is not None:
        return _looked_up(owner, first, given[1:], line)
    if name.endswith("ParameterSpec") and name not in MESSAGES:
        return Node({**named, "__kind__": Node(name, line)}, line)
    if name == "timedelta":
        parts = {unit: node.value for unit, node in named.items()}
        if not set(parts) <= set(SECONDS) or not all(isinstance(part, int | float) for part in parts.values()):
            return None
        return Node(sum(SECONDS[unit] * part for unit, part in parts.items()), line)
    if name == "dict":
        return Node({**(first.entries if first is not None else {}), **named}, line)
    if first is None and (name in MESSAGES or name.endswith("Request")):
        return Node(dict(named), line)
    if name in MESSAGES or name in PASSING or CASTING.match(name):
        return Node(first.text(), first.line) if first is not None and name == "str" and first.is_scalar else first
    return _of_owner(name, owner, given, named, line) if owner is not None else None


def _looked_up(owner: Node | None, key: Node, default: Sequence[Node], line: int) -> Node | None:
    """Return the value of {...}.get("X", default), os.getenv and the like: the entry, the default, or `${X}`."""
    if owner is not None and (held := owner.entries.get(key.text())) is not None:
        return held
    if default and default[0].value not in (None, ""):
        return default[0]
    return Node(f"${{{key.value}}}", line) if isinstance(key.value, str) else None


def _of_owner(name: str, owner: Node, given: Sequence[Node], named: Mapping[str, Node], line: int) -> Node | None:
    """Return the value of a method of a mapping or string."""
    if name in ITEMS and not given and isinstance(owner.value, dict):
        values = list(owner.value.values())
        pairs = [[name, value] for name, value in zip(keys_of(owner), values, strict=True)]
        return node_of({"keys": keys_of(owner), "values": values, "items": pairs}[name], line)
    if name in METHODS:
        return apply_method(owner, name, [node.value for node in given])
    text: str | None = None
    if name == "path.join":
        text = join("/", given, is_path=True)
    elif name == "join" and isinstance(owner.value, str) and len(given) == 1 and isinstance(given[0].value, list):
        text = join(owner.value, given[0].value)
    elif name == "format" and isinstance(owner.value, str) and not is_unknown(owner):
        text = format_fields(owner.value, given, named)
    return None if text is None else Node(text, line)


def keys_of(node: Node) -> list[Node]:
    """Return the names of a mapping, each with its line; empty for any other value."""
    return [Node(name, item.line) for name, item in node.entries.items()]


def bounded(pieces: Iterable[str]) -> str:
    """Return the pieces as one text of at most MAX_TEXT characters."""
    taken: list[str] = []
    size = 0
    for piece in pieces:
        taken.append(piece)
        size += len(piece)
        if size >= MAX_TEXT:
            break
    return "".join(taken)[:MAX_TEXT]


def format_fields(text: str, given: Sequence[Node], named: Mapping[str, Node]) -> str:
    """Return `text.format(*given, **named)`; missing fields become placeholders."""
    values = {str(place): node for place, node in enumerate(given)} | dict(named)
    pieces: list[str] = []
    unnamed = itertools.count()
    try:
        for literal, field, _, _ in string.Formatter().parse(text):
            name = field if field is None or field.partition(".")[0].partition("[")[0] else f"{next(unnamed)}{field}"
            node = values.get(name or "")
            shown = node.text() if node is not None and node.is_scalar else f"${{{field or name}}}"
            pieces.append(literal if name is None else literal + shown)
    except ValueError:
        return text
    return bounded(pieces)


def format_percent(text: str, right: Node) -> str:
    """Return `text % right`; missing values become placeholders."""
    values = list(right.value) if isinstance(right.value, list) else [right]

    def pieces() -> Iterator[str]:
        end = 0
        for mark in PERCENT.finditer(text):
            yield text[end : mark.start()]
            end = mark.end()
            if mark[2] == "%":
                yield "%"
                continue
            node = right.entries.get(mark[1]) if mark[1] else (values.pop(0) if values else None)
            yield node.text() if node is not None and node.is_scalar else f"${{{mark[1] or 'value'}}}"
        yield text[end:]

    return bounded(pieces())


def join(mark: str, parts: Sequence[Node], *, is_path: bool = False) -> str | None:
    """Return the texts of scalars joined by a mark, without doubling it in a path; None if a part is not a scalar."""
    if not all(part.is_scalar for part in parts):
        return None
    texts = [part.text() for part in parts]
    if is_path:
        texts = [*(text.removesuffix(mark) for text in texts[:-1]), *texts[-1:]]
    return bounded(piece for place, text in enumerate(texts) for piece in ((mark, text) if place else (text,)))


def apply_method(node: Node, method: str, given: Sequence[Any]) -> Node | None:
    """Return the result of a method such as lower or replace on a known text; None if it is not known."""
    text = node.value
    given = [] if method == "split" and list(given) == [None] else given
    if not isinstance(text, str) or is_unknown(node) or not all(isinstance(word, str) for word in given):
        return None
    if method == "replace" and given and (text.count(given[0]) + 1) * len(given[-1]) > MAX_TEXT:
        return None
    if method == "split" and any("${" in word for word in given):
        return None
    try:
        changed = getattr(text, method)(*given)
    except (TypeError, ValueError):
        return None
    if isinstance(changed, list):
        return Node([Node(part, node.line) for part in changed], node.line)
    return Node(changed[:MAX_TEXT], node.line)
