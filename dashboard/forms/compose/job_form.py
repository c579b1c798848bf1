"""The fields that a job has once: its kind and name, where and how it runs, how long, and its outputs."""

from datetime import timedelta
from typing import Any
from uuid import uuid4

from django import forms
from django.utils.translation import gettext_lazy as _

from dashboard.forms.compose.carried import CarryingForm
from dashboard.forms.compose.fitting import region_choices
from dashboard.forms.fields.choices import OpenChoiceField, team_field
from dashboard.forms.fields.located import ChoiceField, LineField, TextField
from dashboard.forms.fields.usd import UsdField
from dashboard.forms.fields.words import DurationField
from dashboard.forms.findings import FindingsField
from jobs.allowed_resources import PROJECT_NOT_ALLOWED
from jobs.exporter import FORMATS
from jobs.strategies import STRATEGIES

MIN_RUN_TIME = timedelta(minutes=1)
KINDS = (
    ("custom_job", _("Custom job")),
    ("hyperparameter_tuning_job", _("Tuning")),
    ("training_pipeline", _("Pipeline")),
)
IN_ADDRESS = {
    **dict.fromkeys(("region_is_given", "region_trains", "region_not_allowed"), "region"),
    PROJECT_NOT_ALLOWED: "project",
}
"""{code: field} of findings about values that are not in the body, because they are in the URL of the request."""


def new_key() -> str:
    """Return a key that identifies a form, so that a second click on the same form returns the first job."""
    return uuid4().hex


FORMAT_WORDS: dict[str, Any] = {"gcloud": _("gcloud command")}
"""Names of formats for which the plain name is not enough."""


class JobForm(CarryingForm):
    """Fields of the whole job."""

    request_key = forms.CharField(max_length=64, widget=forms.HiddenInput, initial=new_key)
    cloned_from = forms.UUIDField(required=False, widget=forms.HiddenInput)
    left_out = forms.CharField(required=False, max_length=8000, widget=forms.HiddenInput)
    """Paths of the fields that an imported text leaves open, with spaces between them."""
    kind = forms.ChoiceField(
        label=_("Kind"), required=False, choices=KINDS, initial="custom_job", widget=forms.RadioSelect
    )
    team = team_field([])
    name = TextField(
        _("Display name"), _("Shown in lists and in Google Cloud's console."), path="displayName", max_length=500
    )
    region = OpenChoiceField(_("Region"), required=True)
    project = OpenChoiceField(_("Project"))
    """Empty for the default project of the team, also after another team was chosen."""
    run_time = DurationField(
        _("Expected run time"),
        _("Such as 90 min or 1 d 12 h."),
        initial="1 h",
        least=MIN_RUN_TIME,
        required=True,
    )
    strategy = ChoiceField(
        _("Strategy"),
        covers=("jobSpec.scheduling",),
        initial="spot",
        required=True,
        choices=lambda: [(key, found.label) for key, found in STRATEGIES.items()],
        widget=forms.RadioSelect,
    )
    output = LineField(
        _("Output folder"),
        _("gs://bucket/folder; models, checkpoints and TensorBoard logs go below it."),
        path="jobSpec.baseOutputDirectory.outputUriPrefix",
        covers=("jobSpec.baseOutputDirectory",),
        max_length=2000,
        is_code=True,
    )
    timeout = DurationField(
        _("Timeout"),
        _("Empty: 7 days, Vertex AI's default."),
        path="jobSpec.scheduling.timeout",
    )
    cap = UsdField(_("Cap"), _("US dollars. At the cap, the job is cancelled or its team is notified."))
    max_wait = DurationField(
        _("Maximum wait"),
        _("Flex-start only. Empty: 24 h. 0 s: no limit."),
        path="jobSpec.scheduling.maxWaitDuration",
    )
    reservation = LineField(
        _("Reservation"),
        _("projects/P/zones/Z/reservations/NAME, for every worker pool. Empty: any with free capacity."),
        max_length=500,
        is_code=True,
    )
    resource = LineField(
        _("Persistent resource"),
        _("Its ID. The machine and disk of each worker pool must match one of its resource pools exactly."),
        path="jobSpec.persistentResourceId",
        max_length=500,
        is_code=True,
        attrs={"list": "resources", "autocomplete": "off"},
    )
    written = forms.ChoiceField(
        label=_("Written as"),
        required=False,
        choices=lambda: [(key, FORMAT_WORDS.get(key, found.label)) for key, found in FORMATS.items()],
        initial="rest",
        widget=forms.RadioSelect,
    )

    def __init__(self, *args: Any, teams: list[tuple[str, str]], **options: Any) -> None:
        super().__init__(*args, **options)
        self.fields["team"] = team_field(teams)
        self.has_projects = False

    def fit(self, accelerators: frozenset[str]) -> None:
        """Offer the regions with the accelerators of the worker pools first."""
        self.fits = "|".join(sorted(accelerators))
        self.offer("region", region_choices(accelerators))

    def offer_projects(self, default: str, projects: frozenset[str]) -> None:
        """Offer the projects that the team may use. The field is shown only if there is a choice."""
        chosen, words = str(self["project"].value() or ""), str(_("%(project)s · default"))
        choices = [("" if chosen != default else default, words % {"project": default})]
        choices += [(name, name) for name in sorted(projects - {default})]
        self.offer("project", (("", tuple(choices)),))
        self.has_projects = len(projects) > 1 or chosen not in ("", default)

    def refitted(self) -> list[FindingsField]:
        """Return the region field if its list differs from the one in the browser."""
        had = self.data.get("fits", "")
        return [] if had == self.fits else self.bound_fields(["region"])
