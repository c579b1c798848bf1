"""What every reader makes of its text: values that remember their lines, and notes on what was found on the way."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from jobs.spec import Finding, Severity
from jobs.spec.reading import DEEPEST, MOST_FINDINGS, MOST_VALUES

SOURCE = "Trainboard's importer (docs/import.md)"
READ = "2026-11-21"
LARGE = 50_000
STEP = re.compile(r"\[([^\]]*)\]|([^.\[\]]+)")


@dataclass(slots=True)
class Node:
    """A value with the line of its name or beginning, from 1.

    `value` is `{name: Node}`, `[Node]`, text, a number, true, false or None. `raw` is how a number or a word such as
    `no` was written, for fields that want text.
    """

    value: Any
    line: int
    raw: str = ""

    @property
    def is_scalar(self) -> bool:
        """Whether the node holds neither a mapping nor a list."""
        return not isinstance(self.value, dict | list)

    def get(self, *names: str) -> "Node | None":
        """Return the first of the named entries that a mapping has."""
        if isinstance(self.value, dict):
            return next((self.value[name] for name in names if name in self.value), None)
        return None

    def text(self) -> str:
        """Return a scalar as text, as it was written."""
        if isinstance(self.value, str):
            return self.value
        if self.value is None or not self.is_scalar:
            return self.raw
        return self.raw or (str(self.value).lower() if isinstance(self.value, bool) else str(self.value))


class Draft(NamedTuple):
    """A job as a reader found it, not yet checked: `kind` as in jobs.spec.KINDS, `form` in plain words.

    `unseen` are the paths of what a file holds that is not part of the text, `notes` what was found while it was read.
    """

    kind: str
    body: Node
    form: str
    project: str = ""
    region: str = ""
    unseen: tuple[str, ...] = ()
    notes: "Notes | None" = None


def most_jobs(text: str) -> int:
    """Return how many jobs of a text are read: of a large one only the first two, to say that there are more."""
    return 20 if len(text) <= LARGE else 2


def node_of(value: Any, line: int) -> Node:
    """Wrap JSON-able values, all on one line; nodes inside stay as they are."""
    if isinstance(value, Node):
        return value
    if isinstance(value, dict):
        return Node({key: node_of(item, line) for key, item in value.items()}, line)
    if isinstance(value, list | tuple):
        return Node([node_of(item, line) for item in value], line)
    return Node(value, line)


def plain(node: Node) -> Any:
    """Return the JSON value of a node; the node has to be within the limits, see `excess`."""
    if isinstance(node.value, dict):
        return {name: plain(item) for name, item in node.value.items()}
    if isinstance(node.value, list):
        return [plain(item) for item in node.value]
    return node.value


def excess(node: Node) -> str:
    """Say which limit a tree exceeds when its shared parts are written out, or nothing. Takes bounded time."""
    waiting: list[tuple[Node, int]] = [(node, 0)]
    seen = 0
    while waiting:
        current, depth = waiting.pop()
        seen += 1
        if depth > DEEPEST:
            return f"It is nested more than {DEEPEST} levels deep."
        if seen > MOST_VALUES or len(waiting) > 2 * MOST_VALUES:
            return f"Written out, it holds more than {MOST_VALUES:,} values."
        if isinstance(current.value, dict):
            waiting.extend((item, depth + 1) for item in current.value.values())
        elif isinstance(current.value, list):
            waiting.extend((item, depth + 1) for item in current.value)
    return ""


def line_at(node: Node, path: str) -> int:
    """Return the line of the field at `path` (API names), or of the nearest thing above it that was written."""
    line = node.line
    for step in _steps(path):
        if isinstance(node.value, list) and step.isdigit() and int(step) < len(node.value):
            node = node.value[int(step)]
        elif isinstance(node.value, dict) and (found := _entry(node.value, step)) is not None:
            node = found
        else:
            break
        line = node.line
    return line


def _steps(path: str) -> Iterator[str]:
    for match in STEP.finditer(path[:2000]):
        yield match[1] if match[1] is not None else match[2]


def _entry(entries: dict[str, Node], name: str) -> Node | None:
    if name in entries:
        return entries[name]
    wanted = folded(name)
    return next((item for key, item in entries.items() if folded(key) == wanted), None)


def folded(name: str) -> str:
    """Return a name without case, underscores and hyphens, in which `worker_pool_specs` is `workerPoolSpecs`."""
    return name.replace("_", "").replace("-", "").lower()


@dataclass
class Notes:
    """Collects findings while a text is read; beyond MOST_FINDINGS they are only counted."""

    findings: list[Finding] = field(default_factory=list)
    left_out: int = 0

    def refuse(self, code: str, line: int | None, message: str, remedy: str = "", path: str = "") -> None:
        """Note what makes the text no valid job."""
        self._add(Severity.REFUSE, code, line, message, remedy, path)

    def advise(self, code: str, line: int | None, message: str, remedy: str = "", path: str = "") -> None:
        """Note what was read in a way worth knowing."""
        self._add(Severity.ADVISE, code, line, message, remedy, path)

    def result(self) -> list[Finding]:
        """Return the findings, with one more that counts those left out."""
        if not self.left_out:
            return self.findings
        message = f"{self.left_out} more remarks of the importer are not shown."
        return [*self.findings, Finding("more_findings", Severity.ADVISE, "", message)]

    def _add(self, severity: Severity, code: str, line: int | None, message: str, remedy: str, path: str) -> None:
        if len(self.findings) >= MOST_FINDINGS and severity is Severity.ADVISE:
            self.left_out += 1
        elif len(self.findings) < 2 * MOST_FINDINGS:
            self.findings.append(Finding(code, severity, path, message, remedy, SOURCE, READ, line))
        else:
            self.left_out += 1
