"""A select that draws its options in one go: Django renders a template for each, 40 ms for a page of 200 options."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from django import forms
from django.forms.utils import flatatt
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

LONGEST_CHOICE = 500


class Option(NamedTuple):
    """One choice; a `reason` says why it does not fit, and then it cannot be chosen anew."""

    value: str
    label: str
    reason: str = ""


class Group(NamedTuple):
    """Options below a label; those of a group without one stand by themselves."""

    label: str
    options: tuple[Option, ...]


class Select(forms.Select):
    """Django's select with the same markup, groups included. `groups`, where set, count instead of the choices."""

    groups: tuple[Group, ...] | None = None

    def render(self, name: str, value: Any, attrs: dict[str, Any] | None = None, renderer: Any = None) -> SafeString:  # noqa: ARG002 Django gives a renderer
        """Return the select with the option of `value` chosen."""
        built = self.build_attrs(self.attrs, {**(attrs or {}), "name": name})
        return format_html("<select{}>{}</select>", flatatt(built), self.options_html(value))

    def options_html(self, value: Any) -> SafeString:
        """Return the options alone, that of `value` chosen; `groups` show a value that is none of theirs, too."""
        chosen = [str(each) for each in self.format_value(value) or [""]]
        if self.groups is not None:
            return _drawn(self.groups, chosen[0])
        parts = SafeString("")
        for label, options in self.choices:
            if isinstance(options, list | tuple):
                parts += format_html('<optgroup label="{}">{}</optgroup>', label, _options(options, chosen))
            else:
                parts += _options([(label, options)], chosen)
        return parts


class PickField(forms.ChoiceField):
    """A choice from a list, drawn by our select."""

    widget = Select


def team_field(teams: list[tuple[str, str]]) -> PickField:
    """Return the field for one of these teams, out of sight where there is only one."""
    if len(teams) == 1:
        return PickField(label="Team", choices=teams, initial=teams[0][0], widget=forms.HiddenInput)
    return PickField(label="Team", choices=teams)


class OpenPickField(PickField):
    """A choice from a list that takes any other word as well: whether it can be used is for the rules to say."""

    def valid_value(self, value: Any) -> bool:
        """Take whatever is short enough to be a name."""
        return len(str(value)) <= LONGEST_CHOICE


class CountField(forms.IntegerField):
    """A whole number that is picked from a list."""

    widget = Select

    def widget_attrs(self, widget: forms.Widget) -> Any:
        """A select has no smallest and largest number."""
        del widget
        return {}


def grouped(choices: Sequence[tuple[str, Any]]) -> tuple[Group, ...]:
    """Return Django's choices as groups, in their order."""
    return tuple(
        Group(label, tuple(Option(str(each), words) for each, words in options))
        if isinstance(options, list | tuple)
        else Group("", (Option(label, options),))
        for label, options in choices
    )


@lru_cache(maxsize=256)
def _drawn(groups: tuple[Group, ...], chosen: str) -> SafeString:
    parts = SafeString("")
    if all(option.value != chosen for group in groups for option in group.options):
        parts += format_html('<option value="{}" selected>{}</option>', chosen, chosen or "choose")
    for label, options in groups:
        drawn = format_html_join(
            "",
            '<option value="{}"{}{}>{}</option>',
            ((each.value, *_marks(each, chosen), _words(each)) for each in options),
        )
        parts += format_html('<optgroup label="{}">{}</optgroup>', label, drawn) if label else drawn
    return parts


def _marks(option: Option, chosen: str) -> tuple[str, str]:
    """Mark the chosen option; it stays usable, for a browser does not send a disabled one."""
    if option.value == chosen:
        return SafeString(" selected"), ""
    return "", SafeString(" disabled") if option.reason else ""


def _words(option: Option) -> str:
    return f"{option.label} · {option.reason}" if option.reason else option.label


def _options(options: Any, chosen: list[str]) -> SafeString:
    return format_html_join(
        "",
        '<option value="{}"{}>{}</option>',
        ((value, SafeString(" selected") if str(value) in chosen else "", label) for value, label in options),
    )
