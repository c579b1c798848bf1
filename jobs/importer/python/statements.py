"""Read the statements of a Python program in order, functions where they are called; nothing is run.

Branches and loops whose condition is known are followed. What others touch becomes open. Functions that nothing calls
are read with the defaults of their parameters, the others being open.
"""

import ast
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

from jobs.importer.nodes import Node, Notes
from jobs.importer.python import calls
from jobs.importer.python.branches import BREAK, CONTINUE, EXIT, MAYBE, RETURN, Block
from jobs.importer.python.calls import NotKnown
from jobs.importer.python.expressions import MAX_DEPTH, Expressions
from jobs.importer.python.values import (
    MAX_ITEMS,
    Function,
    Module,
    Scope,
    elements,
    is_data,
    is_too_long,
    items_of,
    same_scalar,
    unknown,
)
from jobs.texts import translatable as _

MAX_TURNS, MAX_TURNS_LEFT, MAX_CALL_DEPTH, SHARE = 1_000, 8, 8, 4
"""The most turns of `while`, those left after one that may end the loop, and the part of the steps for one loop."""
ENDINGS: dict[type, str] = {ast.Raise: EXIT, ast.Break: BREAK, ast.Continue: CONTINUE}
ENDS = frozenset({"sys.exit", "exit", "quit", "os._exit", "os.abort"})
"""Calls after which a program ends."""


Comprehension = ast.ListComp | ast.GeneratorExp | ast.SetComp | ast.DictComp


