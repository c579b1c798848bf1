"""Read Python expressions to nodes without running anything; what is not known becomes open, with its source text.

Source: Python's manual, "Expressions"; google-cloud-aiplatform 2.7.0, read 2026-11-26.
"""

import ast
import re
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from jobs.importer.nodes import Node, Notes
from jobs.importer.python import calls, values
from jobs.importer.python.branches import Branches
from jobs.importer.python.calls import NotKnown
from jobs.importer.python.values import Enum, Held, Module, Object, Scope, elements, is_data, placed_at, unknown
from jobs.spec import quoted
from jobs.texts import translatable as _

MAX_DEPTH, TEXT_COST, SOURCE_COST = 110, 50, 8
"""The most levels of a program, and what long texts and source texts cost in steps."""
ENUMS = ("Strategy", "AcceleratorType", "GoalType", "ScaleType", "Algorithm", "Type")
HELD = re.compile(r"\bcreate\b|[wW]orker_?[pP]ool_?[sS]pecs|[jJ]ob_?[sS]pec")
LOOKUPS = ("get", "getenv", "setdefault")


class Given(NamedTuple):
    """The arguments of a call, and all their values; if `is_open` it has more that are not known."""

    placed: list[Node]
    named: dict[str, Node]
    values: list[Node]
    is_open: bool


