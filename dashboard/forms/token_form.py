"""What a new personal token is asked: its name, its scopes and how long it is valid."""

from datetime import timedelta

from django import forms

from jobs.requests.api_tokens import SCOPES

DAYS = (7, 30, 90, 365)


class TokenForm(forms.Form):
    """A token to be made."""

    name = forms.CharField(max_length=80, help_text="Where it is used, for example “CI of the vision models”.")
    scopes = forms.MultipleChoiceField(
        label="It may",
        choices=list(SCOPES.items()),
        initial=["read", "submit"],
        widget=forms.CheckboxSelectMultiple,
        help_text="Never more than you may yourself.",
    )
    days = forms.TypedChoiceField(
        label="Valid for", choices=[(days, f"{days} days") for days in DAYS], initial=90, coerce=int
    )

    @property
    def lifetime(self) -> timedelta:
        """How long the token is valid; of a valid form."""
        return timedelta(days=self.cleaned_data["days"])
