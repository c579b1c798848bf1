"""A language for tests in which every text marked for translation is in brackets.

A page rendered in it shows which of its words cannot be translated. Its code is that of Esperanto, which Django knows
and Trainboard does not offer.
"""

import shutil
from collections.abc import Iterator
from contextlib import chdir, contextmanager
from pathlib import Path

import polib
from django.conf import settings
from django.core.management import call_command
from django.test import override_settings

CODE = "eo"
SOURCES = ("dashboard", "jobs", "templates")
"""Folders with texts for people."""


def extract(folder: Path, code: str = CODE) -> polib.POFile:
    """Run gettext and return every text of the project marked for translation, written into `folder`.

    Works on a copy of the code, because Django writes files beside the templates, where other tests would find them.
    """
    copy, locale = folder / "source", folder / "locale"
    locale.mkdir(parents=True)
    for name in SOURCES:
        left_out = shutil.ignore_patterns("locale", "migrations", "static", "__pycache__")
        shutil.copytree(Path(settings.BASE_DIR, name), copy / name, ignore=left_out)
    with override_settings(LOCALE_PATHS=[str(locale)]), chdir(copy):
        call_command("makemessages", locale=[code], verbosity=0)
    return polib.pofile(str(locale / code / "LC_MESSAGES" / "django.po"))


def bracketed(text: str) -> str:
    """Return a text in the language: in brackets, with its surrounding whitespace outside."""
    inner = text.strip()
    return text.replace(inner, f"⟦{inner}⟧") if inner else text


@contextmanager
def pseudo_language(folder: Path) -> Iterator[list[str]]:
    """Offer the language as the only one besides English and render every page in it. Yield the marked texts."""
    texts = extract(folder)
    for entry in texts:
        entry.flags = [flag for flag in entry.flags if flag != "fuzzy"]
        if entry.msgid_plural:
            entry.msgstr_plural = {0: bracketed(entry.msgid), 1: bracketed(entry.msgid_plural)}
        else:
            entry.msgstr = bracketed(entry.msgid)
    locale = folder / "locale"
    texts.save_as_mofile(str(locale / CODE / "LC_MESSAGES" / "django.mo"))
    offered = [("en", "English"), (CODE, bracketed("Brackets"))]
    with override_settings(LANGUAGES=offered, LANGUAGE_CODE=CODE, LOCALE_PATHS=[str(locale), *settings.LOCALE_PATHS]):
        yield [text for entry in texts for text in (entry.msgid, entry.msgid_plural) if text]
