"""Values of calls of Python's functions and methods, and of Google's libraries that only hold values. Nothing is run.

Source: Python's manual, "Built-in Functions", "Format String Syntax" and "printf-style String Formatting";
google-cloud-aiplatform 2.7.0, read 2026-11-26.
"""

import ast
import itertools
import re
import string
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import add, eq, floordiv, ge, gt, le, lt, mod, mul, ne, sub, truediv
from typing import Any

from jobs.importer.nodes import Node
from jobs.importer.python.values import MAX_ITEMS, MAX_TEXT, is_known, node_of_python, python_of, text_of
from jobs.spec import KINDS
from jobs.spec.shape import message_names

MESSAGES = message_names(KINDS.values()) | {"TuningTaskInputs", "Duration"}
PASSING = frozenset(
    """ParseDict Path Struct Value from_json dumps serialize_parameters serialize_metrics Strategy AcceleratorType
    MessageToDict Optional cast""".split()
)
"""Calls that return their first argument."""
CASTING = re.compile(r"to_.*(?:value|struct|proto)", re.IGNORECASE)
TEXT_METHODS = frozenset(
    """lower upper strip lstrip rstrip replace removeprefix removesuffix split rsplit splitlines title capitalize
    startswith endswith zfill count find isdigit partition rpartition""".split()
)
"""Methods of a text whose result is known without running anything."""
MUTATING = frozenset("append extend update insert pop setdefault clear remove reverse sort popitem".split())
PLAIN: dict[str, Callable[..., Any]] = {
    "len": len, "int": int, "float": float, "bool": bool, "abs": abs, "min": min, "max": max, "sum": sum,
    "round": round, "sorted": sorted, "any": any, "all": all, "range": range, "set": dict.fromkeys, "divmod": divmod,
}  # fmt: skip
"""Functions of Python that are carried out on known values."""
HARMLESS = frozenset(
    """print repr str type isinstance issubclass hasattr getattr id hash iter next open input pprint format display
    callable vars dir len list dict tuple set enumerate zip map filter reversed super object frozenset bytes""".split()
)
"""Functions of Python, and of notebooks, that leave what they are given as it is."""
PERCENT = re.compile(r"%(?:\((\w+)\))?([-+ #0]*\d*(?:\.\d+)?)([a-zA-Z%])")
FORMAT = re.compile(r"(?:.?[<>^])?[+ -]?0?\d{0,3},?(?:\.\d{1,2})?[a-zA-Z%]?")
SECONDS = {"days": 86400, "hours": 3600, "minutes": 60, "seconds": 1, "weeks": 604800}
MAX_NUMBER, MAX_DIGITS, MAX_RANGE = 10**30, 300, 1_000
OPERATORS: dict[type, Callable[[Any, Any], Any]] = {
    ast.Mult: mul, ast.Add: add, ast.Sub: sub, ast.FloorDiv: floordiv, ast.Div: truediv, ast.Mod: mod,
}  # fmt: skip
COMPARISONS: dict[type, Callable[[Any, Any], Any]] = {
    ast.Eq: eq, ast.NotEq: ne, ast.Lt: lt, ast.LtE: le, ast.Gt: gt, ast.GtE: ge,
    ast.In: lambda one, other: one in other, ast.NotIn: lambda one, other: one not in other,
    ast.Is: lambda one, other: one is other, ast.IsNot: lambda one, other: one is not other,
}  # fmt: skip


def message_of(name: str, given: Sequence[Node], named: Mapping[str, Node], line: int) -> Node | None:
    """Return the value of a call that only holds its arguments, such as `MachineSpec(...)`; None for other calls."""
    if name == "timedelta":
        parts = {unit: node.value for unit, node in named.items() if not node.open}
        known = set(parts) <= set(SECONDS) and len(parts) == len(named) and not given
        if not known or not all(isinstance(part, int | float) for part in parts.values()):
            return None
        return Node(sum(SECONDS[unit] * part for unit, part in parts.items()), line)
    if not given and (name in MESSAGES or name.endswith("Request")):
        return Node(dict(named), line)
    if given and (name in MESSAGES or name in PASSING or CASTING.match(name)):
        return given[0]
    return None


