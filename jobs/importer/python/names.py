"""The names of a program: what they stand for, and what defines them."""

import ast
import sys

from jobs.importer.nodes import Node, Notes
from jobs.importer.python import calls
from jobs.importer.python.branches import Branches
from jobs.importer.python.values import OUTSIDE, Module, Scope, items_of, source, unknown

MAX_STEPS, SOURCE_STEPS = 80_000, 8
"""The steps that a program may take, and those that it takes to write the source text of an expression."""


class TooManySteps(Exception):
    """The program is too long to be followed."""


class Names:
    """The names of a program. `scope` has those at the current statement, `environment` the variables that are set."""

    def __init__(self, notes: Notes, environment: dict[str, Node]) -> None:
        self.notes = notes
        self.scope = Scope()
        self.environment = environment
        self.branches = Branches(self.spend)
        self.steps = MAX_STEPS
        self.sources: dict[ast.AST, str] = {}

    def spend(self, steps: int) -> None:
        """Count steps. Raise TooManySteps when the program's are used up."""
        self.steps -= steps
        if self.steps < 0:
            raise TooManySteps

    def source(self, expression: ast.AST) -> str:
        """Return the source text of an expression, shortened; it is written once."""
        if expression not in self.sources:
            self.spend(SOURCE_STEPS)
            self.sources[expression] = source(expression)
        return self.sources[expression]

    def path_of(self, expression: ast.expr) -> str:
        """Return the dotted path of a module's name, or of a name that nothing binds; "" for any other expression."""
        if isinstance(expression, ast.Name):
            node = self.scope.find(expression.id)
            return expression.id if node is None else node.value.path if isinstance(node.value, Module) else ""
        if isinstance(expression, ast.Attribute) and (owner := self.path_of(expression.value)):
            return f"{owner}.{expression.attr}"
        return ""

    def is_sdk(self, path: str) -> bool:
        """Return whether a path is one of Google's SDK; a root that nothing binds is taken for it."""
        root = self.scope.find(path.partition(".")[0])
        return bool(path) and (
            Module(path).is_sdk or (root is None and path.partition(".")[0] not in sys.stdlib_module_names)
        )

    def note_default(self, line: int, message: str) -> None:
        """Add one note that defaults are taken."""
        if not any(note.message == message for note in self.notes.findings):
            self.notes.note("defaults_taken", line, message)

    def bind(self, target: ast.expr, item: Node) -> bool:
        """Bind the names of a target to the parts of a value; return False, with them open, if it has other parts."""
        if isinstance(target, ast.Name):
            scope = self.scope.shared.get(target.id, self.scope)
            self.branches.put(scope.names, target.id, item, "name")
            return True
        if isinstance(target, ast.Starred):
            return self.bind(target.value, item)
        if not isinstance(target, ast.Tuple | ast.List):
            return False
        parts = list(items_of(item)) if isinstance(item.value, list) else []
        is_whole = len(parts) == len(target.elts) and not any(isinstance(part, ast.Starred) for part in target.elts)
        for place, part in enumerate(target.elts):
            other = unknown(self.source(part), target.lineno, raw=item.raw if item.open else "")
            self.bind(part, parts[place] if is_whole else self.branches.derive(other, [item]))
        return is_whole

    def is_from_outside(self, callee: ast.expr) -> bool:
        """Return whether a module of the user may define what is called, so that it may change what it is given."""
        path = self.path_of(callee)
        if not path:
            owner = callee
            while isinstance(owner, ast.Attribute | ast.Call | ast.Subscript):
                owner = owner.func if isinstance(owner, ast.Call) else owner.value
            node = self.scope.find(owner.id) if isinstance(owner, ast.Name) else None
            return node is not None and node.raw == OUTSIDE
        root = path.partition(".")[0]
        if path.rpartition(".")[2][:1].isupper():
            return False  # a class, which keeps what it is given
        if root in sys.stdlib_module_names or Module(path).is_sdk or path in calls.HARMLESS or path in calls.PLAIN:
            return False
        return self.scope.find(root) is not None or isinstance(callee, ast.Name)
