"""Fields that know where their value stands in the REST body of a job, and how it looks there as JSON."""

from collections.abc import Mapping
from typing import Any

from django import forms
from django.core.exceptions import ValidationError

EMPTY: tuple[Any, ...] = (None, "", [], {})


class Located(forms.Field):
    """A field with its places in the REST body.

    `path` is where the value stands, below the part of the body that the form is about. A field has several paths where
    the choice of a `OneOfField` decides between objects that each have such a value. `covers` are paths above it:
    findings about them are shown at this field. A field may stay empty unless it is declared otherwise:
    the rules decide what a job needs.
    """

    def __init__(
        self,
        label: Any = "",
        help_text: Any = "",
        *,
        path: str | tuple[str, ...] = (),
        covers: tuple[str, ...] = (),
        required: bool = False,
        **options: Any,
    ) -> None:
        super().__init__(label=label, help_text=help_text, required=required, **options)
        self.paths = (path,) if isinstance(path, str) else path
        self.covers = covers

    def to_json(self, value: Any) -> Any:
        """Return the JSON of a value that was read; None where nothing is written."""
        return value

    def from_json(self, json: Any) -> Any:
        """Return the value that this JSON of the field's type stands for."""
        return json

    def load(self, json: Any) -> Any:
        """Return the value of this JSON, or None if the field would not write the same JSON for what it shows."""
        shown = self.prepare_value(self.from_json(json))
        # A browser strips line ends from a control of one line, and posts CRLF for each in a text area (HTML, 4.10).
        if isinstance(shown, str) and ("\r" in shown or ("\n" in shown and not self.widget_takes_lines)):
            return None
        try:
            value = self.clean(shown)
        except ValidationError:
            return None
        return value if value not in EMPTY and is_same_json(self.to_json(value), json) else None

    @property
    def widget_takes_lines(self) -> bool:
        """Whether a browser keeps line ends in the control."""
        return isinstance(self.widget, forms.Textarea)


def is_same_json(written: Any, json: Any) -> bool:
    """Return whether two values are the same in JSON, in which a 64-bit number is written as text as well."""
    return bool(written == json) or (isinstance(written, int) and str(written) == json)


class TextField(Located, forms.CharField):
    """A text."""


class IntegerField(Located, forms.IntegerField):
    """A whole number."""


class FlagField(Located, forms.BooleanField):
    """A check box; one that is not ticked writes nothing."""

    def to_json(self, value: Any) -> Any:
        """Return True or None."""
        return True if value else None


class ChoiceField(Located, forms.ChoiceField):
    """A choice from a list."""


class OneOfField(ChoiceField):
    """A choice that decides which of several objects is written: {choice: path of the object}.

    The chosen object is written even if it is empty; fields with a path below another one write nothing.
    """

    def __init__(self, *args: Any, objects: Mapping[str, str], **options: Any) -> None:
        super().__init__(*args, path=tuple(objects.values()), **options)
        self.objects = objects


class LineField(TextField):
    """One line; no browser corrects its spelling, and code looks like code."""

    def __init__(
        self, *args: Any, is_code: bool = False, attrs: Mapping[str, str] | None = None, **options: Any
    ) -> None:
        look = {"class": "mono"} if is_code else {}
        widget = forms.TextInput(attrs={**look, "spellcheck": "false", **(attrs or {})})
        super().__init__(*args, widget=widget, **options)