def built_in(name: str, given: Sequence[Node], named: Mapping[str, Node], line: int) -> Node | None:
    """Return the value of a call of one of Python's own functions; None if it is not known."""
    first = given[0] if given else None
    if name == "dict":
        held = _of_pairs(first) if first is not None else {}
        return None if held is None else Node({**held, **named}, line)
    if name == "str" and first is not None:
        text = text_of(first)
        return None if text is None else Node(text, line, "", first.open)
    if name in ("list", "tuple") and (first is None or (not first.is_scalar and not first.open)):
        return Node(elements(first) if first is not None else [], line)
    if name == "enumerate" and first is not None and not first.is_scalar and len(given) == 1 and not named:
        pairs = [Node([Node(place, line), item], line) for place, item in enumerate(elements(first))]
        return Node(pairs, line)
    if name == "zip" and given and all(isinstance(node.value, list) for node in given):
        return Node([Node(list(row), line) for row in zip(*(node.value for node in given), strict=False)], line)
    if name not in PLAIN or named or not given or not all(map(is_known, given)):
        return None
    values = [python_of(node) for node in given]
    if name == "int" and (not isinstance(values[0], str | int | float) or len(str(values[0])) > MAX_DIGITS):
        return None
    if name == "range" and (len(values) > 3 or any(not -MAX_RANGE <= value <= MAX_RANGE for value in values)):
        return None
    return carried_out(PLAIN[name], values, line)


def carried_out(function: Callable[..., Any], values: Sequence[Any], line: int) -> Node | None:
    """Return the result of a function of Python on known values; None if it fails."""
    try:
        result = function(*values)
    except (TypeError, ValueError, KeyError, IndexError, ArithmeticError, AttributeError, LookupError):
        return None
    result = list(result) if isinstance(result, range | dict) else result
    if isinstance(result, float) and (result != result or abs(result) == float("inf")):
        return None
    if not isinstance(result, str | int | float | list | tuple):
        return None
    return node_of_python(result[:MAX_TEXT] if isinstance(result, str) else result, line)


def _of_pairs(node: Node) -> dict[str, Node] | None:
    """Return what `dict(node)` holds, for a mapping or a list of pairs."""
    if isinstance(node.value, dict):
        return dict(node.value)
    pairs = [item.value for item in node.value if isinstance(item.value, list)] if isinstance(node.value, list) else []
    is_whole = isinstance(node.value, list) and len(pairs) == len(node.value)
    if not is_whole or not all(len(pair) == 2 and isinstance(pair[0].value, str) for pair in pairs):
        return None
    return {pair[0].value: pair[1] for pair in pairs}


def elements(node: Node) -> list[Node]:
    """Return what a loop over a mapping, a list or a text takes in turn."""
    if isinstance(node.value, dict):
        return [Node(name, item.line) for name, item in node.value.items()]
    if isinstance(node.value, list):
        return list(node.value)
    return [Node(sign, node.line) for sign in node.value[:MAX_ITEMS]] if isinstance(node.value, str) else []


def method_of(name: str, owner: Node, given: Sequence[Node], named: Mapping[str, Node], line: int) -> Node | None:
    """Return the value of a method that changes nothing; None if it is not known."""
    held = owner.value
    if isinstance(held, dict):
        if name == "get" and given:
            return held.get(text_of(given[0]) or "") or (given[1] if len(given) > 1 else Node(None, line))
        if name == "items" and not given:
            return Node([Node([Node(key, item.line), item], line) for key, item in held.items()], line)
        if name in ("keys", "values") and not given:
            return Node(elements(owner) if name == "keys" else list(held.values()), line)
    if name == "copy" and not given and isinstance(held, dict | list):
        return Node(held.copy(), line)
    if not isinstance(held, str):
        return None
    if name == "format":
        return format_fields(owner, given, named, line)
    if name == "join" and len(given) == 1 and isinstance(given[0].value, list):
        return join(owner, given[0].value, line)
    if name not in TEXT_METHODS or named or not is_known(owner) or not all(map(is_known, given)):
        return None
    values = [node.value for node in given]
    if name == "replace" and len(values) > 1 and (held.count(values[0]) + 1) * len(values[1]) > MAX_TEXT:
        return None
    if name == "zfill" and (len(values) != 1 or not isinstance(values[0], int) or values[0] > MAX_DIGITS):
        return None
    return carried_out(getattr(held, name), values, line)


def join(mark: Node, parts: Sequence[Node], line: int, *, is_path: bool = False) -> Node | None:
    """Return texts joined by a mark, without doubling it in a path; None if a part is not a text."""
    texts = [part.value for part in parts]
    if mark.open or not all(
        isinstance(text, str) and text_of(part) is not None for text, part in zip(texts, parts, strict=True)
    ):
        return None
    if is_path:
        texts = [*(text.removesuffix(mark.value) for text in texts[:-1]), *texts[-1:]]
    pieces = (piece for place, text in enumerate(texts) for piece in ((mark.value, text) if place else (text,)))
    return Node(bounded(pieces), line, "", first_reason(parts))


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


