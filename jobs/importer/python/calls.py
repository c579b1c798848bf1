"""Values of Python's own functions and methods, and of Google's libraries that only hold values. Nothing is run.

Source: Python's manual, "Built-in Functions", "Format String Syntax" and "printf-style String Formatting";
google-cloud-aiplatform 2.7.0, read 2026-11-26.
"""

import ast
import json
import math
import operator
import posixpath
import re
import shlex
import string
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from pathlib import PurePosixPath
from typing import Any

from jobs.importer.nodes import Node
from jobs.importer.python.values import MAX_DEPTH, MAX_ITEMS, MAX_TEXT, Enum, Held, elements, is_data, text_of
from jobs.spec import KINDS
from jobs.spec.shape import message_names

MESSAGES = message_names(KINDS.values()) | {"TuningTaskInputs", "Duration"}
PASSING = frozenset(
    """ParseDict Struct Value from_json serialize_parameters serialize_metrics Strategy AcceleratorType MessageToDict
    cast""".split()
)
"""Calls that return their first argument."""
CASTING = re.compile(r"to_.*(?:value|struct|proto)", re.IGNORECASE)
SECONDS = {"days": 86400, "hours": 3600, "minutes": 60, "seconds": 1, "weeks": 604800}
MAX_NUMBER, MAX_WIDTH = 10**30, 300
FAILURES = (TypeError, ValueError, LookupError, ArithmeticError, AttributeError)
WIDE = re.compile(r"%(?:\(\w+\))?[-+ #0]*\d*\.?(?:\*|\d{4})")
"""A field of a text that becomes very long."""
PLAIN: dict[str, Callable[..., Any]] = {
    "len": len, "int": int, "float": float, "bool": bool, "abs": abs, "min": min, "max": max, "sum": sum,
    "round": round, "sorted": sorted, "any": any, "all": all, "range": range, "divmod": divmod, "repr": repr,
    "json.dumps": json.dumps, "json.loads": json.loads, "shlex.split": shlex.split, "shlex.join": shlex.join,
    "math.ceil": math.ceil, "math.floor": math.floor, "os.path.basename": posixpath.basename,
    "os.path.dirname": posixpath.dirname,
}  # fmt: skip
"""Functions that are carried out on known values."""
COMPOSING: dict[str, Callable[..., str]] = {
    "str": str,
    "os.path.join": posixpath.join,
    "posixpath.join": posixpath.join,
}
COMPOSING |= dict.fromkeys(
    ("pathlib.Path", "pathlib.PurePath", "pathlib.PurePosixPath", "Path"), lambda *parts: str(PurePosixPath(*parts))
)
"""Functions that put texts together, which may have placeholders in them. A path is a text here."""
PATH_PARTS = frozenset("name parent stem suffix".split())
TEXT_METHODS = frozenset(
    """lower upper strip lstrip rstrip replace removeprefix removesuffix split rsplit splitlines title capitalize
    startswith endswith zfill count find isdigit isnumeric isalnum partition rpartition ljust rjust center""".split()
)
"""Methods of a text whose result is known without running anything."""
LIST_METHODS = frozenset({"index", "count"})
HARMLESS = frozenset(
    """print str type isinstance issubclass hasattr getattr id hash iter next open input pprint format display
    callable vars dir list dict tuple set enumerate zip map filter reversed object frozenset bytes""".split()
)
"""Functions of Python, and of notebooks, that leave what they are given as it is."""
KEEPING = frozenset("yaml requests httpx wandb mlflow rich tqdm loguru structlog dotenv click typer fire absl".split())
"""Modules of others whose functions leave it so, too."""
LOGGING = frozenset("debug info warning error critical exception success".split())
OPERATORS: dict[type, Callable[[Any, Any], Any]] = {
    ast.Mult: operator.mul, ast.Add: operator.add, ast.Sub: operator.sub, ast.FloorDiv: operator.floordiv,
    ast.Div: operator.truediv, ast.Mod: operator.mod, ast.BitOr: operator.or_, ast.Pow: operator.pow,
}  # fmt: skip
COMPARISONS: dict[type, Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt,
    ast.GtE: operator.ge, ast.In: lambda one, other: one in other, ast.NotIn: lambda one, other: one not in other,
    ast.Is: operator.is_, ast.IsNot: operator.is_not,
}  # fmt: skip


class NotKnown(Exception):
    """A value is open, or nothing that Python's functions can be given."""


def known(node: Node, spend: Callable[[int], None], depth: int = 0) -> Any:
    """Return a value as Python has it. Raise NotKnown if a part of it is open."""
    spend(1)
    value = node.value
    if node.open or depth > MAX_DEPTH or not is_data(node) or isinstance(value, Enum):
        raise NotKnown
    if isinstance(value, dict):
        return {name: known(item, spend, depth + 1) for name, item in value.items()}
    return [known(item, spend, depth + 1) for item in value] if isinstance(value, list) else value


def scalar(node: Node) -> Any:
    """Return a known scalar as Python has it. Raise NotKnown for any other value."""
    if node.open or not node.is_scalar or not is_data(node) or isinstance(node.value, Enum):
        raise NotKnown
    return node.value


