"""Python expressions to nodes: literals, names bound to them, and the calls that only hold values. Nothing is run.

What cannot be known without running the program stays as a hole, e.g. `${project}`.
"""

import ast
import re
from collections.abc import Callable
from functools import partial
from operator import add, floordiv, mul, sub, truediv
from typing import Any

from jobs.convert.sdk.conditions import truth
from jobs.convert.sdk.formatting import METHODS, bounded, changed, percent, put_together
from jobs.convert.sdk.naming import call_name, shown
from jobs.convert.sdk.sequences import comprehended, joined
from jobs.convert.texts.nodes import Node, Notes
from jobs.spec import KINDS
from jobs.spec.shape import message_names

DEEPEST = 80
LONGEST_TEXT = 200_000
LONGEST_LIST = 10_000
PASSING = frozenset(
    {"ParseDict", "loads", "str", "Path", "list", "tuple", "Struct", "Value", "deepcopy", "copy", "from_json", "dumps"}
    | {"serialize_parameters", "serialize_metrics", "Strategy", "AcceleratorType"}
)
CASTING = re.compile(r"^to_.*(?:value|struct|proto)", re.IGNORECASE)
LARGEST = 10**30
SIGNS: dict[type, Callable[[Any, Any], Any]] = {ast.Mult: mul, ast.Add: add, ast.Sub: sub}
SIGNS |= {ast.FloorDiv: floordiv, ast.Div: truediv}
SECONDS = {"days": 86400, "hours": 3600, "minutes": 60, "seconds": 1, "weeks": 604800}


MESSAGES = message_names(KINDS.values()) | {"TuningTaskInputs", "Duration"}


