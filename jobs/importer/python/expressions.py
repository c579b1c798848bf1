"""Read Python expressions to nodes without running anything; what is not known becomes open, with its source text.

Source: Python's manual, "Expressions"; google-cloud-aiplatform 2.7.0, read 2026-11-26.
"""

import ast
import re
from collections.abc import Callable

from jobs.importer.nodes import Node, Notes
from jobs.importer.python import calls
from jobs.importer.python.names import Names
from jobs.importer.python.values import (
    MAX_ITEMS,
    Class,
    Enum,
    Function,
    Jobs,
    Module,
    Object,
    Scope,
    is_data,
    placed_at,
    text_of,
    unknown,
)
from jobs.spec import quoted
from jobs.texts import translatable as _

MAX_DEPTH, TEXT_COST = 40, 50
ENUMS = ("Strategy", "AcceleratorType", "GoalType", "ScaleType", "Algorithm", "Type")
HELD = re.compile(r"\bcreate\b|[wW]orker_?[pP]ool_?[sS]pecs|[jJ]ob_?[sS]pec")
LOOKUPS = ("get", "getenv", "setdefault")
ENVIRONMENTS = ("os.environ", "environ")


class Expressions(Names):
    """Reads expressions. `arguments` are the defaults of the program's command line.

    `texts` are texts and lists of words in which a command or a document may be, with the lines where they are written.
    """

    def __init__(self, notes: Notes, environment: dict[str, Node]) -> None:
        super().__init__(notes, environment)
        self.arguments: dict[str, Node] = {}
        self.texts: list[Node] = []
        self.depth = 0

    def evaluate(self, expression: ast.expr) -> Node:
        """Return the value of an expression; an open one if it is not known."""
        self.spend(1)
        self.depth += 1
        node: Node | None = None
        if self.depth <= MAX_DEPTH:
            read: Callable[[ast.expr], Node | None] | None = getattr(
                self, f"_{type(expression).__name__.lower()}", None
            )
            node = read(expression) if read is not None else None
        self.depth -= 1
        if node is None:
            return unknown(self.source(expression), expression.lineno)
        if isinstance(node.value, str) and not isinstance(expression, ast.Name):
            self.hold(node, expression.lineno)
        return node

    def hold(self, node: Node, line: int) -> None:
        """Keep a text in which a command or a document may be."""
        self.spend(len(node.value) // TEXT_COST)
        if HELD.search(node.value):
            self.texts.append(Node(node.value, line))

    def data(self, expression: ast.expr) -> Node:
        """Return the value of an expression as data or a job; a function, a class or a module is open."""
        node = self.evaluate(expression)
        if is_data(node) or isinstance(node.value, Jobs):
            return node
        return unknown(
            node.value.path if isinstance(node.value, Module) else self.source(expression), expression.lineno
        )

    def truth(self, test: ast.expr) -> bool | None:
        """Return whether a condition holds; None if it is not known."""
        match test:
            case ast.UnaryOp(op=ast.Not()):
                inner = self.truth(test.operand)
                return None if inner is None else not inner
            case ast.BoolOp():
                answers = [self.truth(part) for part in test.values]
                decides = isinstance(test.op, ast.Or)
                return decides if decides in answers else None if None in answers else not decides
        return truth_of(self.evaluate(test))

    def keywords(self, call: ast.Call) -> dict[str, Node]:
        """Return the keyword arguments of a call; `**names` are merged if they are known."""
        entries: dict[str, Node] = {}
        for word in call.keywords:
            value = self.data(word.value)
            if word.arg is not None:
                entries[word.arg] = placed_at(value, word.lineno)
            else:
                self._merge_names(entries, value, word.value)
        return entries

    def listed(self, items: list[ast.expr]) -> list[Node]:
        """Return the values of a list or of positional arguments; `*items` are merged if they are known."""
        nodes: list[Node] = []
        for item in items:
            node = self.data(item.value if isinstance(item, ast.Starred) else item)
            is_merged = isinstance(item, ast.Starred) and not node.is_scalar
            nodes.extend(calls.elements(node) if is_merged else [node])
        return nodes[:MAX_ITEMS]

    def look_up(self, name: Node, default: Node | None, line: int) -> Node:
        """Return the value of a variable of the environment: as set in the text, the default, or open."""
        key = text_of(name) or ""
        if not name.open and (held := self.environment.get(key)) is not None:
            return placed_at(held, line)
        if default is not None and default.value not in (None, "") and not default.open:
            self.note_default(
                line, _("Environment variables are read with their default values; change those that differ.")
            )
            return default
        return unknown(
            key or "name", line, _("The environment variable %(name)s is not set in this text.", name=quoted(key))
        )

    def _merge_names(self, entries: dict[str, Node], value: Node, expression: ast.expr) -> None:
        if isinstance(value.value, dict):
            self.spend(len(value.value) // TEXT_COST)
            entries |= value.value
            return
        message = _(
            "The contents of **%(name)s are not known; they are left out until you write them out.",
            name=self.source(expression),
        )
        self.notes.note("placeholder", expression.lineno, message, _("Write its names and values there."))

    def _constant(self, expression: ast.Constant) -> Node | None:
        value = expression.value
        is_plain = isinstance(value, str | int | float | None) and value not in (float("inf"), float("-inf"))
        return Node(value, expression.lineno, "" if isinstance(value, str | int) else str(value)) if is_plain else None

    def _list(self, expression: ast.List | ast.Tuple | ast.Set) -> Node:
        node = self.branches.make(Node(self.listed(expression.elts), expression.lineno))
        if any(item.value == "create" for item in node.value):
            self.texts.append(node)
        return node

    _tuple = _set = _list

    def _dict(self, expression: ast.Dict) -> Node:
        entries: dict[str, Node] = {}
        for key, item in zip(expression.keys, expression.values, strict=True):
            value = self.data(item)
            if key is None:
                self._merge_names(entries, value, item)
            else:
                name = self.data(key)
                entries[name.text() if name.is_scalar else self.source(key)] = placed_at(value, key.lineno)
        return self.branches.make(Node(entries, expression.lineno))

    def _name(self, expression: ast.Name) -> Node | None:
        return self.scope.find(expression.id)

    def _joinedstr(self, expression: ast.JoinedStr) -> Node | None:
        pieces: list[Node] = []
        for part in expression.values:
            piece: Node | None = self.evaluate(part) if isinstance(part, ast.Constant) else None
            if isinstance(part, ast.FormattedValue):
                node, pattern = self.filled(part.value), part.format_spec
                shown = self.evaluate(pattern) if pattern is not None else Node("", 0)
                is_plain = part.conversion in (-1, ord("s")) and not shown.open
                piece = calls.formatted(node, shown.text()) if is_plain else None
                piece = piece or unknown(self.source(part.value), part.lineno)
            pieces.append(piece or unknown(self.source(part), part.lineno))
        text = calls.bounded(text_of(piece) or "" for piece in pieces)
        return Node(text, expression.lineno, "", calls.first_reason(pieces))

    def filled(self, expression: ast.expr) -> Node:
        """Return a value that becomes part of a text; a name that is still empty, as in PROJECT = "", is open."""
        node = self.data(expression)
        is_empty = node.value == "" and isinstance(expression, ast.Name)
        return unknown(self.source(expression), expression.lineno) if is_empty else node

    def _attribute(self, expression: ast.Attribute) -> Node | None:
        if path := self.path_of(expression):
            if self.is_sdk(path) and _is_enum(path):
                return Node(Enum(expression.attr), expression.lineno)
            is_flag = path.rpartition(".")[0].endswith("FLAGS") and expression.attr in self.arguments
            return self.arguments[expression.attr] if is_flag else Node(Module(path), expression.lineno)
        owner = self.evaluate(expression.value)
        held = owner.value
        if isinstance(held, Object | Class):
            return self._attribute_of(owner, expression)
        if isinstance(held, Enum) or (
            expression.attr == "value" and is_data(owner) and owner.is_scalar and not owner.open
        ):
            return (
                Node(str(held), owner.line)
                if expression.attr == "name"
                else owner
                if expression.attr == "value"
                else None
            )
        found = held.get(expression.attr) if isinstance(held, dict) else None
        other = unknown(self.source(expression), expression.lineno, raw=owner.raw if owner.open else "")
        return found or self.branches.derive(other, [owner] if owner.open else [])

    def _attribute_of(self, owner: Node, expression: ast.Attribute) -> Node | None:
        found: Node | None = owner.value.attributes.get(expression.attr)
        if found is None or not isinstance(found.value, Function):
            return found
        if found.value.is_property:
            return self.enter(found.value, [owner], {}, expression.lineno)
        return Node(found.value, expression.lineno)

    def enter(self, function: Function, given: list[Node], named: dict[str, Node], line: int) -> Node | None:
        """Return what a function of the program returns; it is read by the class that reads statements."""
        raise NotImplementedError

    def _boolop(self, expression: ast.BoolOp) -> Node | None:
        for part in expression.values[:-1]:
            node = self.data(part)
            holds = truth_of(node)
            if holds is isinstance(expression.op, ast.Or):
                return node
            if holds is None:
                is_default = isinstance(expression.op, ast.Or) and _is_lookup(part) and len(expression.values) == 2
                default = self.data(expression.values[1]) if is_default else None
                if default is None or default.open or default.value in (None, ""):
                    others = [default] if default is not None else map(self.data, expression.values[1:])
                    return self.branches.derive(unknown(self.source(expression), expression.lineno), [node, *others])
                self.note_default(
                    expression.lineno,
                    _("Values that are not set are read with their defaults; change those that differ."),
                )
                return default
        return self.data(expression.values[-1])

    def _unaryop(self, expression: ast.UnaryOp) -> Node | None:
        if isinstance(expression.op, ast.Not):
            holds = self.truth(expression.operand)
            return None if holds is None else Node(not holds, expression.lineno)
        node = self.data(expression.operand)
        if isinstance(expression.op, ast.USub) and type(node.value) in (int, float):
            return Node(-node.value, expression.lineno, str(-node.value) if isinstance(node.value, float) else "")
        return None

    def _binop(self, expression: ast.BinOp) -> Node | None:
        left, right = self.data(expression.left), self.data(expression.right)
        self.spend(sum(len(node.value) // TEXT_COST for node in (left, right) if isinstance(node.value, str | list)))
        return calls.operate(expression.op, left, right, expression.lineno)

    def _compare(self, expression: ast.Compare) -> Node | None:
        nodes = [self.data(part) for part in (expression.left, *expression.comparators)]
        pairs = zip(expression.ops, nodes, nodes[1:], strict=False)
        answers = [calls.compare(operator, left, right) for operator, left, right in pairs]
        if None in answers and False not in answers:
            return None
        return Node(False not in answers, expression.lineno)

    def _subscript(self, expression: ast.Subscript) -> Node | None:
        if self.path_of(expression.value) in ENVIRONMENTS:
            return self.look_up(self.data(expression.slice), None, expression.lineno)
        path = self.path_of(expression.value)
        if path.endswith(ENUMS) and self.is_sdk(path):
            key = self.data(expression.slice)
            return Node(Enum(key.value), expression.lineno) if isinstance(key.value, str) and not key.open else None
        owner = self.evaluate(expression.value)
        held = owner.value
        other = self.branches.derive(unknown(self.source(expression), expression.lineno), [owner])
        if owner.open or not isinstance(held, dict | list | str):
            return other
        if isinstance(expression.slice, ast.Slice):
            parts = expression.slice.lower, expression.slice.upper, expression.slice.step
            bounds = [self.data(part) if part is not None else Node(None, 0) for part in parts]
            if isinstance(held, dict) or any(node.open for node in bounds):
                return other
            cut = slice(*(node.value for node in bounds))
            return (
                Node(held[cut], expression.lineno)
                if isinstance(held, list)
                else calls.carried_out(lambda: held[cut], [], 0)
            )
        key = self.data(expression.slice)
        if isinstance(held, dict):
            return held.get(text_of(key) or "", other) if not key.open else other
        is_place = type(key.value) is int and -len(held) <= key.value < len(held)
        found = held[key.value] if is_place else None
        return Node(found, expression.lineno) if isinstance(found, str) else found or other

    def _ifexp(self, expression: ast.IfExp) -> Node | None:
        taken = self.truth(expression.test)
        if taken is not None:
            return self.evaluate(expression.body if taken else expression.orelse)
        return self.either([expression.body, expression.orelse], expression.test)

    def either(self, parts: list[ast.expr], test: ast.expr) -> Node:
        """Return what is known of one of several expressions, of which a condition decides."""
        result: dict[str, Node] = {}

        def block(part: ast.expr) -> Callable[[], str]:
            def read() -> str:
                self.branches.put(result, self.source(test), self.data(part), "name")
                return ""

            return read

        self.branches.choose([block(part) for part in parts], self.source(test), test.lineno)
        return result[self.source(test)]

    def _listcomp(self, expression: ast.ListComp | ast.GeneratorExp | ast.SetComp | ast.DictComp) -> Node | None:
        """Return the result of `[... for name in items if ...]`; None if the items or a condition are not known."""
        made: list[tuple[str, Node]] = []
        outer, self.scope = self.scope, Scope(outer=self.scope)
        is_known = self._turns(expression, 0, made)
        self.scope = outer
        if not is_known:
            return None
        is_mapping = isinstance(expression, ast.DictComp)
        return self.branches.make(Node(dict(made) if is_mapping else [node for _, node in made], expression.lineno))

    _generatorexp = _dictcomp = _setcomp = _listcomp

    def _turns(
        self,
        expression: ast.ListComp | ast.GeneratorExp | ast.SetComp | ast.DictComp,
        place: int,
        made: list[tuple[str, Node]],
    ) -> bool:
        if place == len(expression.generators):
            is_mapping = isinstance(expression, ast.DictComp)
            key = self.data(expression.key).text() if isinstance(expression, ast.DictComp) else ""
            made.append((key, self.data(expression.value if isinstance(expression, ast.DictComp) else expression.elt)))
            return is_mapping or len(made) <= MAX_ITEMS
        loop = expression.generators[place]
        held = self.data(loop.iter)
        if held.open or not isinstance(held.value, list | dict | str):
            return False
        for item in calls.elements(held):
            self.spend(1)
            if not self.bind(loop.target, item):
                return False
            answers = [self.truth(test) for test in loop.ifs]
            if None in answers or (all(answers) and not self._turns(expression, place + 1, made)):
                return False
        return True

    def _namedexpr(self, expression: ast.NamedExpr) -> Node:
        node = self.evaluate(expression.value)
        self.bind(expression.target, node)
        return node

    def _await(self, expression: ast.Await) -> Node:
        return self.evaluate(expression.value)


def truth_of(node: Node) -> bool | None:
    """Return whether a value counts as true; None if it is not known."""
    return None if node.open else bool(node.value) if is_data(node) else True


def _is_enum(path: str) -> bool:
    """Return whether a path of the SDK names a value of an enum."""
    owner, _, name = path.rpartition(".")
    return name.isupper() and len(name) > 2 and (owner.endswith(ENUMS) or "aiplatform" in owner)


def _is_lookup(expression: ast.expr) -> bool:
    """Return whether an expression gets a value from the environment or a mapping of settings."""
    return (
        isinstance(expression, ast.Call)
        and isinstance(expression.func, ast.Attribute | ast.Name)
        and ((expression.func.attr if isinstance(expression.func, ast.Attribute) else expression.func.id) in LOOKUPS)
    )
