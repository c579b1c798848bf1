"""Compiled translations for a run of pytest by hand; `make` compiles them with Babel (Makefile)."""

import os
from pathlib import Path

import polib

from tests.support.environments import ROOT


def compile_new(locale: Path = ROOT / "dashboard" / "locale") -> list[str]:
    """Compile each translation that is newer than its compiled file. Return their languages."""
    compiled = []
    for source in sorted(locale.glob("*/LC_MESSAGES/django.po")):
        target = source.with_suffix(".mo")
        if not target.exists() or target.stat().st_mtime_ns < source.stat().st_mtime_ns:
            unfinished = target.with_suffix(f".new{os.getpid()}")
            polib.pofile(str(source)).save_as_mofile(str(unfinished))
            unfinished.replace(target)
            compiled.append(source.parts[-3])
    return compiled
