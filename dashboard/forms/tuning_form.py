"""The fields of a study: its metric, how it searches, how often it tries; and those of one parameter."""

from django import forms

from dashboard.forms.carried import CarriedField, DropField, carried_words
from dashboard.forms.found import FoundForm
from dashboard.forms.numbers import NumberField, NumbersField, WordsField
from dashboard.forms.widgets import OpenPickField

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

    own = ("parameter_id",)

    parameter_id = forms.CharField(
        label="Parameter", required=False, max_length=500, help_text="Passed to the code as --NAME=value."
    )
    kind = forms.ChoiceField(label="Values", choices=KINDS, initial="double", required=False)
    low = NumberField(label="From", required=False)
    high = NumberField(label="To", required=False)
    words = WordsField(label="Words", required=False, help_text="Commas between them.")
    numbers = NumbersField(label="Numbers", required=False, help_text="Ascending, commas between them.")
    scale = OpenPickField(label="Scale", required=False, choices=SCALES)
    carried = CarriedField()
    drop_carried = DropField()

    @property
    def carried_words(self) -> list[str]:
        """What is carried along without a field of its own, in lines."""
        return carried_words(self.cleaned_data.get("carried") or {})

    def focus(self) -> None:
        """Begin here when the page opens."""
        self.fields["parameter_id"].widget.attrs["autofocus"] = True
