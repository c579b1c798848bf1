"""Fields for text with a format: durations, shell-like lines, NAME=value lines."""

import re
import shlex
from datetime import timedelta
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

from dashboard.forms.fields.located import TextField
from jobs.spec.fields import parse_duration, write_duration

UNITS: dict[str, int] = {
    **dict.fromkeys(("s", "sec", "second", "seconds"), 1),
    **dict.fromkeys(("m", "min", "minute", "minutes"), 60),
    **dict.fromkeys(("h", "hr", "hour", "hours"), 3_600),
    **dict.fromkeys(("d", "day", "days"), 86_400),
}
"""Seconds of each unit."""
PART = re.compile(r"([0-9]{1,9}(?:[.,][0-9]{1,6})?)\s*([a-z]+)\s*", re.ASCII)
MAX_DURATION = timedelta(days=3650)
MAX_TEXT_LENGTH = 200_000
"""Maximum characters in one text area. The API's own limits are far lower, and rules check them."""


def parse_length(text: str) -> timedelta:
    """Return the duration in "24 h", "90 min", "1 d 12 h" or "1.5 h". Raise ValidationError with the reason."""
    rest, total = text.strip().lower(), timedelta()
    if not rest:
        raise ValidationError(_("Write a length of time, for example 24 h or 90 min."))
    while rest:
        found = PART.match(rest)
        if not found or found[2] not in UNITS:
            raise ValidationError(_("Write a number and its unit: 24 h, 90 min, 1 d 12 h."))
        total += timedelta(seconds=float(found[1].replace(",", ".")) * UNITS[found[2]])
        rest = rest[found.end() :]
    if total > MAX_DURATION:
        raise ValidationError(_("That is longer than ten years."))
    return total


def format_length(length: timedelta) -> str:
    """Return a duration as text that `parse_length` parses to the same: "1 d 12 h", "90 s", "0 s"."""
    seconds = round(length.total_seconds())
    parts = []
    for unit, size in (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1)):
        count, seconds = divmod(seconds, size)
        if count:
            parts.append(f"{count} {unit}")
    return " ".join(parts) or "0 s"


class DurationField(TextField):
    """A duration as text. The value is a timedelta of at least `least`, or None if the field is empty."""

    def __init__(self, *args: Any, least: timedelta = timedelta(), **options: Any) -> None:
        self.least = least
        super().__init__(*args, max_length=60, **options)

    def clean(self, value: Any) -> timedelta | None:
        """Return the duration, None for an empty optional field."""
        text = super().clean(value)
        length = parse_length(text) if text else None
        if length is not None and length < self.least:
            raise ValidationError(_("Write at least %(length)s.") % {"length": format_length(self.least)})
        return length

    def prepare_value(self, value: Any) -> Any:
        """Return a timedelta as text, and typed text unchanged."""
        return format_length(value) if isinstance(value, timedelta) else value

    def to_json(self, value: timedelta) -> str:
        """Return seconds with an s."""
        return write_duration(value)

    def from_json(self, json: Any) -> Any:
        """Return the duration of a number of seconds with an s."""
        return parse_duration(json)


class AreaField(TextField):
    """Code in several lines. The control shows `rows` of them."""

    rows = 2

    def __init__(self, *args: Any, **options: Any) -> None:
        look = {"rows": self.rows, "class": "mono", "spellcheck": "false"}
        super().__init__(*args, max_length=MAX_TEXT_LENGTH, widget=forms.Textarea(attrs=look), **options)


def joined(text: str) -> str:
    """Return shell text with continued lines joined.

    As in a shell, a backslash before a line end joins two lines, except inside single quotes.
    """
    text = text.replace("\r\n", "\n")  # browsers post CRLF
    parts: list[str] = []
    quote, place = "", 0
    while place < len(text):
        sign = text[place]
        if sign == "\\" and quote != "'":
            pair = text[place : place + 2]
            parts.append("" if pair == "\\\n" else pair)
            place += 2
            continue
        if sign == quote:
            quote = ""
        elif sign in "'\"" and not quote:
            quote = sign
        parts.append(sign)
        place += 1
    return "".join(parts)


class ShellWordsField(AreaField):
    """One or several shell-like lines. The value is the list of arguments as a shell would split them."""

    def clean(self, value: Any) -> list[str]:
        """Return the arguments. Raise ValidationError for an unclosed quote."""
        try:
            return shlex.split(joined(super().clean(value)))
        except ValueError as error:
            raise ValidationError(
                _("A shell could not read this: %(why)s. Close the quote or escape it with \\.")
                % {"why": str(error).lower()}
            ) from None

    def prepare_value(self, value: Any) -> Any:
        """Return a list of arguments as a line that parses to the same list."""
        return shlex.join(value) if isinstance(value, list | tuple) else value


class PairsField(AreaField):
    """NAME=value lines. The value is a list of (name, value) in the same order."""

    rows = 3

    def clean(self, value: Any) -> list[tuple[str, str]]:
        """Return the pairs. Skip empty lines, and raise ValidationError with the number of a line without =."""
        pairs = []
        for number, line in enumerate(super().clean(value).splitlines(), start=1):
            if not line.strip():
                continue
            name, equals, text = line.partition("=")
            if not equals or not name.strip():
                raise ValidationError(
                    _("Line %(number)s is not NAME=value: %(line)s") % {"number": number, "line": line.strip()[:60]}
                )
            pairs.append((name.strip(), text.strip()))
        return pairs

    def prepare_value(self, value: Any) -> Any:
        """Return pairs as lines."""
        if isinstance(value, list | tuple):
            return "\n".join(f"{name}={text}" for name, text in value)
        return value

    def to_json(self, value: list[tuple[str, str]]) -> Any:
        """Return a JSON object."""
        return dict(value)

    def from_json(self, json: Any) -> Any:
        """Return (name, value) of a JSON object."""
        return list(json.items())


class EnvField(PairsField):
    """NAME=value lines that are a list of {name, value} in JSON."""

    def to_json(self, value: list[tuple[str, str]]) -> Any:
        """Return the list of objects."""
        return [{"name": name, "value": text} for name, text in value]

    def from_json(self, json: Any) -> Any:
        """Return (name, value) of each object."""
        return [(each.get("name", ""), each.get("value", "")) for each in json]


class LinesField(AreaField):
    """One value per line. The value is a list without empty lines."""

    def clean(self, value: Any) -> list[str]:
        """Return the lines without surrounding whitespace."""
        return [line.strip() for line in super().clean(value).splitlines() if line.strip()]

    def prepare_value(self, value: Any) -> Any:
        """Return a list as lines."""
        return "\n".join(value) if isinstance(value, list | tuple) else value
