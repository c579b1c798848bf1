"""The fields that a job has once: its kind and name, where and how it runs, how long, and what it writes."""

from datetime import timedelta
from typing import Any
from uuid import uuid4

from django import forms

from dashboard.forms.compose.carried import CarriedField, DropField, carried_words
from dashboard.forms.compose.fitting import region_groups
from dashboard.forms.fields.picks import OpenPickField, team_field
from dashboard.forms.fields.words import LengthField, line_field
from dashboard.forms.found import FoundField, FoundForm
from jobs.catalog import REGIONS
from jobs.convert import FORMATS
from jobs.strategies import STRATEGIES

KINDS = (
    ("custom_job", "Custom job"),
    ("hyperparameter_tuning_job", "Tuning"),
    ("training_pipeline", "Pipeline"),
)


def region_choices() -> list[tuple[str, str]]:
    """Return every region that trains."""
    return [(name, name) for name in REGIONS]


def new_key() -> str:
    """Return a key that makes a second click on the same form find the first job."""
    return uuid4().hex


class JobForm(FoundForm):
    """What belongs to the whole job."""

    request_key = forms.CharField(max_length=64, widget=forms.HiddenInput, initial=new_key)
    cloned_from = forms.UUIDField(required=False, widget=forms.HiddenInput)
    kind = forms.ChoiceField(
        label="Kind", required=False, choices=KINDS, initial="custom_job", widget=forms.RadioSelect
    )
    team = team_field([])
    name = forms.CharField(label="Name", required=False, max_length=500, help_text="What the board calls it.")
    region = OpenPickField(label="Region", choices=region_choices)
    run_time = LengthField(
        label="Run time you expect",
        initial="1 h",
        least=timedelta(minutes=1),
        help_text="24 h, 90 min, 1 d 12 h; of one trial where the job tunes. The estimate rests on it.",
    )
    strategy = forms.ChoiceField(
        label="Strategy",
        initial="spot",
        choices=lambda: [(key, found.label) for key, found in STRATEGIES.items()],
        widget=forms.RadioSelect,
    )
    output = line_field(
        "Output folder",
        "gs://bucket/folder; models, checkpoints and TensorBoard logs go below it.",
        longest=2000,
        is_code=True,
    )
    timeout = LengthField(
        label="Stop it after",
        required=False,
        help_text="The timeout; empty means Vertex AI's seven days. Approval rests on what the job costs until then.",
    )
    max_wait = LengthField(
        label="Wait at most", required=False, help_text="Flex-start only; empty means 24 h, 0 s means without end."
    )
    reservation = line_field(
        "Reservation",
        "projects/P/zones/Z/reservations/NAME, for every pool; empty means any that has room.",
        longest=500,
        is_code=True,
    )
    resource = line_field(
        "Persistent resource",
        "Its id; machine and disk of each pool have to be exactly those of one of its pools.",
        longest=500,
        is_code=True,
        list="resources",
        autocomplete="off",
    )
    written = forms.ChoiceField(
        label="Written as",
        required=False,
        choices=lambda: [(found.key, found.label) for found in FORMATS.values()],
        initial="rest",
        widget=forms.RadioSelect,
    )
    carried = CarriedField()
    drop_carried = DropField()

    def __init__(self, *args: Any, teams: list[tuple[str, str]], **options: Any) -> None:
        super().__init__(*args, **options)
        self.fields["team"] = team_field(teams)

    def fit(self, accelerators: frozenset[str]) -> None:
        """Offer those regions first that have what the pools ask for."""
        self.fits = "|".join(sorted(accelerators))
        self.lists["region"] = region_groups(accelerators)

    def refitted(self) -> list[FoundField]:
        """Return the region where its list is another than the one that the browser has."""
        had = self.data.get("fits", "")
        return [] if had == self.fits else self.found(["region"])

    @property
    def carried_words(self) -> list[str]:
        """What is carried along without a field of its own, in lines."""
        carried = self.cleaned_data.get("carried") or {}
        return carried_words({name: value for name, value in carried.items() if name != "kind"})