class Statements(Expressions):
    """Reads statements.

    `bound` has the mappings and lists that names and functions have, `rebound` the names with several values.
    `functions` are those of the program, `entered` the ones that were called, `skipped` what the program never runs.
    """

    def __init__(self, notes: Notes, environment: dict[str, Node]) -> None:
        super().__init__(notes, environment)
        self.skipped: list[tuple[Scope, Sequence[ast.stmt]]] = []
        self.frames: list[list[Node]] = []
        self.bound: dict[str, Node] = {}
        self.rebound: set[str] = set()
        self.functions: list[Function] = []
        self.entered: set[int] = set()
        self.loops = 0

    def block(self, statements: Sequence[ast.stmt]) -> str:
        """Read statements; return how they end: "" if the next statement follows."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise RecursionError
        ending = ""
        for place, statement in enumerate(statements):
            self.spend(1)
            read: Callable[[Any], str | None] | None = getattr(self, f"_on_{type(statement).__name__.lower()}", None)
            ending = ENDINGS.get(type(statement)) or (read(statement) if read is not None else None) or ""
            if ending == MAYBE and len(statements) > place + 1:
                ending = self._perhaps_block(statements[place + 1 :], statement)
            if ending:
                break
        self.depth -= 1
        return ending

    def _perhaps_block(self, rest: Sequence[ast.stmt], statement: ast.stmt) -> str:
        """Read what follows a statement that may have ended the block."""
        endings: list[str] = []

        def follow() -> str:
            endings.append(self.block(rest))
            return endings[0]

        test = getattr(statement, "test", getattr(statement, "iter", None))
        condition = self.source(test) if test is not None else _("line %(line)s", line=statement.lineno)
        self.choose([follow, str], condition, statement.lineno)
        return RETURN if endings[0] in (RETURN, EXIT) and not self.loops else MAYBE

    def _on_expr(self, statement: ast.Expr) -> str:
        value = statement.value
        node = self.evaluate(value)
        path = self.path_of(value.func) if isinstance(value, ast.Call) else ""
        if isinstance(value, ast.Dict | ast.List | ast.Tuple) or path == "dict":
            self.bound.setdefault("it", node)
        match value:
            case ast.Call(func=ast.Attribute(value=ast.Name() as owner, attr="error")):
                return EXIT if "ArgumentParser" in self.evaluate(owner).text() else ""
        return EXIT if path in ENDS else ""

    def _on_return(self, statement: ast.Return) -> str:
        node = self.evaluate(statement.value) if statement.value is not None else Node(None, statement.lineno)
        if self.frames:
            self.frames[-1].append(node)
        return RETURN

    def _yield(self, expression: ast.Yield | ast.YieldFrom) -> Node:
        node = self._other(expression)
        if self.frames:
            self.frames[-1].append(node)
        return node

    _yieldfrom = _yield

    def _await(self, expression: ast.Await) -> Node:
        return self.evaluate(expression.value)

    def _on_if(self, statement: ast.If) -> str:
        before = self.assumptions
        taken = self.truth(self.evaluate(statement.test))
        blocks = [statement.body, statement.orelse]
        if taken is None:
            return self.choose(
                [partial(self.block, each) for each in blocks], self.source(statement.test), statement.lineno
            )
        followed, other = blocks if taken else reversed(blocks)
        self.skipped.append((self.scope, other))
        is_assumed = self.assumptions > before
        ending = self.block(followed)
        return self.block(other) if ending == EXIT and is_assumed else ending  # the program needs the option

    def _on_match(self, statement: ast.Match) -> str:
        """Read `match` as `if`; a pattern that is no value, alternative or name is a condition that is not known."""
        self.put(self.scope, ".subject", self.data(statement.subject))
        rest: list[ast.stmt] = []
        for case in reversed(statement.cases):
            test = self._pattern(case.pattern)
            test = test if case.guard is None else ast.BoolOp(ast.And(), [test, case.guard])
            rest = [ast.If(test, case.body, rest)]
        _place(rest, statement.subject)
        self.sources |= {each.test: self.source(statement.subject) for each in rest if isinstance(each, ast.If)}
        return self.block(rest)

    def _pattern(self, pattern: ast.pattern) -> ast.expr:
        subject = ast.Name(".subject")
        match pattern:
            case ast.MatchValue(value=value):
                return ast.Compare(subject, [ast.Eq()], [value])
            case ast.MatchSingleton(value=value):
                return ast.Compare(subject, [ast.Is()], [ast.Constant(value)])
            case ast.MatchOr(patterns=patterns):
                return ast.BoolOp(ast.Or(), [self._pattern(each) for each in patterns])
            case ast.MatchAs(pattern=None, name=name):
                bound = ast.NamedExpr(ast.Name(name), subject) if name else subject
                return ast.BoolOp(ast.Or(), [bound, ast.Constant(value=True)])
        return ast.Name("pattern")

    def _on_for(self, statement: ast.For) -> str:
        items = self.data(statement.iter)
        return self._looped(statement, lambda body: self._turns(statement, items, body))

    _on_asyncfor = _on_for

    def _looped(self, statement: ast.For | ast.While, read: Callable[[Block], str]) -> str:
        """Read the turns of a loop and what follows them; return how it ends."""
        leaving = [node for node in ast.walk(statement) if isinstance(node, ast.Break | ast.Return)]

        def body() -> str:
            ending = self.block(statement.body)
            return "" if ending == CONTINUE or (ending == MAYBE and not leaving) else ending

        self.loops += 1
        ending = read(body)
        self.loops -= 1
        if ending in (RETURN, EXIT):
            return ending
        other = "" if ending == BREAK else self.block(statement.orelse)
        return MAYBE if ending == MAYBE and any(isinstance(node, ast.Return) for node in leaving) else other

    def _turns(self, statement: ast.For, items: Node, body: Block) -> str:
        """Read the turns of a loop; return how they end."""
        if items.open or not isinstance(items.value, list | dict | str) or is_too_long(items):
            return self._unknown_turns(statement, items, body)
        self.spend_on(items)
        least, turns = self.steps - self.steps // SHARE, elements(items)
        for place, item in enumerate(turns):
            if self.steps < least:
                return self._unknown_turns(statement, items, body)
            self.bind(statement.target, item)
            ending = body()
            if ending in (BREAK, RETURN, EXIT):
                return ending
            if ending == MAYBE:
                rest = self.made(turns[place + 1 :], items.line)
                follow = self._turns if len(rest.value) <= MAX_TURNS_LEFT else self._unknown_turns
                reads: list[Block] = [partial(follow, statement, rest, body), str]
                self.choose(reads, self.source(statement.iter), statement.lineno)
                return MAYBE
        return ""

    def _unknown_turns(self, statement: ast.For | ast.While, items: Node | None, body: Block) -> str:
        """Read the body of a loop once, as one that may not run; it begins with the names of an earlier turn."""

        def turn() -> str:
            self.touch(statement.body)
            if isinstance(statement, ast.For | ast.AsyncFor) and items is not None:
                self.bind(statement.target, self.open_at(statement.target, items, *items_of(items)))
            ending = body()
            return "" if ending == BREAK else ending

        condition = statement.test if isinstance(statement, ast.While) else statement.iter
        return self.choose([turn, str], self.source(condition), condition.lineno)

    def _on_while(self, statement: ast.While) -> str:
        def read(body: Block) -> str:
            least, ending = self.steps - self.steps // SHARE, ""
            for _turn in range(MAX_TURNS):
                holds = self.truth(self.evaluate(statement.test))
                if holds is False:
                    return ""
                ending = body() if holds else MAYBE
                if ending in (BREAK, RETURN, EXIT):
                    return ending
                if ending == MAYBE or self.steps < least:
                    break
            return self._unknown_turns(statement, None, body)

        return self._looped(statement, read)

    def _listcomp(self, expression: Comprehension) -> Node:
        """Return the result of `[... for name in items if ...]`, read as a loop that fills a list or a mapping."""
        result = self.made({} if isinstance(expression, ast.DictComp) else [], expression.lineno)
        outer, self.scope = self.scope, Scope({".": result}, self.scope, born=self.blocks[-1])
        name, choices = ast.Name("."), self.choices
        if isinstance(expression, ast.DictComp):
            body: ast.stmt = ast.Assign([ast.Subscript(name, expression.key)], expression.value)
        else:
            body = ast.Expr(ast.Call(ast.Attribute(name, "append"), [expression.elt], []))
        for part in reversed(expression.generators):
            for test in reversed(part.ifs):
                body = ast.If(test, [body], [])
            body = ast.For(part.target, part.iter, [body], [])
        _place([body], expression)
        self.block([body])
        self.scope = outer
        items = items_of(result)
        return result if self.choices == choices and len(items) <= MAX_ITEMS else self.open_at(expression, *items)

    _generatorexp = _dictcomp = _setcomp = _listcomp

    def touch(self, nodes: Iterable[ast.AST]) -> None:
        """Make open what statements assign or change, which may have been read in part, or several times."""
        for node in (inner for each in nodes for inner in ast.walk(each)):
            self.spend(1)
            is_changed = isinstance(getattr(node, "ctx", None), ast.Store | ast.Del)
            if isinstance(node, ast.Name) and is_changed:
                scope = self.scope.shared.get(node.id, self.scope)
                if (held := scope.names.get(node.id)) is not None:
                    self.put(scope, node.id, self.derived(node.id, node.lineno, [held]))
            elif isinstance(node, ast.Attribute | ast.Subscript) and is_changed and _is_plain(node):
                self.set_field(node, unknown(self.source(node), node.lineno))
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and _is_plain(node.func):
                is_changing = node.func.attr in calls.MUTATING - {"append", "extend"}
                if is_changing and not self.path_of(node.func):
                    self.open(self.evaluate(node.func.value), self.source(node), node.lineno)

    def _on_try(self, statement: ast.Try) -> str:
        def handled(handler: ast.ExceptHandler) -> str:
            self.touch(statement.body)
            if handler.name:
                self.bind(ast.Name(handler.name), unknown(handler.name, handler.lineno))
            return self.block(handler.body)

        blocks: list[Block] = [lambda: self.block(statement.body) or self.block(statement.orelse)]
        blocks += [partial(handled, handler) for handler in statement.handlers]
        condition = _("an error of line %(line)s", line=statement.body[0].lineno)
        ending = self.choose(blocks, condition, statement.lineno) if statement.handlers else blocks[0]()
        return self.block(statement.finalbody) or ending

    _on_trystar = _on_try

    def _on_with(self, statement: ast.With) -> str:
        for item in statement.items:
            node = self.evaluate(item.context_expr)
            if item.optional_vars is not None:
                self.bind(item.optional_vars, self.open_at(item.context_expr, node))
        if "suppress" not in self.source(statement.items[0].context_expr):
            return self.block(statement.body)
        handler = ast.ExceptHandler(None, None, [])
        return self._on_try(ast.copy_location(ast.Try(statement.body, [handler], [], []), statement))

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
        if isinstance(target, ast.Name):
            before = self.module.names.get(target.id) if not self.frames else None
            if before is not None and not same_scalar(before, node):
                self.rebound.add(target.id)
            if not node.is_scalar and node.value:
                self.bound.pop(target.id, None)
                self.bound[target.id] = node
        self.bind(target, node)

    def _on_augassign(self, statement: ast.AugAssign) -> None:
        held = self.evaluate(statement.target)
        changes: dict[Any, str] = {(list, ast.Add): "extend", (dict, ast.BitOr): "update"}
        change = changes.get((type(held.value), type(statement.op)))
        if change is not None:
            self.changed(change, held, [self.data(statement.value)], {}, statement)
            return
        if held.open:  # it may be a list, which changes in place
            self.change(held, self.source(statement), statement.lineno)
        expression = ast.copy_location(ast.BinOp(statement.target, statement.op, statement.value), statement)
        self.sources[expression] = self.source(statement)
        self.assign(statement.target, self.evaluate(expression))

    def changed(
        self, name: str, owner: Node, given: list[Node], named: dict[str, Node], part: ast.expr | ast.stmt
    ) -> Node | None:
        """Carry out a method that changes a mapping or a list; it is open if the change is not known."""
        if not self.change(owner, self.source(part), part.lineno):
            return None
        self.spend(sum(len(node.value) // 20 for node in given if isinstance(node.value, list | dict)))
        try:
            return calls.CHANGES[type(owner.value), name](owner.value, *given, **named)
        except (NotKnown, *calls.FAILURES):
            self.open(owner, self.source(part), part.lineno)
        return None

    def _on_delete(self, statement: ast.Delete) -> None:
        for target in statement.targets:
            if isinstance(target, ast.Name):
                self.put(self.scope.shared.get(target.id, self.scope), target.id, None)
            elif isinstance(target, ast.Subscript):
                owner, key = self.evaluate(target.value), self.data(target.slice)
                self.changed("pop", owner, [key], {}, statement)

    def _on_import(self, statement: ast.Import) -> None:
        for name in statement.names:
            path = name.name if name.asname else name.name.partition(".")[0]
            self.put(self.scope, name.asname or path, Node(Module(path), statement.lineno))

    def _on_importfrom(self, statement: ast.ImportFrom) -> None:
        base = "." * statement.level + (statement.module or "")
        is_ours = base.partition(".")[0] in sys.stdlib_module_names or Module(base).is_sdk
        for name in statement.names:
            if name.name != "*":
                self.put(self.scope, name.asname or name.name, Node(Module(f"{base}.{name.name}"), statement.lineno))
            for held, value in list(self.scope.names.items()) if name.name == "*" and not is_ours else ():
                if is_data(value):
                    self.put(self.scope, held, unknown(held, statement.lineno))

    def _on_global(self, statement: ast.Global) -> None:
        self.scope.shared |= dict.fromkeys(statement.names, self.module)

    def _on_nonlocal(self, statement: ast.Nonlocal) -> None:
        for name in statement.names:
            scope = self.scope.outer
            while scope is not None and name not in scope.names:
                scope = scope.outer
            if scope is not None:
                self.scope.shared[name] = scope


def _place(nodes: Iterable[ast.AST], at: ast.AST) -> None:
    """Give new nodes of a syntax tree the place of another one."""
    for node in (inner for each in nodes for inner in ast.walk(each) if not hasattr(inner, "lineno")):
        ast.copy_location(node, at)


def _is_plain(target: ast.expr) -> bool:
    """Return whether a name or a field can be read without doing anything."""
    plain = ast.Name | ast.Attribute | ast.Subscript | ast.Constant | ast.expr_context
    return all(isinstance(node, plain) for node in ast.walk(target))
