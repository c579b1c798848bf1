"""Fields with a list of choices, which may have a reason why they do not fit."""

from collections.abc import Mapping
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from dashboard.forms.fields.located import ChoiceField, IntegerField

MAX_CHOICE_LENGTH = 500


class Select(forms.Select):
    """A select whose options can have a reason why they do not fit. Such an option cannot be newly chosen."""

    reasons: Mapping[str, str] = {}
    """{value: reason}"""

    def optgroups(self, name: str, value: list[str], attrs: dict[str, Any] | None = None) -> list[Any]:
        """Return the options, with the current value first if the list lacks it: a browser would choose another one."""
        known = {
            str(each)
            for key, label in self.choices
            for each, _label in (label if isinstance(label, list | tuple) else [(key, label)])
        }
        missing = [each for each in value if each and each not in known]
        own = [
            self.create_option(name, each, each, selected=True, index=at, attrs=attrs)
            for at, each in enumerate(missing)
        ]
        return [*([(None, own, 0)] if own else []), *super().optgroups(name, value, attrs)]

    def create_option(self, *args: Any, **options: Any) -> dict[str, Any]:
        """Return one option with its reason.

        A chosen one is not disabled, because browsers do not send disabled options.
        """
        option = super().create_option(*args, **options)
        if reason := self.reasons.get(str(option["value"])):
            option["label"] = f"{option['label']} · {reason}"
            option["attrs"]["disabled"] = not option["selected"]
        return option


class OpenChoiceField(ChoiceField):
    """A choice from a list that also accepts any other value. The rules decide whether it can be used."""

    widget = Select

    def valid_value(self, value: Any) -> bool:
        """Accept any value that is short enough to be a name."""
        return len(str(value)) <= MAX_CHOICE_LENGTH


class CountField(IntegerField):
    """An integer that is chosen from a list."""

    widget = Select

    def widget_attrs(self, widget: forms.Widget) -> Any:
        """Return no attributes, because a select has no minimum and maximum."""
        del widget
        return {}


def team_field(teams: list[tuple[str, str]]) -> forms.ChoiceField:
    """Return the field to choose one of these teams, hidden if there is only one."""
    if len(teams) == 1:
        return forms.ChoiceField(label=_("Team"), choices=teams, initial=teams[0][0], widget=forms.HiddenInput)
    return forms.ChoiceField(label=_("Team"), choices=teams)
