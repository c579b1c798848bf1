"""The form of a team's policy: a row for each rule, in their order, and what holds for all of them."""

from typing import Any

from django import forms
from pydantic import ValidationError

from jobs.catalog import ACCELERATORS, REGIONS
from jobs.policy_rules import MAX_RULES, Rule
from jobs.policy_words import describe
from jobs.strategies import STRATEGIES

WORDS = ("gpu_types", "regions", "labels", "submitters", "approvers", "require_labels", "set_labels")
"""Fields that hold several words, parted by commas or spaces."""
KINDS = [
    ("custom_job", "custom job"),
    ("hyperparameter_tuning_job", "tuning job"),
    ("training_pipeline", "training pipeline"),
]
OUTCOMES = [
    ("ask", "Ask for approval"),
    ("refuse", "Refuse"),
    ("allow", "Allow"),
    ("require", "Require what a job carries"),
    ("set", "Set what a job lacks"),
]


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


def _amount(label: str, **options: Any) -> forms.DecimalField:
    return forms.DecimalField(label=label, required=False, min_value=0, max_digits=12, decimal_places=2, **options)


class RuleForm(forms.Form):
    """One rule; a condition that is left empty holds for every job."""

    rule: Rule | None = None
    """What was read; None until the form was found valid, and for a row in which nothing was changed."""
    outcome = forms.ChoiceField(label="Outcome", choices=OUTCOMES)
    cost_basis = forms.ChoiceField(
        label="Of these costs",
        required=False,
        choices=[
            ("most", "most until the timeout"),
            ("expected", "expected"),
            ("high", "high end"),
            ("low", "low end"),
        ],
    )
    cost_over = _amount("Cost over, USD")
    cost_unknown = forms.BooleanField(label="Cost not known", required=False)
    budget_left_under = _amount("Leaves of a budget less than, USD")
    gpus_over = forms.IntegerField(label="Accelerators over", required=False, min_value=0, max_value=10**8)
    gpu_types = WordsField(label="Accelerator types", help_text="Such as NVIDIA_H100_80GB.")
    hours_over = _amount("Run time over, hours")
    strategies = forms.MultipleChoiceField(
        label="Strategies",
        required=False,
        choices=[(key, each.label) for key, each in STRATEGIES.items()],
        widget=forms.CheckboxSelectMultiple,
    )
    kinds = forms.MultipleChoiceField(label="Kinds", required=False, choices=KINDS, widget=forms.CheckboxSelectMultiple)
    regions = WordsField(label="Regions", help_text="Such as us-central1, europe-west4.")
    in_other_regions = forms.BooleanField(label="Every region but these", required=False)
    labels = WordsField(label="Labels", help_text="key or key=value.")
    submitters = WordsField(label="Requested by", help_text="User names.")
    approvals = forms.IntegerField(label="Approvals", required=False, min_value=1, max_value=10)
    role = forms.ChoiceField(
        label="Decided by", required=False, choices=[("approver", "approvers and leads"), ("lead", "leads only")]
    )
    approvers = WordsField(label="Only these people", help_text="User names of approvers and leads.")
    require_labels = WordsField(label="Label keys")
    require_service_account = forms.BooleanField(label="A service account", required=False)
    require_network = forms.BooleanField(label="A network", required=False)
    require_encryption = forms.BooleanField(label="An encryption key", required=False)
    require_timeout = forms.BooleanField(label="A timeout", required=False)
    set_labels = WordsField(label="Labels to set", help_text="key=value, such as cost-center=ml.")
    set_service_account = forms.CharField(label="Service account to set", required=False, max_length=200)
    set_network = forms.CharField(
        label="Network to set", required=False, max_length=300, help_text="projects/NUMBER/global/networks/NAME"
    )
    set_encryption_key = forms.CharField(
        label="Encryption key to set", required=False, max_length=300, help_text="projects/…/cryptoKeys/NAME"
    )
    set_timeout_hours = forms.DecimalField(
        label="Timeout to set, hours", required=False, min_value=0, max_digits=7, decimal_places=2
    )
    must = forms.BooleanField(label="Refuse a job that has another value", required=False)
    words = forms.CharField(label="What the requester reads", required=False, max_length=500)

    @property
    def sentence(self) -> str:
        """The rule as one sentence; "" where it cannot be read."""
        if self.is_bound:
            return describe(self.rule) if self.is_valid() and self.rule is not None else ""
        return describe(Rule.model_validate({name: self.initial[name] for name in Rule.model_fields}))

    @property
    def has_more(self) -> bool:
        """Whether a condition is given that stands behind "More conditions"."""
        return self._has(
            "regions", "strategies", "kinds", "gpu_types", "hours_over", "budget_left_under", "labels", "submitters"
        )

    @property
    def has_approvers(self) -> bool:
        """Whether it says more about who approves than one approver or lead."""
        return (
            self._has("approvers") or str(self["approvals"].value() or 1) != "1" or bool(self["role"].value() == "lead")
        )

    @property
    def has_requirements(self) -> bool:
        """Whether it says what a job has to carry."""
        return bool(self["outcome"].value() == "require")

    @property
    def has_settings(self) -> bool:
        """Whether it says what a job that lacks something is given."""
        return bool(self["outcome"].value() == "set")

    def _has(self, *names: str) -> bool:
        return any(self[name].value() not in (None, "", [], ()) for name in names)

    def clean_regions(self) -> tuple[str, ...]:
        """Refuse regions that Vertex AI does not have."""
        return self._known("regions", REGIONS, "region")

    def clean_gpu_types(self) -> tuple[str, ...]:
        """Refuse accelerators that nobody knows."""
        return self._known("gpu_types", ACCELERATORS, "accelerator type")

    def _known(self, name: str, known: Any, what: str) -> tuple[str, ...]:
        words: tuple[str, ...] = self.cleaned_data[name]
        if strange := [word for word in words if word not in known]:
            raise forms.ValidationError(f"There is no {what} {', '.join(strange)[:200]}.")
        return words

    def clean(self) -> dict[str, Any]:
        """Build the rule; an error that no single field has stands above the row."""
        values = {name: value for name, value in self.cleaned_data.items() if value not in (None, "", [], ())}
        fields = {name: value for name, value in values.items() if name in Rule.model_fields}
        if values.get("outcome") == "require" and not any(
            name.startswith("require_") and values[name] for name in values
        ):
            self.add_error(None, "Say what a job has to carry.")
        if values.get("outcome") == "set" and not any(name.startswith("set_") and values[name] for name in values):
            self.add_error(None, "Say what is set.")
        if not self.errors:
            try:
                self.rule = Rule.model_validate(fields)
            except ValidationError as error:
                first = error.errors()[0]
                self.add_error(None, f"{first['loc'][0] if first['loc'] else 'The rule'}: {first['msg']}")
        return self.cleaned_data


