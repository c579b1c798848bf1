"""What a program itself defines: functions and classes, read at the place of their call, and argparse's defaults."""

import ast
from typing import TYPE_CHECKING

from jobs.convert.sdk.makers import MAKERS
from jobs.convert.sdk.naming import call_name
from jobs.convert.texts.nodes import Node

if TYPE_CHECKING:
    from jobs.convert.sdk.program import Program

Function = ast.FunctionDef | ast.AsyncFunctionDef
MAX_CALLS = 100
MAX_DEPTH = 6


class Own:
    """Goes through the program's functions as they are called, at most MAX_CALLS times and MAX_DEPTH deep."""

    def __init__(self, program: "Program") -> None:
        self.program = program
        self.functions: dict[str, Function] = {}
        self.classes: dict[str, Node] = {}
        self.arguments: dict[str, Node] = {}
        self.results: dict[int, Node | None] = {}
        self.making: dict[str, bool] = {}
        self.budget = MAX_CALLS

    def take_class(self, statement: ast.ClassDef) -> None:
        """Bind a class to its attributes, from which its objects start."""
        before = dict(self.program.values.names)
        self.program.body(statement.body)
        own = {name: node for name, node in self.program.values.names.items() if before.get(name) is not node}
        self.program.values.names[statement.name] = self.classes[statement.name] = Node(own, statement.lineno)

    def makes(self, name: str) -> bool:
        """Tell whether a function of this name makes or runs jobs."""
        if name in self.functions and name not in self.making:
            names = (call_name(node) for node in ast.walk(self.functions[name]) if isinstance(node, ast.Call))
            self.making[name] = any(each in MAKERS or each in ("run", "submit") for each in names)
        return self.making.get(name, False)

    def value(self, call: ast.Call) -> Node | None:
        """Return what a function or class of the program gives when it is called so; the jobs of it are made once."""
        name = call_name(call)
        if name in ("parse_args", "parse_known_args"):
            message = "Arguments of the command line are read as their defaults; change what is given otherwise."
            self.program.values.notes.advise("defaults_taken", call.lineno, message)
            return Node(self.arguments, call.lineno)
        if name in self.classes and isinstance(call.func, ast.Name):
            return Node(self.classes[name].value | self.program.values.arguments(call).value, call.lineno)
        if name not in self.functions or id(call) in self.results:
            return self.results.get(id(call))
        made, node = self.program.made, self.enter(call)
        self.program.made = made
        self.results.pop(id(call), None)
        return node

    def enter(self, call: ast.Call) -> Node | None:
        """Go through a function as it is called; the jobs that it makes take the place of those without a call."""
        function, program = self.functions[call_name(call)], self.program
        if self.budget <= 0 or len(program.returned) >= MAX_DEPTH:
            return None
        self.budget -= 1
        seen, names, program.seen = program.seen, program.values.names, set()
        program.values.names = self._bound(function.args, call)
        program.made = [made for made in program.made if made.function != function.name]
        node = program.within(function)
        program.seen, program.values.names = seen, names
        self.results[id(call)] = node
        return node

    def _bound(self, parameters: ast.arguments, call: ast.Call) -> dict[str, Node]:
        """Return the names that a function sees when it is called so."""
        values = self.program.values
        placed = [each.arg for each in (*parameters.posonlyargs, *parameters.args)]
        if isinstance(call.func, ast.Attribute) and placed[:1] in (["self"], ["cls"]):
            placed.pop(0)
        given = dict(zip(placed, (values.of(each) for each in call.args), strict=False))
        given |= values.arguments(call).value
        outer, values.names = values.names, dict(values.names)
        known = self.program.parameters(parameters)
        bound = values.names | {name: node for name, node in given.items() if name in known}
        values.names = outer
        if parameters.kwarg is not None:
            rest = {name: node for name, node in given.items() if name not in known}
            bound[parameters.kwarg.arg] = Node(rest, call.lineno)
        return bound

    def take_argument(self, call: ast.Call) -> None:
        """Keep the default of an argument of the command line, by the name under which argparse gives it."""
        given = self.program.values.arguments(call)
        flags = [node.text() for node in map(self.program.values.of, call.args)]
        name = given.get("dest") or Node(next((flag for flag in flags if flag.startswith("--")), flags[0]), call.lineno)
        action, default = given.get("action"), given.get("default")
        if default is None and action is not None and action.value in ("store_true", "store_false"):
            default = Node(action.value == "store_false", call.lineno)
        if default is not None and default.value not in (None, ""):
            self.arguments[name.text().lstrip("-").replace("-", "_")] = default
