"""The results of every reader: values with their lines, drafts of jobs, and findings."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from jobs.spec import Finding, Severity, quoted
from jobs.spec.paths import steps
from jobs.spec.reading import MAX_DEPTH, MAX_FINDINGS, MAX_VALUES
from jobs.texts import translatable as _

SOURCE = "Trainboard's importer (docs/import.md)"
READ = "2026-11-21"
SUPPORTED = _("Give YAML, JSON, a gcloud or curl command, or Python with the Vertex AI SDK.")
LARGE_TEXT = 50_000
MAX_JOB_VALUES = 20_000
"""Limit of values in one job. A valid one, with 4 worker pools of 100 variables each, has fewer than 2,000."""
Path = list[str | int]


@dataclass(slots=True)
class Node:
    """A value with the line where its name or the value itself begins, from 1.

    `value` is `{name: Node}`, `[Node]`, text, a number, true, false or None. `raw` is the original text of a number or
    of a word such as `no`, for fields of type text. `open` is why the value is not known, "" if it is.
    """

    value: Any
    line: int
    raw: str = ""
    open: str = ""

    @property
    def is_scalar(self) -> bool:
        """Whether the node is neither a mapping nor a list."""
        return not isinstance(self.value, dict | list)

    @property
    def entries(self) -> dict[str, "Node"]:
        """The entries of a mapping; empty for anything else."""
        return self.value if isinstance(self.value, dict) else {}

    def get(self, *names: str) -> "Node | None":
        """Return the first of the named entries that a mapping has, ignoring case, underscores and hyphens."""
        for name in names:
            if (key := self.key(name)) is not None:
                return self.entries[key]
        return None

    def key(self, name: str) -> str | None:
        """Return a name as the mapping spells it, such as `job_spec` for `jobSpec`; None if it is missing."""
        if name in self.entries:
            return name
        wanted = folded(name)
        return next((key for key in self.entries if folded(key) == wanted), None)

    def text(self) -> str:
        """Return a scalar as text, as it was written."""
        if isinstance(self.value, str):
            return self.value
        if self.value is None or not self.is_scalar:
            return self.raw
        return self.raw or (str(self.value).lower() if isinstance(self.value, bool) else str(self.value))


class Draft(NamedTuple):
    """A job that was read and not yet checked: `kind` as in jobs.spec.KINDS, `form` for people.

    `unseen` are the paths of fields in a file that was not given, `notes` the findings about this job.
    """

    kind: str
    body: Node
    form: str
    project: str = ""
    region: str = ""
    unseen: tuple[str, ...] = ()
    notes: "Notes | None" = None


@dataclass
class Notes:
    """Collects findings while a text is read; beyond MAX_FINDINGS they are only counted."""

    findings: list[Finding] = field(default_factory=list)
    left_out: int = 0

    def error(self, code: str, line: int | None, message: str, remedy: str = "", path: str = "") -> None:
        """Add an error: the text is not a valid job."""
        self._add(Finding(code, Severity.ERROR, path, message, remedy, SOURCE, READ, line), 2 * MAX_FINDINGS)

    def note(self, code: str, line: int | None, message: str, remedy: str = "", path: str = "") -> None:
        """Add a note about how a part of the text was read, or what was left out."""
        self._add(Finding(code, Severity.NOTE, path, message, remedy, SOURCE, READ, line), MAX_FINDINGS)

    def given_twice(self, name: str, first: Node, line: int) -> None:
        """Add an error about a name that a mapping has twice; the `first` one is read."""
        if self.is_full:
            self.left_out += 1
            return
        words = {"name": quoted(name), "line": first.line}
        message = _("%(name)s is given twice, first on line %(line)s; the first one is used.", **words)
        self.error("given_twice", line, message, _("Keep one of them."))

    def extend(self, other: "Notes | None") -> None:
        """Add the findings of other notes."""
        if other is not None:
            self.findings.extend(other.findings)
            self.left_out += other.left_out

    def has(self, *codes: str) -> bool:
        """Return whether a finding has one of these codes."""
        return any(finding.code in codes for finding in self.findings)

    @property
    def is_full(self) -> bool:
        """Whether further errors are only counted, so that no remedy needs to be searched."""
        return len(self.findings) >= 2 * MAX_FINDINGS

    def result(self) -> list[Finding]:
        """Return the findings, with one more that counts those left out."""
        if not self.left_out:
            return self.findings
        message = _("%(count)s more import findings are not shown.", count=self.left_out)
        return [*self.findings, Finding("more_findings", Severity.NOTE, "", message)]

    def _add(self, finding: Finding, most: int) -> None:
        if len(self.findings) >= most:
            self.left_out += 1
        elif finding not in self.findings:  # a function that is called twice is read twice
            self.findings.append(finding)


def max_jobs(text: str) -> int:
    """Return how many jobs of a text are read; two for a large text, to show that there are more."""
    return 20 if len(text) <= LARGE_TEXT else 2


def node_of(value: Any, line: int) -> Node:
    """Return JSON values as nodes, all on one line; nodes inside are kept."""
    if isinstance(value, Node):
        return value
    if isinstance(value, dict):
        return Node({key: node_of(item, line) for key, item in value.items()}, line)
    if isinstance(value, list | tuple):
        return Node([node_of(item, line) for item in value], line)
    return Node(value, line)


def env_of(node: Node) -> Node:
    """Return `{name: value}` as the list of variables that the API takes; any other value unchanged."""
    if not isinstance(node.value, dict):
        return node
    return Node([node_of({"name": name, "value": item}, item.line) for name, item in node.value.items()], node.line)


def plain(node: Node) -> Any:
    """Return the JSON value of a node, which must not exceed the limits (`exceeded_limit`)."""
    if isinstance(node.value, dict):
        return {name: plain(item) for name, item in node.value.items()}
    return [plain(item) for item in node.value] if isinstance(node.value, list) else node.value


def exceeded_limit(node: Node, max_values: int = MAX_VALUES) -> str:
    """Return a message if a tree exceeds a limit when shared parts are copied, else "". Takes bounded time."""
    waiting: list[tuple[Node, int]] = [(node, 0)]
    seen = 0
    while waiting:
        current, depth = waiting.pop()
        seen += 1
        if depth > MAX_DEPTH:
            return _("It is nested more than %(limit)s levels deep.", limit=MAX_DEPTH)
        if seen > max_values or len(waiting) > 2 * max_values:
            return _("With all references expanded, it has more than %(limit)s values.", limit=f"{max_values:,}")
        if not current.is_scalar:
            items = current.value.values() if isinstance(current.value, dict) else current.value
            waiting.extend((item, depth + 1) for item in items)
    return ""


def line_at(node: Node, path: str) -> int:
    """Return the line of the field at `path` (API names), or of its nearest parent that was written."""
    line = node.line
    for step in steps(path[:2000]):
        inner = node.get(str(step))
        if isinstance(node.value, list) and isinstance(step, int) and step < len(node.value):
            inner = node.value[step]
        if inner is None:
            break
        node, line = inner, inner.line
    return line


def set_at(holder: Node, path: Path, node: Node) -> bool:
    """Set the value at a path of names and indexes below a node; return False if the path does not exist."""
    for step, follows in zip(path, [*path[1:], None], strict=True):
        held = holder.value
        if isinstance(held, list) and isinstance(step, int) and step < len(held):
            if follows is None:
                held[step] = node
            holder = held[step]
        elif isinstance(held, dict) and isinstance(step, str):
            name = holder.key(step) or step
            if follows is None:
                held[name] = node
            holder = held.setdefault(name, Node({}, node.line))
        else:
            return False
    return True


def camel(name: str) -> str:
    """Return a name as the API writes it: `machineType` for `machine_type` and `machine-type`."""
    first, *rest = name.replace("-", "_").split("_")
    return first + "".join(word.capitalize() for word in rest)


def paths(names: str, below: str = "", prefix: str = "") -> dict[str, str]:
    """Return `{flag or argument: path}` for names that match the API's fields below a path."""
    return {f"{prefix}{name}": f"{below}{camel(name)}" for name in names.split()}


def folded(name: str) -> str:
    """Return a name without case, underscores and hyphens, so that `worker_pool_specs` equals `workerPoolSpecs`."""
    return name.replace("_", "").replace("-", "").lower()