class Values:
    """Evaluates expressions; `names` holds what names are bound to at the place that is read.

    `calls` gives the value of a call of one of the program's own functions or classes, None for any other call.
    """

    def __init__(self, notes: Notes, calls: Callable[[ast.Call], Node | None] = lambda _: None) -> None:
        self.notes, self.calls = notes, calls
        self.names: dict[str, Node] = {}
        self.budget = 200_000
        self.turns = 5_000

    def of(self, expression: ast.expr, depth: int = 0) -> Node:
        """Return the value of an expression, or a hole."""
        self.budget -= 1
        if depth > DEEPEST or self.budget < 0:
            return self.hole(expression)
        read = getattr(self, f"_{type(expression).__name__.lower()}", None)
        found: Node | None = read(expression, depth + 1) if read is not None else None
        return found if found is not None else self.hole(expression)

    def hole(self, expression: ast.expr) -> Node:
        """Return a hole that shows what stood there."""
        text = shown(expression)
        return Node("${" + text + "}", expression.lineno)

    def _constant(self, expression: ast.Constant, _: int) -> Node | None:
        value = expression.value
        if isinstance(value, bytes | complex) or value is ...:
            return None
        if isinstance(value, float) and not abs(value) < float("inf"):
            return None
        raw = "" if isinstance(value, str) else str(value)[:100] if not isinstance(value, int) else ""
        return Node(value, expression.lineno, raw)

    def _list(self, expression: ast.List | ast.Tuple, depth: int) -> Node:
        items: list[Node] = []
        for item in expression.elts:
            if isinstance(item, ast.Starred):
                inner = self.of(item.value, depth)
                items.extend(inner.value if isinstance(inner.value, list) else [inner])
            else:
                items.append(self.of(item, depth))
        return Node(items[:LONGEST_LIST], expression.lineno)

    _tuple = _list

    def _dict(self, expression: ast.Dict, depth: int) -> Node:
        entries: dict[str, Node] = {}
        for key, item in zip(expression.keys, expression.values, strict=True):
            value = self.of(item, depth)
            if key is None:
                if isinstance(value.value, dict):
                    entries |= value.value
                else:
                    self.unknown(item)
                continue
            name = self.of(key, depth).text()
            entries[name] = Node(value.value, key.lineno, value.raw)
        return Node(entries, expression.lineno)

    def _name(self, expression: ast.Name, _: int) -> Node | None:
        return self.names.get(expression.id)

    def _joinedstr(self, expression: ast.JoinedStr, depth: int) -> Node:
        parts: list[str] = []
        for part in expression.values:
            value = self.of(part.value if isinstance(part, ast.FormattedValue) else part, depth)
            blank = isinstance(part, ast.FormattedValue) and value.value == ""
            parts.append(value.text() if value.is_scalar and not blank else "${" + shown(part) + "}")
        return Node(bounded(parts), expression.lineno)

    def _attribute(self, expression: ast.Attribute, _: int) -> Node | None:
        bound = self.names.get(shown(expression))
        if bound is None and expression.attr.isupper() and len(expression.attr) > 2:
            held = self.names.get(shown(expression.value))
            return (held.get(expression.attr) if held is not None else None) or Node(expression.attr, expression.lineno)
        if (
            bound is None
            and expression.attr in ("name", "value")
            and isinstance(expression.value, ast.Name | ast.Attribute)
        ):
            owner = self.of(expression.value)
            return owner if isinstance(owner.value, str) and owner.value.isupper() else None  # of an enum
        return bound or self.of(expression.value).get(expression.attr)

    def _ifexp(self, expression: ast.IfExp, depth: int) -> Node | None:
        taken = truth(self, expression.test)
        if taken is not None:
            return self.of(expression.body if taken else expression.orelse, depth)
        for part in (expression.body, expression.orelse):
            value = self.of(part, depth)
            if value.value is not None and not (isinstance(value.value, str) and "${" in value.value):
                self.notes.advise("choice", expression.lineno, "Of the two values of an if, one is taken; check which.")
                return value
        return None

    def _listcomp(self, expression: ast.ListComp | ast.GeneratorExp | ast.DictComp, depth: int) -> Node | None:
        return comprehended(self, expression, depth)

    _generatorexp = _dictcomp = _listcomp

    def _boolop(self, expression: ast.BoolOp, depth: int) -> Node | None:
        return self.of(expression.values[-1], depth) if isinstance(expression.op, ast.Or) else None

    def _unaryop(self, expression: ast.UnaryOp, depth: int) -> Node | None:
        value = self.of(expression.operand, depth).value
        if isinstance(value, int | float) and not isinstance(value, bool) and isinstance(expression.op, ast.USub):
            return Node(-value, expression.lineno, str(-value) if isinstance(value, float) else "")
        return None

    def _binop(self, expression: ast.BinOp, depth: int) -> Node | None:
        left, right = self.of(expression.left, depth), self.of(expression.right, depth)
        first, second = left.value, right.value
        if isinstance(expression.op, ast.Add) and isinstance(first, str) and isinstance(second, str):
            return Node((first + second)[:LONGEST_TEXT], expression.lineno)
        if isinstance(expression.op, ast.Add) and (items := joined(left, right)) is not None:
            return Node(items[:LONGEST_LIST], expression.lineno)
        if isinstance(expression.op, ast.Mod) and isinstance(first, str):
            return Node(percent(first, right), expression.lineno)
        if isinstance(expression.op, ast.BitOr) and isinstance(first, dict) and isinstance(second, dict):
            return Node(first | second, expression.lineno)
        sign = SIGNS.get(type(expression.op))
        if sign is None or not all(type(value) in (int, float) and abs(value) < LARGEST for value in (first, second)):
            return None
        if isinstance(expression.op, ast.Div | ast.FloorDiv) and not second:
            return None
        number = sign(first, second)
        return Node(number, expression.lineno, str(number))

    def _call(self, expression: ast.Call, depth: int) -> Node | None:
        name = call_name(expression)
        if name in ("getenv", "get") and expression.args:
            return self._looked_up(expression, depth)
        if name.endswith("ParameterSpec") and name not in MESSAGES:
            entries = self.arguments(expression, depth)
            entries.value["__kind__"] = Node(name, expression.lineno)
            return entries
        if name == "timedelta":
            parts = {word.arg: self.of(word.value, depth).value for word in expression.keywords if word.arg}
            if set(parts) <= set(SECONDS) and all(isinstance(part, int | float) for part in parts.values()):
                return Node(sum(SECONDS[unit] * part for unit, part in parts.items() if unit), expression.lineno)
        if (name in MESSAGES or name == "dict" or name.endswith("Request")) and not (
            expression.args and name != "dict"
        ):
            return self.arguments(expression, depth)
        if name in MESSAGES or name == "dict" or name in PASSING or CASTING.search(name):
            value = self.of(expression.args[0], depth) if expression.args else None
            return Node(value.text(), value.line) if value is not None and name == "str" and value.is_scalar else value
        if name in METHODS and isinstance(expression.func, ast.Attribute):
            given = [self.of(argument, depth).value for argument in expression.args]
            return changed(self.of(expression.func.value, depth), name, given)
        if name in ("format", "join") and isinstance(expression.func, ast.Attribute):
            named = partial(self._named, expression, depth)
            text = put_together(expression, expression.func, partial(self.of, depth=depth), named, self.hole)
            return None if text is None else Node(text, expression.lineno)
        return self.calls(expression)

    def _named(self, expression: ast.Call, depth: int) -> dict[str, Node]:
        entries: dict[str, Node] = self.arguments(expression, depth).value
        return entries

    def arguments(self, expression: ast.Call, depth: int = 0) -> Node:
        """Return the named arguments of a call as a mapping; `**names` are taken in where they are known."""
        entries: dict[str, Node] = {}
        if call_name(expression) == "dict" and expression.args:
            first = self.of(expression.args[0], depth)
            entries |= first.value if isinstance(first.value, dict) else {}
        for word in expression.keywords:
            value = self.of(word.value, depth + 1)
            if word.arg is not None:
                entries[word.arg] = Node(value.value, word.lineno, value.raw)
            elif isinstance(value.value, dict):
                entries |= value.value
            else:
                self.unknown(word.value)
        return Node(entries, expression.lineno)

    def unknown(self, expression: ast.expr) -> None:
        """Say that what `**name` holds is still to be filled in."""
        message = f"What **{shown(expression)} holds is not known here; it is left out until it is written out."
        self.notes.advise("hole", expression.lineno, message, "Write its names and values there.")

    def _looked_up(self, expression: ast.Call, depth: int) -> Node | None:
        """Read {...}.get("X", default); os.environ.get, os.getenv and the like: the default, or a hole named X."""
        held = self.of(expression.func.value, depth) if isinstance(expression.func, ast.Attribute) else None
        if held is not None and isinstance(held.value, dict):
            found: Node | None = held.value.get(self.of(expression.args[0], depth).text())
            if found is not None:
                return found
        if len(expression.args) > 1:
            default = self.of(expression.args[1], depth)
            if default.value not in (None, ""):
                return default
        name = self.of(expression.args[0], depth)
        return Node("${" + name.value + "}", expression.lineno) if isinstance(name.value, str) else None

    def _subscript(self, expression: ast.Subscript, depth: int) -> Node | None:
        key = self.of(expression.slice, depth).value
        if shown(expression.value).endswith("environ") and isinstance(key, str):
            return Node("${" + key + "}", expression.lineno)
        value = self.of(expression.value, depth).value
        if isinstance(value, dict) and isinstance(key, str):
            return value.get(key)
        if isinstance(key, str) and shown(expression.value).endswith(("Strategy", "AcceleratorType")):
            return Node(key, expression.lineno)
        whole = isinstance(key, int) and not isinstance(key, bool)
        return value[key] if whole and isinstance(value, list) and -len(value) <= key < len(value) else None