class Expressions(Branches):
    """Reads expressions. `scope` has the names at the current statement, `environment` the variables that are set.

    `texts` are texts and lists of words in which a command or a document may be, with the lines where they are written.
    """

    def __init__(self, notes: Notes, environment: dict[str, Node]) -> None:
        super().__init__()
        self.notes = notes
        self.module = self.scope = Scope()
        self.environment = environment
        self.variables = Scope(environment, strict=True)
        self.arguments = Held({}, 1)
        self.texts: list[Node] = []
        self.sources: dict[ast.AST, str] = {}
        self.depth = self.assumptions = 0
        self.is_assuming = True

    def source(self, expression: ast.AST) -> str:
        """Return the source text of an expression, shortened; it is written once."""
        if expression not in self.sources:
            self.spend(SOURCE_COST)
            self.sources[expression] = values.source(expression)
        return self.sources[expression]

    def open_at(self, expression: ast.expr, *origins: Node) -> Held:
        """Return an open value for an expression, which may be, or be in, one of other values."""
        return self.derived(self.source(expression), expression.lineno, origins)

    def evaluate(self, expression: ast.expr) -> Node:
        """Return the value of an expression; an open one if it is not known."""
        self.spend(1)
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise RecursionError
        read: Callable[[Any], Node | None] = getattr(self, f"_{type(expression).__name__.lower()}", self._other)
        try:
            node = read(expression)
        except NotKnown:
            node = None
        self.depth -= 1
        if node is None:
            return self.open_at(expression)
        if isinstance(node.value, str) and not isinstance(expression, ast.Name):
            self.spend(len(node.value) // TEXT_COST)
            if HELD.search(node.value):
                self.texts.append(Node(node.value, expression.lineno))
        return node

    def data(self, expression: ast.expr) -> Node:
        """Return the value of an expression; a module, or a name imported from it, is open."""
        node = self.evaluate(expression)
        return unknown(node.value.path, expression.lineno) if isinstance(node.value, Module) else node

    def filled(self, expression: ast.expr) -> Node:
        """Return a value that becomes part of a text; a name that is still empty, as in PROJECT = "", is open."""
        node = self.data(expression)
        return self.open_at(expression) if node.value == "" and isinstance(expression, ast.Name) else node

    def plain(self, node: Node) -> Any:
        """Return a known value as Python has it. Raise NotKnown for any other."""
        return calls.known(node, self.spend)

    def node_of(self, value: Any, line: int) -> Node:
        """Return a value of Python as new nodes, all on one line; nodes in it are kept."""
        if isinstance(value, Node):
            return value
        if isinstance(value, dict):
            return self.made({str(name): self.node_of(item, line) for name, item in value.items()}, line)
        if isinstance(value, list | tuple):
            return self.made([self.node_of(item, line) for item in value], line)
        return Node(value, line, str(value) if isinstance(value, float) else "")

    def path_of(self, expression: ast.expr) -> str:
        """Return the dotted path of a module's name, or of a name that nothing binds; "" for any other expression."""
        if isinstance(expression, ast.Name):
            node = self.scope.find(expression.id)
            return expression.id if node is None else node.value.path if isinstance(node.value, Module) else ""
        owner = self.path_of(expression.value) if isinstance(expression, ast.Attribute) else ""
        return f"{owner}.{expression.attr}" if isinstance(expression, ast.Attribute) and owner else ""

    def is_sdk(self, path: str) -> bool:
        """Return whether a path is one of Google's SDK; a root that nothing binds is taken for it."""
        root = path.partition(".")[0]
        is_bound = self.scope.find(root) is not None or root in sys.stdlib_module_names
        return bool(path) and (Module(path).is_sdk or not is_bound)

    def assumed(self, node: Node) -> Node:
        """Return what a condition takes for a value: the default of an option that may be given, else the value."""
        default = node.default if isinstance(node, Held) and node.open and self.is_assuming else None
        self.assumptions += default is not None
        return default or node

    def truth(self, node: Node) -> bool | None:
        """Return whether a value counts as true; None if it is not known."""
        node = self.assumed(node)
        if node.open:
            return node.holds if isinstance(node, Held) else None
        return bool(node.value) if is_data(node) else True

    def default(self, node: Node | None, line: int) -> Node | None:
        """Return a default that is taken for a value that is not set, with one note; None if it gives no value."""
        if node is None or node.value in (None, "") or node.open:
            return None
        if not self.notes.has("defaults_taken"):
            message = _("Values that are not set here are read with their defaults; change those that differ.")
            self.notes.note("defaults_taken", line, message)
        return node

    def either(self, expressions: Sequence[ast.expr | None], condition: ast.expr) -> Node:
        """Return what is known of one of several values, of which a condition decides; None stands for nothing."""
        result, name = Scope(), self.source(condition)

        def block(expression: ast.expr | None) -> str:
            if expression is not None:
                self.put(result, name, self.data(expression))
            return ""

        self.choose([partial(block, each) for each in expressions], name, condition.lineno)
        return result.names[name]

    def listed(self, items: Sequence[ast.expr], read: Callable[[ast.expr], Node]) -> list[Node]:
        """Return the values of a list or of positional arguments; `*items` are merged if they are known."""
        nodes: list[Node] = []
        for item in items:
            node = read(item.value if isinstance(item, ast.Starred) else item)
            is_merged = isinstance(item, ast.Starred) and not node.is_scalar
            nodes.extend(elements(node) if is_merged else [node])
        return nodes

    def given_to(self, call: ast.Call) -> Given:
        """Return the arguments of a call; `*items` and `**names` are merged if they are known."""
        read = self.filled if getattr(call.func, "attr", "") == "format" else self.data
        before = next((n for n, each in enumerate(call.args) if isinstance(each, ast.Starred)), len(call.args))
        placed, rest = self.listed(call.args[:before], read), self.listed(call.args[before:], read)
        is_open = any(node.open for node in rest)
        named: dict[str, Node] = {}
        for word in call.keywords:
            value = self.data(word.value)
            if word.arg is None:
                is_open = not self._merge_names(named, value, word.value) or is_open
            else:
                named[word.arg] = placed_at(value, word.lineno)
        return Given(placed if is_open else [*placed, *rest], named, [*placed, *rest, *named.values()], is_open)

    def _merge_names(self, entries: dict[str, Node], value: Node, expression: ast.expr) -> bool:
        """Add the entries of `**value`; return False, with a note, if they are not known."""
        if isinstance(value.value, dict):
            self.spend(len(value.value) // TEXT_COST)
            entries.update(value.value)
            return True
        name = self.source(expression)
        message = _("The contents of **%(name)s are not known; they are left out until you write them out.", name=name)
        self.notes.note("placeholder", expression.lineno, message, _("Write its names and values there."))
        return False

    def look_up(self, name: Node, default: Node | None, line: int) -> Node:
        """Return the value of a variable of the environment: as set in the text, the default, or open."""
        key = name.text() if name.is_scalar else "name"
        if not name.open and (held := self.environment.get(key)) is not None:
            return placed_at(held, line)
        reason = _("The environment variable %(name)s is not set in this text.", name=quoted(key))
        return self.default(default, line) or unknown(key, line, reason)

    def _other(self, expression: ast.expr) -> Node:
        parts = [self.evaluate(part) for part in ast.iter_child_nodes(expression) if isinstance(part, ast.expr)]
        return self.open_at(expression, *parts)

    def _constant(self, expression: ast.Constant) -> Node | None:
        value = expression.value
        is_plain = isinstance(value, str | int | float | None) and value not in (float("inf"), float("-inf"))
        return Node(value, expression.lineno, "" if isinstance(value, str | int) else str(value)) if is_plain else None

    def _list(self, expression: ast.List | ast.Tuple | ast.Set) -> Node:
        node = self.made(self.listed(expression.elts, self.data), expression.lineno)
        if any(item.value == "create" for item in node.value):
            self.texts.append(node)
        return node

    _tuple = _set = _list

    def _dict(self, expression: ast.Dict) -> Node:
        entries: dict[str, Node] = {}
        for key, item in zip(expression.keys, expression.values, strict=True):
            if key is None:
                if not self._merge_names(entries, self.data(item), item):  # it may replace what is there
                    entries = {name: self.open_at(item, node) for name, node in entries.items()}
            else:
                name, value = self.data(key), self.data(item)
                entries[name.text() if name.is_scalar else self.source(key)] = placed_at(value, key.lineno)
        return self.made(entries, expression.lineno)

    def _name(self, expression: ast.Name) -> Node | None:
        return self.scope.find(expression.id)

    def _joinedstr(self, expression: ast.JoinedStr) -> Node:
        pattern, nodes = "", []
        for part in expression.values:
            if isinstance(part, ast.FormattedValue):
                node = self.filled(part.value)
                spec = calls.scalar(self.evaluate(part.format_spec)) if part.format_spec and not node.open else ""
                marks = f"!{chr(part.conversion)}" if part.conversion > 0 and not node.open else ""
                is_text = values.text_of(node) is not None
                nodes.append(node if is_text else self.open_at(part.value))
                pattern += f"{{{marks}:{spec}}}" if is_text else "{}"
            else:
                pattern += self.evaluate(part).text().replace("{", "{{").replace("}", "}}")
        return calls.formatted(pattern, nodes, {}, expression.lineno)

    def _attribute(self, expression: ast.Attribute) -> Node | None:
        if path := self.path_of(expression):
            return self._of_module(path, expression)
        owner, name = self.evaluate(expression.value), expression.attr
        held, found = owner.value, None
        if isinstance(held, Object):
            found = held.get(name)
            if found is not None and isinstance(found.value, values.Function) and found.value.kind == "property":
                return self.enter(found.value, Given([owner], {}, [], is_open=False), expression.lineno)
        elif isinstance(held, Enum) and name in ("name", "value"):
            return Node(str(held), owner.line) if name == "name" else owner
        elif isinstance(held, str) and not owner.open and name in calls.PATH_PARTS:
            return Node(str(getattr(PurePosixPath(held), name)), expression.lineno)
        elif isinstance(held, dict):
            found = held.get(name)
        return found if found is not None else self.open_at(expression, owner)

    def _of_module(self, path: str, expression: ast.Attribute) -> Node:
        owner, _, name = path.rpartition(".")
        if owner.endswith("FLAGS") and name in self.arguments.entries:
            return self.arguments.entries[name]
        is_enum = name.isupper() and len(name) > 2 and (owner.endswith(ENUMS) or "aiplatform" in owner)
        return Node(Enum(name) if is_enum and self.is_sdk(path) else Module(path), expression.lineno)

    def enter(self, function: values.Function, given: Given, line: int) -> Node | None:
        """Return what a function of the program returns; it is read by the class that reads functions."""
        raise NotImplementedError

    def _boolop(self, expression: ast.BoolOp) -> Node:
        is_or, nodes = isinstance(expression.op, ast.Or), list[Node]()
        for part in expression.values:
            holds = self.truth(nodes[-1]) if nodes else None
            if holds is is_or:
                break
            nodes = nodes if holds is None else nodes[:-1]  # it decides nothing
            nodes.append(self.either([part, None], expression) if nodes else self.data(part))
        first, *others = expression.values
        if len(nodes) == 1:
            return nodes[0]
        is_default = is_or and _is_lookup(first) and len(others) == 1 and isinstance(others[0], ast.Constant)
        default = self.default(nodes[-1], expression.lineno) if is_default else None
        if default is not None:
            return default
        result = self.open_at(expression, *nodes)
        result.holds = is_or if any(self.truth(node) is is_or for node in nodes) else None
        return result

    def _unaryop(self, expression: ast.UnaryOp) -> Node | None:
        node = self.evaluate(expression.operand)
        holds = self.truth(node)
        if isinstance(expression.op, ast.Not):
            return None if holds is None else Node(not holds, expression.lineno)
        value = calls.scalar(node)
        is_number = isinstance(expression.op, ast.USub) and type(value) in (int, float)
        return self.node_of(-value, expression.lineno) if is_number else None

    def _binop(self, expression: ast.BinOp) -> Node:
        chain: list[ast.BinOp] = []
        left: ast.expr = expression
        while isinstance(left, ast.BinOp):
            chain.append(left)
            left = left.left
        node = self.data(left)
        for part in reversed(chain):
            right = self.data(part.right)
            self.spend_on(node, right)
            try:
                node = self.node_of(calls.operated(part.op, node, right, part.lineno), part.lineno)
            except NotKnown:
                node = self.open_at(part, node, right)
        return node

    def _compare(self, expression: ast.Compare) -> Node | None:
        nodes = [self.data(part) for part in (expression.left, *expression.comparators)]
        self.spend_on(*nodes)
        answers: list[bool | None] = []
        for kind, left, right in zip(expression.ops, nodes, nodes[1:], strict=False):
            try:
                is_identity = isinstance(kind, ast.Is | ast.IsNot)
                both = [self.assumed(left), self.assumed(right)]
                pair = [each.value if is_identity and not is_data(each) else self.plain(each) for each in both]
                is_sure = not is_identity or None in pair or type(pair[0]) is bool
                answers.append(bool(calls.carried_out(calls.COMPARISONS[type(kind)], pair)) if is_sure else None)
            except NotKnown:
                answers.append(None)
        return None if None in answers and False not in answers else Node(False not in answers, expression.lineno)

    def _subscript(self, expression: ast.Subscript) -> Node | None:
        path, part, line = self.path_of(expression.value), expression.slice, expression.lineno
        bounds = [part.lower, part.upper, part.step] if isinstance(part, ast.Slice) else [part]
        keys = [self.data(each) if each is not None else calls.NOTHING for each in bounds]
        if path in ("os.environ", "environ"):
            return self.look_up(keys[0], None, line)
        if path.endswith(ENUMS) and self.is_sdk(path):
            return Node(Enum(calls.scalar(keys[0])), line)
        owner = self.evaluate(expression.value)
        held = owner.value
        try:
            places = [calls.scalar(each) for each in keys]
            if owner.open or not isinstance(held, dict | list | str):
                raise NotKnown
            if isinstance(held, dict):
                entry: Node = held[calls.key_of(keys[0])]
                return entry
            found = held[slice(*places)] if isinstance(part, ast.Slice) else held[places[0]]
        except (NotKnown, TypeError, ValueError, LookupError):
            return self.open_at(expression, owner)
        return self.node_of(found, line)

    def _ifexp(self, expression: ast.IfExp) -> Node:
        taken = self.truth(self.evaluate(expression.test))
        if taken is not None:
            return self.evaluate(expression.body if taken else expression.orelse)
        return self.either([expression.body, expression.orelse], expression.test)

    def bind(self, target: ast.expr, item: Node) -> None:
        """Bind a name, or the names of a tuple to the parts of a value; they are open if it has other parts."""
        if isinstance(target, ast.Name):
            self.put(self.scope.shared.get(target.id, self.scope), target.id, item)
        elif isinstance(target, ast.Attribute | ast.Subscript):
            self.set_field(target, item)
        elif isinstance(target, ast.Tuple | ast.List):
            self.spend_on(item)
            parts = elements(item) if not (item.open or values.is_too_long(item)) else []
            is_whole = len(parts) == len(target.elts) and not any(isinstance(each, ast.Starred) for each in target.elts)
            for place, each in enumerate(target.elts):
                self.bind(each, parts[place] if is_whole else self.open_at(each, item))
        elif isinstance(target, ast.Starred):
            self.bind(target.value, item)

    def set_field(self, target: ast.expr, node: Node) -> bool:
        """Set a field of a value, as in `pool["replica_count"] = 2`."""
        raise NotImplementedError

    def _namedexpr(self, expression: ast.NamedExpr) -> Node:
        node = self.evaluate(expression.value)
        scope = self.scope
        while "." in scope.names and scope.outer is not None:  # of a comprehension
            scope = scope.outer
        self.put(scope.shared.get(expression.target.id, scope), expression.target.id, node)
        return node


def _is_lookup(expression: ast.expr) -> bool:
    """Return whether an expression gets a value from the environment or a mapping of settings."""
    func = expression.func if isinstance(expression, ast.Call) else None
    return getattr(func, "attr", getattr(func, "id", "")) in LOOKUPS
