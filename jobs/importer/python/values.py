"""The values of a program: JSON values as nodes, and what only a program has: functions, classes, modules, jobs.

A node is open if its value is known only when the program runs: it is a placeholder with the source text of the value,
and `Node.open` is the reason.
"""

import ast
import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from jobs.importer.nodes import Node, Path
from jobs.spec import quoted
from jobs.texts import translatable as _

MAX_TEXT, MAX_ITEMS, MAX_DEPTH = 200_000, 10_000, 40
MAX_SHOWN, MAX_SOURCE_NODES = 60, 40
SDK_ROOTS = ("google", "vertexai", "google_cloud_pipeline_components", "airflow", "kfp")


class Enum(str):
    """A name of an enum of the SDK. Where a program makes a text of it, the text is not known."""


@dataclass(slots=True)
class Held(Node):
    """A mapping or a list that a program holds, or an open value that may be one.

    `kin` are values that it may be, share parts with or be part of: what changes it may change them. `born` is the
    block in which it is made, `holds` whether an open value counts as true. `default` is what an option that may be
    given has otherwise, nothing or an empty text: conditions take it. `is_outside` means that a module of the user made
    it, whose methods may change what they are given; `has_entries` that an open value may be a mapping with entries of
    this text, so that no default stands for them.
    """

    kin: list[Node] = field(default_factory=list)
    born: int = 0
    is_outside: bool = False
    holds: bool | None = None
    default: Node | None = None
    has_entries: bool = False


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
    """The names of a module, a function or a comprehension; `shared` are names declared global or nonlocal.

    A name of a `strict` one, such as a variable of the environment, may be missing without an error.
    """

    names: dict[str, Node] = field(default_factory=dict)
    outer: "Scope | None" = None
    shared: "dict[str, Scope]" = field(default_factory=dict)
    born: int = 0
    strict: bool = False

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
    """A function or lambda of the program, with the values of its defaults, which are evaluated where it stands.

    `placed` are the names of the parameters that may be given by position, `names` of all except `*args` and `**more`.
    """

    name: str
    parameters: ast.arguments
    placed: list[str]
    names: list[str]
    body: list[ast.stmt]
    scope: Scope
    defaults: dict[str, Node]
    line: int
    kind: str = ""


@dataclass(eq=False, slots=True)
class Object:
    """A class of the program with the names of its annotated `fields`, an object of one, or a command line."""

    attributes: Node
    kind: "Object | None" = None
    fields: tuple[str, ...] = ()

    def get(self, name: str) -> Node | None:
        """Return the value of an attribute; that of the class if an object has none of its own."""
        found = self.attributes.entries.get(name)
        is_missing = found is None and not self.attributes.open and self.kind is not None
        return self.kind.get(name) if is_missing and self.kind is not None else found


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
    depth: int
    is_open: bool = False
    run: Node | None = None
    run_init: dict[str, Node] = field(default_factory=dict)
    is_submitted: bool = False
    is_used: bool = False
    custom: "JobCall | None" = None
    edits: list[tuple[Path, Node]] = field(default_factory=list)


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


def unknown(text: str, line: int, reason: str = "", kin: Iterable[Node] = (), *, is_outside: bool = False) -> Held:
    """Return an open value with a source text, and why it is open."""
    reason = reason or _("%(source)s is known only when the program runs.", source=quoted(text))
    return Held(f"${{{text}}}", line, "", reason, list(kin), 0, is_outside)


def is_data(node: Node) -> bool:
    """Return whether a value could be written as JSON."""
    return node.value is None or isinstance(node.value, str | int | float | dict | list)


def items_of(node: Node) -> list[Node]:
    """Return the values directly in a mapping, a list or an object."""
    if isinstance(node.value, Object):
        return [node.value.attributes]
    return list(node.value.values() if isinstance(node.value, dict) else node.value) if not node.is_scalar else []


def elements(node: Node) -> list[Node]:
    """Return what a loop over a mapping, a list or a text takes in turn."""
    if isinstance(node.value, list):
        return list(node.value)
    return [Node(each, node.line) for each in node.value] if isinstance(node.value, dict | str) else []


def is_too_long(node: Node) -> bool:
    """Return whether a value is a text with more characters than a list may have items."""
    return isinstance(node.value, str) and len(node.value) > MAX_ITEMS


def text_of(node: Node) -> str | None:
    """Return a scalar as Python writes it into a text, with the placeholders in it; None if that is not known."""
    value = node.value
    is_plain = (value is None or isinstance(value, str | int | float)) and not isinstance(value, Enum)
    return str(value) if is_plain else None


def placed_at(node: Node, line: int) -> Node:
    """Return a scalar on another line; a mapping, a list or a value of the program stays the same node."""
    return replace(node, line=line) if node.is_scalar and is_data(node) else node


def same_scalar(one: Node | None, other: Node | None) -> bool:
    """Return whether two values are the same scalar, or the same node."""
    if one is None or other is None or one is other:
        return one is other
    if isinstance(one.value, Module) and isinstance(other.value, Module):
        return one.value.path == other.value.path
    is_same = one.is_scalar and type(one.value) is type(other.value) and one.open == other.open
    return is_same and (one.value is other.value or (is_data(one) and bool(one.value == other.value)))
