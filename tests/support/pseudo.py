"""A language for tests in which every text that is marked for translation stands in brackets.

A page drawn in it shows which of its words nobody can translate. The code is that of Esperanto, which Django knows and
Trainboard does not offer.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import polib
from django.conf import settings
from django.core.management import call_command
from django.test import override_settings

CODE = "eo"
IGNORED = ["tests/*", "bench/*", "docs/*", "emulator/*", "var/*", ".*", "dashboard/locale/*", "jobs/migrations/*"]


def extract(folder: Path, code: str = CODE) -> polib.POFile:
    """Return every text of the project that is marked for translation, written into a folder; runs gettext."""
    folder.mkdir(parents=True, exist_ok=True)
    with override_settings(LOCALE_PATHS=[str(folder)]):
        call_command("makemessages", locale=[code], ignore_patterns=IGNORED, verbosity=0)
    return polib.pofile(str(folder / code / "LC_MESSAGES" / "django.po"))


def bracketed(text: str) -> str:
    """Return a text as it reads in the language: in brackets, within the spaces and line ends that it has."""
    inner = text.strip()
    return text.replace(inner, f"⟦{inner}⟧") if inner else text


@contextmanager
def pseudo_language(folder: Path) -> Iterator[None]:
    """Offer the language as the only one beside English, and write every page in it."""
    texts = extract(folder)
    for entry in texts:
        entry.flags = [flag for flag in entry.flags if flag != "fuzzy"]
        if entry.msgid_plural:
            entry.msgstr_plural = {0: bracketed(entry.msgid), 1: bracketed(entry.msgid_plural)}
        else:
            entry.msgstr = bracketed(entry.msgid)
    texts.save_as_mofile(str(folder / CODE / "LC_MESSAGES" / "django.mo"))
    offered = [("en", "English"), (CODE, "Brackets")]
    with override_settings(LANGUAGES=offered, LANGUAGE_CODE=CODE, LOCALE_PATHS=[str(folder), *settings.LOCALE_PATHS]):
        yield
