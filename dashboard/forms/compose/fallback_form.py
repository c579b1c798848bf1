"""The fields of further attempts, which follow if a job gets no capacity or Vertex AI stops it."""

from typing import Any

from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from dashboard.forms.compose.fitting import region_choices
from dashboard.forms.fields.choices import OpenChoiceField
from dashboard.forms.fields.located import ChoiceField, FlagField, IntegerField
from dashboard.forms.fields.usd import UsdField
from dashboard.forms.findings import FindingsField, FindingsForm
from jobs.fallback import FREE_STRATEGIES, MAX_FURTHER, MAX_WAIT_HOURS, Plan, Reason, Step, problems_of
from jobs.strategies import STRATEGIES

SAME_STRATEGY = "same"
NUMBERS = range(1, MAX_FURTHER + 1)
LABELS = {
    Reason.CAPACITY: _("It gets no capacity: out of machines or quota, or it waits too long"),
    Reason.PREEMPTED: _("It is preempted until no restart is left"),
    Reason.INTERNAL: _("Vertex AI has an internal error"),
}


def _strategy_choices() -> list[tuple[str, Any]]:
    free = [(key, STRATEGIES[key].label) for key in FREE_STRATEGIES]
    return [("", _("none")), (SAME_STRATEGY, _("Same strategy")), *free]


def _strategy_field(number: int) -> ChoiceField:
    return ChoiceField(format_lazy(_("Strategy of attempt {number}"), number=number), choices=_strategy_choices)


def _region_field(number: int) -> OpenChoiceField:
    return OpenChoiceField(format_lazy(_("Region of attempt {number}"), number=number))


class FallbackForm(FindingsForm):
    """One row per further attempt, and when attempts are made. A row without a strategy is ignored."""

    on_capacity = FlagField(LABELS[Reason.CAPACITY], initial=True)
    on_preempted = FlagField(LABELS[Reason.PREEMPTED], initial=True)
    on_internal = FlagField(LABELS[Reason.INTERNAL], initial=True)
    wait_hours = IntegerField(
        _("Longest wait, hours"),
        _("An attempt that has not started by then is cancelled before the next one. Empty: no limit."),
        min_value=1,
        max_value=MAX_WAIT_HOURS,
    )
    attempts_usd = UsdField(_("Cost limit for all attempts"), _("US dollars. Empty: no limit."))

    then_1 = _strategy_field(2)
    then_1_region = _region_field(2)
    then_2 = _strategy_field(3)
    then_2_region = _region_field(3)
    then_3 = _strategy_field(4)
    then_3_region = _region_field(4)
    then_4 = _strategy_field(5)
    then_4_region = _region_field(5)

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        regions = (("", (("", _("same region")),)), *region_choices())
        for number in NUMBERS:
            self.offer(f"then_{number}_region", regions)

    @property
    def rows(self) -> list[tuple[int, FindingsField, FindingsField]]:
        """The number, strategy and region of each further attempt."""
        names = ((n + 1, f"then_{n}", f"then_{n}_region") for n in NUMBERS)
        return [(number, *self.bound_fields([strategy, region])) for number, strategy, region in names]  # type: ignore[misc]

    @property
    def is_used(self) -> bool:
        """Whether it requests a further attempt."""
        return any(self[f"then_{n}"].value() for n in NUMBERS)

    def clean(self) -> None:
        """Add the errors of the plan to the form."""
        for problem in problems_of(self.plan) if self.plan is not None else ():
            self.add_error("on_capacity" if "reason" in problem else "then_1", problem)

    @property
    def plan(self) -> Plan | None:
        """The further attempts of the form, None if there are none."""
        values = self.cleaned_data
        chosen = [(values.get(f"then_{n}"), values.get(f"then_{n}_region", "")) for n in NUMBERS]
        steps = tuple(
            Step("" if strategy == SAME_STRATEGY else strategy, region) for strategy, region in chosen if strategy
        )
        reasons = frozenset(reason for reason in Reason if values.get(f"on_{reason}"))
        return Plan(steps, reasons, values.get("wait_hours"), values.get("attempts_usd")) if steps else None
