"""Fields that read what people write: lengths of time, shell-like lines, NAME=value lines."""

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
"""From each unit to its seconds."""
PART = re.compile(r"([0-9]{1,9}(?:[.,][0-9]{1,6})?)\s*([a-z]+)\s*", re.ASCII)
MAX_DURATION = timedelta(days=3650)
MAX_TEXT_LENGTH = 200_000
"""Characters in one text area; the API's own limits are far below and checked by rules."""


def parse_length(text: str) -> timedelta:
    """Read "24 h", "90 min", "1 d 12 h" or "1.5 h"; raise ValidationError with what is wrong."""
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
    """Write a length so that `parse_length` reads the same: "1 d 12 h", "90 s", "0 s"."""
    seconds = round(length.total_seconds())
    parts = []
    for unit, size in (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1)):
        count, seconds = divmod(seconds, size)
        if count:
            parts.append(f"{count} {unit}")
    return " ".join(parts) or "0 s"


class DurationField(TextField):
    """A length of time in words; its value is a timedelta of at least `least`, or None where nothing was written."""

    def __init__(self, *args: Any, least: timedelta = timedelta(), **options: Any) -> None:
        self.least = least
        super().__init__(*args, max_length=60, **options)

    def clean(self, value: Any) -> timedelta | None:
        """Read the words; an empty optional field is None."""
        text = super().clean(value)
        length = parse_length(text) if text else None
        if length is not None and length < self.least:
            raise ValidationError(_("Write at least %(length)s.") % {"length": format_length(self.least)})
        return length

    def prepare_value(self, value: Any) -> Any:
        """Show a timedelta in words, and what was typed as it was typed."""
        return format_length(value) if isinstance(value, timedelta) else value

    def to_json(self, value: timedelta) -> str:
        """Return seconds with an s."""
        return write_duration(value)

    def from_json(self, json: Any) -> Any:
        """Return the length of so many seconds."""
        return parse_duration(json)


class AreaField(TextField):
    """A text of several lines, which looks like code; the control shows `rows` of them."""

    rows = 2

    def __init__(self, *args: Any, **options: Any) -> None:
        look = {"rows": self.rows, "class": "mono", "spellcheck": "false"}
        super().__init__(*args, max_length=MAX_TEXT_LENGTH, widget=forms.Textarea(attrs=look), **options)


def joined(text: str) -> str:
    """Return shell text with continued lines joined, as a shell does: a backslash before a line's end, unless in ''."""
    text = text.replace("\r\n", "\n")  # what browsers post
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
    """One shell-like line, or several; its value is a list of arguments as a shell would split them."""

    def clean(self, value: Any) -> list[str]:
        """Split into arguments; raise ValidationError for a quote that is not closed."""
        try:
            return shlex.split(joined(super().clean(value)))
        except ValueError as error:
            raise ValidationError(
                _("A shell could not read this: %(why)s. Close the quote or escape it with \\.")
                % {"why": str(error).lower()}
            ) from None

    def prepare_value(self, value: Any) -> Any:
        """Show a list of arguments as a line that reads back the same."""
        return shlex.join(value) if isinstance(value, list | tuple) else value


class PairsField(AreaField):
    """Lines NAME=value; its value is a list of (name, value) in the order written."""

    rows = 3

    def clean(self, value: Any) -> list[tuple[str, str]]:
        """Read the lines; empty ones are skipped, a line without = is refused with its number."""
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
        """Show pairs as lines."""
        if isinstance(value, list | tuple):
            return "\n".join(f"{name}={text}" for name, text in value)
        return value

    def to_json(self, value: list[tuple[str, str]]) -> Any:
        """Return an object."""
        return dict(value)

    def from_json(self, json: Any) -> Any:
        """Return its names and values."""
        return list(json.items())


class EnvField(PairsField):
    """Lines NAME=value that are a list of {name, value} in JSON."""

    def to_json(self, value: list[tuple[str, str]]) -> Any:
        """Return the list of objects."""
        return [{"name": name, "value": text} for name, text in value]

    def from_json(self, json: Any) -> Any:
        """Return names and values."""
        return [(each.get("name", ""), each.get("value", "")) for each in json]


class LinesField(AreaField):
    """One value on each line; its value is a list without empty lines."""

    def clean(self, value: Any) -> list[str]:
        """Split into lines without blanks around them."""
        return [line.strip() for line in super().clean(value).splitlines() if line.strip()]

    def prepare_value(self, value: Any) -> Any:
        """Show a list as lines."""
        return "\n".join(value) if isinstance(value, list | tuple) else value
