"""The filters of the catalogue. All of them are in the URL."""

from django import forms
from django.utils.translation import gettext_lazy as _

from jobs.catalog import ACCELERATORS, REGIONS

ANY = ("", _("any"))


class CatalogueForm(forms.Form):
    """Filters of the catalogue. An empty field does not filter."""

    q = forms.CharField(label=_("Machine"), required=False, max_length=100)
    region = forms.ChoiceField(label=_("Region"), required=False, choices=[ANY, *((name, name) for name in REGIONS)])
    accelerator = forms.ChoiceField(
        label=_("Accelerator"),
        required=False,
        choices=[
            ANY,
            ("none", _("none")),
            *((name, found.label) for name, found in ACCELERATORS.items() if not found.is_retired),
        ],
    )
