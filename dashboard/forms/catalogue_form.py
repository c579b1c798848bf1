"""The filters of the catalogue; every one of them lives in the address."""

from django import forms

from jobs.catalog import ACCELERATORS, REGIONS

ANY = ("", "any")


class CatalogueForm(forms.Form):
    """What the catalogue is narrowed to; an empty field narrows nothing."""

    q = forms.CharField(label="Machine", required=False, max_length=100)
    region = forms.ChoiceField(label="Region", required=False, choices=[ANY, *((name, name) for name in REGIONS)])
    accelerator = forms.ChoiceField(
        label="Accelerator",
        required=False,
        choices=[
            ANY,
            ("none", "none"),
            *((name, found.label) for name, found in ACCELERATORS.items() if not found.is_retired),
        ],
    )
