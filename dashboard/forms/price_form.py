"""Forms of the prices page: the filters in its URL, and the price that an admin records."""

from django import forms
from django.utils.translation import gettext_lazy as _

from jobs.catalog import REGIONS


class PriceFilterForm(forms.Form):
    """Which prices are shown."""

    region = forms.ChoiceField(label=_("Region"), choices=[(name, name) for name in REGIONS])
    q = forms.CharField(label=_("Resource"), required=False, max_length=100)
    show = forms.ChoiceField(
        label=_("Show"),
        required=False,
        choices=[("known", _("known prices")), ("missing", _("missing prices")), ("old", _("older than 90 days"))],
    )


class PriceForm(forms.Form):
    """A price that is used from now on."""

    usd_per_hour = forms.DecimalField(
        label=_("USD per hour"),
        required=False,
        max_digits=18,
        decimal_places=12,
        help_text=_("Empty: it is no longer sold. Of a disk per GiB: the monthly price divided by 730."),
    )
    as_of = forms.DateField(
        label=_("Price of"),
        widget=forms.DateInput(attrs={"type": "date"}),
        help_text=_("The date of the price in the source."),
    )
    source = forms.CharField(label=_("Source"), max_length=200)
    source_url = forms.URLField(label=_("Address of the source"), required=False, max_length=500, assume_scheme="https")
    is_official = forms.BooleanField(label=_("From Google directly"), required=False)
    reason = forms.CharField(label=_("Reason"), max_length=200)
