"""English texts that can be translated when they are shown. Pure: this module does not import Django.

The texts of strategies and diagnoses are written once in English, for the API, the command line and storage. A `Text`
is that English `str` and keeps its message id and values, from which `jobs.translations.translated` makes the
translation for a page. Modules import `translatable as _`, the name by which `make messages` finds the literals.
"""

import re
from collections.abc import Mapping
from datetime import date
from typing import Any

_PLACEHOLDER, _WORD = re.compile(r"%\(\w+\)s"), re.compile(r"[^\W\d_]")


class Text(str):
    """An English text with its gettext message id and the values of its placeholders, which may be texts too."""

    __slots__ = ("msgid", "values")
    msgid: str
    values: Mapping[str, str]


def translatable(msgid: str, /, **values: object) -> Text:
    """Return the text of a literal message id with its `%(name)s` filled in; without values it is used unchanged."""
    kept = {name: value if isinstance(value, str) else str(value) for name, value in values.items()}
    text = Text(msgid % kept if kept else msgid)
    text.msgid, text.values = msgid, kept
    return text


_ = translatable
MONTHS = (
    *(_("January %(year)s"), _("February %(year)s"), _("March %(year)s"), _("April %(year)s")),
    *(_("May %(year)s"), _("June %(year)s"), _("July %(year)s"), _("August %(year)s")),
    *(_("September %(year)s"), _("October %(year)s"), _("November %(year)s"), _("December %(year)s")),
)


QUOTATION = "“%(words)s”"


def quotation(words: str) -> Text:
    """Return the words of a program or of Vertex AI in quotation marks; a page may format them as code instead.

    A full stop at the end is left out, because the sentence around it has its own.
    """
    return translatable(QUOTATION, words=words if words.endswith("..") else words.removesuffix("."))


def joined(*texts: str, between: str = " ") -> Text:
    """Return non-empty texts joined by `between`."""
    parts = {f"part{number}": text for number, text in enumerate(filter(None, texts))}
    return translatable(between.join(f"%({name})s" for name in parts), **parts)


def as_json(text: str) -> Any:
    """Return a text as JSON that `from_json` reads."""
    if not isinstance(text, Text):
        return text
    return {"msgid": text.msgid, "values": {name: as_json(value) for name, value in text.values.items()}}


def from_json(kept: Any) -> str:
    """Return the text from the JSON of `as_json`."""
    if isinstance(kept, str):
        return kept
    return translatable(kept["msgid"], **{name: from_json(value) for name, value in kept["values"].items()})


def month_of(day: date) -> Text:
    """Return the month of a day, such as "November 2026"."""
    return translatable(MONTHS[day.month - 1], year=day.year)


def day_of(day: date) -> Text:
    """Return a day, such as "22 August 2026"."""
    return _("%(day)s %(month)s", day=day.day, month=month_of(day))


def is_translatable(text: str) -> bool:
    """Return whether a text, or one of its values, has words to translate besides quotations."""
    if not isinstance(text, Text):
        return False
    return bool(_WORD.search(_PLACEHOLDER.sub("", text.msgid))) or any(map(is_translatable, text.values.values()))
