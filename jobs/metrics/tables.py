"""Metrics that a program prints as a table, one line at a time. Pure.

Tables with a line of names over lines of figures are those of fastai, skorch, spaCy, Ultralytics, detectron2 and
scikit-learn; tables of two columns, a name and its figure, are those of Stable-Baselines and of PyTorch Lightning's
tests.
"""

import re
from dataclasses import dataclass, field

from jobs.metrics.names import is_figure, is_quality
from jobs.metrics.objects import number_of
from jobs.metrics.positions import count_of

EPOCH_COLUMNS = frozenset({"epoch", "epochs", "e", "ep", "itn."})
STEP_COLUMNS = frozenset({"step", "steps", "#", "iter", "iteration", "round"})
CLASS_COLUMN = "class"
"""Ultralytics' table of a validation, in which the line `all` counts."""
MIN_COLUMNS, MAX_COLUMNS = 2, 40
MAX_CELLS = 60
"""Lines of a table of two columns that are kept until it ends."""

FIRST_COLUMNS = EPOCH_COLUMNS | STEP_COLUMNS | {CLASS_COLUMN}
"""One of these is the first column of a table, but for those with bars between."""
_PIPES = frozenset("|│┃")
_BAR = re.compile(r"(?::\s+\d{1,3}%|\s\d{1,3}%\s*[|━╸─]).*")
_COLUMN = re.compile(r"(?:#|[A-Za-z][\w.#/@%()+\-]*(?: [A-Za-z][\w.#/@%()+\-]*){0,2})\Z")
_PIPE = re.compile(r"[|│┃]")
_BETWEEN = re.compile(r"\s{2,}|\t")
_CELL = re.compile(r"\s*[|│┃]\s*([A-Za-z][\w./@%()\- ]*?)\s*[|│┃]\s*([-+]?\d[\d.]*(?:[eE][-+]?\d+)?|nan)?\s*[|│┃]\s*\Z")
_RULE = re.compile(r"\s*[-─━└┘┴]{8,}\s*\Z")


@dataclass(slots=True)
class Table:
    """The table that a program is printing: its columns, or what was read of one with two columns."""

    columns: list[str] = field(default_factory=list)
    section: str = ""
    cells: dict[str, float] = field(default_factory=dict)

    def take(self, columns: tuple[str, ...], cell: tuple[str, float | None] | None) -> None:
        """Take in the names of columns, or a line of two; one without a figure is the heading of those that follow."""
        if cell is None:
            self.columns = list(columns)
            return
        name, value = cell
        if value is None:
            self.section = name if name.endswith("/") else ""
        elif len(self.cells) < MAX_CELLS:
            self.cells[f"{self.section}{name}"] = value

    def end(self) -> dict[str, float]:
        """Return what the table of two columns held, which ends here."""
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
    """Return the names that a line gives the columns below it; empty where it is no such line."""
    is_piped = text.lstrip()[:1] in _PIPES
    stripped = text.strip(" |\t│┃")
    first = stripped.partition(" ")[0].partition("\t")[0]
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
    """Return names without brackets; of `Box(P  R)  Mask(P  R)` those of the second group carry its name."""
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
    """Return what a line holds under the columns of its table; None where it does not fit them."""
    stripped = _BAR.sub("", text.strip(" |\t│┃"))
    cells = _cells(stripped) if _PIPE.search(stripped) else stripped.split()
    if len(cells) != len(columns):
        return None
    is_class = columns[0].lower() == CLASS_COLUMN
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
    """Return the name and the figure of a line of two columns; None where it is none."""
    if text.lstrip()[:1] not in _PIPES or (found := _CELL.match(text)) is None:
        return None
    return found[1], number_of(found[2]) if found[2] else None


def is_rule(text: str) -> bool:
    """Return whether a line only draws one, as at the end of a table."""
    return _RULE.match(text) is not None
