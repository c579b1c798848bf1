"""The form for a new personal token: its name, its scopes and its lifetime."""

from datetime import timedelta

from django import forms
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from jobs.requests.api_tokens import SCOPES

DAYS = (7, 30, 90, 365)


class TokenForm(forms.Form):
    """A token to create."""

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
        """The lifetime of the token. Access it only on a valid form."""
        return timedelta(days=self.cleaned_data["days"])
