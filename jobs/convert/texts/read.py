"""What was read of a text: a job, findings at their lines, and what is still open."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from jobs.convert.texts.choosing import Named
from jobs.convert.texts.nodes import Node, line_at
from jobs.spec import Finding, Severity, Submission

UNREAD = frozenset({"wrong_type", "unknown_task"})
"""Findings of values that are left out whole."""


@dataclass(frozen=True)
class Reading:
    """What a text says.

    `format` is a key of FORMATS or "" where nothing could be read; `form` says in words what was found; `body` is the
    REST body; `holes` are the paths of placeholders, `texts` what is kept of them ("" for what is left out), `unseen`
    the paths of what another file holds. `jobs` names all jobs of the text, of which this is one. `submission` is
    everything that was given only if no finding refuses.
    """

    format: str
    form: str
    kind: str
    submission: Submission | None
    body: dict[str, Any]
    findings: tuple[Finding, ...]
    holes: tuple[str, ...] = ()
    unseen: tuple[str, ...] = ()
    texts: dict[str, str] = field(default_factory=dict, compare=False)
    jobs: tuple[Named, ...] = ()
    tree: Node | None = field(default=None, repr=False, compare=False)

    @property
    def left_out(self) -> list[str]:
        """The paths of placeholders for which no text can stand in the body: numbers, choices, whole objects."""
        return [path for path, text in self.texts.items() if not text]

    def line_of(self, path: str) -> int | None:
        """Return the line on which a field of the body was written, or the nearest thing around it."""
        return None if self.tree is None else line_at(self.tree, path)

    def located(self, finding: Finding) -> Finding:
        """Return a finding with its line, where it has none."""
        return finding if finding.line is not None else replace(finding, line=self.line_of(finding.field))

    def with_rules(self, findings: Iterable[Finding], confirmed: Collection[str] | None = None) -> list[Finding]:
        """Return the reading's own findings, then those of rules, with lines.

        What a rule refuses only because of a placeholder is an advice: the reading's own `hole` findings name what to
        fill. They refuse too where `confirmed` is given, except for texts in it, which a person means literally. Of a
        value that is a hole, could not be read, or stands in a file that is not part of the text, rules say nothing.
        """
        own = {finding.field for finding in self.findings if finding.severity is Severity.REFUSE and finding.field}
        silent = own.union(self.holes)
        unread = [finding.field for finding in self.findings if finding.code in UNREAD and finding.field]
        outside = (*self.unseen, *unread)
        told = [rule for rule in findings if rule.field not in silent and not _within(rule.field, outside)]
        own_findings = [self._asked(finding, confirmed) for finding in self.findings]
        return [*own_findings, *(self._softened(self.located(finding)) for finding in told)]

    def _asked(self, finding: Finding, confirmed: Collection[str] | None) -> Finding:
        if finding.code != "hole" or confirmed is None or (self.texts.get(finding.field) or None) in confirmed:
            return finding
        return replace(finding, severity=Severity.REFUSE)

    def _softened(self, finding: Finding) -> Finding:
        if finding.severity is Severity.ADVISE or not any(_touches(finding.field, hole) for hole in self.holes):
            return finding
        return replace(finding, severity=Severity.ADVISE)


def _within(path: str, others: Iterable[str]) -> bool:
    return any(path == other or path.startswith((f"{other}.", f"{other}[")) for other in others)


def _touches(path: str, hole: str) -> bool:
    """Tell whether a finding at `path` may come from the hole: it is there, around it, or of the same machine."""
    if not path or path == hole or hole.startswith((f"{path}.", f"{path}[")) or path.startswith(f"{hole}."):
        return bool(path)
    parent = hole.rpartition(".")[0]
    return parent.endswith(("machineSpec", "diskSpec")) and path.startswith(parent)
