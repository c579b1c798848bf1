"""The two fields of a template. Its spec comes from a job."""

from django import forms
from django.utils.translation import gettext_lazy as _

from dashboard.forms.findings import FindingsForm


class TemplateForm(FindingsForm):
    """A template's name and purpose. `jobs.requests.templates` decides whether the name can be used."""

    is_final = True
    name = forms.CharField(label=_("Name"), required=False, max_length=500, help_text=_("Unique in the team."))
    note = forms.CharField(
        label=_("Note"), required=False, max_length=500, help_text=_("What it is for, in a sentence.")
    )
