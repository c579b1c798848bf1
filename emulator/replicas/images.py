"""Images that need no command: the commands for containers without one.

There are no containers here. The entry point of an image is known only for the samples of this project, for the
Reduction Server, and for images in a file of the user (`--images FILE`), as JSON or in lines of the same form:

    # pattern: command; * matches anything, the first pattern that matches is used
    us-docker.pkg.dev/my-project/train/*: python /opt/project/task.py
    {"europe-docker.pkg.dev/p/r/i:latest": ["python", "-m", "trainer.task"]}
"""

import fnmatch
import json
import re
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from emulator.protocol.schema import DATA

PACKAGE = Path(__file__).resolve().parents[1]
HOMES = (PACKAGE, PACKAGE.parent)
"""Where `examples/` is: in the package if it was installed, else beside it in the checkout."""
SAMPLES: dict[str, dict[str, Any]] = json.loads((DATA / "images.json").read_text())
"""Images of this emulator: `{image: {"folder": WORKDIR in one of HOMES, "command": [ENTRYPOINT ...]}}`."""
REDUCTION_SERVER = re.compile(
    r"(us|europe|asia)-docker\.pkg\.dev/vertex-ai-restricted/training/reductionserver(:[\w.-]+|@sha256:[0-9a-f]{64})?"
)
"""The image of a reduction server's pool ("Distributed training" in Google's documentation, read 2026-08)."""
IDLE = ["python", "-c", "import threading; threading.Event().wait()"]
"""The command of the Reduction Server here: it does nothing until the job ends."""
LINE = re.compile(r"""(?P<quote>["']?)(?P<pattern>\S+?)(?P=quote)\s*:(?:\s+(?P<command>.+))?""")
ImageTable = tuple[tuple[str, list[str]], ...]


class Image(NamedTuple):
    """Content of an image. The working directory is copied from `folder`, and empty if it is None."""

    command: list[str]
    folder: Path | None = None


class Images:
    """The known images. `table` has patterns and their commands; see `load`."""

    def __init__(self, table: ImageTable = ()) -> None:
        self._table = table

    def find(self, uri: str) -> Image | None:
        """Return the content of an image, None if it is unknown here."""
        for pattern, command in self._table:
            if fnmatch.fnmatchcase(uri, pattern):
                return Image(command)
        if uri in SAMPLES:
            places = [home / SAMPLES[uri]["folder"] for home in HOMES]
            return Image(SAMPLES[uri]["command"], next((each for each in places if each.is_dir()), places[-1]))
        return Image(IDLE) if REDUCTION_SERVER.fullmatch(uri) else None


def load(file: Path) -> ImageTable:
    """Read a file of patterns and commands. Raise ValueError that describes an error, OSError if it cannot be read."""
    text = file.read_text()
    if text.lstrip().startswith("{"):
        try:
            parsed = json.loads(text)
        except ValueError as problem:
            raise ValueError(f"{file}: {problem}") from None
        pairs = list(parsed.items())
    else:
        pairs = _lines(text, file)
    return tuple((pattern, _command(value, f"{file}: {pattern}")) for pattern, value in pairs)


def _lines(text: str, file: Path) -> list[tuple[str, Any]]:
    """Parse `pattern: command` lines. The words of a command may also be on the lines below, each after a dash."""
    pairs: list[tuple[str, Any]] = []
    for number, line in enumerate(text.splitlines(), 1):
        shown = line.strip()
        if not shown or shown.startswith("#") or shown == "---":
            continue
        if shown.startswith("- ") and pairs and isinstance(pairs[-1][1], list):
            pairs[-1][1].extend(_unquoted([shown.removeprefix("- ")]))
            continue
        match = LINE.fullmatch(shown)
        if match is None:
            raise ValueError(f"{file}: line {number} is not of the form PATTERN: COMMAND")
        pairs.append((match["pattern"], _value(match["command"])))
    return pairs


def _value(text: str | None) -> str | list[str]:
    if text is None:
        return []
    if text.startswith("[") and text.endswith("]"):
        try:
            words: list[str] = json.loads(text)
        except ValueError:
            words = _unquoted(text[1:-1].split(","))
        return words
    return text


def _unquoted(words: Sequence[str]) -> list[str]:
    stripped = [word.strip() for word in words]
    return [word[1:-1] if len(word) > 1 and word[0] == word[-1] and word[0] in "'\"" else word for word in stripped]


def _command(value: Any, where: str) -> list[str]:
    try:
        words = shlex.split(value) if isinstance(value, str) else value
    except ValueError as problem:
        raise ValueError(f"{where}: {problem}") from None
    if not isinstance(words, list) or not words or not all(isinstance(word, str) and word for word in words):
        raise ValueError(f"{where}: the command must be a text or a list of texts, not {value!r}")
    return words
