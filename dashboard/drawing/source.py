"""An imported text with numbered lines and the findings at each, in a bounded number of lines. Pure."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from jobs.spec import Finding, Severity

MAX_WHOLE_LINES = 300
"""A text of at most so many lines is shown in full, a longer one around its findings only."""
CONTEXT_LINES = 3
MAX_MARKED_LINES = 120
"""Lines with findings that are shown."""
MAX_LINE_LENGTH = 240


@dataclass(frozen=True, slots=True)
class Line:
    """One line, or a stretch of `skipped` lines that are not shown before it."""

    number: int
    text: str
    findings: tuple[Finding, ...] = ()
    skipped: int = 0

    @property
    def mark(self) -> str:
        """The worst severity on the line, "" for none."""
        return str(self.findings[0].severity) if self.findings else ""


def listing(text: str, findings: Iterable[Finding]) -> list[Line]:
    """Return the lines to show, each with its findings, the worst first, those beyond the end at the last line."""
    lines = text.split("\n")
    while len(lines) > 1 and not lines[-1].strip():
        lines.pop()
    at: dict[int, list[Finding]] = defaultdict(list)
    for finding in findings:
        if finding.line is not None:
            at[min(max(finding.line, 1), len(lines))].append(finding)
    listed, last = [], 0
    for number in _shown(len(lines), sorted(at)):
        # The worst severity is declared first.
        findings_here = tuple(sorted(at.get(number, ()), key=lambda finding: list(Severity).index(finding.severity)))
        line = lines[number - 1]
        shown = line if len(line) <= MAX_LINE_LENGTH else f"{line[:MAX_LINE_LENGTH]}…"
        listed.append(Line(number, shown, findings_here, number - last - 1))
        last = number
    return listed


def _shown(count: int, marked: list[int]) -> Iterable[int]:
    if count <= MAX_WHOLE_LINES:
        return range(1, count + 1)
    near = {1 + place for place in range(CONTEXT_LINES)}
    for number in marked[:MAX_MARKED_LINES]:
        near.update(range(max(1, number - CONTEXT_LINES), min(count, number + CONTEXT_LINES) + 1))
    return sorted(near)