def first_reason(nodes: Iterable[Node]) -> str:
    """Return why a text that is made of these is open; "" if all of them are known."""
    return next((node.open for node in nodes if node.open), "")


def formatted(node: Node, pattern: str) -> Node | None:
    """Return a value as a text, formatted; None if that is not known."""
    if not pattern or (node.open and isinstance(node.value, str)):
        text = text_of(node)
        return None if text is None else Node(text, node.line, "", node.open)
    if not FORMAT.fullmatch(pattern) or text_of(node) is None or node.value is None:
        return None
    return carried_out(format, [node.value, pattern], node.line)


def format_fields(owner: Node, given: Sequence[Node], named: Mapping[str, Node], line: int) -> Node | None:
    """Return `owner.format(*given, **named)`; None if a field is not known."""
    values = {str(place): node for place, node in enumerate(given)} | dict(named)
    pieces: list[Node] = []
    unnamed = itertools.count()
    if owner.open:
        return None
    try:
        for literal, name, pattern, conversion in string.Formatter().parse(owner.value):
            pieces.append(Node(literal, line))
            if name is None:
                continue
            node = values.get(name or str(next(unnamed)))
            piece = formatted(node, pattern or "") if node is not None and conversion in (None, "s") else None
            if piece is None:
                return None
            pieces.append(piece)
    except ValueError:
        return None
    return Node(bounded(piece.value for piece in pieces), line, "", first_reason(pieces))


def format_percent(left: Node, right: Node, line: int) -> Node | None:
    """Return `left % right`; None if a value is not known."""
    values = list(right.value) if isinstance(right.value, list) else [right]
    pieces: list[Node] = []
    end = 0
    for mark in PERCENT.finditer(left.value):
        pieces.append(Node(left.value[end : mark.start()], line))
        end = mark.end()
        if mark[3] == "%":
            pieces.append(Node("%", line))
            continue
        node = right.entries.get(mark[1]) if mark[1] else (values.pop(0) if values else None)
        if node is None or text_of(node) is None:
            return None
        piece: Node | None = Node(text_of(node), line, "", node.open)
        if mark[2] or mark[3] != "s":
            is_safe = not node.open and FORMAT.fullmatch(mark[2] + mark[3])
            piece = carried_out(mod, [mark[0].replace(f"({mark[1]})", ""), node.value], line) if is_safe else None
        if piece is None:
            return None
        pieces.append(piece)
    pieces.append(Node(left.value[end:], line))
    return Node(bounded(piece.value for piece in pieces), line, left.open and "", left.open or first_reason(pieces))


def operate(operator: ast.operator, left: Node, right: Node, line: int) -> Node | None:
    """Return the result of `left + right`, `left % right` and the like; None if it is not known."""
    first, second = left.value, right.value
    kinds = {type(first), type(second)}
    if isinstance(operator, ast.Mod) and isinstance(first, str) and text_of(left) is not None:
        return format_percent(left, right, line)
    if isinstance(operator, ast.Add) and kinds == {str}:
        return Node((first + second)[:MAX_TEXT], line, "", left.open or right.open)
    if (
        isinstance(operator, ast.Add)
        and list in kinds
        and all(isinstance(n.value, list) or n.open for n in (left, right))
    ):
        sides = (node.value if isinstance(node.value, list) else [node] for node in (left, right))
        return Node([item for side in sides for item in side][:MAX_ITEMS], line)
    if isinstance(operator, ast.BitOr) and kinds == {dict}:
        return Node(first | second, line)
    if isinstance(operator, ast.Mult) and kinds in ({str, int}, {list, int}) and not (left.open or right.open):
        count, held = (first, second) if isinstance(first, int) else (second, first)
        is_small = 0 <= count <= MAX_RANGE and len(held) * count <= MAX_ITEMS
        return Node(held * count, line) if is_small else None
    if type(operator) not in OPERATORS or not kinds <= {int, float} or max(abs(first), abs(second)) >= MAX_NUMBER:
        return None
    return carried_out(OPERATORS[type(operator)], [first, second], line)


def compare(operator: ast.cmpop, left: Node, right: Node) -> bool | None:
    """Return whether `left == right`, `left in right`, `left is None` and the like hold; None if it is not known."""
    if not is_known(left) or not is_known(right):
        return None
    if isinstance(operator, ast.Is | ast.IsNot) and right.value is not None and left.value is not None:
        return None
    result = carried_out(COMPARISONS[type(operator)], [python_of(left), python_of(right)], 0)
    return bool(result.value) if result is not None else None
