"""Forms for the settings of a team."""

from django import forms
from django.utils.translation import gettext_lazy as _

from jobs.catalog import REGIONS

ROLES = [("viewer", _("Viewer")), ("engineer", _("Engineer")), ("approver", _("Approver")), ("lead", _("Lead"))]
KINDS = [
    ("project", _("Project")),
    ("bucket", _("Bucket")),
    ("service_account", _("Service account")),
    ("network", _("Network")),
    ("key", _("Encryption key")),
]
REGION_CHOICES = [(name, name) for name in REGIONS]


class TeamForm(forms.Form):
    """A new team."""

    name = forms.CharField(label=_("Name"), max_length=80)
    project = forms.CharField(
        label=_("Default project"), max_length=63, help_text=_("The id of a Google Cloud project.")
    )


class MemberForm(forms.Form):
    """A person with an account who joins the team."""

    name = forms.CharField(label=_("User name"), max_length=254)
    role = forms.ChoiceField(label=_("Role"), choices=ROLES, initial="engineer")


class PlacesForm(forms.Form):
    """Where the jobs of a team run and write."""

    default_region = forms.ChoiceField(label=_("Default region"), choices=REGION_CHOICES)
    bucket = forms.CharField(
        label=_("Default bucket"), required=False, max_length=255, help_text=_("For example gs://vision-training.")
    )
    regions = forms.MultipleChoiceField(
        label=_("Allowed regions"),
        required=False,
        choices=REGION_CHOICES,
        widget=forms.CheckboxSelectMultiple,
    )


class ProjectForm(forms.Form):
    """Settings that only a site admin may change."""

    project = forms.CharField(label=_("Default project"), max_length=63)
    acts_as = forms.CharField(
        label=_("Act as service account"),
        required=False,
        max_length=255,
        help_text=_("Trainboard calls Vertex AI as this account for new jobs of the team. Empty: its own account."),
    )


class AllowedForm(forms.Form):
    """An additional resource that a team may use."""

    kind = forms.ChoiceField(label=_("Kind"), choices=KINDS, initial="bucket")
    name = forms.CharField(label=_("Name"), max_length=255)

    def __init__(self, *args: object, is_admin: bool, **kwargs: object) -> None:
        # The page also has the form for a member, with a field of the same name. Ids must be unique on a page.
        super().__init__(*args, auto_id="id_allowed_%s", **kwargs)  # type: ignore[arg-type, misc]
        if not is_admin:
            self.fields["kind"].choices = [("bucket", _("Bucket"))]  # type: ignore[attr-defined]
