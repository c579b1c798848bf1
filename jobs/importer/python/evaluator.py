"""Evaluate Python expressions to nodes without running anything.

Unknown values become placeholders such as `${project}`. Source: Python's manual, "Expressions"; google-cloud-aiplatform
2.7.0, read 2026-11-21.
"""

import ast
from collections import ChainMap
from collections.abc import Callable

from jobs.importer.nodes import Node, Notes, is_unknown
from jobs.importer.python.calls import bounded, is_value, keys_of, uses_named_arguments, value_of_call
from jobs.importer.python.operations import MAX_ITEMS, bind_target, compare, describe, last_name, operate
from jobs.texts import translatable as _

MAX_DEPTH, MAX_VALUES = 80, 200_000
MAX_TURNS, MAX_ALL_TURNS = 200, 5_000
"""Limit of iterations of one loop, and of all loops together."""
TEXT_COST = 100
"""Characters of concatenated text that count as one value."""
Names = ChainMap[str, Node | None]
"""The values of names; None hides an outer name whose value is not known here."""


class Evaluator:
    """Evaluates expressions.

    `names` has the values of names at the current statement, one layer for each enclosing block or function.
    `procedures` return the value of a call of the program's own functions, by name. `done` has the values of calls that
    were evaluated already.
    """

    def __init__(self, notes: Notes) -> None:
        self.notes = notes
        self.names: Names = ChainMap()
        self.procedures: dict[str, Callable[[ast.Call], Node | None]] = {}
        self.done: dict[ast.Call, Node] = {}
        self.budget, self.turns, self.depth = MAX_VALUES, MAX_ALL_TURNS, 0

    def evaluate(self, expression: ast.expr) -> Node:
        """Return the value of an expression, or a placeholder with a short text for it."""
        self.budget -= 1
        self.depth += 1
        known: Node | None = None
        if self.depth <= MAX_DEPTH and self.budget >= 0:
            read = getattr(self, f"_{type(expression).__name__.lower()}", None)
            known = read(expression) if read is not None else None
        self.depth -= 1
        if known is not None and isinstance(known.value, str) and not isinstance(expression, ast.Constant | ast.Name):
            self.budget -= len(known.value) // TEXT_COST
        return known or self.unknown(expression)

    def unknown(self, expression: ast.expr) -> Node:
        """Return a placeholder with a short text for an expression."""
        return Node(f"${{{describe(expression)}}}", expression.lineno)

    def arguments(self, call: ast.Call) -> Node:
        """Return the keyword arguments of a call as a mapping; `**names` are merged if they are known."""
        entries: dict[str, Node] = {}
        for word in call.keywords:
            value = self.evaluate(word.value)
            if word.arg is not None:
                entries[word.arg] = Node(value.value, word.lineno, value.raw)
            else:
                self._merge_names(entries, value, word.value)
        return Node(entries, call.lineno)

    def truth(self, test: ast.expr) -> bool | None:
        """Return whether a condition holds, if its values are known: `==`, `in`, `is None`, `not`, `and`, `or`.

        An empty text, list or mapping counts as unknown, because programs leave them empty for people and loops to
        fill.
        """
        match test:
            case ast.UnaryOp(op=ast.Not()):
                inner = self.truth(test.operand)
                return None if inner is None else not inner
            case ast.BoolOp():
                answers = [self.truth(part) for part in test.values]
                decides = isinstance(test.op, ast.Or)
                return decides if decides in answers else None if None in answers else not decides
            case ast.Compare(ops=[operator], comparators=[right]):
                return compare(operator, self.evaluate(test.left), self.evaluate(right))
            case ast.Name() | ast.Constant() | ast.Attribute():
                node = self.evaluate(test)
                if isinstance(node.value, str | list | dict):
                    return True if node.value and not is_unknown(node) else None
                return bool(node.value)
        return None

    def _filled(self, expression: ast.expr) -> Node:
        """Return a value that becomes part of a text; a name that is still empty, as in PROJECT = "", is unknown."""
        node = self.evaluate(expression)
        return self.unknown(expression) if node.value == "" and not isinstance(expression, ast.Constant) else node

    def _merge_names(self, entries: dict[str, Node], value: Node, expression: ast.expr) -> None:
        if isinstance(value.value, dict):
            entries |= value.value
            return
        message = _(
            "The contents of **%(name)s are not known; they are left out until you write them out.",
            name=describe(expression),
        )
        self.notes.note("placeholder", expression.lineno, message, _("Write its names and values there."))

    def _constant(self, expression: ast.Constant) -> Node | None:
        value = expression.value
        is_plain = isinstance(value, str | int | float | None) and value not in (float("inf"), float("-inf"))
        return Node(value, expression.lineno, "" if isinstance(value, str | int) else str(value)) if is_plain else None

    def _list(self, expression: ast.List | ast.Tuple) -> Node:
        items: list[Node] = []
        for item in expression.elts:
            node = self.evaluate(item.value if isinstance(item, ast.Starred) else item)
            items.extend(node.value if isinstance(item, ast.Starred) and isinstance(node.value, list) else [node])
        return Node(items[:MAX_ITEMS], expression.lineno)

    _tuple = _list

    def _dict(self, expression: ast.Dict) -> Node:
        entries: dict[str, Node] = {}
        for key, item in zip(expression.keys, expression.values, strict=True):
            value = self.evaluate(item)
            if key is None:
                self._merge_names(entries, value, item)
            else:
                entries[self.evaluate(key).text()] = Node(value.value, key.lineno, value.raw)
        return Node(entries, expression.lineno)

    def _name(self, expression: ast.Name) -> Node | None:
        return self.names.get(expression.id)

    def _joinedstr(self, expression: ast.JoinedStr) -> Node:
        parts = [part.value if isinstance(part, ast.FormattedValue) else part for part in expression.values]
        nodes = [(part, self._filled(part)) for part in parts]
        return Node(
            bounded((node if node.is_scalar else self.unknown(part)).text() for part, node in nodes), expression.lineno
        )

    def _attribute(self, expression: ast.Attribute) -> Node | None:
        if (bound := self.names.get(describe(expression))) is not None:
            return bound
        owner = self.evaluate(expression.value)
        if expression.attr.isupper() and len(expression.attr) > 2:
            return owner.entries.get(expression.attr) or Node(expression.attr, expression.lineno)
        if expression.attr in ("name", "value") and isinstance(expression.value, ast.Name | ast.Attribute):
            return owner if isinstance(owner.value, str) and owner.value.isupper() else None  # of an enum
        return owner.entries.get(expression.attr)

    def _boolop(self, expression: ast.BoolOp) -> Node | None:
        return self.evaluate(expression.values[-1]) if isinstance(expression.op, ast.Or) else None

    def _unaryop(self, expression: ast.UnaryOp) -> Node | None:
        value = self.evaluate(expression.operand).value
        if isinstance(expression.op, ast.USub) and type(value) in (int, float):
            return Node(-value, expression.lineno, str(-value) if isinstance(value, float) else "")
        return None

    def _binop(self, expression: ast.BinOp) -> Node | None:
        left, right = self.evaluate(expression.left), self.evaluate(expression.right)
        return operate(expression.op, left, right, expression.lineno)

    def _subscript(self, expression: ast.Subscript) -> Node | None:
        key, owner = self.evaluate(expression.slice).value, describe(expression.value)
        if isinstance(key, str) and owner.endswith("environ"):
            return Node(f"${{{key}}}", expression.lineno)
        held = self.evaluate(expression.value)
        if isinstance(key, str):
            is_enum = owner.endswith(("Strategy", "AcceleratorType")) and held.is_scalar
            return held.entries.get(key) or (Node(key, expression.lineno) if is_enum else None)
        is_place = type(key) is int and isinstance(held.value, list) and -len(held.value) <= key < len(held.value)
        return held.value[key] if is_place else None

    def _ifexp(self, expression: ast.IfExp) -> Node | None:
        taken = self.truth(expression.test)
        if taken is not None:
            return self.evaluate(expression.body if taken else expression.orelse)
        for part in (expression.body, expression.orelse):
            value = self.evaluate(part)
            if value.value is not None and not is_unknown(value):
                message = _("One of the two values of a condition is used; check which.")
                self.notes.note("choice", expression.lineno, message)
                return value
        return None

    def _listcomp(self, expression: ast.ListComp | ast.GeneratorExp | ast.DictComp) -> Node | None:
        """Return the result of `[... for name in items if ...]`; None if the items or a condition are not known."""
        loop = expression.generators[0]
        held = self.evaluate(loop.iter)
        items = held.value if isinstance(held.value, list) else keys_of(held)
        if len(expression.generators) != 1 or not 0 < len(items) <= MAX_TURNS:
            return None
        made: list[tuple[str, Node]] = []
        outer = self.names
        try:
            for item in items:
                names = bind_target(loop.target, item)
                self.turns -= 1
                if names is None or self.turns < 0:
                    return None
                self.names = outer.new_child(names)
                answers = [self.truth(test) for test in loop.ifs]
                if None in answers:
                    return None
                if all(answers):
                    key = self.evaluate(expression.key).text() if isinstance(expression, ast.DictComp) else ""
                    value = expression.value if isinstance(expression, ast.DictComp) else expression.elt
                    made.append((key, self.evaluate(value)))
        finally:
            self.names = outer
        is_mapping = isinstance(expression, ast.DictComp)
        return Node(dict(made) if is_mapping else [node for _, node in made], expression.lineno)

    _generatorexp = _dictcomp = _listcomp

    def _call(self, call: ast.Call) -> Node | None:
        name, owner = last_name(call.func), call.func.value if isinstance(call.func, ast.Attribute) else None
        if call in self.done:
            return self.done[call]
        if is_value(name):
            given = [self._filled(part) if name in ("format", "join") else self.evaluate(part) for part in call.args]
            held = self.evaluate(owner) if owner is not None else None
            named = self.arguments(call).value if uses_named_arguments(name, held) else {}
            shown = "path.join" if name == "join" and owner is not None and last_name(owner) == "path" else name
            if (value := value_of_call(shown, held, given, named, call.lineno)) is not None:
                return value
        procedure = self.procedures.get(name)
        return procedure(call) if procedure is not None else None
