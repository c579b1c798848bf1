"""The form in which a lead sets a budget."""

from collections.abc import Sequence
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

from dashboard.forms.fields.usd import UsdField
from dashboard.forms.findings import FindingsForm
from jobs.bounds import parse_digits
from jobs.budget import Passing
from jobs.budgets import BudgetValues

PERSON, LABEL = "person", "label"
"""Dimensions of `jobs.models.Dimension` that a budget may have. Without one it applies to all jobs."""
PASSING = (
    (Passing.WARN, _("warn, and allow it")),
    (Passing.ASK, _("ask an approver")),
    (Passing.STOP, _("refuse it")),
)


class BudgetForm(FindingsForm):
    """A budget for jobs. The jobs that it applies to can be chosen only for a new budget."""

    is_final = True
    version = forms.IntegerField(widget=forms.HiddenInput, required=False)
    name = forms.CharField(label=_("Name"), max_length=80)
    applies_to = forms.ChoiceField(label=_("Which jobs count"), required=False)
    label = forms.CharField(
        label=_("Label"),
        required=False,
        max_length=200,
        help_text=_("Only for jobs with a label: key=value."),
    )
    amount = UsdField(
        _("US dollars a month"), _("Per calendar month, UTC. With 0, only jobs that cost nothing are allowed.")
    )
    passing = forms.ChoiceField(label=_("When a job may cost more than is left"), choices=PASSING, initial=Passing.ASK)
    thresholds = forms.CharField(
        label=_("Tell the leads at, %"),
        initial="50, 80, 100",
        max_length=60,
        help_text=_("Percentages of the budget, separated by commas."),
    )
    reason = forms.CharField(
        label=_("Reason"), max_length=200, help_text=_("Shown with the change in the history of the budget.")
    )

    def __init__(self, *args: Any, people: Sequence[tuple[str, str]] = (), is_new: bool, **options: Any) -> None:
        super().__init__(*args, **options)
        if not is_new:
            del self.fields["applies_to"], self.fields["label"]
            return
        members = [(f"{PERSON}:{key}", name) for key, name in people]
        choices = [("", _("all jobs of the team")), (LABEL, _("jobs with a label")), (_("People"), members)]
        self.fields["applies_to"] = forms.ChoiceField(label=_("Which jobs count"), required=False, choices=choices)

    def clean_amount(self) -> Any:
        """Raise ValidationError without an amount."""
        if self.cleaned_data["amount"] is None:
            raise ValidationError(_("Write an amount, such as 20000."))
        return self.cleaned_data["amount"]

    def clean_thresholds(self) -> tuple[int, ...]:
        """Return whole percentages, separated by commas in the text."""
        parts = [part.strip().removesuffix("%").strip() for part in self.cleaned_data["thresholds"].split(",")]
        percentages = tuple(parse_digits(part, 4) for part in parts if part)
        if None in percentages:
            raise ValidationError(_("Write whole percentages separated by commas, such as 50, 80, 100."))
        return tuple(each for each in percentages if each is not None)

    @property
    def values(self) -> BudgetValues:
        """The values of a valid form."""
        data = self.cleaned_data
        return BudgetValues(data["name"], data["amount"], Passing(data["passing"]), data["thresholds"])

    @property
    def group(self) -> tuple[str, str]:
        """The dimension and value of a new budget."""
        dimension, value = (*str(self.cleaned_data["applies_to"]).split(":", 1), "")[:2]
        return (dimension, self.cleaned_data["label"].strip()) if dimension == LABEL else (dimension, value)
