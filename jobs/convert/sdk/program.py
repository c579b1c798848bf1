"""Walks through a program's statements in order: binds names to literals, and notes the calls that make or run a job.

The text is parsed, never run. Source: google-cloud-aiplatform 2.7.0, read 2026-11-21.
"""

import ast

from jobs.convert.sdk.conditions import truth
from jobs.convert.sdk.makers import MAKERS, MESSAGE_FIELDS, POSITIONS
from jobs.convert.sdk.naming import call_name
from jobs.convert.sdk.own import Function, Own
from jobs.convert.sdk.statements import RESOURCES, Made, in_order, is_dict, is_open, put
from jobs.convert.sdk.values import LONGEST_LIST, Values
from jobs.convert.texts.nodes import Node, Notes

LITERALS = (ast.Dict, ast.List, ast.Tuple)


class Program:
    """What a program makes, found statement by statement."""

    def __init__(self, notes: Notes) -> None:
        self.own = Own(self)
        self.values = Values(notes, self.own.value)
        self.returned: list[Node | None] = []
        self.given: dict[str, Node] = {}
        self.made: list[Made] = []
        self.places = {"project": "", "location": ""}
        self.seen: set[int] = set()
        self.function: Function | None = None
        self.outside: set[str] = set()
        self.passed_over: list[list[ast.stmt]] = []

    def walk(self, tree: ast.Module) -> None:
        """Go through the whole program once; through branches that are not taken only where no other makes a job."""
        self.body(tree.body)
        while self.passed_over and not self.made:
            self.body(self.passed_over.pop(0))

    def body(self, statements: list[ast.stmt]) -> None:
        """Go through statements in order."""
        for statement in statements:
            self._statement(statement)

    def _statement(self, statement: ast.stmt) -> None:
        if isinstance(statement, Function):
            self._function(statement)
        elif isinstance(statement, ast.ClassDef):
            self.own.take_class(statement)
        elif isinstance(statement, ast.If):
            self._choice(statement)
        else:
            self._simple(statement)
            self._inner(statement)

    def _inner(self, statement: ast.stmt) -> None:
        for field in ("body", "orelse", "finalbody"):
            self.body([inner for inner in getattr(statement, field, []) if isinstance(inner, ast.stmt)])
        if handlers := getattr(statement, "handlers", []):
            self._handlers(handlers)

    def _simple(self, statement: ast.stmt) -> None:
        if isinstance(statement, ast.Assign):
            for target in statement.targets:
                self._assign(target, statement.value)
        elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
            self._assign(statement.target, statement.value)
        elif isinstance(statement, ast.AugAssign):
            joined = ast.copy_location(ast.BinOp(statement.target, statement.op, statement.value), statement)
            if isinstance(statement.target, ast.Name):
                self._assign(statement.target, joined)
        elif isinstance(statement, ast.Expr | ast.Return) and statement.value is not None:
            made = self._calls(statement.value, "")
            if isinstance(statement, ast.Return) and self.function is not None:
                node = made.args if made is not None else self.values.of(statement.value)
                self.returned[-1] = self.returned[-1] or node
                if isinstance(node.value, dict | list) and node.value:
                    self.given.setdefault(self.function.name, node)
            elif isinstance(value := statement.value, LITERALS) or (made is None and is_dict(value)):
                self.values.names.setdefault("it", self.values.of(value))

    def _handlers(self, handlers: list[ast.ExceptHandler]) -> None:
        """Go through what happens after an error; it hides nothing that was known without one."""
        before = dict(self.values.names)
        for handler in handlers:
            self.body(handler.body)
        names = self.values.names
        self.values.names = names | {
            name: node for name, node in before.items() if not is_open(node) or is_open(names.get(name))
        }

    def _function(self, function: Function) -> None:
        """Go through a function as it stands, with the defaults of its parameters; its calls come later."""
        self.own.functions[function.name] = function
        names, first = dict(self.values.names), len(self.made)
        parameters = self.parameters(function.args)
        self.within(function)
        for made in self.made[first:]:
            made.function = made.function or function.name
        again = names.keys() & self.outside & set(parameters)
        kept = {name: node for name, node in self.values.names.items() if name not in again}
        self.values.names = {name: names[name] for name in names if name in again} | kept

    def within(self, function: Function) -> Node | None:
        """Go through the body of a function; return what it gives back."""
        outer, self.function = self.function, function
        self.returned.append(None)
        self.body(function.body)
        self.function = outer
        return self.returned.pop()

    def _choice(self, statement: ast.If) -> None:
        """Follow the branch that is taken, where that is known; else both: the first says what names are bound to.

        None in a branch that may not be taken does not hide what a name was bound to before, nor does a value that is
        not known hide one that is.
        """
        taken = truth(self.values, statement.test)
        if taken is not None:
            self.body(statement.body if taken else statement.orelse)
            self.passed_over.append(statement.orelse if taken else statement.body)
            return
        before = dict(self.values.names)
        self.body(statement.body)
        said = {
            name: node
            for name, node in self.values.names.items()
            if before.get(name) is not node and not (node.value is None and name in before)
        }
        self.values.names = dict(before)
        self.body(statement.orelse)
        names = self.values.names
        known = {name for name in said if names.get(name) is not before.get(name) and not is_open(names.get(name))}
        self.values.names |= {name: node for name, node in said.items() if not (is_open(node) and name in known)}

    def parameters(self, arguments: ast.arguments) -> list[str]:
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
        if isinstance(target, ast.Attribute | ast.Subscript) and self._set_field(target, node):
            return
        if isinstance(target, ast.Tuple | ast.List):
            self._unpack(target, node)
        elif name:
            self.values.names[name] = node
            if self.function is None:
                self.outside.add(name)

    def _unpack(self, target: ast.Tuple | ast.List, node: Node) -> None:
        """Bind the names of `a, b = 1, 2`."""
        parts = node.value if isinstance(node.value, list) and len(node.value) == len(target.elts) else []
        for place, inner in enumerate(target.elts):
            if isinstance(inner, ast.Name):
                self.values.names.pop(inner.id, None)
                if parts:
                    self.values.names[inner.id] = parts[place]

    def _set_field(self, target: ast.expr, node: Node) -> bool:
        """Set a field of a message that a name is bound to, as in `job.job_spec.network = "n"`."""
        path: list[str | int] = []
        owner = target
        while isinstance(owner, ast.Attribute | ast.Subscript) and not (
            path and ast.unparse(owner) in self.values.names
        ):
            key = owner.attr if isinstance(owner, ast.Attribute) else self.values.of(owner.slice).value
            path.insert(0, key)
            owner = owner.value
        name = ast.unparse(owner) if isinstance(owner, ast.Name | ast.Attribute) else ""
        made = next((made for made in reversed(self.made) if made.name == name), None)
        if made is not None and name and path[0] in RESOURCES:
            made.edits.append((path[1:], Node(node.value, target.lineno, node.raw)))
            return True
        holder = self.values.names.get(name)
        return holder is not None and put(holder, path, Node(node.value, target.lineno, node.raw))

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
            elif self.own.makes(called):
                self.own.enter(call)
            elif called in ("run", "submit") and isinstance(call.func, ast.Attribute):
                self._run(call)
            elif called == "add_argument" and call.args:
                self.own.take_argument(call)
            elif called == "setattr" and len(call.args) == 3 and (field := self.values.of(call.args[1])).value:
                setting = ast.copy_location(ast.Attribute(call.args[0], field.text()), call)
                self._set_field(setting, self.values.of(call.args[2]))
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
        self.places |= {name: given[name].text() for name in self.places if name in given and given[name].value}

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
