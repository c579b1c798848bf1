"""Parse metrics that a program prints as a table, one line at a time. Pure.

fastai, skorch, spaCy, Ultralytics, detectron2, scikit-learn and Ray Tune print a line of names above lines of values.
Stable-Baselines and the tests of PyTorch Lightning print two columns, a name and its value.
"""

import re
from dataclasses import dataclass, field

from jobs.metrics.figures import named
from jobs.metrics.names import SUMS, is_figure, is_quality
from jobs.metrics.objects import number_of
from jobs.metrics.positions import Position, count_of

EPOCH_COLUMNS = frozenset({"epoch", "epochs", "e", "ep", "itn."})
STEP_COLUMNS = frozenset({"step", "steps", "#", "iter", "iteration", "round", "batch", "gen", "episode"})
CLASS_COLUMNS = frozenset({"class", "classes"})
"""First column of Ultralytics' validation table, in which only the line `all` is used."""
MIN_COLUMNS, MAX_COLUMNS = 2, 40
MAX_CELLS = 60
"""Lines of a table of two columns that are kept until it ends."""

COUNT_COLUMNS = EPOCH_COLUMNS | STEP_COLUMNS
FIRST_COLUMNS = COUNT_COLUMNS | CLASS_COLUMNS
"""A table has one of these as its first column, unless its columns are separated by bars."""
_PIPES = frozenset("|│┃")
_BAR = re.compile(r"(?::\s+\d{1,3}%|\s\d{1,3}%\s*[|━╸─]).*")
_COLUMN = re.compile(r"(?:#|(?:# )?[A-Za-z][\w.#/@%()+\-]*(?: [A-Za-z(/][\w.#/@%()+\-]*){0,2}(?::\.\d+)?)\Z")
_COMMENT = re.compile(r"#\s+(?=step|epoch|iter|batch)", re.IGNORECASE)
"""What stands before the names of columns in a file for gnuplot, as DeePMD writes it."""
_COMMA = re.compile(",")
_PART = re.compile(r"(?:(dev|test|val|valid|validation|eval|train):\s+)?(?=[\w/.@-]+,)", re.IGNORECASE)
_PIPE = re.compile(r"[|│┃]")
_BETWEEN = re.compile(r"\s{2,}|\t")
_CELL = re.compile(
    r"\s*[|│┃]\s*([A-Za-z][\w./@%()\- ]*?)(?:\s*[|│┃]|\s{2})\s*([-+]?\d[\d.]*(?:[eE][-+]?\d+)?|nan)?\s*[|│┃]\s*\Z"
)
RULE = re.compile(r"\s*[-─━└┘┴╰╯]{8,}\s*\Z")


@dataclass(slots=True)
class Table:
    """The table that a program is printing: its columns, or the cells so far if it has two columns."""

    columns: list[str] = field(default_factory=list)
    section: str = ""
    cells: dict[str, float] = field(default_factory=dict)

    def take(self, columns: tuple[str, ...], cell: tuple[str, float | None] | None, part: str) -> None:
        """Add columns, of a part of the data, or a line of two columns; a name alone is the heading of the next."""
        if cell is None:
            self.columns = [name if name.lower() in FIRST_COLUMNS else named(name, part) for name in columns]
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


