"""The filters of the history page; every one of them lives in the address."""

from typing import Any

from django import forms

from dashboard.forms.fields.picks import PickField
from jobs.states import JobState
from jobs.strategies import STRATEGIES

ANY = ("", "any")
GROUPS = [("waiting", "waiting"), ("running", "running"), ("succeeded", "succeeded"), ("failed", "failed")]


def state_choices() -> list[tuple[str, Any]]:
    """Return the groups that people ask for first, then every single state."""
    single = [(state.value, state.value.replace("_", " ")) for state in JobState]
    return [ANY, *GROUPS, ("finished", "finished"), ("Exactly", [("=" + value, word) for value, word in single])]


class HistoryForm(forms.Form):
    """What the history is narrowed to; an empty field narrows nothing."""

    q = forms.CharField(label="Name", required=False, max_length=200)
    state = PickField(label="State", required=False, choices=state_choices)
    strategy = PickField(
        label="Strategy",
        required=False,
        choices=lambda: [ANY, *((key, strategy.label) for key, strategy in STRATEGIES.items())],
    )
    owner = forms.CharField(label="Owner", required=False, max_length=150)
    by = PickField(
        label="Dates of", required=False, choices=[("requested", "request"), ("ended", "end")], initial="requested"
    )
    since = forms.DateField(label="From", required=False, widget=forms.DateInput(attrs={"type": "date"}))
    until = forms.DateField(label="To", required=False, widget=forms.DateInput(attrs={"type": "date"}))

    def clean(self) -> dict[str, Any]:
        """Refuse a range that ends before it begins."""
        found = super().clean() or self.cleaned_data
        since, until = found.get("since"), found.get("until")
        if since and until and until < since:
            self.add_error("until", "This day is before the first one.")
        return found
