"""Jobs in files: open them, parse them with the files that they name, and place them as the options specify."""

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from dashboard.forms.uploads import Files, Given, read_all
from jobs import importer
from jobs.requests.placing import Place, fill_place

REFUSED, UNREADABLE = 1, 2
"""Exit codes for a refused file and for an unreadable one."""
STDIN = "-"
Options = Mapping[str, Any]
Read = tuple[str, importer.Reading]


def read_files(names: Sequence[str], options: Options) -> list[Read]:
    """Read jobs from files that may name each other. Return (name, reading) of those that no other one names.

    Raise CommandError with exit code 2 for a file that cannot be opened.
    """

    def read(each: Given, files: Files) -> importer.Reading:
        return importer.read_text(
            each.content,
            name="job" if each.name == STDIN else Path(each.name).stem,
            files=files,
            job=options["job"],
        )

    def read_beside(each: Given, others: Files) -> importer.Reading:
        """Return the reading of a text, and read it again with files of its folder that it names."""
        reading = read(each, others)
        names = reading.missing_files if each.name != STDIN else ()
        held = {name: _beside(Path(each.name).parent, name) for name in names}
        found = {name: text for name, text in held.items() if text is not None}
        reading = read(each, {**others, **found}) if found else reading
        place = Place(options["project"], options["region"])
        return (
            reading
            if reading.submission is None
            else replace(reading, submission=fill_place(reading.submission, place))
        )

    return [
        (each.name, reading) for each, reading in read_all([Given(name, _content(name)) for name in names], read_beside)
    ]


def read_one(names: Sequence[str], options: Options) -> Read:
    """Read the one job that the files describe. Raise CommandError if they describe several."""
    found = read_files(names, options)
    if len(found) > 1:
        shown = ", ".join(name for name, _ in found)
        message = f"Several of these files are jobs: {shown}. Give one job and the files that it refers to."
        raise CommandError(message, returncode=REFUSED)
    name, reading = found[0]
    if len(reading.jobs) > 1 and not options["job"]:
        shown = ", ".join(f"{place} {job.name}" for place, job in enumerate(reading.jobs, 1))
        raise CommandError(f"{name} contains several jobs: {shown}. Choose one with --job.", returncode=REFUSED)
    return name, reading


def _content(name: str) -> bytes:
    try:
        if name == STDIN:
            return sys.stdin.buffer.read(importer.MAX_BYTES + 1)
        with Path(name).open("rb") as file:
            return file.read(importer.MAX_BYTES + 1)
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or str(problem)
        raise CommandError(f"Cannot read {name}: {reason}.", returncode=UNREADABLE) from None


def _beside(folder: Path, name: str) -> str | None:
    """Return the text of a file that a command names, None if it is not in the folder of the command or below it."""
    try:
        path = (folder / name).resolve()
        if not path.is_relative_to(folder.resolve()) or not path.is_file() or path.stat().st_size > importer.MAX_BYTES:
            return None
        return path.read_text(encoding="utf-8-sig")
    except (OSError, ValueError, RuntimeError):
        return None


def read_pages(paths: Sequence[Path]) -> Iterator[tuple[Path, Any]]:
    """Yield the pages of saved responses of a list, each with its file. A file has one page, or a JSON list of them.

    Raise CommandError for a file that cannot be read or is not JSON.
    """
    for path in paths:
        try:
            answer = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise CommandError(f"Cannot read {path}: {error}") from None
        yield from ((path, page) for page in (answer if isinstance(answer, list) else [answer]))
