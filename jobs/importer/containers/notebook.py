"""Read notebooks: the Python of the cells and the shell commands, each line with its number in the file.

Source: nbformat's documentation, "The Notebook file format"; IPython's manual, "Built-in magic commands", read
2026-11-21.
"""

import re
from typing import NamedTuple

from jobs.importer.nodes import Notes
from jobs.importer.syntax.json_text import read_json

PYTHON_MAGICS = frozenset({"%%time", "%%timeit", "%%capture", "%%prun"})
SHELL_MAGICS = frozenset({"%%bash", "%%sh", "%%script", "%%system", "%%!"})
FILE_MAGICS = frozenset({"%%writefile", "%%file"})
COMMAND = re.compile(r"[ \t]*(?:!|%sx[ \t]|%system[ \t])[ \t]*(?=\S)")
END = "END_OF_CELL"
MAX_CELLS = 2_000


class Notebook(NamedTuple):
    """The Python and shell programs of a notebook, each line with its number in the file.

    Lines of a cell that are on one line of the file follow one another.
    """

    python: str
    shell: str


def read_notebook(text: str) -> Notebook | None:
    """Return the programs of a notebook's file; None for any other text."""
    notes = Notes()
    documents = read_json(text, notes) if '"cells"' in text and '"nbformat"' in text else []
    cells = documents[0].get("cells") if documents and not notes.has("unreadable_json") else None
    if cells is None or not isinstance(cells.value, list):
        return None
    python: list[str] = []
    shell: list[str] = []
    for cell in cells.value[:MAX_CELLS]:
        kind, source = cell.get("cell_type"), cell.get("source")
        if kind is not None and kind.value == "code" and source is not None:
            texts = source.value if isinstance(source.value, list) else [source]
            lines = [(part, node.line - 1) for node in texts for part in node.text().removesuffix("\n").split("\n")]
            _add_cell(python, shell, lines or [("", 0)])
    return Notebook("\n".join(python), "\n".join(shell))


def commands_in(text: str) -> str:
    """Return the shell commands in a notebook's Python, each on its line."""
    return "\n".join(_commands(text.split("\n")))


def _add_cell(python: list[str], shell: list[str], numbered: list[tuple[str, int]]) -> None:
    """Add the lines of a cell, each with its line in the file from 0, to the program that it belongs to."""
    lines = [line for line, _ in numbered]
    first = next((number for number, line in enumerate(lines) if line.strip()), 0)
    words = lines[first].split()
    magic = words[0] if words and words[0].startswith("%%") else ""
    rest = [*[""] * (first + 1), *lines[first + 1 :]] if magic else lines
    programs: list[tuple[list[str], list[str]]] = []
    if not magic or magic in PYTHON_MAGICS:
        programs = [(python, rest), (shell, _commands(rest))]
    elif magic in FILE_MAGICS and len(words) > 1:
        rest[first] = f"cat > {words[-1]} <<'{END}'"
        programs = [(shell, [*rest, END])]
    elif magic in SHELL_MAGICS:
        programs = [(shell, rest)]
    for program, own in programs:
        for number, line in enumerate(own):  # each at its line of the file unless the program is longer already
            at = numbered[number][1] if number < len(numbered) else 0
            program += [""] * (at - len(program)) + [line]


def _commands(lines: list[str]) -> list[str]:
    commands: list[str] = []
    for line in lines:
        command, continues = COMMAND.match(line), bool(commands) and commands[-1].rstrip().endswith("\\")
        commands.append(line[command.end() :] if command is not None else line if continues else "")
    return commands
