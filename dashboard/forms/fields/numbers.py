"""Fields for numbers and lists of numbers as typed."""

import math
import re
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

from dashboard.forms.fields.located import TextField
from dashboard.forms.fields.words import MAX_TEXT_LENGTH

NUMBER = re.compile(r"[+-]?(?:[0-9]{1,30}(?:\.[0-9]{0,30})?|\.[0-9]{1,30})(?:[eE][+-]?[0-9]{1,3})?", re.ASCII)
WHOLE = re.compile(r"[+-]?[0-9]{1,30}", re.ASCII)


def parse_number(text: str) -> int | float:
    """Return the number in "3", "0.1" or "1e-5". Raise ValidationError with the reason for other text."""
    # 1e999 has the format of a number but is infinite.
    if not NUMBER.fullmatch(text) or not math.isfinite(float(text)):
        raise ValidationError(_("“%(text)s” is not a number; write 3, 0.1 or 1e-5.") % {"text": text[:40]})
    return int(text) if WHOLE.fullmatch(text) else float(text)


class NumberField(TextField):
    """A number, integer or not. The value is None if the field is empty."""

    def __init__(self, *args: Any, **options: Any) -> None:
        widget = forms.TextInput(attrs={"inputmode": "decimal", "autocomplete": "off"})
        super().__init__(*args, max_length=60, widget=widget, **options)

    def clean(self, value: Any) -> int | float | None:
        """Return the number."""
        text = super().clean(value)
        return parse_number(text) if text else None

    def prepare_value(self, value: Any) -> Any:
        """Return a number as text that parses to the same number."""
        return repr(value) if isinstance(value, int | float) else value


class WordsField(TextField):
    """Words separated by commas. The value is a list."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, max_length=MAX_TEXT_LENGTH, **options)

    def clean(self, value: Any) -> list[Any]:
        """Split at the commas."""
        return [part.strip() for part in super().clean(value).split(",") if part.strip()]

    def prepare_value(self, value: Any) -> Any:
        """Return a list as text with commas."""
        return ", ".join(value) if isinstance(value, list | tuple) else value


class NumbersField(WordsField):
    """Numbers separated by commas. The value is a list."""

    def clean(self, value: Any) -> list[Any]:
        """Return the numbers."""
        return [parse_number(part) for part in super().clean(value)]

    def prepare_value(self, value: Any) -> Any:
        """Return a list as text with commas."""
        return super().prepare_value([repr(each) for each in value] if isinstance(value, list | tuple) else value)
