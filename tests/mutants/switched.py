"""Write a module so that each of its guards can be switched off while tests run, without another process."""

import ast
from pathlib import Path

from tests.mutants.guards import Guard, offsets

IMPORT = ast.parse("from tests.mutants import switches as _switches").body[0]


def switch(root: Path, guards: dict[int, Guard]) -> None:
    """Rewrite the modules of these guards below `root`. A guard's number is its switch."""
    for path in {guard.path for guard in guards.values()}:
        text = (root / path).read_text()
        tree = ast.parse(text)
        _Switched(text, {number: guard for number, guard in guards.items() if guard.path == path}).visit(tree)
        has_docstring = ast.get_docstring(tree) is not None
        tree.body.insert(int(has_docstring), IMPORT)
        (root / path).write_text(ast.unparse(ast.fix_missing_locations(tree)))


class _Switched(ast.NodeTransformer):
    """Puts a switch around the expression of each guard."""

    def __init__(self, text: str, guards: dict[int, Guard]) -> None:
        self._offsets = offsets(text)
        self._guards = dict[tuple[int, int], list[tuple[int, Guard]]]()
        for number, guard in guards.items():
            self._guards.setdefault((guard.start, guard.end), []).append((number, guard))

    def visit(self, node: ast.AST) -> ast.AST:
        """Wrap an expression after what is inside it."""
        guards = self._guards.pop(self._offsets(node), []) if isinstance(node, ast.expr) else []
        inside = super().visit(node)
        for number, guard in guards:
            inside = _wrapped(inside, number, guard)
        return inside


def _wrapped(node: ast.expr, number: int, guard: Guard) -> ast.expr:
    if guard.kind == "condition":
        # The value is computed even if the guard is off: it may bind a name, and it decides whether a test reaches it.
        is_true = guard.without.removesuffix(")[1]").endswith("True")
        return _call("value_of", ast.Constant(number), node, ast.Constant(is_true))
    without = ast.parse(f"({guard.without})", mode="eval").body
    return ast.IfExp(_call("is_off", ast.Constant(number)), without, node)


def _call(name: str, *arguments: ast.expr) -> ast.Call:
    return ast.Call(ast.Attribute(ast.Name("_switches", ast.Load()), name, ast.Load()), list(arguments), [])
