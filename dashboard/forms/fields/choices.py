"""Fields to choose from a list, whose options may have the reason why they do not fit."""

from collections.abc import Mapping
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from dashboard.forms.fields.located import ChoiceField, IntegerField

MAX_CHOICE_LENGTH = 500


class Select(forms.Select):
    """A select whose options can have a reason why they do not fit; such an option cannot be chosen anew."""

    reasons: Mapping[str, str] = {}
    """{value: reason}"""

    def create_option(self, *args: Any, **options: Any) -> dict[str, Any]:
        """Return one option with its reason; the one that is chosen stays usable, for browsers send no disabled one."""
        option = super().create_option(*args, **options)
        if reason := self.reasons.get(str(option["value"])):
            option["label"] = f"{option['label']} · {reason}"
            option["attrs"]["disabled"] = not option["selected"]
        return option


class OpenChoiceField(ChoiceField):
    """A choice from a list that takes any other word as well: whether it can be used is for the rules to decide."""

    widget = Select

    def valid_value(self, value: Any) -> bool:
        """Accept whatever is short enough to be a name."""
        return len(str(value)) <= MAX_CHOICE_LENGTH


class CountField(IntegerField):
    """A whole number that is chosen from a list."""

    widget = Select

    def widget_attrs(self, widget: forms.Widget) -> Any:
        """Return nothing: a select has no smallest and largest number."""
        del widget
        return {}


def team_field(teams: list[tuple[str, str]]) -> forms.ChoiceField:
    """Return the field for one of these teams, hidden where there is only one."""
    if len(teams) == 1:
        return forms.ChoiceField(label=_("Team"), choices=teams, initial=teams[0][0], widget=forms.HiddenInput)
    return forms.ChoiceField(label=_("Team"), choices=teams)