class BaseRules(forms.BaseFormSet):  # type: ignore[type-arg]
    """The rules in the order that their numbers say; rows that are marked are removed."""

    def add_fields(self, form: Any, index: int | None) -> None:
        """Say what the order and the removal of a row mean."""
        super().add_fields(form, index)
        form.fields["ORDER"].label = "Position"
        form.fields["DELETE"].label = "Remove this rule"

    def clean(self) -> None:
        """Refuse a number of rows that is none: nothing would be left of the policy."""
        if (self.management_form.cleaned_data.get("TOTAL_FORMS") or 0) < 0:
            raise forms.ValidationError("The form arrived without the number of its rows. Open it once more.")

    def rules(self) -> tuple[Rule, ...]:
        """Return the rules in their order; only of a formset that is valid.

        A rule that was moved to the position of another takes that place: it goes before it where it was moved up.
        """
        places = []
        for at, form in enumerate(self.forms):
            if form.rule is not None and form not in self.deleted_forms:
                position = form.cleaned_data.get("ORDER") or 1_000
                places.append(((position, position - at, at), form.rule))
        return tuple(rule for _, rule in sorted(places, key=lambda pair: pair[0]))


Rules = forms.formset_factory(
    RuleForm, formset=BaseRules, extra=0, max_num=MAX_RULES, absolute_max=MAX_RULES, validate_max=True,
    can_order=True, can_delete=True,
)  # fmt: skip


class TermsForm(forms.Form):
    """What holds for all rules of a policy."""

    drift_percent = forms.IntegerField(
        label="An approval holds while the cost rises by at most, %", min_value=0, max_value=100
    )
    remind_hours = forms.IntegerField(label="Remind approvers every, hours (0: never)", min_value=0, max_value=720)
    expire_hours = forms.IntegerField(label="A request expires after, hours (0: never)", min_value=0, max_value=8_760)
    cancel_over_approved = forms.BooleanField(
        label="Cancel a running job that costs more than was approved", required=False
    )
    cancel_at_cap = forms.BooleanField(label="Cancel a running job that has cost its cap", required=False)
    approvers_choose_strategy = forms.BooleanField(
        label="Approvers may choose another strategy without asking the requester", required=False
    )
    note = forms.CharField(label="Why it is changed", required=False, max_length=200)
    base = forms.IntegerField(widget=forms.HiddenInput, min_value=0)
