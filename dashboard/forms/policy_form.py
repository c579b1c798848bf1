"""The form for a team's policy: a row per rule, in order, and terms for all of them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _
from pydantic import ValidationError

from dashboard.forms.approvers_form import ApproversForm, FurtherApprovers, NumberedRows, WordsField
from jobs.bounds import parse_digits
from jobs.catalog import ACCELERATORS, REGIONS
from jobs.policy_rules import MAX_RULES, Rule
from jobs.policy_words import FAULTS, describe, describe_waste
from jobs.strategies import STRATEGIES

KINDS = [
    ("custom_job", _("custom job")),
    ("hyperparameter_tuning_job", _("tuning job")),
    ("training_pipeline", _("training pipeline")),
]
OUTCOMES = [
    ("ask", _("Ask for approval")),
    ("refuse", _("Refuse")),
    ("allow", _("Allow")),
    ("require", _("Require a value")),
    ("set", _("Set a default")),
]


def _amount(label: Any, **options: Any) -> forms.DecimalField:
    return forms.DecimalField(label=label, required=False, min_value=0, max_digits=12, decimal_places=2, **options)


class RuleForm(ApproversForm):
    """One rule. An empty condition applies to every job."""

    rule: Rule | None = None
    """The rule. None until the form was found valid, and for an unchanged row."""
    outcome = forms.ChoiceField(label=_("Outcome"), choices=OUTCOMES)
    cost_basis = forms.ChoiceField(
        label=_("Which cost"),
        required=False,
        choices=[
            ("most", _("most if only Google ends it")),
            ("expected", _("expected")),
            ("high", _("high end")),
            ("low", _("low end")),
        ],
    )
    cost_over = _amount(_("Cost over, USD"))
    cost_unknown = forms.BooleanField(label=_("Cost unknown"), required=False)
    budget_left_under = _amount(_("Budget left under, USD"))
    person_sum_over = _amount(
        _("Requester's sum over, USD"),
        help_text=_(
            "With this job: the most that the person's jobs can cost if nobody but Google ends them, and the "
            "cost of those that ended within a day."
        ),
    )
    team_sum_over = _amount(_("Team's sum over, USD"), help_text=_("The same for all jobs of the team."))
    gpus_over = forms.IntegerField(label=_("Accelerators over"), required=False, min_value=0, max_value=10**8)
    gpu_types = WordsField(label=_("Accelerator types"), help_text=_("Such as NVIDIA_H100_80GB."))
    hours_over = _amount(_("Run time over, hours"))
    strategies = forms.MultipleChoiceField(
        label=_("Strategies"),
        required=False,
        choices=[(key, each.label) for key, each in STRATEGIES.items()],
        widget=forms.CheckboxSelectMultiple,
    )
    kinds = forms.MultipleChoiceField(
        label=_("Kinds"), required=False, choices=KINDS, widget=forms.CheckboxSelectMultiple
    )
    regions = WordsField(label=_("Regions"), help_text=_("Such as us-central1, europe-west4."))
    in_other_regions = forms.BooleanField(label=_("All regions except these"), required=False)
    labels = WordsField(label=_("Labels"), help_text=_("key or key=value."))
    submitters = WordsField(label=_("Requested by"), help_text=_("User names."))
    require_labels = WordsField(label=_("Label keys"))
    require_service_account = forms.BooleanField(label=_("A service account"), required=False)
    require_network = forms.BooleanField(label=_("A network"), required=False)
    require_encryption = forms.BooleanField(label=_("An encryption key"), required=False)
    require_timeout = forms.BooleanField(label=_("A timeout"), required=False)
    set_labels = WordsField(label=_("Labels to set"), help_text=_("key=value, such as cost-center=ml."))
    set_service_account = forms.CharField(label=_("Service account to set"), required=False, max_length=200)
    set_network = forms.CharField(
        label=_("Network to set"), required=False, max_length=300, help_text=_("projects/NUMBER/global/networks/NAME")
    )
    set_encryption_key = forms.CharField(
        label=_("Encryption key to set"), required=False, max_length=300, help_text=_("projects/…/cryptoKeys/NAME")
    )
    set_timeout_hours = forms.DecimalField(
        label=_("Timeout to set, hours"), required=False, min_value=0, max_digits=7, decimal_places=2
    )
    must = forms.BooleanField(label=_("Refuse a job that has another value"), required=False)
    words = forms.CharField(label=_("Message to the requester"), required=False, max_length=500)

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        prefix = f"{self.prefix}-further"
        is_posted = self.is_bound and f"{prefix}-TOTAL_FORMS" in self.data
        first = self.initial.get("further", ())
        self.further: Any = FurtherApprovers(self.data if is_posted else None, initial=first, prefix=prefix)
        """The groups of approvers after the first, a row for each."""

    @property
    def sentence(self) -> str:
        """The rule as one sentence, "" if it is invalid."""
        if self.is_bound:
            return describe(self.rule) if self.is_valid() and self.rule is not None else ""
        return describe(Rule.model_validate({name: self.initial[name] for name in Rule.model_fields}))

    @property
    def has_more(self) -> bool:
        """Whether a condition in the section "More conditions" is given."""
        return self._has(
            "regions",
            "strategies",
            "kinds",
            "gpu_types",
            "hours_over",
            "budget_left_under",
            "person_sum_over",
            "team_sum_over",
            "labels",
            "submitters",
        )

    @property
    def has_approvers(self) -> bool:
        """Whether approval needs more than one approver or lead."""
        return self.asks_more or self.further.total_form_count() > 0

    @property
    def has_requirements(self) -> bool:
        """Whether the outcome is to require values of a job."""
        return bool(self["outcome"].value() == "require")

    @property
    def has_settings(self) -> bool:
        """Whether the outcome is to set values that a job lacks."""
        return bool(self["outcome"].value() == "set")

    def _has(self, *names: str) -> bool:
        return any(self[name].value() not in (None, "", [], ()) for name in names)

    def clean_regions(self) -> tuple[str, ...]:
        """Raise ValidationError for regions that Vertex AI does not have."""
        return self._known("regions", REGIONS, _("There is no region %(names)s."))

    def clean_gpu_types(self) -> tuple[str, ...]:
        """Raise ValidationError for unknown accelerators."""
        return self._known("gpu_types", ACCELERATORS, _("There is no accelerator type %(names)s."))

    def _known(self, name: str, known: Any, refusal: Any) -> tuple[str, ...]:
        words: tuple[str, ...] = self.cleaned_data[name]
        if strange := [word for word in words if word not in known]:
            raise forms.ValidationError(refusal % {"names": ", ".join(strange)[:200]})
        return words

    def clean(self) -> dict[str, Any]:
        """Build the rule. An error that belongs to no single field is shown above the row."""
        values = {name: value for name, value in self.cleaned_data.items() if value not in (None, "", [], ())}
        fields = {name: value for name, value in values.items() if name in Rule.model_fields}
        if values.get("outcome") == "require" and not any(
            name.startswith("require_") and values[name] for name in values
        ):
            self.add_error(None, _("Choose what a job must have."))
        if values.get("outcome") == "set" and not any(name.startswith("set_") and values[name] for name in values):
            self.add_error(None, _("Choose what is set."))
        if self.further.is_bound and not self.further.is_valid():
            self.add_error(None, _("Correct the further approvers."))
        if not self.errors:
            try:
                self.rule = Rule.model_validate(fields | {"further": self.further.groups()})
            except ValidationError as error:
                first = error.errors()[0]
                self.add_error(None, f"{first['loc'][0] if first['loc'] else _('The rule')}: {first['msg']}")
        return self.cleaned_data


class BaseRules(NumberedRows):
    """The rules in the order of their positions. Marked rows are removed."""

    def add_fields(self, form: Any, index: int | None) -> None:
        """Label the fields for the position and removal of a row."""
        super().add_fields(form, index)
        form.fields["ORDER"].label = _("Position")
        form.fields["DELETE"].label = _("Remove this rule")

    @property
    def in_order(self) -> list[Any]:
        """The rows in the order of their positions. A row that was moved takes the place of the one that was there.

        If it was moved up, it comes before the other one.
        """

        def place(row: tuple[int, Any]) -> tuple[int, int, int]:
            at, form = row
            position = parse_digits(str(form["ORDER"].value() or ""), 4) or 1_000
            return position, position - at, at

        return [form for _at, form in sorted(enumerate(self.forms), key=place)]

    def rules(self) -> tuple[Rule, ...]:
        """Return the rules in their order. Call it only on a valid formset."""
        left = (form for form in self.in_order if form not in self.deleted_forms)
        return tuple(form.rule for form in left if form.rule is not None)


Rules = forms.formset_factory(
    RuleForm, formset=BaseRules, extra=0, max_num=MAX_RULES, absolute_max=MAX_RULES, validate_max=True,
    can_order=True, can_delete=True,
)  # fmt: skip


WASTE_ACTIONS = [("tell", _("Tell the owner")), ("ask", _("Ask the owner")), ("cancel", _("Ask, then cancel"))]
MIN_ANSWER_HOURS, MAX_ANSWER_HOURS, DEFAULT_ANSWER_HOURS = 1, 336, 4


@dataclass(frozen=True, slots=True)
class WasteRow:
    """What follows from one fault of running jobs: its sentence as saved or posted, and its two fields."""

    fault: str
    sentence: str
    action: forms.BoundField
    hours: forms.BoundField


class TermsForm(forms.Form):
    """Terms that apply to all rules of a policy, and what follows from each fault of a running job."""

    drift_percent = forms.IntegerField(
        label=_("Approval stays valid up to a cost increase of, %"), min_value=0, max_value=100
    )
    remind_hours = forms.IntegerField(label=_("Remind approvers every (hours, 0: never)"), min_value=0, max_value=720)
    expire_hours = forms.IntegerField(
        label=_("A request expires after (hours, 0: never)"), min_value=0, max_value=8_760
    )
    cancel_over_approved = forms.BooleanField(
        label=_("Cancel a running job that costs more than was approved"), required=False
    )
    cancel_at_cap = forms.BooleanField(label=_("Cancel a running job at its cap"), required=False)
    approvers_choose_strategy = forms.BooleanField(
        label=_("Approvers may change the strategy without asking the requester"), required=False
    )
    note = forms.CharField(label=_("Reason for the change"), required=False, max_length=200)
    base = forms.IntegerField(widget=forms.HiddenInput, min_value=0)

    def __init__(self, data: Any = None, *, initial: Mapping[str, Any] | None = None) -> None:
        super().__init__(data, initial=dict(initial or {}))
        for fault in FAULTS:
            hours = self.initial.get("waste_hours", {}).get(fault)
            self.initial[f"{fault}_action"] = "tell" if hours is None else "cancel" if hours else "ask"
            self.initial[f"{fault}_hours"] = hours or DEFAULT_ANSWER_HOURS
            self.fields[f"{fault}_action"] = forms.ChoiceField(
                label=_("What follows"), choices=WASTE_ACTIONS, required=False
            )
            self.fields[f"{fault}_hours"] = forms.IntegerField(
                label=_("Unanswered, cancel after, hours"),
                min_value=MIN_ANSWER_HOURS,
                max_value=MAX_ANSWER_HOURS,
                required=False,
            )

    @property
    def general_fields(self) -> list[forms.BoundField]:
        """The visible fields of the terms that are about all rules."""
        return [field for field in self.visible_fields() if field.name.rpartition("_")[0] not in FAULTS]

    @property
    def waste_rows(self) -> list[WasteRow]:
        """What follows from each fault of a running job."""
        return [
            WasteRow(fault, describe_waste(fault, self._hours(fault)), self[f"{fault}_action"], self[f"{fault}_hours"])
            for fault in FAULTS
        ]

    def _hours(self, fault: str) -> int | None:
        """Return the hours of a fault as in `Terms.waste_hours`, None to report it only."""
        action, hours = (self[f"{fault}_{name}"].value() for name in ("action", "hours"))
        if action not in ("ask", "cancel"):
            return None
        return (parse_digits(str(hours or DEFAULT_ANSWER_HOURS), 4) or 0) if action == "cancel" else 0

    def clean(self) -> dict[str, Any]:
        """Put what follows from each fault together."""
        hours = {fault: self._hours(fault) for fault in FAULTS}
        kept = {name: value for name, value in self.cleaned_data.items() if name.rpartition("_")[0] not in FAULTS}
        return kept | {"waste_hours": {fault: count for fault, count in hours.items() if count is not None}}
