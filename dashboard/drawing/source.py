"""A text with its lines numbered and what was found at each: what an import shows. Pure; bounded however long it is."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from jobs.spec import Finding, Severity

WHOLE_LINES = 300
"""A text of at most so many lines is shown in full, a longer one around its findings only."""
AROUND = 3
MOST_MARKED = 120
"""Lines with findings that are shown."""
LONGEST_LINE = 240
WEIGHT = {Severity.REFUSE: 0, Severity.ASK: 1, Severity.ADVISE: 2}


@dataclass(frozen=True, slots=True)
class Line:
    """One line, or a stretch of `skipped` lines that are not shown before it."""

    number: int
    text: str
    findings: tuple[Finding, ...] = ()
    skipped: int = 0

    @property
    def mark(self) -> str:
        """The worst severity found on the line, "" for none."""
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
    shown, found, last = _shown(len(lines), sorted(at)), [], 0
    for number in shown:
        told = tuple(sorted(at.get(number, ()), key=lambda finding: WEIGHT[finding.severity]))
        found.append(Line(number, _short(lines[number - 1]), told, number - last - 1))
        last = number
    return found


def _shown(count: int, marked: list[int]) -> Iterable[int]:
    if count <= WHOLE_LINES:
        return range(1, count + 1)
    near = {1 + place for place in range(AROUND)}
    for number in marked[:MOST_MARKED]:
        near.update(range(max(1, number - AROUND), min(count, number + AROUND) + 1))
    return sorted(near)


def _short(line: str) -> str:
    return line if len(line) <= LONGEST_LINE else f"{line[:LONGEST_LINE]}…"
