"""Notebooks: the Python of the cells and the shell of their commands, each line at its place in the file.

Source: nbformat's documentation, "The Notebook file format"; IPython's manual, "Built-in magic commands", read
2026-11-21.
"""

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

PYTHON_MAGICS = frozenset({"%%time", "%%timeit", "%%capture", "%%prun"})
SHELL_MAGICS = frozenset({"%%bash", "%%sh", "%%script", "%%system", "%%!"})
FILE_MAGICS = frozenset({"%%writefile", "%%file"})
COMMAND = re.compile(r"[ \t]*(?:!|%sx[ \t]|%system[ \t])[ \t]*(?=\S)")
END = "END_OF_CELL"
MOST_CELLS = 2_000
CELL_TYPE = re.compile(r'"cell_type"[ \t]*:[ \t]*"(\w+)"')
SOURCE = re.compile(r'"source"[ \t]*:[ \t]*\[')
SOURCE_ENDS = re.compile(r"[ \t]*\]")
MOST_UNREAD = 1_000
"""Lines of a broken file that are no text in quotes; beyond them nothing more is looked for."""


class Notebook(NamedTuple):
    """The two programs that a notebook holds; their lines are those of the file where it has one line for each.

    `broken` is the line on which the file is no JSON; the cells around it are read all the same.
    """

    python: str
    shell: str
    broken: int | None = None


def notebook(text: str) -> Notebook | None:
    """Return what a notebook's file holds; None for any other text."""
    if '"cells"' not in text or '"nbformat"' not in text:
        return None
    broken = None
    try:
        cells = json.loads(text).get("cells")
    except json.JSONDecodeError as trouble:
        broken, cells = trouble.lineno, list(_salvaged(text.split("\n")))
    except (ValueError, AttributeError, RecursionError):
        return None
    if not isinstance(cells, list) or (broken and not cells):
        return None
    placed = _Placed(text)
    for cell in cells[:MOST_CELLS]:
        if isinstance(cell, dict) and cell.get("cell_type") == "code":
            placed.cell(_lines(cell.get("source")))
    return Notebook("\n".join(placed.python), "\n".join(placed.shell), broken)


def _salvaged(lines: list[str]) -> Iterator[dict[str, Any]]:
    """Yield the cells of a notebook that is no JSON, as far as each line of their source is a text in quotes."""
    kind, unread = "", 0
    source: list[Any] | None = None
    for line in lines:
        if found := CELL_TYPE.search(line):
            kind = found[1]
        if source is None:
            source = [] if SOURCE.search(line) else None
        elif SOURCE_ENDS.match(line):
            yield {"cell_type": kind, "source": source}
            source = None
        else:
            try:
                source.append(json.loads(line.strip().removesuffix(",")))
            except (ValueError, RecursionError):
                source.append("\n")
                unread += 1
        if unread > MOST_UNREAD:
            return


def commands_in(text: str) -> str:
    """Return the shell commands among the lines of a notebook's Python, each on its line."""
    return "\n".join(_commands(text.split("\n")))


def _lines(source: Any) -> list[str]:
    parts = source if isinstance(source, list) else [source]
    return "".join(part for part in parts if isinstance(part, str)).split("\n")


class _Placed:
    """Puts the lines of cells where they stand in the file."""

    def __init__(self, text: str) -> None:
        self.text, self.line = text, 0
        self.at = self.counted = self.counted_to = 0
        self.python: list[str] = []
        self.shell: list[str] = []

    def cell(self, lines: list[str]) -> None:
        """Add a cell to the program that it is part of."""
        first = next((number for number, line in enumerate(lines) if line.strip()), 0)
        words = lines[first].split()
        magic = words[0] if words and words[0].startswith("%%") else ""
        if not magic or magic in PYTHON_MAGICS:
            kept = ["" if magic and number == first else line for number, line in enumerate(lines)]
            self._put(lines, kept, _commands(kept))
        elif magic in SHELL_MAGICS:
            self._put(lines, [], [*[""] * (first + 1), *lines[first + 1 :]])
        elif magic in FILE_MAGICS and len(words) > 1:
            opened = f"cat > {words[-1]} <<'{END}'"
            self._put(lines, [], [*[""] * first, opened, *lines[first + 1 :], END])

    def _put(self, lines: list[str], python: list[str], shell: list[str]) -> None:
        for number in range(max(len(lines), len(shell))):
            if number < len(lines):
                self._find(lines[number])
            for program, added in ((self.python, python), (self.shell, shell)):
                program.extend([""] * (self.line - len(program)))
                program.append(added[number] if number < len(added) else "")
            self.line += 1

    def _find(self, line: str) -> None:
        """Move on to the line of the file that holds this line of a cell, if it stands further down."""
        for written in (json.dumps(line, ensure_ascii=False)[:-1], json.dumps(line)[:-1]):
            place = self.text.find(written, self.at)
            if place >= 0 and line.strip():
                self.at = place + len(written)
                break
        else:
            return
        self.counted += self.text.count("\n", self.counted_to, place)
        self.counted_to = place
        self.line = max(self.line, self.counted)


def _commands(lines: list[str]) -> list[str]:
    found: list[str] = []
    continues = False
    for line in lines:
        command = COMMAND.match(line)
        taken = line[command.end() :] if command is not None else line if continues else ""
        found.append(taken)
        continues = taken.rstrip().endswith("\\")
    return found
