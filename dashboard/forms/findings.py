"""A form whose fields have findings: parsing errors and findings of the rules, in one list per field."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django import forms
from django.forms.boundfield import BoundField
from django.utils.translation import gettext_lazy as _

from dashboard.forms.fields.choices import Select
from dashboard.forms.fields.located import EMPTY
from jobs.spec import Finding, Severity
from jobs.strategies.checks import counts_rest

Choices = Sequence[tuple[Any, Sequence[tuple[Any, Any]]]]
"""(label of the group or "", its (value, label)s), in order."""

SILENT = ("skip", "drop_carried")
"""Check boxes that a page does not always have, so they are not drawn anew while one types."""
MAX_AT_FIELD = 10
"""Maximum findings that one field shows. 4,000 labels may have twice as many."""


class FindingsField(BoundField):
    """A bound field with its findings. A missing value is not marked as an error before the form is submitted."""

    form: "FindingsForm"

    @property
    def findings(self) -> list[Finding]:
        """The findings at this field, highest severity first. For an unreadable value, only the parsing errors."""
        if not self.errors and not self.form.findings_at(self.name):
            return []
        if self.form.is_new and self.value() in EMPTY:
            return []
        if self.errors:
            return [Finding("unreadable", Severity.ERROR, "", str(error)) for error in self.errors]
        # Severity is declared from highest to lowest.
        return sorted(self.form.findings_at(self.name), key=lambda finding: list(Severity).index(finding.severity))

    @property
    def shown_findings(self) -> list[Finding]:
        """The first MAX_AT_FIELD findings, the number of further ones, and how many are not among the findings."""
        found = [each for each in self.findings if not counts_rest(each)]
        rest = [each for each in self.findings if counts_rest(each)]
        if len(found) <= MAX_AT_FIELD:
            return [*found, *rest]
        words = _("%(count)s more like these.") % {"count": f"{len(found) - MAX_AT_FIELD:,}"}
        return [*found[:MAX_AT_FIELD], Finding("more", found[MAX_AT_FIELD].severity, "", words), *rest]

    @property
    def is_refused(self) -> bool:
        """Whether any finding here is an error."""
        return any(finding.severity is Severity.ERROR for finding in self.findings)

    @property
    def is_waiting(self) -> bool:
        """Whether the field is empty in a form that is still being edited."""
        return not self.form.is_final and self.value() in EMPTY

    @property
    def findings_id(self) -> str:
        """The id of the element that contains the findings."""
        return f"{self.auto_id}-finds"

    @property
    def target_id(self) -> str:
        """The id of the control, or of the first one of several. Links to this field use it."""
        return self.id_for_label or f"{self.auto_id}_0"

    @property
    def full_label(self) -> str:
        """The label with the name of its row: "Worker pool 1: Machine type"."""
        return f"{self.form.row_label}: {self.label}" if self.form.row_label else str(self.label)

    @property
    def help_id(self) -> str:
        """The id of the element that contains the help text."""
        return f"{self.auto_id}-help"

    @property
    def anew(self) -> str:
        """The control as an out-of-band replacement of the one in the page, for lists that change during editing."""
        return self.as_widget(attrs={"hx-swap-oob": "true"})

    def build_widget_attrs(self, attrs: dict[str, Any], widget: forms.Widget | None = None) -> dict[str, Any]:
        """Refer the control to its findings, and mark it as invalid if one is an error."""
        built = super().build_widget_attrs(attrs, widget)
        built["aria-describedby"] = f"{self.help_id} {self.findings_id}" if self.help_text else self.findings_id
        if self.is_refused and not self.is_waiting:
            built["aria-invalid"] = "true"
        if self.name == self.form.begins_at:
            built["autofocus"] = True
        return built


class FindingsForm(forms.Form):
    """A form to whose fields findings can be added.

    `is_final` is True once the form is submitted. `is_new` is True until somebody has edited it; findings at empty
    fields are hidden until then. `begins_at` names the field that gets the focus.
    """

    bound_field_class = FindingsField
    use_required_attribute = False
    is_final = False
    is_new = False

    def __init__(self, *args: Any, is_final: bool | None = None, is_new: bool | None = None, **options: Any) -> None:
        super().__init__(*args, **options)
        self.is_final = type(self).is_final if is_final is None else is_final
        self.is_new = type(self).is_new if is_new is None else is_new
        self.begins_at = ""
        self._findings: dict[str, dict[str, Finding]] = {}

    @property
    def row_label(self) -> str:
        """The name of the row if the form is one of several rows, else ""."""
        return ""

    def offer(self, name: str, choices: Choices, reasons: Mapping[str, str] | None = None) -> None:
        """Offer these choices for a field, and its current value if that is not among them.

        `reasons` is {value: why it does not fit}.
        """
        value = str(self[name].value() or "")
        values = {str(each) for _, options in choices for each, _ in options}
        if value not in values:
            choices = (("", ((value, value or _("choose")),)), *choices)
        widget = self.fields[name].widget
        assert isinstance(widget, Select)
        widget.choices = [each for label, options in choices for each in ([(label, options)] if label else options)]
        widget.reasons = reasons or {}

    @property
    def shown(self) -> list[FindingsField]:
        """The fields with findings among those that are redrawn during editing."""
        return [field for field in self.with_findings() if not field.is_hidden and field.name not in SILENT]

    def with_findings(self) -> list[FindingsField]:
        """Return the fields that are unreadable or have findings, in their order."""
        names = self.errors.keys() | self._findings.keys()
        return self.bound_fields([name for name in self.fields if name in names]) if names else []

    def bound_fields(self, names: Iterable[str] | None = None) -> list[FindingsField]:
        """Return the fields with these names, or all of them in their order."""
        wanted = self.fields if names is None else names
        return [field for name in wanted if isinstance(field := self[name], FindingsField)]

    def add_finding(self, name: str, finding: Finding) -> None:
        """Add a finding to the field `name`. Of several with the same message only the first is kept."""
        self._findings.setdefault(name, {}).setdefault(finding.message, finding)

    def findings_at(self, name: str) -> list[Finding]:
        """Return the findings that were added to the field `name`."""
        return list(self._findings.get(name, {}).values())
