"""Parse metrics that a program prints as a table, one line at a time. Pure.

fastai, skorch, spaCy, Ultralytics, detectron2 and scikit-learn print a line of names above lines of values.
Stable-Baselines and the tests of PyTorch Lightning print two columns, a name and its value.
"""

import re
from dataclasses import dataclass, field

from jobs.metrics.names import is_figure, is_quality
from jobs.metrics.objects import number_of
from jobs.metrics.positions import count_of

EPOCH_COLUMNS = frozenset({"epoch", "epochs", "e", "ep", "itn."})
STEP_COLUMNS = frozenset({"step", "steps", "#", "iter", "iteration", "round"})
CLASS_COLUMNS = frozenset({"class", "classes"})
"""First column of Ultralytics' validation table, in which only the line `all` is used."""
MIN_COLUMNS, MAX_COLUMNS = 2, 40
MAX_CELLS = 60
"""Lines of a table of two columns that are kept until it ends."""

FIRST_COLUMNS = EPOCH_COLUMNS | STEP_COLUMNS | CLASS_COLUMNS
"""A table has one of these as its first column, unless its columns are separated by bars."""
_PIPES = frozenset("|│┃")
_BAR = re.compile(r"(?::\s+\d{1,3}%|\s\d{1,3}%\s*[|━╸─]).*")
_COLUMN = re.compile(r"(?:#|[A-Za-z][\w.#/@%()+\-]*(?: [A-Za-z][\w.#/@%()+\-]*){0,2}(?::\.\d+)?)\Z")
_PIPE = re.compile(r"[|│┃]")
_BETWEEN = re.compile(r"\s{2,}|\t")
_CELL = re.compile(
    r"\s*[|│┃]\s*([A-Za-z][\w./@%()\- ]*?)(?:\s*[|│┃]|\s{2})\s*([-+]?\d[\d.]*(?:[eE][-+]?\d+)?|nan)?\s*[|│┃]\s*\Z"
)
_RULE = re.compile(r"\s*[-─━└┘┴╰╯]{8,}\s*\Z")


@dataclass(slots=True)
class Table:
    """The table that a program is printing: its columns, or the cells so far if it has two columns."""

    columns: list[str] = field(default_factory=list)
    section: str = ""
    cells: dict[str, float] = field(default_factory=dict)

    def take(self, columns: tuple[str, ...], cell: tuple[str, float | None] | None) -> None:
        """Add the names of columns, or a line of two columns.

        A name without a value is the heading of the following ones.
        """
        if cell is None:
            self.columns = list(columns)
            return
        name, value = cell
        if value is None:
            self.section = name if name.endswith("/") else ""
        elif len(self.cells) < MAX_CELLS:
            self.cells[f"{self.section}{name}"] = value

    def end(self) -> dict[str, float]:
        """Return the values of the table of two columns, which ends here."""
        cells, self.cells, self.section = self.cells, {}, ""
        return cells


@dataclass(frozen=True, slots=True)
class Row:
    """One line below the names of the columns."""

    epoch: float | None
    epochs: int | None
    step: int | None
    values: dict[str, float]


def columns_of(text: str) -> tuple[str, ...]:
    """Return the column names in a line, or () if it is not a line of names."""
    is_piped = text.lstrip()[:1] in _PIPES
    stripped = text.strip(" |\t│┃")
    first = _PIPE.split(stripped)[0].strip() if is_piped else re.split(r"[ \t]", stripped, maxsplit=1)[0]
    if not (first.lower() in FIRST_COLUMNS or (is_piped and is_quality(first))):
        return ()
    if stripped[len(first) : len(first) + 2].strip(" ")[:1] not in _PIPES | {"\t", ""}:
        return ()
    cells = _cells(_BAR.sub("", stripped))
    is_wide = (MIN_COLUMNS if is_piped else MIN_COLUMNS + 1) <= len(cells) <= MAX_COLUMNS
    if not is_wide or cells[0] != first or not all(_COLUMN.match(cell) for cell in cells):
        return ()
    return tuple(_distinct(cells))


def _cells(text: str) -> list[str]:
    return [cell.strip() for cell in (_PIPE if _PIPE.search(text) else _BETWEEN).split(text)]


def _distinct(cells: list[str]) -> list[str]:
    """Return names without brackets. In `Box(P  R)  Mask(P  R)` the repeated names get the name of their group."""
    names: list[str] = []
    group = ""
    for cell in cells:
        before, opens, name = cell.partition("(")
        if opens and not cell.endswith(")"):
            group, cell = before, name
        cell = cell.rstrip(")") if "(" not in cell else cell
        names.append(f"{group} {cell}" if cell in names else cell)
    return names


def row_of(text: str, columns: tuple[str, ...]) -> Row | None:
    """Return the values of a line in the columns of its table, or None if it does not fit them."""
    stripped = _BAR.sub("", text.strip(" |\t│┃"))
    cells = _cells(stripped) if _PIPE.search(stripped) else stripped.split()
    if len(cells) != len(columns):
        return None
    is_class = columns[0].lower() in CLASS_COLUMNS
    if (cells[0] != "all") if is_class else not cells[0][:1].isdigit():
        return None
    row: dict[str, float] = {}
    epoch, epochs, step = None, None, None
    for column, cell in zip(columns, cells, strict=True):
        number = number_of(cell.partition("/")[0].replace(",", ""))
        name = column.lower()
        if number is None and (name in EPOCH_COLUMNS or name in STEP_COLUMNS):
            return None
        if name in EPOCH_COLUMNS:
            epoch, epochs = number, count_of(number_of(cell.partition("/")[2]))
        elif name in STEP_COLUMNS:
            step = count_of(number)
        elif number is not None and is_figure(column):
            row[column] = number
    return Row(epoch, epochs, step, row)


def cell_of(text: str) -> tuple[str, float | None] | None:
    """Return the name and the value of a line of two columns, or None if it is not one."""
    if text.lstrip()[:1] not in _PIPES or (found := _CELL.match(text)) is None:
        return None
    return found[1], number_of(found[2]) if found[2] else None


def is_rule(text: str) -> bool:
    """Return whether a line only draws a rule, as at the end of a table."""
    return _RULE.match(text) is not None