def carried_out(function: Callable[..., Any], values: Sequence[Any], named: Mapping[str, Any] | None = None) -> Any:
    """Return the result of a function of Python on known values. Raise NotKnown if it fails or is too large."""
    try:
        result = function(*values, **(named or {}))
    except FAILURES as error:
        raise NotKnown from error
    result = list(result) if isinstance(result, range) and len(result) <= MAX_ITEMS else result
    is_sized = isinstance(result, dict | list | str | tuple)
    is_large = is_sized and len(result) > (MAX_TEXT if isinstance(result, str) else MAX_ITEMS)
    is_value = is_sized or result is None or isinstance(result, Node | int | float)
    if is_large or not is_value or (isinstance(result, float) and not math.isfinite(result)):
        raise NotKnown
    return result


def composed(function: Callable[..., Any], nodes: Sequence[Node], line: int, named: Mapping[str, Node] = {}) -> Node:
    """Return a text that a function makes of scalars; open ones are in it as placeholders.

    Raise NotKnown if it cannot be made of them.
    """
    parts = [*nodes, *named.values()]
    if any(text_of(node) is None for node in parts):
        raise NotKnown
    values = {name: node.value for name, node in named.items()}
    result = carried_out(function, [node.value for node in nodes], values)
    reason = next((node.open for node in parts if node.open), "")
    if reason and not isinstance(result, str):
        raise NotKnown
    return Node(result, line, str(result) if isinstance(result, float) else "", reason)


def formatted(pattern: str, nodes: Sequence[Node], named: Mapping[str, Node], line: int) -> Node:
    """Return `pattern.format(*nodes, **named)`. Raise NotKnown if a field is not known."""
    try:
        fields = [(name, spec or "") for _, name, spec, _ in string.Formatter().parse(pattern) if name is not None]
    except ValueError as error:
        raise NotKnown from error
    is_odd = any(re.search(r"\{|\d{4}", spec) or "." in name for name, spec in fields)
    if is_odd or len(fields) * longest(*nodes, *named.values()) > MAX_TEXT:
        raise NotKnown
    return composed(pattern.format, nodes, line, named)


def longest(*nodes: Node) -> int:
    """Return the length of the longest text of some values."""
    return max((len(text_of(node) or "") for node in nodes), default=0)


def percent(left: Node, right: Node, line: int) -> Node:
    """Return `left % right` of a text. Raise NotKnown if a value is not known."""
    named, nodes = right.entries, right.value if isinstance(right.value, list) else [right]
    if WIDE.search(left.value) or left.value.count("%") * longest(*(named.values() if named else nodes)) > MAX_TEXT:
        raise NotKnown
    if named:
        return composed(lambda **names: left.value % names, [], line, named)
    return composed(lambda text, *values: text % values, [left, *nodes], line)


def joined(mark: Node, parts: list[Node], line: int) -> Node:
    """Return `mark.join(parts)`. Raise NotKnown if a part is no text."""
    lengths = accumulate(len(text_of(part) or "") + len(mark.value) for part in parts)
    if any(length > MAX_TEXT for length in lengths):
        raise NotKnown
    return composed(lambda sign, *texts: sign.join(texts), [mark, *parts], line)


def text_method(name: str, held: str, values: Sequence[Any]) -> Any:
    """Return the result of a method of a known text. Raise NotKnown if it fails or is too long."""
    is_large = (
        name == "replace" and len(values) > 1 and (held.count(str(values[0])) + 1) * len(str(values[1])) > MAX_TEXT
    )
    if is_large or any(isinstance(value, int) and value > MAX_WIDTH for value in values):
        raise NotKnown
    return carried_out(getattr(held, name), values)


def operated(kind: ast.operator, left: Node, right: Node, line: int) -> Any:
    """Return `left + right` and the like as a node, a list or a mapping. Raise NotKnown if it is not known."""
    first, second = left.value, right.value
    texts = [value for value in (first, second) if isinstance(value, str)]
    if isinstance(kind, ast.Mod) and isinstance(first, str) and not left.open:
        return percent(left, right, line)
    if isinstance(kind, ast.Add) and (isinstance(first, list) or isinstance(second, list)):
        return [*items_in(left), *items_in(right)]
    if isinstance(kind, ast.BitOr) and isinstance(first, dict) and isinstance(second, dict):
        return first | second
    if isinstance(kind, ast.Mult) and isinstance(first, list) and len(first) * scalar(right) <= MAX_ITEMS:
        return first * second
    if len(texts) == 2 and isinstance(kind, ast.Add) and len(first) + len(second) <= MAX_TEXT:
        return composed(operator.add, [left, right], line)
    if len(texts) == 2 and isinstance(kind, ast.Div) and not left.open:
        return composed(COMPOSING["Path"], [left, right], line)
    pair = [scalar(left), scalar(right)]
    numbers = [value for value in pair if isinstance(value, int | float)]
    is_power = isinstance(kind, ast.Pow) and not all(0 <= value <= 64 for value in numbers)
    is_long = isinstance(kind, ast.Mult) and texts and len(texts[0]) * max(numbers, default=0) > MAX_TEXT
    if type(kind) not in OPERATORS or is_power or is_long or any(abs(value) >= MAX_NUMBER for value in numbers):
        raise NotKnown
    result = carried_out(OPERATORS[type(kind)], pair)
    return Node(result, line, str(result) if isinstance(result, float) else "")


