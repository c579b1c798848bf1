"""Read the functions and classes of a program: where they are defined, called and instantiated."""

import ast

from jobs.importer.nodes import Node
from jobs.importer.python.branches import EXIT, RETURN, Reason
from jobs.importer.python.expressions import Given
from jobs.importer.python.statements import MAX_CALL_DEPTH, Statements
from jobs.importer.python.values import Enum, Function, Module, Object, Scope, is_data, placed_at, unknown

KINDS = {"property": "property", "cached_property": "property", "staticmethod": "static", "classmethod": "class"}


class Functions(Statements):
    """Reads functions and classes; those that nothing calls with the defaults of their parameters, the others open."""

    def _on_functiondef(self, statement: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        function = self._function(statement.name, statement.args, statement.body, statement.lineno)
        self.functions.append(function)
        node: Node = Node(function, statement.lineno)
        for decorator in reversed(statement.decorator_list):
            if isinstance(decorator, ast.Call) and self.path_of(decorator.func) in ("click.option", "click.argument"):
                given = self.given_to(decorator)
                dest, option = self.option(given.placed, given.named, decorator)
                function.defaults[dest] = option
                continue
            value = self.evaluate(decorator).value
            name = decorator.id if isinstance(decorator, ast.Name) else getattr(decorator, "attr", "")
            function.kind = KINDS.get(name, function.kind)
            if isinstance(value, Function):
                given = Given([node], {}, [], is_open=False)
                node = self.enter(value, given, statement.lineno) or self.open_at(decorator)
        self.put(self.scope, statement.name, node)

    _on_asyncfunctiondef = _on_functiondef

    def option(self, placed: list[Node], named: dict[str, Node], call: ast.Call) -> tuple[str, Node]:
        """Return the name and the default of an option; it is read by the class that reads command lines."""
        raise NotImplementedError

    def _function(self, name: str, parameters: ast.arguments, body: list[ast.stmt], line: int) -> Function:
        placed = [each.arg for each in (*parameters.posonlyargs, *parameters.args)]
        named = [each.arg for each in parameters.kwonlyargs]
        given = list(zip(reversed(placed), reversed(parameters.defaults), strict=False))
        pairs = [*given, *zip(named, parameters.kw_defaults, strict=True)]
        defaults = {word: self.data(default) for word, default in pairs if default is not None}
        return Function(name, parameters, placed, [*placed, *named], body, self.scope, defaults, line)

    def _lambda(self, expression: ast.Lambda) -> Node:
        body = ast.copy_location(ast.Return(expression.body), expression)
        return Node(self._function("lambda", expression.args, [body], expression.lineno), expression.lineno)

    def _on_classdef(self, statement: ast.ClassDef) -> None:
        bases = [self.evaluate(base).value for base in statement.bases]
        known = [base for base in bases if isinstance(base, Object)]
        is_enum = any(isinstance(base, Module) and base.path.endswith("Enum") for base in bases)
        outer, self.scope = self.scope, Scope(outer=self.scope, born=self.blocks[-1])
        self.block(statement.body)
        own, self.scope = self.scope.names, outer
        for name, node in own.items():
            if isinstance(node.value, Function):
                node.value.scope = outer
            elif is_enum:  # the text of a member is not its value
                own[name] = (
                    Node(Enum(node.value), node.line) if isinstance(node.value, str) else unknown(name, node.line)
                )
        attributes = {name: node for base in reversed(known) for name, node in base.attributes.entries.items()} | own
        annotated = [each.target for each in statement.body if isinstance(each, ast.AnnAssign)]
        named = [each.id for each in annotated if isinstance(each, ast.Name)]
        fields = tuple(dict.fromkeys([*(name for base in known for name in base.fields), *named]))
        made = Object(self.made(attributes, statement.lineno), None, fields)
        self.put(self.scope, statement.name, Node(made, statement.lineno))

    def instantiate(self, kind: Object, given: Given, line: int) -> Node:
        """Return a new object of a class of the program."""
        node = Node(Object(self.made({}, line), kind), line)
        setup, held = kind.get("__init__"), node.value.attributes
        if setup is None:
            defaults = {name: self.copied(item) for name in kind.fields if (item := kind.get(name)) is not None}
            missing = {name: unknown(name, line) for name in kind.fields} if given.is_open else defaults
            held.value |= missing | dict(zip(kind.fields, given.placed, strict=False)) | given.named
            setup, given = kind.get("__post_init__"), Given([], {}, [], is_open=False)
        if setup is not None and isinstance(setup.value, Function):
            self.enter(setup.value, given._replace(placed=[node, *given.placed]), line)
        return node

    def copied(self, node: Node, *, name: str = "") -> Node:
        """Return a copy of a value that later changes leave as it is; with a name, of its data, for a request."""
        self.spend(1)
        if node.open or node.is_scalar:
            return unknown(name, node.line) if name and not is_data(node) else node
        if isinstance(node.value, dict):
            held = node.value.items()
            return self.made({key: self.copied(item, name=name and key) for key, item in held}, node.line)
        return self.made([self.copied(item, name=name) for item in node.value], node.line)

    def enter(self, function: Function, given: Given, line: int) -> Node | None:
        """Return what a function of the program returns when it is called with these arguments."""
        self.entered.add(id(function.body))
        if len(self.frames) >= MAX_CALL_DEPTH:
            for node in (*given.placed, *given.named.values()):
                self.open(node, function.name, line)
            return None
        placed, own = function.placed, function.names
        held: dict[str, Node] = {name: unknown(name, function.line) for name in own}
        held |= {} if given.is_open else function.defaults
        held |= dict(zip(placed, given.placed, strict=False)) | {n: node for n, node in given.named.items() if n in own}
        rest = self.made(given.placed[len(placed) :], line)
        more = self.made({name: node for name, node in given.named.items() if name not in own}, line)
        for each, node in ((function.parameters.vararg, rest), (function.parameters.kwarg, more)):
            if each is not None:
                held[each.arg] = unknown(each.arg, line) if given.is_open else node
        return self._within(function, held, line)

    def _within(self, function: Function, names: dict[str, Node], line: int) -> Node | None:
        outer, self.scope = self.scope, Scope(names, function.scope, born=self.blocks[-1])
        loops, self.loops = self.loops, 0
        self.frames.append([])
        ending = self.block(function.body)
        returned = self.frames.pop()
        self.scope, self.loops = outer, loops
        nodes = returned if ending in (RETURN, EXIT) else [*returned, Node(None, line)]
        if not nodes:
            return Node(None, line)
        node = self.merge(nodes, function.name, Reason(function.name, function.line))
        if not node.is_scalar and node.value:
            self.bound.setdefault(function.name, node)
        return node

    def enter_unknown(self, function: Function) -> None:
        """Read a function that the program never calls: its parameters have their defaults, or are open."""
        defaults = {}
        for name, node in function.defaults.items():
            if (held := self.default(node, function.line)) is None:
                held = unknown(name, function.line)
                held.default = option if (option := self.assumed(node)).value in (None, "") else None
            defaults[name] = held
        self.entered.add(id(function.body))
        rest = [each.arg for each in (function.parameters.vararg, function.parameters.kwarg) if each is not None]
        names = [*function.names, *rest]
        values = {name: placed_at(defaults.get(name) or unknown(name, function.line), function.line) for name in names}
        self._within(function, values, function.line)
