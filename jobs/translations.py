"""Translate texts of `jobs.texts` into the active language."""

import re
from collections.abc import Iterator

from django.utils.translation import gettext

from jobs.texts import QUOTATION, Text

_PLACEHOLDER = re.compile(r"%\((\w+)\)s")


def translated(text: str) -> str:
    """Return the translation of a `Text` and of the texts among its values; any other `str` unchanged."""
    if not isinstance(text, Text):
        return text
    msgstr = gettext(text.msgid) if text.msgid else ""
    return msgstr % {name: translated(value) for name, value in text.values.items()} if text.values else msgstr


def pieces(text: str) -> Iterator[tuple[str, bool]]:
    """Yield the translated parts of a text, each with whether it is a quotation.

    A quotation comes without its quotation marks.
    """
    if not isinstance(text, Text) or not text.values:
        yield translated(text), False
    elif text.msgid == QUOTATION:
        yield text.values["words"], True
    else:
        for place, part in enumerate(_PLACEHOLDER.split(gettext(text.msgid))):
            yield from pieces(text.values[part]) if place % 2 else [(part.replace("%%", "%"), False)]
