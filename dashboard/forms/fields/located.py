"""Fields that know the path of their value in the REST body of a job, and its JSON form."""

from collections.abc import Mapping
from typing import Any

from django import forms
from django.core.exceptions import ValidationError

EMPTY: tuple[Any, ...] = (None, "", [], {})


class Located(forms.Field):
    """A field with its paths in the REST body.

    `path` is the path of the value, relative to the form's part of the body. A field has several paths if the choice of
    a `OneOfField` selects between objects that each have such a value. `covers` are paths above it whose findings are
    shown at this field. A field may be empty unless it is declared as required, because the rules decide what a job
    needs.
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
        """Return the JSON of a cleaned value, None to write nothing."""
        return value

    def from_json(self, json: Any) -> Any:
        """Return the value for JSON of the field's type."""
        return json

    def load(self, json: Any) -> Any:
        """Return the value for this JSON, or None if the field would not write the same JSON after displaying it."""
        shown = self.prepare_value(self.from_json(json))
        # Browsers strip line ends in a single-line control, and post CRLF for each in a text area (HTML, 4.10).
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
    """Return whether two values are equal in JSON, where a 64-bit integer may also be text."""
    return bool(written == json) or (isinstance(written, int) and str(written) == json)


class TextField(Located, forms.CharField):
    """A text."""


class IntegerField(Located, forms.IntegerField):
    """An integer."""


class FlagField(Located, forms.BooleanField):
    """A check box. One that is not checked writes nothing."""

    def to_json(self, value: Any) -> Any:
        """Return True or None."""
        return True if value else None


class ChoiceField(Located, forms.ChoiceField):
    """A choice from a list."""


class OneOfField(ChoiceField):
    """A choice that selects which of several objects is written. `objects` is {choice: path of the object}.

    The selected object is written even if it is empty. Fields with a path below another object write nothing.
    """

    def __init__(self, *args: Any, objects: Mapping[str, str], **options: Any) -> None:
        super().__init__(*args, path=tuple(objects.values()), **options)
        self.objects = objects


class LineField(TextField):
    """A line of text, without spell checking in the browser. Code is shown in a monospaced font."""

    def __init__(
        self, *args: Any, is_code: bool = False, attrs: Mapping[str, str] | None = None, **options: Any
    ) -> None:
        look = {"class": "mono"} if is_code else {}
        widget = forms.TextInput(attrs={**look, "spellcheck": "false", **(attrs or {})})
        super().__init__(*args, widget=widget, **options)