def columns_of(text: str) -> tuple[str, ...]:
    """Return the column names in a line, or () if it is not a line of names."""
    is_piped = text.lstrip()[:1] in _PIPES
    part, stripped = "", _COMMENT.sub("", _listed(text.strip(" |\t│┃")))
    if (listed := _PART.match(stripped)) is not None and "," in stripped:  # `DEV: loss, acc, f1`, and CSV
        part, stripped = listed[1] or "", stripped[listed.end() :]
    cells = _cells(_BAR.sub("", stripped))
    first = cells[0].lower().split()  # `Epoch batch         loss       loss_f`
    if len(first) > 1 and {*first} <= COUNT_COLUMNS:
        cells[:1] = cells[0].split()
    is_curve = cells[0].lower() in COUNT_COLUMNS and is_quality(cells[-1])
    is_wide = (MIN_COLUMNS if is_piped or is_curve else MIN_COLUMNS + 1) <= len(cells) <= MAX_COLUMNS
    if not is_wide or not all(_COLUMN.match(cell) for cell in cells):
        return ()
    if is_piped:  # Ray Tune's tables begin with the names of trials
        is_table = is_quality(cells[0]) or (
            any(cell.lower() in COUNT_COLUMNS for cell in cells) and any(is_quality(cell) for cell in cells)
        )
    else:
        is_table = is_quality(cells[0]) and (" " not in stripped or all(is_quality(cell) for cell in cells))
        is_table = is_table and ("," in stripped or "\t" in stripped)
    is_table = is_table or cells[0].lower() in FIRST_COLUMNS
    return tuple(named(name, part.lower()) for name in _distinct(cells)) if is_table else ()


def _listed(text: str) -> str:
    """Return a line of a file whose cells semicolons separate with commas."""
    return text if "," in text else text.replace(";", ",")


def _cells(text: str) -> list[str]:
    between = _PIPE if _PIPE.search(text) else _COMMA if "," in text else _BETWEEN
    return [cell.strip() for cell in between.split(text)]


def _distinct(cells: list[str]) -> list[str]:
    """Return names without brackets. In `Box(P  R)  Mask(P  R)` the repeated names get the name of their group."""
    names: list[str] = []
    group = ""
    for cell in cells:
        before, opens, name = cell.partition("(")
        if opens and not cell.endswith(")"):
            group, cell = before, name
        cell = cell.rstrip(")") if "(" not in cell else cell
        names.append((f"{group} {cell}" if group else f"{cell} 2") if cell in names else cell)
    return names


def row_of(text: str, columns: tuple[str, ...]) -> tuple[Position, dict[str, float]] | None:
    """Return the position and the values of a line in the columns of its table, or None if it does not fit them."""
    stripped = _BAR.sub("", _listed(text.strip(" |\t│┃")))
    cells = _cells(stripped) if _PIPE.search(stripped) or "," in stripped else stripped.split()
    odd = [name for name in columns if name.lower() not in FIRST_COLUMNS and is_figure(name) and not is_quality(name)]
    if len(cells) == len(columns) - 1 and len(odd) == 1:  # an empty cell of a column of remarks
        columns = tuple(name for name in columns if name not in odd)
    if len(cells) != len(columns):
        return None
    filled = [cell for cell in cells if cell]
    if len(filled) == 2 and is_quality(cells[0]) and (total := number_of(filled[1])) is not None:
        return Position(), {cells[0]: total}  # the sum below: `| mAP |  |  | 0.61 |`
    is_class = columns[0].lower() in CLASS_COLUMNS
    is_named = columns[0].lower() not in FIRST_COLUMNS and not is_quality(columns[0])
    is_value = is_quality if is_named else is_figure
    if (cells[0] != "all") if is_class else not (is_named or cells[0][:1].isdigit()):
        return None
    place, row = Position(), dict[str, float]()
    for column, cell in zip(columns, cells, strict=True):
        number = number_of(cell.strip("[]").partition("/")[0].replace(",", ""))
        name = column.lower()
        if number is None and (name in EPOCH_COLUMNS or name in STEP_COLUMNS):
            return None
        if name in EPOCH_COLUMNS:
            place.epoch, place.epochs = number, count_of(number_of(cell.partition("/")[2]))
        elif name in STEP_COLUMNS:
            place.step = count_of(number)
        elif number is not None and (is_value(column) or (name in SUMS and "." in cell)):
            row[column] = number
    return place, row


def cell_of(text: str) -> tuple[str, float | None] | None:
    """Return the name and the value of a line of two columns, or None if it is not one."""
    if text.lstrip()[:1] not in _PIPES or (found := _CELL.match(text)) is None:
        return None
    return found[1], number_of(found[2]) if found[2] else None
