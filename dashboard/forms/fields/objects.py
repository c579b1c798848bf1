"""A field of objects, each written as one line of words."""

import re
from typing import Any

from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

from dashboard.forms.fields.words import LinesField

PLACE = re.compile(r"\{(\w+)\}([^\s{]?)")
HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")


class ObjectsField(LinesField):
    """One object per line. The value is a list of JSON objects.

    `layout` is the format of a line, with the objects' keys: `{server}:{path} {mountPoint}`. A word ends at the
    character that follows it in the layout and contains no space.
    """

    def __init__(self, layout: str, *args: Any, **options: Any) -> None:
        self.layout = layout
        self.names: list[str] = [name for name, _ in PLACE.findall(layout)]
        words = PLACE.sub(lambda found: rf"([^\s{re.escape(found[2])}]+){re.escape(found[2])}", layout)
        self.line = re.compile(re.sub(" +", r"\\s+", words), re.ASCII)
        super().__init__(*args, **options)

    @property
    def words(self) -> str:
        """The layout for people: SERVER:PATH MOUNT_POINT."""
        return PLACE.sub(lambda found: HUMP.sub("_", found[1]).upper() + found[2], self.layout)

    def clean(self, value: Any) -> list[Any]:
        """Return the objects. Raise ValidationError with the number of a line in another format."""
        objects = []
        for number, line in enumerate(super().clean(value), start=1):
            found = self.line.fullmatch(line)
            if not found:
                raise ValidationError(
                    _("Line %(number)s is not %(words)s: %(line)s")
                    % {"number": number, "words": self.words, "line": line[:60]}
                )
            objects.append(dict(zip(self.names, found.groups(), strict=True)))
        return objects

    def prepare_value(self, value: Any) -> Any:
        """Return objects as lines."""
        if not isinstance(value, list | tuple):
            return value
        return "\n".join(self.layout.format(**{name: each.get(name, "") for name in self.names}) for each in value)
