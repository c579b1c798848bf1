"""The form for groups of approvers: how many people of which group must approve."""

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
        """Return the words without duplicates."""
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
        """Whether it requires more than one approver or lead."""
        values = {name: self[name].value() for name in ("approvals", "role", "approvers")}
        return bool(values["approvers"] or str(values["approvals"] or 1) != "1" or values["role"] == "lead")


class NumberedRows(forms.BaseFormSet):  # type: ignore[type-arg]
    """Rows of a policy. An invalid number of rows is refused, because it would delete all of them."""

    def clean(self) -> None:
        """Raise ValidationError for a negative number of rows, which Django treats as zero."""
        if (self.management_form.cleaned_data.get("TOTAL_FORMS") or 0) < 0:
            raise forms.ValidationError(_("The form was sent incomplete. Reload the page and try again."))


class BaseFurtherApprovers(NumberedRows):
    """The groups after the first. Marked groups are removed."""

    def add_fields(self, form: Any, index: int | None) -> None:
        """Label the check box that removes a group."""
        super().add_fields(form, index)
        form.fields["DELETE"].label = _("Remove these approvers")

    def groups(self) -> list[dict[str, Any]]:
        """Return the values of the groups, [] if nothing was posted. Call it only on a valid formset."""
        left = [form for form in self.forms if form not in self.deleted_forms] if self.is_bound else []
        values = [{name: form.cleaned_data.get(name) for name in ApproversForm.base_fields} for form in left]
        return [{name: value for name, value in each.items() if value not in (None, "", ())} for each in values]


FurtherApprovers = forms.formset_factory(
    ApproversForm, formset=BaseFurtherApprovers, extra=0, max_num=MAX_GROUPS - 1, absolute_max=MAX_GROUPS - 1,
    validate_max=True, can_delete=True,
)  # fmt: skip
