"""A form whose fields carry findings: what could not be read, and what the rules say, in one list at the field."""

from collections.abc import Iterable, Iterator
from copy import copy
from functools import cache
from typing import Any

from django import forms
from django.forms.boundfield import BoundField
from django.utils.safestring import SafeString

from dashboard.forms.fields.picks import Group, Select
from jobs.spec import Finding, Severity


class FoundField(BoundField):
    """A bound field with its findings; what is merely still empty is told softly until the form is submitted."""

    form: "FoundForm"

    @property
    def findings(self) -> list[Finding]:
        """Return what was found at this field, the worst first."""
        if not self.errors and not self.form.findings_at(self.name):
            return []
        mine = [Finding("unreadable", Severity.REFUSE, "", str(error)) for error in self.errors]
        return mine + sorted(self.form.findings_at(self.name), key=lambda finding: WEIGHT[finding.severity])

    @property
    def is_refused(self) -> bool:
        """Whether any finding here refuses."""
        return any(finding.severity is Severity.REFUSE for finding in self.findings)

    @property
    def is_waiting(self) -> bool:
        """Whether the field is empty in a form that is still being typed."""
        return not self.form.is_final and self.value() in (None, "", [])

    @property
    def finds_id(self) -> str:
        """The id of the element that holds the findings."""
        return f"{self.auto_id}-finds"

    @property
    def help_id(self) -> str:
        """The id of the element that holds the help text."""
        return f"{self.auto_id}-help"

    @property
    def anew(self) -> str:
        """The control drawn to take the place of the one in the page, for lists that change while one types."""
        return self.as_widget(attrs={"hx-swap-oob": "true"})

    def as_widget(
        self, widget: forms.Widget | None = None, attrs: dict[str, Any] | None = None, only_initial: bool = False
    ) -> SafeString:
        """Return the control, with the list that the form has for this field."""
        groups = self.form.lists.get(self.name)
        if widget is None and groups is not None:
            widget = copy(self.field.widget)
            assert isinstance(widget, Select)
            widget.groups = groups
        return super().as_widget(widget, attrs, only_initial)

    def build_widget_attrs(self, attrs: dict[str, Any], widget: forms.Widget | None = None) -> dict[str, Any]:
        """Point the control at its findings and mark it where one refuses."""
        built = super().build_widget_attrs(attrs, widget)
        built["aria-describedby"] = f"{self.help_id} {self.finds_id}" if self.help_text else self.finds_id
        if self.is_refused and not self.is_waiting:
            built["aria-invalid"] = "true"
        if self.name == self.form.begins_at:
            built["autofocus"] = True
        return built


SILENT = ("skip", "drop_carried")
WEIGHT = {Severity.REFUSE: 0, Severity.ASK: 1, Severity.ADVISE: 2}


class _Shared(dict[str, forms.Field]):
    """Fields that every form of a class shares; Django copies them for each, which takes longer than all else."""

    def __deepcopy__(self, memo: dict[int, Any]) -> dict[str, forms.Field]:
        return dict(self)


class FoundForm(forms.Form):
    """A form that findings can be put on. `is_final` is True once it is submitted rather than typed in.

    All forms of a class share its fields; a form that needs another puts its own into `fields`. What else differs from
    form to form stands beside them: `lists` are the options that a field offers in this form, `begins_at` names the
    field that the page opens at.
    """

    bound_field_class = FoundField
    use_required_attribute = False
    is_final = False

    def __init__(self, *args: Any, **options: Any) -> None:
        self.base_fields = _Shared(type(self).base_fields)  # type: ignore[misc]
        super().__init__(*args, **options)
        self.lists: dict[str, tuple[Group, ...]] = {}
        self.begins_at = ""
        self._findings: dict[str, list[Finding]] = {}

    def _clean_fields(self) -> None:
        """Read the fields as Django does, but those left empty at once: of most jobs that is most of them."""
        blank = _blanks(type(self))
        self.cleaned_data = {name: copy(blank[name]) for name in blank if not self.data.get(self.add_prefix(name))}
        super()._clean_fields()  # type: ignore[misc]

    def _bound_items(self) -> Iterator[tuple[str, BoundField]]:
        """Yield the fields that are not read yet."""
        return ((name, self[name]) for name in self.fields if name not in self.cleaned_data)

    @property
    def told(self) -> list[FoundField]:
        """The fields that have findings, of those that are told anew while one types."""
        return [field for field in self.with_findings() if not field.is_hidden and field.name not in SILENT]

    @property
    def told_apart(self) -> list[FoundField]:
        """The fields that have findings but no place of their own in the page."""
        return [field for field in self.with_findings() if field.is_hidden]

    def with_findings(self) -> list[FoundField]:
        """Return the fields that could not be read or that something was put on, in their order."""
        names = self.errors.keys() | self._findings.keys()
        return self.found([name for name in self.fields if name in names]) if names else []

    def found(self, names: Iterable[str] | None = None) -> list[FoundField]:
        """Return the fields of these names, or all of them in their order."""
        wanted = self.fields if names is None else names
        return [field for name in wanted if isinstance(field := self[name], FoundField)]

    def put(self, name: str, finding: Finding) -> None:
        """Put a finding on the field `name`; the same words are said once."""
        at = self._findings.setdefault(name, [])
        if all(each.message != finding.message for each in at):
            at.append(finding)

    def findings_at(self, name: str) -> list[Finding]:
        """Return what was put on the field `name`."""
        return self._findings.get(name, [])


@cache
def _blanks(form: type[FoundForm]) -> dict[str, Any]:
    """Return {field: what it holds when it is left empty}, without those that may not be."""
    return {
        name: field.clean(field.widget.value_from_datadict({}, {}, name))
        for name, field in form.base_fields.items()
        if not field.required and not field.widget.needs_multipart_form
        if not hasattr(form, f"clean_{name}")
    }
