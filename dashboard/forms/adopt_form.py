"""Where to search for jobs created outside Trainboard, and which of them to show."""

from collections.abc import Iterable
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from jobs.catalog import REGIONS


class PlaceForm(forms.Form):
    """A project of the person's teams and a region. `q` filters the jobs by a part of their name."""

    project = forms.ChoiceField(label=_("Project"))
    region = forms.ChoiceField(label=_("Region"), choices=[(region, region) for region in REGIONS])
    q = forms.CharField(label=_("Name"), required=False, max_length=200)

    def __init__(self, *given: Any, projects: Iterable[str], **named: Any) -> None:
        super().__init__(*given, **named)
        self.fields["project"].choices = [(project, project) for project in projects]  # type: ignore[attr-defined]
