"""Read the statements of a Python program in order, functions where they are called; nothing is run.

Branches and loops whose condition is known are followed. What others touch becomes open.
"""

import ast
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import partial

from jobs.importer.nodes import Node, Notes
from jobs.importer.python import calls
from jobs.importer.python.branches import EXIT, MAYBE, Block
from jobs.importer.python.expressions import Expressions
from jobs.importer.python.values import Module, Scope, is_data, unknown
from jobs.texts import translatable as _

MAX_TURNS = 300
BREAK, CONTINUE, RETURN = "break", "continue", "return"


class Statements(Expressions):
    """Reads statements.

    `bound` has the mappings and lists that names and functions have, `rebound` the names with several values.
    """

    def __init__(self, notes: Notes, environment: dict[str, Node]) -> None:
        super().__init__(notes, environment)
        self.module = self.scope
        self.skipped: list[tuple[Scope, Sequence[ast.stmt]]] = []
        self.frames: list[list[Node]] = []
        self.bound: dict[str, Node] = {}
        self.rebound: set[str] = set()
        self.loops = 0

    def block(self, statements: Sequence[ast.stmt]) -> str:
        """Read statements; return how they end: "" if the next statement follows."""
        for place, statement in enumerate(statements):
            self.spend(1)
            ending = ENDINGS.get(type(statement)) or self._read(statement)
            if ending == MAYBE and len(statements) > place + 1:
                return self._perhaps(statements[place + 1 :], statement)
            if ending:
                return ending
        return ""

    def _read(self, statement: ast.stmt) -> str:
        read: Callable[[ast.stmt], str | None] | None = getattr(self, f"_on_{type(statement).__name__.lower()}", None)
        return (read(statement) if read is not None else None) or ""

    def _perhaps(self, rest: Sequence[ast.stmt], statement: ast.stmt) -> str:
        """Read what follows a statement that may have ended the block."""
        endings: list[str] = []

        def follow() -> str:
            endings.append(self.block(rest))
            return endings[0]

        self.branches.choose([follow, lambda: ""], self._condition(statement), statement.lineno)
        return RETURN if endings[0] in (RETURN, EXIT) and not self.loops else MAYBE

    def _on_expr(self, statement: ast.Expr) -> str:
        value = statement.value
        node = self.evaluate(value)
        is_held = isinstance(value, ast.Dict | ast.List | ast.Tuple)
        if is_held or (isinstance(value, ast.Call) and self.path_of(value.func) == "dict"):
            self.bound.setdefault("it", node)
        return EXIT if isinstance(value, ast.Call) and self.path_of(value.func) in ENDS else ""

    def _on_return(self, statement: ast.Return) -> str:
        node = self.evaluate(statement.value) if statement.value is not None else Node(None, statement.lineno)
        if self.frames:
            self.frames[-1].append(node)
        return RETURN

    def _yield(self, expression: ast.Yield | ast.YieldFrom) -> Node:
        node = unknown(self.source(expression), expression.lineno)
        if self.frames:
            self.frames[-1].append(node)
        return node

    _yieldfrom = _yield

    def _on_if(self, statement: ast.If) -> str:
        taken = self.truth(statement.test)
        if taken is None:
            blocks: list[Block] = [lambda: self.block(statement.body), lambda: self.block(statement.orelse)]
            return self.branches.choose(blocks, self.source(statement.test), statement.lineno)
        self.skipped.append((self.scope, statement.orelse if taken else statement.body))
        return self.block(statement.body if taken else statement.orelse)

    def _on_match(self, statement: ast.Match) -> str:
        return self._cases(self.data(statement.subject), statement.cases, statement)

    def _cases(self, subject: Node, cases: Sequence[ast.match_case], statement: ast.Match) -> str:
        for place, case in enumerate(cases):
            holds = self._matches(case.pattern, subject)
            if holds is not False and case.guard is not None:
                guarded = self.truth(case.guard)
                holds = guarded if guarded is not True else holds
            if holds:
                return self.block(case.body)
            if holds is None:
                blocks = [lambda: self.block(case.body), lambda: self._cases(subject, cases[place + 1 :], statement)]  # noqa: B023
                return self.branches.choose(blocks, self.source(statement.subject), statement.lineno)
        return ""

    def _matches(self, pattern: ast.pattern, subject: Node) -> bool | None:
        match pattern:
            case ast.MatchValue(value=value):
                return calls.compare(ast.Eq(), subject, self.data(value))
            case ast.MatchSingleton(value=value):
                return calls.compare(ast.Eq(), subject, Node(value, 0)) if value is None else None
            case ast.MatchOr(patterns=patterns):
                answers = [self._matches(each, subject) for each in patterns]
                return True if True in answers else None if None in answers else False
            case ast.MatchAs(pattern=inner, name=name):
                if name is not None:
                    self.bind(ast.Name(name), subject)
                return True if inner is None else self._matches(inner, subject)
        return None

    def _on_for(self, statement: ast.For) -> str:
        held = self.data(statement.iter)
        items = calls.elements(held)
        if held.open or not isinstance(held.value, list | dict | str) or len(items) > MAX_TURNS:
            return self._unknown_loop(statement, self.source(statement.iter), held)
        self.loops += 1
        ending = self._turns_from(statement, items)
        self.loops -= 1
        has_return = ending == MAYBE and any(isinstance(node, ast.Return) for node in ast.walk(statement))
        if ending in (RETURN, EXIT) or has_return:
            return ending
        return "" if ending == BREAK else self.block(statement.orelse)

    def _turns_from(self, statement: ast.For, items: list[Node]) -> str:
        for place, item in enumerate(items):
            self.bind(statement.target, item)
            ending = self.block(statement.body)
            if ending in (BREAK, RETURN, EXIT):
                return ending
            if ending == MAYBE:
                following = partial(self._turns_from, statement, items[place + 1 :])
                self.branches.choose([following, lambda: ""], self._condition(statement), statement.lineno)
                return MAYBE
        return ""

    _on_asyncfor = _on_for

    def _on_while(self, statement: ast.While) -> str:
        if self.truth(statement.test) is False:
            return self.block(statement.orelse)
        return self._unknown_loop(statement, self.source(statement.test), None)

    def _unknown_loop(self, statement: ast.For | ast.While, condition: str, items: Node | None) -> str:
        """Read the body of a loop once, as one that may not run; it begins with the names of an earlier turn."""

        def body() -> str:
            self._open_assigned(statement.body)
            if items is not None and isinstance(statement, ast.For | ast.AsyncFor):
                item = unknown(self.source(statement.target), statement.lineno)
                inner = calls.elements(items) if not items.is_scalar else []
                self.bind(statement.target, self.branches.derive(item, [items, *inner]))
            ending = self.block(statement.body)
            return "" if ending in (BREAK, CONTINUE) else ending

        self.loops += 1
        ending = self.branches.choose([body, lambda: ""], condition, statement.lineno)
        self.loops -= 1
        self.block(statement.orelse)
        return MAYBE if ending == MAYBE and any(isinstance(node, ast.Return) for node in ast.walk(statement)) else ""

    def _open_assigned(self, statements: Iterable[ast.stmt]) -> None:
        """Make the names open that statements assign, as far as they have values already."""
        for statement in statements:
            for node in ast.walk(statement):
                self.spend(1)
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                    scope = self.scope.shared.get(node.id, self.scope)
                    if (held := scope.names.get(node.id)) is not None:
                        self.branches.open(held, node.id, node.lineno)
                        self.branches.put(scope.names, node.id, unknown(node.id, node.lineno), "name")

    def _on_try(self, statement: ast.Try) -> str:
        def handled(handler: ast.ExceptHandler) -> Callable[[], str]:
            def read() -> str:
                self._open_assigned(statement.body)
                if handler.name:
                    self.bind(ast.Name(handler.name), unknown(handler.name, handler.lineno))
                return self.block(handler.body)

            return read

        blocks = [lambda: self.block(statement.body) or self.block(statement.orelse), *map(handled, statement.handlers)]
        condition = _("an error of line %(line)s", line=statement.body[0].lineno)
        ending = self.branches.choose(blocks, condition, statement.lineno) if statement.handlers else blocks[0]()
        return self.block(statement.finalbody) or ending

    _on_trystar = _on_try

    def _on_with(self, statement: ast.With) -> str:
        for item in statement.items:
            node = self.evaluate(item.context_expr)
            if item.optional_vars is not None:
                self.bind(item.optional_vars, unknown(self.source(item.context_expr), statement.lineno, raw=node.raw))
        return self.block(statement.body)

    _on_asyncwith = _on_with

    def _on_assign(self, statement: ast.Assign) -> None:
        node = self.evaluate(statement.value)
        for target in statement.targets:
            self.assign(target, node)

    def _on_annassign(self, statement: ast.AnnAssign) -> None:
        if statement.value is not None:
            self.assign(statement.target, self.evaluate(statement.value))

    def assign(self, target: ast.expr, node: Node) -> None:
        """Assign a value to a name, to the names of a tuple, or to a field."""
        if isinstance(target, ast.Attribute | ast.Subscript):
            self.set_field(target, node)
            return
        if isinstance(target, ast.Tuple | ast.List):
            parts = node.value if isinstance(node.value, list) and not node.open else []
            is_whole = len(parts) == len(target.elts) and not any(isinstance(each, ast.Starred) for each in target.elts)
            for place, each in enumerate(target.elts):
                self.assign(each, parts[place] if is_whole else unknown(self.source(each), target.lineno))
            return
        if isinstance(target, ast.Name):
            before = self.module.names.get(target.id) if not self.frames else None
            if before is not None and before is not node and not (is_data(before) and before.value == node.value):
                self.rebound.add(target.id)
            if not node.is_scalar and node.value:
                self.bound.pop(target.id, None)
                self.bound[target.id] = node
        self.bind(target, node)

    def set_field(self, target: ast.expr, node: Node) -> bool:
        """Set a field of a value, as in `pool["replica_count"] = 2`."""
        raise NotImplementedError

    def _on_augassign(self, statement: ast.AugAssign) -> None:
        load = ast.parse(ast.unparse(statement.target), mode="eval").body
        ast.increment_lineno(load, statement.lineno - 1)
        held, node = self.evaluate(load), self.data(statement.value)
        if isinstance(held.value, list) and isinstance(statement.op, ast.Add) and not held.open:
            self.branches.record("list", held.value)
            added = list(node.value) if isinstance(node.value, list) else [node]
            self.spend(len(added))
            held.value.extend(added)
            return
        result = calls.operate(statement.op, held, node, statement.lineno) if is_data(held) else None
        if result is not None and isinstance(result.value, str):
            self.hold(result, statement.lineno)
        self.assign(statement.target, result or unknown(self.source(statement), statement.lineno))

    def _on_delete(self, statement: ast.Delete) -> None:
        for target in statement.targets:
            if isinstance(target, ast.Name):
                self.branches.put(self.scope.shared.get(target.id, self.scope).names, target.id, None, "name")
            elif isinstance(target, ast.Subscript):
                owner, key = self.evaluate(target.value), self.data(target.slice)
                if isinstance(owner.value, dict) and isinstance(key.value, str) and not key.open:
                    self.branches.put(owner.value, key.value, None)
                else:
                    self.branches.open(owner, self.source(statement), statement.lineno)

    def _on_import(self, statement: ast.Import) -> None:
        for name in statement.names:
            path = name.name if name.asname else name.name.partition(".")[0]
            self.branches.put(self.scope.names, name.asname or path, Node(Module(path), statement.lineno), "name")

    def _on_importfrom(self, statement: ast.ImportFrom) -> None:
        base = "." * statement.level + (statement.module or "")
        is_ours = base.partition(".")[0] in sys.stdlib_module_names or Module(base).is_sdk
        for name in statement.names:
            if name.name != "*":
                node = Node(Module(f"{base}.{name.name}"), statement.lineno)
                self.branches.put(self.scope.names, name.asname or name.name, node, "name")
            elif not is_ours:
                for held, value in list(self.scope.names.items()):
                    if is_data(value):
                        self.branches.put(self.scope.names, held, unknown(held, statement.lineno), "name")

    def _on_global(self, statement: ast.Global) -> None:
        self.scope.shared |= dict.fromkeys(statement.names, self.module)

    def _on_nonlocal(self, statement: ast.Nonlocal) -> None:
        for name in statement.names:
            scope = self.scope.outer
            while scope is not None and name not in scope.names:
                scope = scope.outer
            if scope is not None:
                self.scope.shared[name] = scope

    def _condition(self, statement: ast.stmt) -> str:
        """Return the source of what decides how a statement ends."""
        match statement:
            case ast.If(test=test) | ast.While(test=test):
                return self.source(test)
            case ast.For(iter=items):
                return self.source(items)
        return _("line %(line)s", line=statement.lineno)


ENDINGS: dict[type, str] = {ast.Raise: EXIT, ast.Break: BREAK, ast.Continue: CONTINUE}
ENDS = frozenset({"sys.exit", "exit", "quit", "os._exit", "os.abort"})
"""Calls after which a program ends."""