def pairs_of(node: Node) -> dict[str, Node]:
    """Return what `dict(node)` holds, for a mapping or a list of pairs. Raise NotKnown for any other value."""
    if isinstance(node.value, dict):
        return dict(node.value)
    pairs = [item.value for item in elements(node)]
    if not isinstance(node.value, list) or not all(isinstance(pair, list) and len(pair) == 2 for pair in pairs):
        raise NotKnown
    return {key_of(key): item for key, item in pairs}


def key_of(node: Node) -> str:
    """Return a known scalar as the name of an entry. Raise NotKnown for any other value."""
    return node.text() if isinstance(scalar(node), str) else str(node.value)


def items_in(node: Node) -> list[Node]:
    """Return what a list is extended with: a value that is not known stands for any number of items."""
    is_long = isinstance(node.value, str | list | dict) and len(node.value) > MAX_ITEMS
    if is_long or (not node.open and not isinstance(node.value, list | dict | str)):
        raise NotKnown
    return [node] if node.open else elements(node)


NOTHING, LAST, EMPTY = Node(None, 0), Node(-1, 0), Node({}, 0)
STRUCTURES: dict[str, Callable[..., Any]] = {
    "list": lambda held=EMPTY: elements(held),
    "tuple": lambda held=EMPTY: elements(held),
    "set": lambda held=EMPTY: list({scalar(item): item for item in elements(held)}.values()),
    "reversed": lambda held: elements(held)[::-1],
    "enumerate": lambda held, start=0: list(enumerate(elements(held), start if start == 0 else scalar(start))),
    "zip": lambda *held: list(zip(*map(elements, held), strict=False)),
    "dict": lambda held=EMPTY, **named: pairs_of(held) | named,
    "copy.copy": lambda held: held.value.copy(),
}  # fmt: skip
"""Functions whose result has the nodes that they are given."""
METHODS: dict[tuple[type, str], Callable[..., Any]] = {
    (dict, "items"): lambda held: [(Node(key, item.line), item) for key, item in held.items()],
    (dict, "keys"): lambda held: [Node(key, item.line) for key, item in held.items()],
    (dict, "values"): lambda held: list(held.values()),
    (dict, "get"): lambda held, key, other=NOTHING: held.get(key_of(key), other),
    (dict, "copy"): lambda held: held.copy(),
    (list, "copy"): lambda held: held.copy(),
}  # fmt: skip
"""Methods of a mapping or a list that leave it as it is."""
CHANGES: dict[tuple[type, str], Callable[..., Node | None]] = {
    (list, "append"): lambda held, item: held.append(item),
    (list, "extend"): lambda held, items: held.extend(items_in(items)),
    (list, "insert"): lambda held, place, item: held.insert(scalar(place), item),
    (list, "pop"): lambda held, place=LAST: held.pop(scalar(place)),
    (list, "remove"): lambda held, item: held.pop([scalar(each) for each in held].index(scalar(item))) and None,
    (list, "sort"): lambda held: held.sort(key=scalar),
    (list, "reverse"): lambda held: held.reverse(),
    (list, "clear"): lambda held: held.clear(),
    (dict, "update"): lambda held, items=EMPTY, **named: held.update(pairs_of(items) | named),
    (dict, "setdefault"): lambda held, key, item=NOTHING: held.setdefault(key_of(key), item),
    (dict, "pop"): lambda held, key, *other: held.pop(key_of(key), *other),
    (dict, "clear"): lambda held: held.clear(),
}  # fmt: skip
"""Methods that change a mapping or a list, as functions of its nodes; they raise where the change is not known."""
CHANGING_MODULES = frozenset({"random", "heapq", "bisect", "operator"})
"""Python's own modules whose functions change what they are given."""
MUTATING = frozenset({name for _, name in CHANGES} | {"popitem", "add", "discard", "appendleft"})


def message_of(name: str, given: Sequence[Node], named: Mapping[str, Node], line: int) -> Node | dict[str, Node] | None:
    """Return the value of a call that only holds its arguments, such as `MachineSpec(...)`; None for other calls."""
    if name == "timedelta" and not given and set(named) <= set(SECONDS):
        try:
            return Node(sum(SECONDS[unit] * scalar(node) for unit, node in named.items()), line)
        except (NotKnown, TypeError):
            return None
    if not given and (name in MESSAGES or name.endswith("Request")):
        return dict(named)
    if name == "from_json" and len(given) == 1 and isinstance(given[0], Held) and len(given[0].kin) == 1:
        return given[0].kin[0]
    is_passed = given and (name in MESSAGES or name in PASSING or CASTING.match(name))
    return given[0] if is_passed else None
