"""Find the guards of a module, and write the module without one of them."""

import ast
import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

MODULES = (
    "jobs/submission/*.py",
    "jobs/queue/*.py",
    "jobs/transitions.py",
    "jobs/steps.py",
    "jobs/stages.py",
    "jobs/models/job.py",
    "jobs/models/polling.py",
    "jobs/upkeep/repair.py",
    "jobs/upkeep/approvals.py",
    "jobs/upkeep/caps.py",
    "jobs/upkeep/spending.py",
    "jobs/upkeep/fallbacks.py",
    "jobs/upkeep/schedules.py",
    "jobs/requests/schedule_runs.py",
    "jobs/requests/fallbacks.py",
    "jobs/observation/child_jobs.py",
    "jobs/observation/record.py",
    "jobs/observation/restarts.py",
    "jobs/observation/starts.py",
    "jobs/observation/trial_jobs.py",
    "jobs/observation/wait_reports.py",
    "jobs/observation/watched.py",
    "jobs/upkeep/start_repair.py",
    "jobs/messages/queue.py",
    "jobs/messages/route.py",
)
MODELS = "jobs/models/*.py"
FILTERS = {"filter", "exclude"}


@dataclass(frozen=True, slots=True)
class Guard:
    """One guard. `path` is relative to the repository; `start` and `end` are offsets in its text.

    `without` replaces the text between them. For a unique constraint it is the text of a migration.
    """

    path: str
    line: int
    kind: str
    function: str
    code: str
    start: int
    end: int
    without: str

    @property
    def key(self) -> str:
        """A name that stays the same when other lines of the module change."""
        digest = hashlib.sha256(f"{self.kind} {self.code} {self.without}".encode()).hexdigest()[:6]
        return f"{Path(self.path).stem}.{self.function} {digest}"

    def apply(self, text: str) -> str:
        """Return the module without the guard. Offsets count bytes."""
        raw = text.encode()
        return (raw[: self.start] + self.without.encode() + raw[self.end :]).decode()


def find(root: Path) -> list[Guard]:
    """Return all guards of MODULES, and the unique constraints of the models, in order."""
    paths = [path for pattern in MODULES for path in sorted(root.glob(pattern))]
    found = [guard for path in paths for guard in _guards_of(root, path)]
    return found + [guard for path in sorted(root.glob(MODELS)) for guard in _constraints_of(root, path)]


def offsets(text: str) -> Callable[[ast.expr], tuple[int, int]]:
    """Return a function from an expression to its start and end in a module's text, in bytes."""
    lines = [0]
    for line in text.encode().splitlines(keepends=True):
        lines.append(lines[-1] + len(line))

    def place(node: ast.expr) -> tuple[int, int]:
        assert node.end_lineno is not None and node.end_col_offset is not None  # noqa: PT018
        return lines[node.lineno - 1] + node.col_offset, lines[node.end_lineno - 1] + node.end_col_offset

    return place


class _Finder(ast.NodeVisitor):
    """Collects the guards of one module."""

    def __init__(self, path: str, text: str) -> None:
        self.path, self.text, self.function = path, text, ""
        self.found: list[Guard] = []
        self._offsets = offsets(text)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        """Remember the function around the guards inside it."""
        before = self.function
        self.function = f"{before}.{node.name}" if before else node.name
        self.generic_visit(node)
        self.function = before

    def visit_If(self, node: ast.If) -> None:
        """A condition never holds, or one of its parts does not count."""
        self._add_condition(node.test)
        if isinstance(node.test, ast.BoolOp):
            self._add_part(node.test, "False")
        self.generic_visit(node)

    def visit_Return(self, node: ast.Return) -> None:
        """A part of what a predicate returns does not count."""
        if isinstance(node.value, ast.BoolOp):
            self._add_condition(node.value)
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        """A row is not locked, one term of a filter is missing, or rows are not updated."""
        if isinstance(node.func, ast.Attribute):
            rows = self._code(node.func.value)
            if node.func.attr == "select_for_update":
                self._add(node, "lock", self._code(node), f"{rows}.all()")
            if node.func.attr == "update" and ".objects" in rows:
                self._add(node, "write", self._code(node), "0")
            if node.func.attr in FILTERS:
                terms = [self._code(each) for each in (*node.args, *node.keywords)]
                for number, term in enumerate(terms):
                    rest = ", ".join(terms[:number] + terms[number + 1 :])
                    self._add(
                        node, "filter term", term, f"{rows}.{node.func.attr}({rest})" if rest else f"{rows}.all()"
                    )
        self.generic_visit(node)

    def _add_condition(self, test: ast.expr) -> None:
        parts = test.values if isinstance(test, ast.BoolOp) else [test]
        neutral = "True" if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) else "False"
        for part in parts:
            if isinstance(part, ast.UnaryOp) and isinstance(part.operand, ast.BoolOp):
                self._add_condition(part.operand)
            self._add_part(part, neutral)

    def _add_part(self, part: ast.expr, neutral: str) -> None:
        code = self._code(part)
        binds = any(isinstance(each, ast.NamedExpr) for each in ast.walk(part))
        self._add(part, "condition", code, f"({code}, {neutral})[1]" if binds else neutral)

    def _add(self, node: ast.expr, kind: str, code: str, without: str) -> None:
        start, end = self._offsets(node)
        self.found.append(Guard(self.path, node.lineno, kind, self.function, code, start, end, without))

    def _code(self, node: ast.AST) -> str:
        return ast.get_source_segment(self.text, node) or ""


def _guards_of(root: Path, path: Path) -> list[Guard]:
    text = path.read_text()
    finder = _Finder(str(path.relative_to(root)), text)
    finder.visit(ast.parse(text))
    return finder.found


def _constraints_of(root: Path, path: Path) -> Iterator[Guard]:
    """Yield the unique constraints of the models in a module; one is removed by a migration."""
    text = path.read_text()
    for model in ast.parse(text).body:
        if not isinstance(model, ast.ClassDef):
            continue
        for node in ast.walk(model):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "models.UniqueConstraint":
                name = next(str(ast.literal_eval(each.value)) for each in node.keywords if each.arg == "name")
                without = f"migrations.RemoveConstraint({model.name.lower()!r}, {name!r})"
                where = str(path.relative_to(root))
                yield Guard(where, node.lineno, "unique constraint", model.name, name, 0, 0, without)
