"""The result of reading a text: a job, findings with their lines, and what is still required."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from jobs.bounds import parse_digits
from jobs.importer.nodes import Draft, Node, Notes, line_at, node_of, plain, set_at
from jobs.importer.syntax.yaml_text import resolve
from jobs.spec import Finding, Severity, Submission, quoted, read, rest_body
from jobs.spec.paths import steps, upward
from jobs.texts import translatable as _

UNREAD = frozenset({"wrong_type", "unknown_task"})
"""Codes of findings about values that are left out completely."""
MAX_LISTED = 10


class JobName(NamedTuple):
    """A job of a text: its display name, and the line where it begins."""

    name: str
    line: int


@dataclass(frozen=True)
class Reading:
    """The job that was read from a text.

    `format` is a key of FORMATS, or "" if nothing could be read. `form` describes the text for people. `body` is the
    REST body. `placeholders` maps the paths of placeholders to the text that is kept of each ("" if it is left out).
    `unseen` are the paths of fields in another file. `jobs` lists all jobs of the text, of which this is one.
    `used_files` are the given files that the text refers to, `missing_files` the other names that it refers to.
    `submission` is complete only if no finding is an error.
    """

    format: str
    form: str
    kind: str
    submission: Submission | None
    body: dict[str, Any]
    findings: tuple[Finding, ...]
    placeholders: dict[str, str] = field(default_factory=dict)
    unseen: tuple[str, ...] = ()
    jobs: tuple[JobName, ...] = ()
    used_files: frozenset[str] = frozenset()
    missing_files: frozenset[str] = frozenset()
    tree: Node | None = field(default=None, repr=False, compare=False)

    @property
    def left_out(self) -> list[str]:
        """The paths of placeholders in fields that are not text: numbers, enums, objects."""
        return [path for path, text in self.placeholders.items() if not text]

    def line_of(self, path: str) -> int | None:
        """Return the line where a field of the body, or its nearest parent, was written."""
        return None if self.tree is None else line_at(self.tree, path)

    def located(self, finding: Finding) -> Finding:
        """Return a finding with a line, added if it has none."""
        return finding if finding.line is not None else replace(finding, line=self.line_of(finding.field))

    def filled(self, values: Mapping[str, str]) -> "Reading":
        """Return the reading with values of a person in place of placeholders. `values` maps their paths to texts."""
        wanted = {path: text for path, text in values.items() if path in self.placeholders and text.strip()}
        if self.submission is None or not wanted:
            return self
        tree = node_of(deepcopy(self.body), 1)
        for path, text in wanted.items():
            set_at(tree, steps(path), Node(text if self.placeholders[path] else resolve(text.strip()), 1))
        job, findings = read(self.kind, plain(tree))
        if job is None:
            return self
        kept = [each for each in self.findings if each.field not in wanted or each.code != "placeholder"]
        return replace(
            self,
            submission=replace(self.submission, job=job),
            body=rest_body(job),
            placeholders={path: text for path, text in self.placeholders.items() if path not in wanted},
            findings=(*kept, *(self.located(each) for each in findings if each not in kept)),
        )

    def with_rules(self, findings: Iterable[Finding], confirmed: Collection[str] | None = None) -> list[Finding]:
        """Return the findings about the text, then those of rules, with lines; errors before approvals and notes.

        Errors of rules that may result from a placeholder become notes. If `confirmed` is given, placeholders are
        errors, except for texts in it, which a person confirmed as literal. About what is not known to Trainboard, the
        rules have the last word once it is confirmed. Findings of rules about placeholders, unreadable values and
        values in other files are left out.
        """
        settled = confirmed if confirmed is not None else [each.confirm for each in self.findings]
        stated = [each for each in self.findings if not each.confirm or each.confirm not in settled]
        refused = {finding.field for finding in stated if finding.severity is Severity.ERROR and finding.field}
        silent = refused.union(self.placeholders)
        outside = {*self.unseen, *(finding.field for finding in self.findings if finding.code in UNREAD)}
        relevant = [rule for rule in findings if rule.field not in silent and outside.isdisjoint(upward(rule.field))]
        own = [self._refused(finding, confirmed) for finding in stated]
        found = [*own, *map(self.located, self._softened(relevant))]
        return sorted(found, key=lambda each: list(Severity).index(each.severity))  # what decides comes first

    def _refused(self, finding: Finding, confirmed: Collection[str] | None) -> Finding:
        is_confirmed = confirmed is None or (self.placeholders.get(finding.field) or None) in confirmed
        return finding if finding.code != "placeholder" or is_confirmed else replace(finding, severity=Severity.ERROR)

    def _softened(self, findings: Iterable[Finding]) -> Iterator[Finding]:
        """Yield findings, as notes if they may result from a placeholder: in it, around it, or of the same machine."""
        around = {path for placeholder in self.placeholders for path in upward(placeholder)}
        holders = {placeholder.rpartition(".")[0] for placeholder in self.placeholders}
        within = {*self.placeholders, *(path for path in holders if path.endswith(("machineSpec", "diskSpec")))}
        for finding in findings:
            is_open = finding.field in around or not within.isdisjoint(upward(finding.field))
            yield replace(finding, severity=Severity.NOTE) if is_open else finding


def choose(drafts: list[Draft], job: str, notes: Notes) -> Draft | None:
    """Return the job of this number or name, or the first one; its own notes are added to `notes`.

    An unknown number or name is an error.
    """
    jobs, at = job_names(drafts), 0
    if job and drafts:
        same = [place for place, each in enumerate(jobs) if each.name == job]
        at = same[0] if len(same) == 1 else (parse_digits(job) or 0) - 1
    if drafts and not 0 <= at < len(drafts):
        shown = ", ".join(f"{place} {quoted(each.name)}" for place, each in enumerate(jobs[:MAX_LISTED], 1))
        message = _("The text has no job %(job)s; it has %(shown)s.", job=quoted(job), shown=shown)
        notes.error("no_such_job", None, message, _("Choose one of them."))
        return None
    for place, other in enumerate(jobs):
        if place != at:
            message = _(
                "Another job begins here: number %(number)s, %(name)s. Only one job is imported at a time.",
                number=place + 1,
                name=quoted(other.name),
            )
            notes.note("further_job", other.line, message, _("Choose the one to import."))
    chosen = drafts[at] if drafts else None
    notes.extend(chosen.notes if chosen is not None else None)
    return chosen


def job_names(drafts: list[Draft]) -> tuple[JobName, ...]:
    """Return the names and lines of the jobs of a text."""
    names = [(draft.body.get("displayName"), draft.body.line) for draft in drafts]
    return tuple(JobName(name.text() if name is not None else "", line) for name, line in names)
