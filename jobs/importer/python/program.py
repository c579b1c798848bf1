"""Find the jobs that a program creates. Statements are read in order, functions where they are called; nothing is run.

Names are bound to their values as far as known. Source: google-cloud-aiplatform 2.7.0, read 2026-11-21.
"""

import ast
from dataclasses import dataclass
from functools import partial

from jobs.importer.nodes import Node, Notes, Path, set_at
from jobs.importer.python.evaluator import Evaluator
from jobs.importer.python.functions import Function, bound, default_of_argument, defaults, parsed_arguments
from jobs.importer.python.job_calls import JobCall, add_edit, call_of
from jobs.importer.python.operations import bind_target, grow, is_open, last_name, name_of
from jobs.importer.sdk_names import MAKERS, MESSAGE_FIELDS, POSITIONS

MAX_CALLS, MAX_CALL_DEPTH = 100, 6
RUNS = ("run", "submit")
PARSERS = ("parse_args", "parse_known_args")


@dataclass
class Frame:
    """A function whose body is being read, and the first value that it returns."""

    function: Function
    returned: Node | None = None


class Program:
    """Reads a program; its own functions at most MAX_CALLS times and MAX_CALL_DEPTH deep.

    `values` has the values of names at the end, `job_calls` the calls that create jobs, `places` the project and
    location of init(), `defaults` all its arguments, `given` the first mapping or list that each function returns.
    """

    def __init__(self, notes: Notes) -> None:
        self.values = Evaluator(notes)
        self.arguments: dict[str, Node] = {}
        self.values.procedures |= dict.fromkeys(PARSERS, partial(parsed_arguments, self.arguments, notes))
        self.job_calls: list[JobCall] = []
        self.places = {"project": "", "location": ""}
        self.defaults: dict[str, Node] = {}
        self.given: dict[str, Node] = {}
        self.making: dict[str, Function] = {}
        self.frames: list[Frame] = []
        self.passed_over: list[list[ast.stmt]] = []
        self.calls = MAX_CALLS

    def follow(self, tree: ast.Module) -> None:
        """Read the whole program once; read branches that are not taken only if no other creates a job."""
        self._walk(tree.body)
        while self.passed_over and not self.job_calls:
            self._walk(self.passed_over.pop(0))

    def _walk(self, statements: list[ast.stmt]) -> None:
        for statement in statements:
            match statement:
                case ast.FunctionDef() | ast.AsyncFunctionDef():
                    self._define(statement)
                case ast.ClassDef():
                    self._define_class(statement)
                case ast.If():
                    self._choose(statement)
                case ast.Assign(targets=targets, value=value):
                    self._assign(targets, value)
                case ast.AnnAssign(target=target, value=ast.expr() as value):
                    self._assign([target], value)
                case ast.AugAssign(target=ast.Name() as target):
                    joined = ast.BinOp(target, statement.op, statement.value)
                    self._assign([target], ast.copy_location(joined, statement))
                case ast.Expr(value=value) | ast.Return(value=ast.expr() as value):
                    self._evaluate_alone(value, is_return=isinstance(statement, ast.Return))
                case _:
                    self._walk_blocks(statement)

    def _walk_blocks(self, statement: ast.stmt) -> None:
        """Read the blocks of a loop, a with or a try. A handler sets only names whose values are otherwise unknown."""
        for block in ("body", "orelse", "finalbody"):
            self._walk(getattr(statement, block, []))
        names = self.values.names
        for handler in getattr(statement, "handlers", []):
            for name, node in self._changes(handler.body).items():
                if is_open(names.get(name)) and not is_open(node):
                    names[name] = node

    def _changes(self, statements: list[ast.stmt]) -> dict[str, Node | None]:
        """Read a block; return the names that it binds instead of binding them."""
        names, self.values.names = self.values.names, self.values.names.new_child()
        self._walk(statements)
        changes, self.values.names = self.values.names.maps[0], names
        return dict(changes)

    def _choose(self, statement: ast.If) -> None:
        """Read the branch that is taken if known; else both, and the first one decides the values of names.

        A None in a branch that may not be taken does not replace the previous value of a name. An unknown value does
        not replace a known one.
        """
        taken = self.values.truth(statement.test)
        if taken is not None:
            self._walk(statement.body if taken else statement.orelse)
            self.passed_over.append(statement.orelse if taken else statement.body)
            return
        names = self.values.names
        first, second = self._changes(statement.body), self._changes(statement.orelse)
        for name, node in first.items():
            is_empty = (node is None or node.value is None) and name in names
            if not is_empty and (is_open(second.get(name)) or not is_open(node)):
                second[name] = node
        names |= second

    def _assign(self, targets: list[ast.expr], value: ast.expr) -> None:
        self._carry_out(value, name_of(targets[0]))
        node = self.values.evaluate(value)
        for target in targets:
            name = name_of(target)
            if isinstance(target, ast.Attribute | ast.Subscript) and self._set_field(target, node):
                continue
            if isinstance(target, ast.Tuple | ast.List):
                self.values.names |= bind_target(target, node) or dict.fromkeys(map(name_of, target.elts))
            elif name:
                self.values.names[name] = node

    def _evaluate_alone(self, value: ast.expr, *, is_return: bool) -> None:
        """Evaluate a statement that is an expression; a value at the end of a notebook's cell is bound to `it`."""
        self._carry_out(value, "")
        if is_return and self.frames:
            frame, node = self.frames[-1], self.values.evaluate(value)
            frame.returned = frame.returned or node
            if not node.is_scalar and node.value:
                self.given.setdefault(frame.function.name, node)
        elif isinstance(value, ast.Dict | ast.List | ast.Tuple) or (
            isinstance(value, ast.Call) and name_of(value.func) == "dict"
        ):
            self.values.names.setdefault("it", self.values.evaluate(value))

    def _set_field(self, target: ast.expr, node: Node) -> bool:
        """Set a field of a name's value, as in `job.job_spec.network = "n"`; return False if there is no such field."""
        path: Path = []
        owner = target
        while isinstance(owner, ast.Attribute | ast.Subscript) and not (path and name_of(owner) in self.values.names):
            path.insert(0, owner.attr if isinstance(owner, ast.Attribute) else self.values.evaluate(owner.slice).value)
            owner = owner.value
        name, node = name_of(owner), Node(node.value, target.lineno, node.raw)
        if name and add_edit(self.job_calls, name, path, node):
            return True
        holder = self.values.names.get(name)
        return holder is not None and set_at(holder, path, node)

    def _carry_out(self, expression: ast.expr, name: str) -> None:
        """Evaluate the calls of an expression that create, run or change something, inner ones first."""
        for call in reversed([node for node in ast.walk(expression) if isinstance(node, ast.Call)]):
            called, owner = last_name(call.func), call.func.value if isinstance(call.func, ast.Attribute) else None
            if called in MAKERS and self._make(call, called, name):
                continue
            if (function := self.making.get(called)) is not None:
                self.values.done[call] = self._enter(function, call) or self.values.unknown(call)
            elif called in RUNS and owner is not None:
                if (made := call_of(self.job_calls, owner)) is not None and not made.run:
                    made.run, made.is_submitted = self.values.arguments(call), called == "submit"
            elif called in ("append", "extend", "update") and owner is not None and call.args:
                grow(called, self.values.evaluate(owner), self.values.evaluate(call.args[0]))
            elif called == "add_argument" and call.args:
                self.arguments.update(default_of_argument(call, self.values))
            elif (
                called == "setattr" and len(call.args) == 3 and (attribute := self.values.evaluate(call.args[1])).value
            ):
                setting = ast.copy_location(ast.Attribute(call.args[0], attribute.text()), call)
                self._set_field(setting, self.values.evaluate(call.args[2]))
            elif called == "init":
                self.defaults |= {
                    name: node for name, node in self.values.arguments(call).entries.items() if node.value
                }
                self.places |= {name: self.defaults[name].text() for name in self.places if name in self.defaults}

    def _make(self, call: ast.Call, maker: str, name: str) -> bool:
        """Add a call that creates a job; return False for a message that only has the name of a job."""
        args = self.values.arguments(call)
        for word, value in zip(POSITIONS.get(maker, ()), call.args, strict=False):
            args.value[word] = self.values.evaluate(value)
        if MESSAGE_FIELDS.get(maker, frozenset()) & set(args.value):
            return False
        is_open = any(word.arg is None and self.values.evaluate(word.value).is_scalar for word in call.keywords)
        self.job_calls.append(JobCall(maker, args, name=name, is_open=is_open))
        self.values.done[call] = args
        return True

    def _define(self, function: Function) -> None:
        """Read a function with the defaults of its parameters, before any call of it.

        Names bound only by it stay known. Jobs from later calls replace the jobs that it creates here.
        """
        if function.name not in PARSERS:
            self.values.procedures[function.name] = partial(self._value_of_call, function)
        called = {last_name(node.func) for node in ast.walk(function) if isinstance(node, ast.Call)}
        self.making |= {function.name: function} if called & {*MAKERS, *RUNS} else {}
        first, names = len(self.job_calls), self.values.names
        inner = defaults(function, self.values)
        self.values.names = names.new_child(inner)
        self._within(function)
        self.values.names = names
        names |= {name: node for name, node in inner.items() if names.get(name) is None}
        for made in self.job_calls[first:]:
            made.function = made.function or function.name

    def _define_class(self, statement: ast.ClassDef) -> None:
        """Bind a class to its attributes, which its objects start with."""
        own = self._changes(statement.body)
        self.values.names |= own
        known = {name: node for name, node in own.items() if node is not None}
        self.values.names[statement.name] = Node(known, statement.lineno)

        def new_object(call: ast.Call) -> Node | None:
            is_own = isinstance(call.func, ast.Name)  # else a class of the same name elsewhere
            return Node(known | self.values.arguments(call).value, call.lineno) if is_own else None

        self.values.procedures[statement.name] = new_object

    def _within(self, function: Function) -> Node | None:
        self.frames.append(Frame(function))
        self._walk(function.body)
        return self.frames.pop().returned

    def _value_of_call(self, function: Function, call: ast.Call) -> Node | None:
        """Return the value of a call of the program's function; jobs that it creates are left out."""
        made = self.job_calls
        node = self._enter(function, call)
        self.job_calls = made
        return node

    def _enter(self, function: Function, call: ast.Call) -> Node | None:
        """Read a function as it is called; jobs that it creates replace those read without a call."""
        if self.calls <= 0 or len(self.frames) >= MAX_CALL_DEPTH:
            return None
        self.calls -= 1
        names, done = self.values.names, self.values.done
        self.values.names, self.values.done = names.new_child(bound(function, call, self.values)), {}
        self.job_calls = [made for made in self.job_calls if made.function != function.name]
        node = self._within(function)
        self.values.names, self.values.done = names, done
        return node
