"""The values of a program: JSON values as nodes, and what only a program has: functions, classes, modules, jobs.

A node is open if its value is known only when the program runs: it is a placeholder with the source text of the value,
and `Node.open` is the reason.
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from jobs.importer.nodes import Node, Path
from jobs.importer.sdk_names import CREATES
from jobs.spec import quoted
from jobs.texts import translatable as _

MAX_TEXT, MAX_ITEMS, MAX_DEPTH = 200_000, 10_000, 40
MAX_SHOWN, MAX_SOURCE_NODES = 60, 40
SDK_ROOTS = ("google", "vertexai", "google_cloud_pipeline_components", "airflow", "kfp")
OUTSIDE = "outside"
"""The `raw` text of an open value that a module of the user made: its methods may change what they are given."""


class Enum(str):
    """A name of an enum of the SDK. Where a program makes a text of it, the text is not known."""


@dataclass(eq=False, slots=True)
class Module:
    """A module or a name that is imported from it, by its dotted path."""

    path: str

    @property
    def is_sdk(self) -> bool:
        """Whether Google's SDK, or a tool that creates jobs with it, defines the name."""
        return self.path.partition(".")[0] in SDK_ROOTS


@dataclass(eq=False, slots=True)
class Scope:
    """The names of a module, a function or a comprehension; `shared` are names declared global or nonlocal."""

    names: dict[str, Node] = field(default_factory=dict)
    outer: "Scope | None" = None
    shared: "dict[str, Scope]" = field(default_factory=dict)

    def find(self, name: str) -> Node | None:
        """Return the value of a name as a program sees it here."""
        scope: Scope | None = self.shared.get(name, self)
        while scope is not None:
            if name in scope.names:
                return scope.names[name]
            scope = scope.outer
        return None


@dataclass(eq=False, slots=True)
class Function:
    """A function or lambda of the program, with the values of its defaults, which are evaluated where it stands."""

    name: str
    parameters: ast.arguments
    body: list[ast.stmt]
    scope: Scope
    defaults: dict[str, Node]
    line: int
    is_property: bool = False
    owner: Node | None = None

    @property
    def placed(self) -> list[str]:
        """The names of the parameters that may be given by position."""
        return [each.arg for each in (*self.parameters.posonlyargs, *self.parameters.args)]


@dataclass(eq=False, slots=True)
class Class:
    """A class of the program: its attributes, and the names of its annotated fields in order."""

    name: str
    attributes: dict[str, Node]
    fields: list[str]


@dataclass(eq=False, slots=True)
class Object:
    """An object of a class of the program, or the arguments of its command line."""

    attributes: dict[str, Node]
    kind: Class | None = None


@dataclass(eq=False, slots=True)
class JobCall:
    """A call that creates a job, and the call that runs it.

    `init` are the arguments of `aiplatform.init` at that time, `edits` fields set in the request. `is_submitted` means
    that the second call is `submit`, not `run`; `is_open` that some arguments are not known; `is_used` that a tuning
    job runs the job, which is its `custom`. `depth` counts the branches around the call.
    """

    maker: str
    args: Node
    init: dict[str, Node]
    run: Node | None = None
    run_init: dict[str, Node] = field(default_factory=dict)
    is_submitted: bool = False
    is_open: bool = False
    is_used: bool = False
    custom: "JobCall | None" = None
    depth: int = 0
    edits: list[tuple[Path, Node]] = field(default_factory=list)

    @property
    def sent(self) -> Node | None:
        """The job that a client's call sends."""
        return (self.args.get("request") or self.args).get(CREATES[self.maker]) if self.maker in CREATES else None


class Jobs(tuple[JobCall, ...]):
    """The job that a name stands for; several if branches assign different ones."""

    __slots__ = ()


def source(expression: ast.AST) -> str:
    """Return the source text of an expression, shortened, without braces and line ends."""
    if sum(1 for _, _ in zip(ast.walk(expression), range(MAX_SOURCE_NODES + 1), strict=False)) > MAX_SOURCE_NODES:
        match expression:
            case ast.Call():
                return f"{source(expression.func)}(...)"
            case ast.Subscript() | ast.Attribute():
                return f"{source(expression.value)}..."
        return f"line {getattr(expression, 'lineno', 1)}"
    return shortened(ast.unparse(expression))


def shortened(text: str) -> str:
    """Return a text of at most MAX_SHOWN characters without braces and line ends."""
    text = re.sub(r"\s+", " ", text.replace("{", "(").replace("}", ")"))
    return text if len(text) <= MAX_SHOWN else f"{text[: MAX_SHOWN - 3]}..."


def unknown(text: str, line: int, reason: str = "", raw: str = "") -> Node:
    """Return an open value with a source text, and why it is open."""
    reason = reason or _("%(source)s is known only when the program runs.", source=quoted(text))
    return Node(f"${{{text}}}", line, raw, reason)


def is_data(node: Node) -> bool:
    """Return whether a value could be written as JSON."""
    return node.value is None or isinstance(node.value, str | int | float | dict | list)


def items_of(node: Node) -> Iterator[Node]:
    """Yield the values directly in a mapping or a list."""
    if isinstance(node.value, dict):
        yield from node.value.values()
    elif isinstance(node.value, list):
        yield from node.value


def is_known(node: Node, depth: int = 0) -> bool:
    """Return whether a value and everything in it is known, and is data."""
    if node.open or depth > MAX_DEPTH or not is_data(node) or isinstance(node.value, Enum):
        return False
    return all(is_known(item, depth + 1) for item in items_of(node))


def same(one: Node | None, other: Node | None, depth: int = 0) -> bool:
    """Return whether two values are certainly the same."""
    if one is other:
        return True
    if one is None or other is None or depth > MAX_DEPTH or one.open != other.open:
        return False
    first, second = one.value, other.value
    if type(first) is not type(second):
        return False
    if isinstance(first, dict):
        return first.keys() == second.keys() and all(same(first[key], second[key], depth + 1) for key in first)
    if isinstance(first, list):
        pairs = zip(first, second, strict=False)
        return len(first) == len(second) and all(same(a, b, depth + 1) for a, b in pairs)
    return bool(first == second) if is_data(one) else first is second


def python_of(node: Node) -> Any:
    """Return a known value as Python has it."""
    if isinstance(node.value, dict):
        return {name: python_of(item) for name, item in node.value.items()}
    return [python_of(item) for item in node.value] if isinstance(node.value, list) else node.value


def node_of_python(value: Any, line: int) -> Node:
    """Return Python values as nodes, all on one line."""
    if isinstance(value, dict):
        return Node({str(name): node_of_python(item, line) for name, item in value.items()}, line)
    if isinstance(value, list | tuple):
        return Node([node_of_python(item, line) for item in value], line)
    return Node(value, line, str(value) if isinstance(value, float) else "")


def text_of(node: Node) -> str | None:
    """Return a scalar as Python writes it into a text, with the placeholders in it; None if that is not known."""
    value = node.value
    return (
        None if isinstance(value, Enum) or not (value is None or isinstance(value, str | int | float)) else str(value)
    )


def placed_at(node: Node, line: int) -> Node:
    """Return a scalar on another line; mappings and lists are shared, so they stay the same node."""
    return Node(node.value, line, node.raw, node.open) if node.is_scalar and is_data(node) else node
