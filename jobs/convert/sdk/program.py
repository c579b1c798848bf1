"""Walks through a program's statements in order: binds names to literals, and notes the calls that make or run a job.

The text is parsed, never run. Source: google-cloud-aiplatform 2.7.0, read 2026-11-21.
"""

import ast

from jobs.convert.sdk.conditions import truth
from jobs.convert.sdk.makers import MAKERS, MESSAGE_FIELDS, POSITIONS
from jobs.convert.sdk.naming import call_name
from jobs.convert.sdk.statements import Made, in_order
from jobs.convert.sdk.values import LONGEST_LIST, Values
from jobs.convert.texts.nodes import Node, Notes


class Program:
    """What a program makes, found statement by statement."""

    def __init__(self, notes: Notes) -> None:
        self.values = Values(notes)
        self.made: list[Made] = []
        self.places = {"project": "", "location": ""}
        self.seen: set[int] = set()
        self.function: ast.FunctionDef | ast.AsyncFunctionDef | None = None
        self.outside: set[str] = set()
        self.passed_over: list[list[ast.stmt]] = []

    def walk(self, tree: ast.Module) -> None:
        """Go through the whole program once; through branches that are not taken only where no other makes a job."""
        self._body(tree.body)
        while self.passed_over and not self.made:
            self._body(self.passed_over.pop(0))

    def _body(self, statements: list[ast.stmt]) -> None:
        for statement in statements:
            self._statement(statement)

    def _statement(self, statement: ast.stmt) -> None:
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
            outer, names = self.function, dict(self.values.names)
            parameters = self._parameters(statement.args)
            self.function = statement
            self._body(statement.body)
            self.function = outer
            again = names.keys() & self.outside & set(parameters)
            kept = {name: node for name, node in self.values.names.items() if name not in again}
            self.values.names = {name: names[name] for name in names if name in again} | kept
            return
        if isinstance(statement, ast.Assign):
            for target in statement.targets:
                self._assign(target, statement.value)
        elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
            self._assign(statement.target, statement.value)
        elif isinstance(statement, ast.AugAssign):
            joined = ast.copy_location(ast.BinOp(statement.target, statement.op, statement.value), statement)
            if isinstance(statement.target, ast.Name):
                self._assign(statement.target, joined)
        elif isinstance(statement, ast.If):
            self._choice(statement)
            return
        elif isinstance(statement, ast.Expr | ast.Return) and statement.value is not None:
            self._calls(statement.value, "")
            if isinstance(statement, ast.Return) and self.function is not None:
                self._returned(self.function, statement.value)
        for field in ("body", "orelse", "finalbody"):
            self._body([inner for inner in getattr(statement, field, []) if isinstance(inner, ast.stmt)])
        if handlers := getattr(statement, "handlers", []):
            self._handlers(handlers)

    def _handlers(self, handlers: list[ast.ExceptHandler]) -> None:
        """Go through what happens after an error; it hides nothing that was known without one."""
        before = dict(self.values.names)
        for handler in handlers:
            self._body(handler.body)
        names = self.values.names
        self.values.names = names | {
            name: node for name, node in before.items() if not _is_open(node) or _is_open(names.get(name))
        }

    def _returned(self, function: ast.FunctionDef | ast.AsyncFunctionDef, value: ast.expr) -> None:
        """Keep the dict or list that a function gives back, for where it is called."""
        node = self.values.of(value)
        if isinstance(node.value, dict | list) and node.value:
            varies = bool(function.args.defaults or any(function.args.kw_defaults))
            self.values.returns.setdefault(function.name, (node, varies))

    def _choice(self, statement: ast.If) -> None:
        """Follow the branch that is taken, where that is known; else both: the first says what names are bound to.

        None in a branch that may not be taken does not hide what a name was bound to before, nor does a value that is
        not known hide one that is.
        """
        taken = truth(self.values, statement.test)
        if taken is not None:
            self._body(statement.body if taken else statement.orelse)
            self.passed_over.append(statement.orelse if taken else statement.body)
            return
        before = dict(self.values.names)
        self._body(statement.body)
        said = {
            name: node
            for name, node in self.values.names.items()
            if before.get(name) is not node and not (node.value is None and name in before)
        }
        self.values.names = dict(before)
        self._body(statement.orelse)
        names = self.values.names
        known = {name for name in said if names.get(name) is not before.get(name) and not _is_open(names.get(name))}
        self.values.names |= {name: node for name, node in said.items() if not (_is_open(node) and name in known)}

    def _parameters(self, arguments: ast.arguments) -> list[str]:
        """Bind the parameters of a function to their defaults; return their names, which end with it."""
        placed = [argument.arg for argument in (*arguments.posonlyargs, *arguments.args)]
        named = [argument.arg for argument in arguments.kwonlyargs]
        for name in (*placed, *named):
            self.values.names.pop(name, None)
        defaults = list(zip(reversed(placed), reversed(arguments.defaults), strict=False))
        keyed = zip(named, arguments.kw_defaults, strict=True)
        for name, default in (*defaults, *keyed):
            if default is not None and not (isinstance(default, ast.Constant) and default.value in (None, "")):
                self.values.names[name] = self.values.of(default)
        return [*placed, *named]

    def _assign(self, target: ast.expr, value: ast.expr) -> None:
        name = ast.unparse(target) if isinstance(target, ast.Name | ast.Attribute) else ""
        made = self._calls(value, name)
        node = made.args if made is not None else self.values.of(value)
        if isinstance(target, ast.Attribute) and self._set_field(target, node):
            return
        if isinstance(target, ast.Tuple | ast.List):
            self._unpack(target, node)
        elif name:
            self.values.names[name] = node
            if self.function is None:
                self.outside.add(name)
        elif isinstance(target, ast.Subscript):
            holder, key = self.values.of(target.value), self.values.of(target.slice)
            if isinstance(holder.value, dict) and isinstance(key.value, str):
                holder.value[key.value] = Node(node.value, target.lineno, node.raw)
            elif isinstance(holder.value, list) and isinstance(key.value, int) and key.value < len(holder.value):
                holder.value[key.value] = node

    def _unpack(self, target: ast.Tuple | ast.List, node: Node) -> None:
        """Bind the names of `a, b = 1, 2`."""
        parts = node.value if isinstance(node.value, list) and len(node.value) == len(target.elts) else []
        for place, inner in enumerate(target.elts):
            if isinstance(inner, ast.Name):
                self.values.names.pop(inner.id, None)
                if parts:
                    self.values.names[inner.id] = parts[place]

    def _set_field(self, target: ast.Attribute, node: Node) -> bool:
        """Set a field of a message that a name is bound to, as in `job.job_spec.network = "n"`."""
        path: list[str] = []
        owner: ast.expr = target
        while isinstance(owner, ast.Attribute):
            path.insert(0, owner.attr)
            owner = owner.value
        holder = self.values.names.get(owner.id) if isinstance(owner, ast.Name) else None
        for step in path[:-1]:
            if holder is None or not isinstance(holder.value, dict):
                return False
            holder = holder.value.setdefault(step, Node({}, target.lineno))
        if holder is None or not isinstance(holder.value, dict):
            return False
        holder.value[path[-1]] = Node(node.value, target.lineno, node.raw)
        return True

    def _calls(self, expression: ast.expr, name: str) -> Made | None:
        """Take in the calls of an expression; return the job when the expression itself makes one."""
        outer: Made | None = None
        for call in in_order(expression):
            if id(call) in self.seen:
                continue
            self.seen.add(id(call))
            called = call_name(call)
            if called in MAKERS and (made := self._make(call, called, name)) is not None:
                outer = made if call is expression else outer
            elif called in ("run", "submit") and isinstance(call.func, ast.Attribute):
                self._run(call)
            elif called == "init":
                self._init(call)
            elif called in ("append", "extend", "update") and isinstance(call.func, ast.Attribute) and call.args:
                self._grow(call)
        return outer

    def _make(self, call: ast.Call, maker: str, name: str) -> Made | None:
        args = self.values.arguments(call)
        for word, value in zip(POSITIONS.get(maker, ()), call.args, strict=False):
            args.value[word] = self.values.of(value)
        if maker in MESSAGE_FIELDS and MESSAGE_FIELDS[maker] & set(args.value):
            return None
        unknown = any(
            word.arg is None and not isinstance(self.values.of(word.value).value, dict) for word in call.keywords
        )
        made = Made(maker, args, name=name, is_open=unknown)
        self.made.append(made)
        return made

    def _run(self, call: ast.Call) -> None:
        owner = call.func.value if isinstance(call.func, ast.Attribute) else None
        name = ast.unparse(owner) if isinstance(owner, ast.Name | ast.Attribute) else ""
        line = owner.lineno if owner is not None else 0
        for made in reversed(self.made):
            if (name and made.name == name) or (isinstance(owner, ast.Call) and made.args.line == line):
                made.run = made.run or self.values.arguments(call)
                return

    def _init(self, call: ast.Call) -> None:
        given = self.values.arguments(call).value
        for name in self.places:
            if name in given and given[name].value:
                self.places[name] = given[name].text()

    def _grow(self, call: ast.Call) -> None:
        holder = self.values.of(call.func.value) if isinstance(call.func, ast.Attribute) else None
        value = self.values.of(call.args[0])
        if holder is None or len(holder.text() if holder.is_scalar else holder.value) > LONGEST_LIST:
            return
        if isinstance(holder.value, list) and call_name(call) == "append":
            holder.value.append(value)
        elif isinstance(holder.value, list) and isinstance(value.value, list):
            holder.value.extend(value.value)
        elif isinstance(holder.value, dict) and isinstance(value.value, dict):
            holder.value.update(value.value)


def _is_open(node: Node | None) -> bool:
    return node is None or node.value is None or (isinstance(node.value, str) and "${" in node.value)
