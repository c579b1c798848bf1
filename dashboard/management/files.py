"""Jobs in files: opened, read with the files that they name beside them, and placed where the command line says."""

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from jobs import convert
from jobs.convert.texts.decode import MOST_BYTES
from jobs.strategies.rules.holes import is_open_place

UNREADABLE = 2
"""The exit code of a file that cannot be read."""
STDIN = "-"


def read_file(name: str, options: dict[str, Any], *, project: str = "", region: str = "") -> convert.Reading:
    """Read a file; one that cannot be opened raises CommandError with exit code 2."""
    path = Path(name)
    try:
        if name == STDIN:
            content = sys.stdin.buffer.read(MOST_BYTES + 1)
        else:
            with path.open("rb") as file:
                content = file.read(MOST_BYTES + 1)
    except (OSError, ValueError) as trouble:
        reason = getattr(trouble, "strerror", None) or str(trouble)
        raise CommandError(f"{name} cannot be read: {reason}.", returncode=UNREADABLE) from None
    reading = convert.read_text(
        content,
        name="job" if name == STDIN else path.stem,
        project=options["project"] or project,
        region=options["region"] or region,
        files=lambda other: _beside(path.parent, other) if name != STDIN else None,
    )
    return _placed(reading, options)


def _placed(reading: convert.Reading, options: dict[str, Any]) -> convert.Reading:
    """Put the project and region that the command line gives in place of placeholders of the file."""
    submission = reading.submission
    if submission is None:
        return reading
    changes = {
        name: options[name]
        for name in ("project", "region")
        if options[name] and is_open_place(getattr(submission, name))
    }
    return replace(reading, submission=replace(submission, **changes))


def _beside(folder: Path, name: str) -> str | None:
    """Return the text of a file that a command names, if it lies in the folder of the command or below it."""
    try:
        path = (folder / name).resolve()
        if not path.is_relative_to(folder.resolve()) or not path.is_file() or path.stat().st_size > MOST_BYTES:
            return None
        return path.read_text(encoding="utf-8-sig")
    except (OSError, ValueError, RuntimeError):
        return None
