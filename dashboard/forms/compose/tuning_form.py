"""The fields of a study: its metric, its search, its trials; and the fields of one parameter."""

from copy import deepcopy
from functools import partial
from typing import Any

from django.utils.translation import gettext_lazy as _

from dashboard.forms.compose.body import load_fields, write_fields
from dashboard.forms.compose.carried import CarryingForm
from dashboard.forms.compose.conditions import Row
from dashboard.forms.fields.choices import OpenChoiceField
from dashboard.forms.fields.located import IntegerField, OneOfField, TextField
from dashboard.forms.fields.numbers import NumberField, NumbersField, WordsField
from dashboard.forms.findings import FindingsForm

GOALS = (("MAXIMIZE", _("more is better")), ("MINIMIZE", _("less is better")))
ALGORITHMS = (("", _("Bayesian (default)")), ("RANDOM_SEARCH", _("Random")), ("GRID_SEARCH", _("Grid")))
MEASUREMENTS = (("", _("last (default)")), ("LAST_MEASUREMENT", _("last")), ("BEST_MEASUREMENT", _("best")))
STOPPING = (
    ("", _("never")),
    ("median", _("when worse than the median")),
    ("decay_curve", _("when its curve cannot reach the best")),
    ("convex", _("when its predicted end is too low")),
)
KINDS = (
    ("double", _("real number")),
    ("integer", _("whole number")),
    ("categorical", _("one of some words")),
    ("discrete", _("one of some numbers")),
)
SCALES = (
    ("", _("linear (default)")),
    ("UNIT_LINEAR_SCALE", _("linear")),
    ("UNIT_LOG_SCALE", _("logarithmic")),
    ("UNIT_REVERSE_LOG_SCALE", _("reverse logarithmic")),
)
STOPPING_OBJECTS = {
    "median": "studySpec.medianAutomatedStoppingSpec",
    "decay_curve": "studySpec.decayCurveStoppingSpec",
    "convex": "studySpec.convexAutomatedStoppingSpec",
}
RANGES = {kind: f"{kind}ValueSpec" for kind, _ in KINDS}
MAX_ID_LENGTH = 500

_trials = partial(IntegerField, min_value=0, max_value=2**31 - 1)


class TuningForm(FindingsForm):
    """The goal of a study and its search."""

    metric_id = TextField(
        _("Metric"),
        _("The name under which the code reports it."),
        path="studySpec.metrics[0].metricId",
        covers=("studySpec.metrics",),
        max_length=500,
    )
    goal = OpenChoiceField(_("Goal"), path="studySpec.metrics[0].goal", choices=GOALS, initial="MAXIMIZE")
    algorithm = OpenChoiceField(_("Algorithm"), path="studySpec.algorithm", choices=ALGORITHMS, covers=("studySpec",))
    measurement = OpenChoiceField(
        _("Measurement used"), path="studySpec.measurementSelectionType", choices=MEASUREMENTS
    )
    max_trials = _trials(_("Trials"), path="maxTrialCount", initial=8)
    parallel_trials = _trials(_("At once"), path="parallelTrialCount", initial=2)
    max_failed_trials = _trials(_("Failed trials allowed"), _("Empty: Vertex AI decides."), path="maxFailedTrialCount")
    stopping = OneOfField(_("Stop a trial early"), choices=STOPPING, objects=STOPPING_OBJECTS)


class ParameterForm(CarryingForm):
    """One parameter: its id, the kind of its values, their range or list, and the scale."""

    first_field = "parameter_id"

    parameter_id = TextField(
        _("Parameter"),
        _("Passed to the code as --NAME=value."),
        path="parameterId",
        covers=("",),
        max_length=MAX_ID_LENGTH,
    )
    kind = OneOfField(_("Values"), choices=KINDS, objects=RANGES, initial="double")
    low = NumberField(
        _("From"),
        path=("doubleValueSpec.minValue", "integerValueSpec.minValue"),
        covers=("doubleValueSpec", "integerValueSpec"),
    )
    high = NumberField(_("To"), path=("doubleValueSpec.maxValue", "integerValueSpec.maxValue"))
    words = WordsField(
        _("Words"), _("Separated by commas."), path="categoricalValueSpec.values", covers=("categoricalValueSpec",)
    )
    numbers = NumbersField(
        _("Numbers"),
        _("In ascending order, separated by commas."),
        path="discreteValueSpec.values",
        covers=("discreteValueSpec",),
    )
    scale = OpenChoiceField(_("Scale"), path="scaleType", choices=SCALES)
    parent = TextField(_("Only with the parameter"), _("One above; empty: always."), max_length=MAX_ID_LENGTH)
    parent_values = WordsField(_("Is one of"), _("Separated by commas."))

    @property
    def row_label(self) -> str:
        """The name of this parameter on the page, counted from one."""
        return _("Parameter %(number)s") % {"number": int(str(self.prefix).rpartition("-")[2]) + 1}

    @property
    def is_conditional(self) -> bool:
        """Whether it has a condition."""
        return bool(self["parent"].value() or self["parent_values"].value())

    def row(self) -> Row:
        """Return the row of the readable fields, merged into the carried parts."""
        values, body = self.cleaned_data, deepcopy(self.kept)
        write_fields(self, body)
        return Row(body, values.get("parent", ""), tuple(values.get("parent_values", ())))


def load_parameter(row: Row) -> dict[str, Any]:
    """Return the initial values of a parameter."""
    body = dict(row.body)
    condition = {"parent": row.parent or None, "parent_values": list(row.values) or None}
    return load_fields(ParameterForm, body) | condition | {"carried": body}
