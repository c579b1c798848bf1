"""Find every regular expression of the project, and how it is used."""

import ast
import importlib
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("jobs", "dashboard", "cli/trainboard_cli")
ANCHORED = {"match", "fullmatch"}
SEARCHING = {"search", "finditer", "findall", "sub", "subn", "split", "scanner"}
VIEWS = {"items", "values"}
LEFT_OUT = ("migrations", "wsgi.py", "celery.py")


@dataclass(frozen=True, slots=True)
class Subject:
    """A regular expression with the place where it is made and the ways in which it is tried."""

    name: str
    pattern: re.Pattern[str]
    methods: frozenset[str]

    @property
    def method(self) -> str:
        """The method that tries most: at each character, else at the first."""
        return "finditer" if not self.methods or self.methods & SEARCHING else "fullmatch"

    def run(self, text: str) -> None:
        """Try the expression on a text as the project does."""
        if self.method == "fullmatch":
            self.pattern.fullmatch(text)
        else:
            for _ in self.pattern.finditer(text):
                pass


def subjects() -> Iterator[Subject]:
    """Yield the regular expressions in names of modules, in their lists and tables, and written inside calls."""
    trees = {path: ast.parse(path.read_text()) for path in _modules()}
    uses = {path: _uses(tree) for path, tree in trees.items()}
    seen: set[tuple[str, int]] = set()
    for path, tree in trees.items():
        module = _imported(path)
        for name, value in vars(module).items():
            for at, pattern in _patterns(value, name, 0):
                if isinstance(pattern.pattern, str) and (pattern.pattern, pattern.flags) not in seen:
                    seen.add((pattern.pattern, pattern.flags))
                    used = name if "." not in at else at.rpartition(".")[2]
                    users = [each for each, (_, names) in uses.items() if each == path or used in names]
                    methods = {method for each in users for method in uses[each][0].get(used, ())}
                    yield Subject(f"{path.relative_to(ROOT)} {at}", pattern, frozenset(methods))
        yield from _inline(path, tree)


def _uses(tree: ast.Module) -> tuple[dict[str, set[str]], set[str]]:
    """Return the methods that a module calls of each name, and the names that it imports or reads of other modules."""
    methods: dict[str, set[str]] = {}
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.Attribute):
            names.add(node.attr)
            if node.attr in ANCHORED | SEARCHING:
                methods.setdefault(_name_of(node.value), set()).add(node.attr)
    for node in ast.walk(tree):
        if isinstance(node, ast.For | ast.comprehension):
            items = {part.id for part in ast.walk(node.target) if isinstance(part, ast.Name)}
            methods.setdefault(_name_of(node.iter), set()).update(*(methods.get(item, ()) for item in items))
    return methods, names


def _name_of(owner: ast.expr) -> str:
    """Return the name that an expression begins from, or the field of an object that it reads."""
    while isinstance(owner, ast.Subscript | ast.Call):
        owner = owner.value if isinstance(owner, ast.Subscript) else owner.func
        owner = owner.value if isinstance(owner, ast.Attribute) and owner.attr in VIEWS else owner
    return owner.id if isinstance(owner, ast.Name) else owner.attr if isinstance(owner, ast.Attribute) else ""


def _modules() -> Iterator[Path]:
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            if not any(part in LEFT_OUT for part in path.parts) and path.parent.name != "commands":
                yield path


def _imported(path: Path) -> ModuleType:
    if str(ROOT / "cli") not in sys.path:
        sys.path.insert(0, str(ROOT / "cli"))
    return importlib.import_module(".".join(path.relative_to(ROOT).with_suffix("").parts).removeprefix("cli."))


def _patterns(value: Any, at: str, depth: int) -> Iterator[tuple[str, re.Pattern[str]]]:
    if isinstance(value, re.Pattern):
        yield at, value
    elif depth < 4 and hasattr(value, "_fields"):
        for field in value._fields:
            yield from _patterns(getattr(value, field), f"{at}.{field}", depth + 1)
    elif depth < 4 and isinstance(value, list | tuple | set | frozenset):
        for index, item in enumerate(value):
            yield from _patterns(item, f"{at}[{index}]", depth + 1)
    elif depth < 4 and isinstance(value, dict):
        for name, item in list(value.items()):
            yield from _patterns(item, f"{at}[{name!r}]", depth + 1)
    elif hasattr(value, "__dataclass_fields__") and not isinstance(value, type) and depth < 4:
        for name in value.__dataclass_fields__:
            yield from _patterns(getattr(value, name, None), f"{at}.{name}", depth + 1)


def _inline(path: Path, tree: ast.Module) -> Iterator[Subject]:
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args):
            continue
        owner, first = node.func.value, node.args[0]
        is_re = isinstance(owner, ast.Name) and owner.id == "re" and node.func.attr in ANCHORED | SEARCHING
        if is_re and isinstance(first, ast.Constant) and isinstance(first.value, str):
            name = f"{path.relative_to(ROOT)} line {node.lineno}"
            yield Subject(name, re.compile(first.value), frozenset({node.func.attr}))
