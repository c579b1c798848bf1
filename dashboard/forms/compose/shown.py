"""The fields of a page that show findings now and before, and all findings in one list with their locations."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from dashboard.forms.findings import FindingsField, FindingsForm
from jobs.spec import Finding, Severity

FINDS_ID = re.compile(r"id_[a-z0-9_-]{1,80}-finds")
MAX_IDS = 2_000
"""Upper limit of ids from the browser, far more than there are fields."""
MAX_LISTED = 20
"""Maximum findings of one kind that the page lists."""


class Shown(NamedTuple):
    """The fields that show findings.

    `ids` are the ids of their elements, which the browser sends back as `shown`. `cleared_ids` are ids that it sent and
    that no longer show anything.
    """

    fields: list[FindingsField]
    ids: str
    cleared_ids: list[str]


def shown(forms: Iterable[FindingsForm], before: str) -> Shown:
    """Return the fields of these forms that show findings. `before` is the value that the browser sent back."""
    fields = [field for form in forms for field in form.shown]
    ids = [field.findings_id for field in fields]
    cleared = [name for name in before.split()[:MAX_IDS] if name not in ids and FINDS_ID.fullmatch(name)]
    return Shown(fields, " ".join(ids), cleared)


class Located(NamedTuple):
    """A finding and the field at which it is shown, None if it is about the whole job."""

    field: FindingsField | None
    finding: Finding

    @property
    def is_gap(self) -> bool:
        """Whether it only means that a required field is still empty."""
        return self.field is not None and self.field.is_waiting and self.finding.severity is Severity.ERROR


@dataclass(frozen=True, slots=True)
class Summary:
    """All findings of a form by severity, without duplicates. `gaps` is the number of required fields still empty."""

    errors: Sequence[Located]
    approvals: Sequence[Located]
    notes: Sequence[Located]
    gaps: int

    @property
    def is_long(self) -> bool:
        """Whether there are more findings of one kind than a list shows."""
        return max(len(self.errors), len(self.approvals), len(self.notes)) > MAX_LISTED

    @property
    def counts(self) -> str:
        """The numbers in words: "2 errors, 1 approval, 3 required". "" if there are no findings."""
        errors, approvals, notes, gaps = len(self.errors), len(self.approvals), len(self.notes), self.gaps
        words = (
            ngettext("%(n)s error", "%(n)s errors", errors) % {"n": errors} if errors else "",
            ngettext("%(n)s approval", "%(n)s approvals", approvals) % {"n": approvals} if approvals else "",
            ngettext("%(n)s note", "%(n)s notes", notes) % {"n": notes} if notes else "",
            _("%(n)s required") % {"n": gaps} if gaps else "",
        )
        return ", ".join(filter(None, words))


def summarize(forms: Iterable[FindingsForm], whole: Iterable[Finding]) -> Summary:
    """Return the findings at the fields of these forms and about the whole job."""
    fields = [field for form in forms for field in form.with_findings()]
    at_fields = [Located(field, finding) for field in fields for finding in field.findings]
    gaps = {each.field.findings_id for each in at_fields if each.is_gap and each.field is not None}
    every = [each for each in at_fields if not each.is_gap] + [Located(None, finding) for finding in whole]
    errors, approvals, notes = (
        [each for each in every if each.finding.severity is severity]
        for severity in (Severity.ERROR, Severity.APPROVAL, Severity.NOTE)
    )
    return Summary(errors, approvals, notes, len(gaps))
