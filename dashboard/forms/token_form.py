"""What a new personal token is asked: its name, its scopes and how long it is valid."""

from datetime import timedelta

from django import forms
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from jobs.requests.api_tokens import SCOPES

DAYS = (7, 30, 90, 365)


class TokenForm(forms.Form):
    """A token to be made."""

    name = forms.CharField(
        label=_("Name"), max_length=80, help_text=_("Where it is used, for example “CI of the vision models”.")
    )
    scopes = forms.MultipleChoiceField(
        label=_("It may"),
        choices=list(SCOPES.items()),
        initial=["read", "submit"],
        widget=forms.CheckboxSelectMultiple,
        help_text=_("Never more than your own permissions."),
    )
    days = forms.TypedChoiceField(
        label=_("Valid for"),
        choices=[(days, format_lazy(_("{days} days"), days=days)) for days in DAYS],
        initial=90,
        coerce=int,
    )

    @property
    def lifetime(self) -> timedelta:
        """How long the token is valid; of a valid form."""
        return timedelta(days=self.cleaned_data["days"])
