"""The fields that a job has once: its kind and name, where and how it runs, how long, and what it writes."""

from datetime import timedelta
from typing import Any
from uuid import uuid4

from django import forms

from dashboard.forms.compose.carried import CarryingForm
from dashboard.forms.compose.fitting import region_choices
from dashboard.forms.fields.choices import OpenChoiceField, team_field
from dashboard.forms.fields.located import ChoiceField, LineField, TextField
from dashboard.forms.fields.usd import UsdField
from dashboard.forms.fields.words import DurationField
from dashboard.forms.findings import FindingsField
from jobs.exporter import FORMATS
from jobs.strategies import STRATEGIES

KINDS = (
    ("custom_job", "Custom job"),
    ("hyperparameter_tuning_job", "Tuning"),
    ("training_pipeline", "Pipeline"),
)


def new_key() -> str:
    """Return a key that makes a second click on the same form find the first job."""
    return uuid4().hex


class JobForm(CarryingForm):
    """What belongs to the whole job."""

    request_key = forms.CharField(max_length=64, widget=forms.HiddenInput, initial=new_key)
    cloned_from = forms.UUIDField(required=False, widget=forms.HiddenInput)
    kind = forms.ChoiceField(
        label="Kind", required=False, choices=KINDS, initial="custom_job", widget=forms.RadioSelect
    )
    team = team_field([])
    name = TextField(
        "Display name", "Shown in lists and in Google Cloud's console.", path="displayName", max_length=500
    )
    region = OpenChoiceField("Region", required=True)
    run_time = DurationField(
        "Expected run time",
        "24 h, 90 min, 1 d 12 h; the estimate is for this time.",
        initial="1 h",
        least=timedelta(minutes=1),
        required=True,
    )
    strategy = ChoiceField(
        "Strategy",
        covers=("jobSpec.scheduling",),
        initial="spot",
        required=True,
        choices=lambda: [(key, found.label) for key, found in STRATEGIES.items()],
        widget=forms.RadioSelect,
    )
    output = LineField(
        "Output folder",
        "gs://bucket/folder; models, checkpoints and TensorBoard logs go below it.",
        path="jobSpec.baseOutputDirectory.outputUriPrefix",
        covers=("jobSpec.baseOutputDirectory",),
        max_length=2000,
        is_code=True,
    )
    timeout = DurationField(
        "Timeout",
        "Empty: seven days, Vertex AI's default. The approval depends on what the job costs until then.",
        path="jobSpec.scheduling.timeout",
    )
    cap = UsdField("Cost cap", "US dollars; empty: none. A job that has cost this is cancelled, or people are told.")
    max_wait = DurationField(
        "Maximum wait",
        "Flex-start only. Empty: 24 h; 0 s: without end.",
        path="jobSpec.scheduling.maxWaitDuration",
    )
    reservation = LineField(
        "Reservation",
        "projects/P/zones/Z/reservations/NAME, for every worker pool; empty means any that has room.",
        max_length=500,
        is_code=True,
    )
    resource = LineField(
        "Persistent resource",
        "Its id; machine and disk of each worker pool have to be exactly those of one of its resource pools.",
        path="jobSpec.persistentResourceId",
        max_length=500,
        is_code=True,
        attrs={"list": "resources", "autocomplete": "off"},
    )
    written = forms.ChoiceField(
        label="Written as",
        required=False,
        choices=lambda: [(found.key, found.label) for found in FORMATS.values()],
        initial="rest",
        widget=forms.RadioSelect,
    )

    def __init__(self, *args: Any, teams: list[tuple[str, str]], **options: Any) -> None:
        super().__init__(*args, **options)
        self.fields["team"] = team_field(teams)

    def fit(self, accelerators: frozenset[str]) -> None:
        """Offer those regions first that have what the pools ask for."""
        self.fits = "|".join(sorted(accelerators))
        self.offer("region", region_choices(accelerators))

    def refitted(self) -> list[FindingsField]:
        """Return the region where its list is another than the one that the browser has."""
        had = self.data.get("fits", "")
        return [] if had == self.fits else self.bound_fields(["region"])
