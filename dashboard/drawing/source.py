"""An imported text with line numbers and findings, in a limited number of lines. Pure."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from jobs.spec import Finding, Severity

MAX_WHOLE_LINES = 300
"""Maximum lines of a text that is shown in full. Of a longer one, only the lines around findings are shown."""
CONTEXT_LINES = 3
MAX_MARKED_LINES = 120
"""Maximum lines with findings that are shown."""
MAX_LINE_LENGTH = 240


@dataclass(frozen=True, slots=True)
class Line:
    """One line. `skipped` is the number of lines omitted before it."""

    number: int
    text: str
    findings: tuple[Finding, ...] = ()
    skipped: int = 0

    @property
    def mark(self) -> str:
        """The highest severity on the line, "" for none."""
        return str(self.findings[0].severity) if self.findings else ""


def listing(text: str, findings: Iterable[Finding]) -> list[Line]:
    """Return the lines to show, each with its findings, highest severity first.

    Findings beyond the end are shown at the last line.
    """
    lines = text.split("\n")
    while len(lines) > 1 and not lines[-1].strip():
        lines.pop()
    at: dict[int, list[Finding]] = defaultdict(list)
    for finding in findings:
        if finding.line is not None:
            at[min(max(finding.line, 1), len(lines))].append(finding)
    listed, last = [], 0
    for number in _shown(len(lines), sorted(at)):
        # Severity is declared from highest to lowest.
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
