"""The form of groups of approvers: how many of whom have to approve."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from jobs.policy_rules import MAX_GROUPS


class WordsField(forms.CharField):
    """Several words in one field."""

    def __init__(self, **options: Any) -> None:
        super().__init__(required=False, max_length=1_000, **options)

    def prepare_value(self, value: Any) -> Any:
        """Return the words as one text."""
        return ", ".join(value) if isinstance(value, list | tuple) else value

    def clean(self, value: Any) -> tuple[str, ...]:
        """Return the words, each once."""
        return tuple(dict.fromkeys((super().clean(value) or "").replace(",", " ").split()))


class ApproversForm(forms.Form):
    """One group of approvers."""

    approvals = forms.IntegerField(label=_("Approvals"), required=False, min_value=1, max_value=10)
    role = forms.ChoiceField(
        label=_("Decided by"),
        required=False,
        choices=[("approver", _("approvers and leads")), ("lead", _("leads only"))],
    )
    approvers = WordsField(label=_("Only these people"), help_text=_("User names of approvers and leads."))

    @property
    def asks_more(self) -> bool:
        """Whether it asks for more than one approver or lead."""
        values = {name: self[name].value() for name in ("approvals", "role", "approvers")}
        return bool(values["approvers"] or str(values["approvals"] or 1) != "1" or values["role"] == "lead")


class NumberedRows(forms.BaseFormSet):  # type: ignore[type-arg]
    """Rows of a policy: a number of them that is none is refused, for nothing would be left of it."""

    def clean(self) -> None:
        """Refuse a number of rows below zero, which Django takes for none."""
        if (self.management_form.cleaned_data.get("TOTAL_FORMS") or 0) < 0:
            raise forms.ValidationError(_("The form was sent incomplete. Reload the page and try again."))


class BaseFurtherApprovers(NumberedRows):
    """The groups after the first; those that are marked are removed."""

    def add_fields(self, form: Any, index: int | None) -> None:
        """Return what the removal of a group means, in words."""
        super().add_fields(form, index)
        form.fields["DELETE"].label = _("Remove these approvers")

    def groups(self) -> list[dict[str, Any]]:
        """Return what was read of the groups, none where nothing was posted; only of a formset that is valid."""
        left = [form for form in self.forms if form not in self.deleted_forms] if self.is_bound else []
        values = [{name: form.cleaned_data.get(name) for name in ApproversForm.base_fields} for form in left]
        return [{name: value for name, value in each.items() if value not in (None, "", ())} for each in values]


FurtherApprovers = forms.formset_factory(
    ApproversForm, formset=BaseFurtherApprovers, extra=0, max_num=MAX_GROUPS - 1, absolute_max=MAX_GROUPS - 1,
    validate_max=True, can_delete=True,
)  # fmt: skip
