"""Read the functions and classes of a program: where they are defined, called and instantiated.

Functions that nothing calls are read with the defaults of their parameters, the others being open.
"""

import ast

from jobs.importer.nodes import Node
from jobs.importer.python.branches import EXIT, Reason
from jobs.importer.python.statements import RETURN, Statements
from jobs.importer.python.values import Class, Function, Object, Scope, placed_at, unknown
from jobs.texts import translatable as _

MAX_CALL_DEPTH = 8


class Functions(Statements):
    """Reads functions and classes. `functions` are those of the program, `entered` the ones that were called."""

    functions: list[Function]
    entered: set[int]

    def _on_functiondef(self, statement: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        function = self._function(statement.name, statement.args, statement.body, statement.lineno)
        marks = [each.id for each in statement.decorator_list if isinstance(each, ast.Name)]
        function.is_property = "property" in marks or "cached_property" in marks
        self.functions.append(function)
        self.branches.put(self.scope.names, statement.name, Node(function, statement.lineno), "name")
        for decorator in statement.decorator_list:
            self.evaluate(decorator)

    _on_asyncfunctiondef = _on_functiondef

    def _function(self, name: str, parameters: ast.arguments, body: list[ast.stmt], line: int) -> Function:
        placed = [*parameters.posonlyargs, *parameters.args]
        given = list(zip(reversed(placed), reversed(parameters.defaults), strict=False))
        pairs = [*given, *zip(parameters.kwonlyargs, parameters.kw_defaults, strict=True)]
        defaults = {each.arg: self.data(default) for each, default in pairs if default is not None}
        return Function(name, parameters, body, self.scope, defaults, line)

    def _lambda(self, expression: ast.Lambda) -> Node:
        body = ast.copy_location(ast.Return(expression.body), expression)
        return Node(self._function("lambda", expression.args, [body], expression.lineno), expression.lineno)

    def _on_classdef(self, statement: ast.ClassDef) -> None:
        bases = [base.value for base in map(self.evaluate, statement.bases) if isinstance(base.value, Class)]
        outer, self.scope = self.scope, Scope(outer=self.scope)
        self.block(statement.body)
        own, self.scope = self.scope.names, outer
        for node in own.values():
            if isinstance(node.value, Function):
                node.value.scope = outer
        attributes = {name: node for base in reversed(bases) for name, node in base.attributes.items()} | own
        named = [
            each.target.id
            for each in statement.body
            if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name)
        ]
        fields = [*(name for base in bases for name in base.fields), *named]
        made = Class(statement.name, attributes, list(dict.fromkeys(fields)))
        self.branches.put(self.scope.names, statement.name, Node(made, statement.lineno), "name")

    def instantiate(self, made: Class, given: list[Node], named: dict[str, Node], line: int) -> Node:
        """Return a new object of a class of the program."""
        attributes = dict(made.attributes)
        held = Object(attributes, made)
        node = Node(held, line)
        setup = made.attributes.get("__init__")
        if setup is not None and isinstance(setup.value, Function):
            self.enter(setup.value, [node, *given], named, line)
        else:
            attributes |= {**dict(zip(made.fields, given, strict=False)), **named}
        return node

    def enter(self, function: Function, given: list[Node], named: dict[str, Node], line: int) -> Node | None:
        """Return what a function of the program returns when it is called with these arguments."""
        self.entered.add(id(function.body))
        if len(self.frames) >= MAX_CALL_DEPTH:
            for node in (*given, *named.values()):
                self.branches.open(node, function.name, line)
            return None
        names = self._parameters(function, given, named, line)
        return self._within(function, names, line)

    def _parameters(self, function: Function, given: list[Node], named: dict[str, Node], line: int) -> dict[str, Node]:
        placed, only = function.placed, [each.arg for each in function.parameters.kwonlyargs]
        names = {name: unknown(name, function.line) for name in (*placed, *only)} | function.defaults
        names |= dict(zip(placed, given, strict=False)) | {name: node for name, node in named.items() if name in names}
        if function.parameters.vararg is not None:
            names[function.parameters.vararg.arg] = Node(given[len(placed) :], line)
        if function.parameters.kwarg is not None:
            rest = {name: node for name, node in named.items() if name not in (*placed, *only)}
            names[function.parameters.kwarg.arg] = Node(rest, line)
        return names

    def _within(self, function: Function, names: dict[str, Node], line: int) -> Node | None:
        outer, self.scope = self.scope, Scope(names, function.scope)
        depth, self.depth = self.depth, 0
        loops, self.loops = self.loops, 0
        self.frames.append([])
        ending = self.block(function.body)
        returned = self.frames.pop()
        self.scope, self.depth, self.loops = outer, depth, loops
        if not returned:
            return Node(None, line)
        nodes = returned if ending in (RETURN, EXIT) else [*returned, Node(None, line)]
        node = self.branches.merge(nodes, function.name, Reason(function.name, function.line))
        if not node.is_scalar and node.value:
            self.bound.setdefault(function.name, node)
        return node

    def enter_unknown(self, function: Function) -> None:
        """Read a function that the program never calls: its parameters have their defaults, or are open."""
        placed = [*function.placed, *(each.arg for each in function.parameters.kwonlyargs)]
        defaults = {name: node for name, node in function.defaults.items() if node.value not in (None, "")}
        if defaults:
            self.note_default(
                function.line,
                _("Parameters of functions are read with their default values; change those that differ."),
            )
        names = {name: placed_at(defaults.get(name) or unknown(name, function.line), function.line) for name in placed}
        if function.parameters.vararg is not None:
            names[function.parameters.vararg.arg] = unknown(function.parameters.vararg.arg, function.line)
        if function.parameters.kwarg is not None:
            names[function.parameters.kwarg.arg] = unknown(function.parameters.kwarg.arg, function.line)
        self.entered.add(id(function.body))
        self._within(function, names, function.line)
