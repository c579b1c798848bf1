"""The fields of a study: its metric, how it searches, how often it tries; and those of one parameter."""

from collections.abc import Iterable

from django import forms

from dashboard.forms.body.conditions import Row
from dashboard.forms.body.tables import PARAMETER
from dashboard.forms.body.writing import written
from dashboard.forms.compose.carried import CarriedField, DropField, carried_words
from dashboard.forms.fields.numbers import NumberField, NumbersField, WordsField
from dashboard.forms.fields.picks import OpenPickField
from dashboard.forms.found import FoundForm

GOALS = (("MAXIMIZE", "more is better"), ("MINIMIZE", "less is better"))
ALGORITHMS = (("", "Bayesian (default)"), ("RANDOM_SEARCH", "Random"), ("GRID_SEARCH", "Grid"))
MEASUREMENTS = (("", "last (default)"), ("LAST_MEASUREMENT", "last"), ("BEST_MEASUREMENT", "best"))
STOPPING = (
    ("", "never"),
    ("median", "when worse than the median"),
    ("decay_curve", "when its curve cannot reach the best"),
    ("convex", "when its predicted end is too low"),
)
KINDS = (
    ("double", "real number"),
    ("integer", "whole number"),
    ("categorical", "one of some words"),
    ("discrete", "one of some numbers"),
)
SCALES = (
    ("", "linear (default)"),
    ("UNIT_LINEAR_SCALE", "linear"),
    ("UNIT_LOG_SCALE", "logarithmic"),
    ("UNIT_REVERSE_LOG_SCALE", "reverse logarithmic"),
)
MOST = 2**31 - 1
LONGEST_ID = 500


class TuningForm(FoundForm):
    """What a study searches for and how."""

    metric_id = forms.CharField(
        label="Metric", required=False, max_length=500, help_text="The name under which the code reports it."
    )
    goal = OpenPickField(label="Goal", required=False, choices=GOALS, initial="MAXIMIZE")
    algorithm = OpenPickField(label="Algorithm", required=False, choices=ALGORITHMS)
    measurement = OpenPickField(label="Measurement that counts", required=False, choices=MEASUREMENTS)
    max_trials = forms.IntegerField(label="Trials", required=False, min_value=0, max_value=MOST, initial=8)
    parallel_trials = forms.IntegerField(label="At once", required=False, min_value=0, max_value=MOST, initial=2)
    max_failed_trials = forms.IntegerField(
        label="Failed trials allowed",
        required=False,
        min_value=0,
        max_value=MOST,
        help_text="Empty: Vertex AI decides.",
    )
    stopping = forms.ChoiceField(label="Stop a trial early", required=False, choices=STOPPING)


class ParameterForm(FoundForm):
    """One parameter: its id, the kind of its values, their range or list, the scale."""

    parameter_id = forms.CharField(
        label="Parameter", required=False, max_length=LONGEST_ID, help_text="Passed to the code as --NAME=value."
    )
    kind = forms.ChoiceField(label="Values", choices=KINDS, initial="double", required=False)
    low = NumberField(label="From", required=False)
    high = NumberField(label="To", required=False)
    words = WordsField(label="Words", required=False, help_text="Commas between them.")
    numbers = NumbersField(label="Numbers", required=False, help_text="Ascending, commas between them.")
    scale = OpenPickField(label="Scale", required=False, choices=SCALES)
    parent = forms.CharField(
        label="Only with the parameter", required=False, max_length=LONGEST_ID, help_text="One above; empty: always."
    )
    parent_values = WordsField(label="Being one of", required=False, help_text="Commas between them.")
    carried = CarriedField()
    drop_carried = DropField()

    @property
    def is_conditional(self) -> bool:
        """Whether it says when it counts."""
        return bool(self["parent"].value() or self["parent_values"].value())

    @property
    def carried_words(self) -> list[str]:
        """What is carried along without a field of its own, in lines."""
        return carried_words(self.cleaned_data.get("carried") or {})

    def row(self) -> Row:
        """Return what its readable fields make, over what is carried along."""
        said = self.cleaned_data
        body = written(PARAMETER, said, {} if said.get("drop_carried") else said.get("carried"))
        return Row(body, said.get("parent", ""), tuple(said.get("parent_values", ())))

    def focus(self) -> None:
        """Begin here when the page opens."""
        self.begins_at = "parameter_id"


def check_parents(parameters: Iterable[ParameterForm]) -> None:
    """Put an error on each parameter that names a parent which does not stand above it, or values without a parent."""
    above: set[str] = set()
    for form in parameters:
        form.is_valid()  # what else of the row could not be read does not matter here
        said = form.cleaned_data
        if said.get("parent") and said["parent"] not in above:
            form.add_error("parent", f"No parameter above is called “{said['parent'][:40]}”.")
        elif said.get("parent_values") and not said.get("parent"):
            form.add_error("parent", "Name the parameter that these are values of.")
        above.add(said.get("parameter_id", ""))
