"""A text of `jobs.texts` in the language that is active."""

from django.utils.translation import gettext

from jobs.texts import Text


def translated(text: str) -> str:
    """Return the translation of a `Text` and of the texts among its values; any other `str` as it is."""
    if not isinstance(text, Text):
        return text
    msgstr = gettext(text.msgid) if text.msgid else ""
    return msgstr % {name: translated(value) for name, value in text.values.items()} if text.values else msgstr
