"""The fields that a job has once: its name, where and how it runs, how long, and what it writes."""

from datetime import timedelta
from typing import Any
from uuid import uuid4

from django import forms

from dashboard.forms.fields import LengthField, PairsField
from dashboard.forms.found import FoundForm
from dashboard.forms.widgets import PickField
from jobs.catalog import REGIONS
from jobs.strategies import STRATEGIES

ADVANCED = ("service_account", "labels")
"""Fields of the folded part."""
OFFERED = ("standard", "spot", "flex_start")
"""Strategies that the form can write, in the order of its cards."""


def region_choices() -> list[tuple[str, str]]:
    """Return every region that trains."""
    return [(name, name) for name in REGIONS]


def new_key() -> str:
    """Return a key that makes a second click on the same form find the first job."""
    return uuid4().hex


class JobForm(FoundForm):
    """What belongs to the whole job."""

    request_key = forms.CharField(max_length=64, widget=forms.HiddenInput, initial=new_key)
    team = PickField(label="Team")
    name = forms.CharField(label="Name", required=False, max_length=500, help_text="What the board calls it.")
    region = PickField(label="Region", choices=region_choices)
    run_time = LengthField(
        label="Run time you expect",
        initial="1 h",
        least=timedelta(minutes=1),
        help_text="24 h, 90 min, 1 d 12 h; the estimate and the approval rest on it.",
    )
    strategy = forms.ChoiceField(
        label="Strategy",
        initial="spot",
        choices=lambda: [(key, STRATEGIES[key].label) for key in OFFERED],
        widget=forms.RadioSelect,
    )
    output = forms.CharField(
        label="Output folder",
        required=False,
        max_length=2000,
        help_text="gs://bucket/folder; models, checkpoints and TensorBoard logs go below it.",
        widget=forms.TextInput(attrs={"class": "mono", "spellcheck": "false"}),
    )
    timeout = LengthField(
        label="Stop it after", required=False, help_text="The timeout; empty means Vertex AI's seven days."
    )
    max_wait = LengthField(
        label="Wait at most", required=False, help_text="Flex-start only; empty means 24 h, 0 s means without end."
    )
    service_account = forms.CharField(
        label="Service account",
        required=False,
        max_length=500,
        help_text="Empty: Vertex AI's own agent.",
        widget=forms.TextInput(attrs={"spellcheck": "false"}),
    )
    labels = PairsField(label="Labels", required=False, help_text="One key=value on each line.")

    def __init__(self, *args: Any, teams: list[tuple[str, str]], **options: Any) -> None:
        super().__init__(*args, **options)
        team = self.fields["team"]
        assert isinstance(team, forms.ChoiceField)
        team.choices = teams
        if len(teams) == 1:
            team.widget = forms.HiddenInput()
            team.initial = teams[0][0]

    @property
    def has_advanced(self) -> bool:
        """Whether a field of the folded part holds something or was refused."""
        return any(field.value() or field.is_refused for field in self.found() if field.name in ADVANCED)
