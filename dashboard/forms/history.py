"""The filters of the history page. All of them are in the URL."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from jobs.state_words import STATE_WORDS
from jobs.states import JobState
from jobs.strategies import STRATEGIES

GROUPS = [
    ("to-approve", _("awaiting approval")),
    ("waiting", _("waiting")),
    ("running", _("running")),
    ("succeeded", _("succeeded")),
    ("failed", _("failed")),
    ("finished", _("finished")),
]
MAX_VALUES = 50
MAX_VALUE_LENGTH = 150


def state_choices() -> list[tuple[str, Any]]:
    """Return the groups of states, then every state with the prefix "="."""
    return [*GROUPS, *(("=" + state.value, STATE_WORDS[state]) for state in JobState)]


class OpenChoiceField(forms.MultipleChoiceField):
    """Any values that could be stored. The available values come from the history figures."""

    def valid_value(self, value: str) -> bool:
        """Return whether a value can be stored."""
        return len(value) <= MAX_VALUE_LENGTH and "\x00" not in value


DAY = {"type": "date", "title": _("A day in UTC")}


class HistoryForm(forms.Form):
    """Filters of the history. An empty field does not filter. Of several values of a field, any matches."""

    q = forms.CharField(
        label=_("Search"),
        required=False,
        max_length=200,
        widget=forms.TextInput(attrs={"type": "search", "placeholder": _("name, state:failed, …")}),
    )
    by = forms.ChoiceField(
        label=_("Dates of"),
        required=False,
        choices=[("requested", _("request")), ("ended", _("end"))],
        initial="requested",
    )
    since = forms.DateField(label=_("From"), required=False, widget=forms.DateInput(attrs=DAY))
    until = forms.DateField(label=_("To"), required=False, widget=forms.DateInput(attrs=DAY))
    state = forms.MultipleChoiceField(required=False, choices=state_choices)
    strategy = forms.MultipleChoiceField(required=False, choices=lambda: [(key, key) for key in STRATEGIES])
    accelerator = OpenChoiceField(required=False)
    region = OpenChoiceField(required=False)
    owner = OpenChoiceField(required=False)
    team = OpenChoiceField(required=False)

    def shown(self) -> list[forms.BoundField]:
        """Return the fields above the facets."""
        return [self[name] for name in ("q", "by", "since", "until")]

    def clean(self) -> dict[str, Any]:
        """Add errors for a range that ends before it begins, and for more values than a page can offer."""
        found = super().clean() or self.cleaned_data
        since, until = found.get("since"), found.get("until")
        if since and until and until < since:
            self.add_error("until", _("This day is before the first one."))
        for name, values in list(found.items()):
            if isinstance(values, list) and len(values) > MAX_VALUES:
                self.add_error(name, _("At most %(count)s values can be chosen.") % {"count": MAX_VALUES})
        return found
