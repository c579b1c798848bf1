"""Parse one line of a training log into its epoch, its step and its metrics. Pure.

The parser knows general forms rather than programs: an epoch and a step as words or a progress bar, values after their
names, objects, and tables. tests/unit/metrics/samples.py contains lines of the frameworks whose logs are read.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from jobs.metrics import objects, tables
from jobs.metrics.figures import figures_in, named
from jobs.metrics.names import EVALUATION, words_of
from jobs.metrics.positions import Position, count_of, position_of

MAX_LINE_CHARACTERS = 4_000
"""Of a longer line only the end is read, from a carriage return on. No program writes metrics in longer lines."""
_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])")
_DIGIT = re.compile(r"\d")
_WIDE = str.maketrans("：，（）", ":,()")
_RANK = re.compile(
    r"(?:[A-Z]{4,8}:[\w.]{1,60}:|(?:\[[\w:.]{1,40}\]){1,3}(?=\[))?[^A-Za-z]{0,40}"
    r"\[?(?:[Rr]ank|RK|default|trainer|[Pp]roc(?:ess)?|[Hh]ost|GPU)[ :=]?(\d{1,6})\]?(?=[:\s,|\[])"
    r"|[^(]{0,60}\[[\w.]{1,40}:\d{1,6}\] \((\d{1,4})/\d{1,4}\)(?=\s)"
    r"|\[\d+,(\d{1,6})\]<std|(\d{1,4}): (?=\W{0,2}(?:[Ee]poch|[Ss]tep|[Ii]ter))"
)
_LOGGED = re.compile(
    r"[^A-Za-z]{1,40}(?:[\w.]{1,40}[ -]{1,3})?(?:INFO|DEBUG|WARNING)\b[\s:|\])-]{1,4}"
    r"|\[[^A-Za-z\]]{1,40}(?:[\w.]{1,40}\]:|\])\s(?:copypaste: )?|[\[(]?[A-Za-z]{2,12}[ =:]?\d{1,6}[\])]?:\s"
)
"""What a logger or a process writes before the line of a table."""
_HEADING = re.compile(
    r"(?i)\b(test|val(?:id(?:ation)?)?|eval(?:uation)?)(?:ing|ating|uating)?\b(?: \w+){0,3}?"
    r"(?: begins?| starts?| results?|:|\.{3}|\u2026+)\W*\Z|\btrain(?:ing)?(?: (?:metrics|results):|\.{3}|\u2026+)\s*\Z"
    r"|\b(?:start|begin|runn)(?:ing)? (?:\w+ ){0,2}?(test|valid(?:ation)?|eval(?:uation)?)(?:ing|ating|uating)?\b\W*\Z"
    r"|\A\W*(?:(val(?:id(?:ation)?)?|test|eval(?:uation)?)(?:(?<=test)ing)?|train(?:ing)?)\W*\Z"
)


@dataclass(frozen=True, slots=True)
class Reading:
    """The values in a line: `epoch` of `epochs`, `step` of `steps`, and metrics by name. None if it has no such value.

    `is_inner` means that the step counts inside the epoch, as batches do. `columns`, `cell` and `is_rule` mean that the
    line belongs to a table: it names the columns, is a line of two columns, or may end the table. `rank` is that of the
    process that wrote it, if the line begins with it. `is_bare` means that the step is that of a bar without words.
    `heading` is the data that the values of the next lines were measured on: "Test metrics:"; None if the line does not
    change it. `within` has values that are metrics only once the training has begun: "lr: 0.01", and `maybe` values
    with names of no known words.
    """

    epoch: float | None = None
    epochs: int | None = None
    step: int | None = None
    steps: int | None = None
    is_inner: bool = False
    values: dict[str, float] = field(default_factory=dict)
    columns: tuple[str, ...] = ()
    cell: tuple[str, float | None] | None = None
    is_rule: bool = False
    rank: int | None = field(default=None, compare=False)
    is_bare: bool = field(default=False, compare=False)
    heading: str | None = field(default=None, compare=False)
    within: dict[str, float] = field(default_factory=dict, compare=False)
    maybe: dict[str, float] = field(default_factory=dict, compare=False)

    @property
    def is_empty(self) -> bool:
        """Whether the line contains no value."""
        return not self.values and not self.has_position and not self.columns and self.cell is None

    @property
    def has_position(self) -> bool:
        """Whether the line has an epoch, a step or one of their totals."""
        return any(each is not None for each in (self.epoch, self.epochs, self.step, self.steps))


NOTHING = Reading()


def read_line(message: str, columns: Sequence[str] = ()) -> Reading:
    """Return the values in a line. If carriage returns overwrite text, the last value of each kind is used.

    `columns` are those of the table that the program is printing.
    """
    pieces = _pieces(message)
    reading = _read_piece(pieces[-1], tuple(columns)) if pieces else NOTHING
    for piece in reversed(pieces[:-1]):
        if reading.values and reading.step is not None:
            break
        reading = _joined(reading, _read_piece(piece, tuple(columns)))
    heading = _HEADING.search(pieces[-1][-60:]) if pieces and not (reading.values or reading.heading) else None
    if heading is not None:
        begun = "train" if "etrics" in heading[0] else ""
        reading = replace(reading, heading=(heading[1] or heading[2] or heading[3] or begun).lower())
    ranked = _RANK.match(message[:80])
    return replace(reading, rank=int(ranked[ranked.lastindex or 1])) if ranked is not None else reading


def _pieces(message: str) -> list[str]:
    """Return the texts that a line showed one after another, without escape codes."""
    if len(message) > MAX_LINE_CHARACTERS:
        tail = message[-MAX_LINE_CHARACTERS:]
        start = min((at for at in (tail.find("\r"), tail.find("\b")) if at >= 0), default=-1)
        if start < 0:
            return []
        message = tail[start:]
    if "\x1b" in message:
        message = _ESCAPES.sub("", message)
    message = message if message.isascii() else message.translate(_WIDE)
    pieces = message.replace("\b", "\r").replace("#011", "\t").splitlines()
    return [piece for piece in pieces if piece.strip()][-8:]  # more than a program overwrites between two metrics


def _joined(later: Reading, earlier: Reading) -> Reading:
    """Return the values of two texts, of which `later` was written over `earlier`."""
    if earlier.is_empty or later.is_empty:
        return earlier if later.is_empty else later
    place = later if later.step is not None or earlier.step is None else earlier
    epoch = later if later.epoch is not None else earlier
    return replace(
        place,
        epoch=epoch.epoch,
        epochs=epoch.epochs,
        is_inner=place.is_inner and epoch.epoch is not None,
        values=later.values or earlier.values,
    )


def _read_piece(text: str, columns: tuple[str, ...]) -> Reading:
    has_digit = _DIGIT.search(text) is not None
    logged = _LOGGED.match(text)
    cells = text[logged.end() :] if logged is not None else text
    if columns and has_digit and (row := tables.row_of(cells, columns)) is not None:
        place, values = row
        bar = position_of(text) if "%" in text and place.step is None else Position()
        is_inner = bar.step is not None
        return Reading(place.epoch, place.epochs, bar.step if is_inner else place.step, bar.steps, is_inner, values)
    if names := tables.columns_of(cells):
        return Reading(columns=names)
    if (cell := tables.cell_of(text)) is not None:
        return Reading(cell=cell)
    if not has_digit:
        return replace(NOTHING, is_rule=tables.RULE.match(text) is not None)
    if "FB1:" in text and "accuracy:" not in text:  # of one class, as the script of CoNLL writes them
        return NOTHING
    if "{" in text and (found := objects.read_object(text)) is not None:
        return read_values(*found)
    return _read_text(text)


def read_values(found: Mapping[str, object], around: str = "") -> Reading:
    """Return the values of an object and the text around it, or of the cells of a table of two columns."""
    part = next((found[name] for name in ("split", "phase", "mode") if name in found), "")
    position, place = position_of(f"{around} [{part}]"), objects.positions_in(found)
    epoch, step = (
        objects.first_number(place, objects.EPOCH_NAMES),
        count_of(objects.first_number(place, objects.STEP_NAMES)),
    )
    has_place = epoch is not None or step is not None or position.is_known
    values = objects.metrics_in(found, has_place=has_place)
    if not values:  # those in the text of a structured entry, with the epoch and the step of the entry
        text = objects.text_in(found) or around
        reading = _read_text(text) if _DIGIT.search(text) else NOTHING
        if reading.is_empty:
            return reading
        epoch = reading.epoch if reading.epoch is not None else epoch
        return replace(reading, epoch=epoch, step=reading.step if reading.step is not None else step)
    return Reading(
        epoch=epoch if epoch is not None else position.epoch,
        epochs=count_of(objects.first_number(place, objects.EPOCHS_NAMES)) or position.epochs,
        step=step if step is not None else position.step,
        steps=count_of(objects.first_number(place, objects.STEPS_NAMES)) if step is not None else position.steps,
        is_inner=step is None and position.is_inner,
        values={named(name, position.part): value for name, value in values.items()},
    )


def _read_text(text: str) -> Reading:
    position = position_of(text)
    if position.is_other:
        # A bar of other work: the mean of an evaluation may stand in it.
        values, *_ = figures_in(text, Position())
        return Reading(values={named(name, position.part): value for name, value in values.items()})
    values, within, maybe = figures_in(text, position)
    if position.is_guess and not values:
        return replace(NOTHING, maybe=maybe)
    place = (position.epoch, position.epochs, position.step, position.steps, position.is_inner)
    heading = "" if position.is_of_training else None
    if position.part and not any(EVALUATION.isdisjoint(words_of(name)) for name in values):
        heading = position.part
    return Reading(*place, values, is_bare=position.is_bare, heading=heading, within=within, maybe=maybe)
