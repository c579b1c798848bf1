"""One line of a training log becomes its epoch, its step and its metrics. Pure.

The forms are those that Keras, PyTorch Lightning, tqdm, Hugging Face's Trainer, fairseq, OpenMMLab, Ultralytics,
XGBoost and LightGBM print, JSON objects, and plain `epoch 3/40 loss 0.31`; tests/unit/metrics holds published lines of
each with its source.
"""

import re
from dataclasses import dataclass, field

from jobs.metrics.names import PARTS, is_metric, is_quality, may_be_metric
from jobs.metrics.objects import (
    EPOCH_NAMES,
    EPOCHS_NAMES,
    MAX_VALUES,
    STEP_NAMES,
    STEPS_NAMES,
    first_number,
    metrics_in,
    number_of,
    read_object,
)

MAX_LINE_CHARACTERS = 4_000
"""Longer lines are not read: no program writes figures so."""
MAX_COUNT = 10**12
_WHOLE = r"(?:\d{1,3}(?:,\d{3})+|\d+)"
_NUMBER = rf"[-+]?(?:{_WHOLE}(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?"
_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])")
_EPOCH_OF = re.compile(rf"\bepochs?\b(?:\(\w+\))?[\s:#=\[(|]*({_WHOLE})\s*(?:/|of|out of)\s*({_WHOLE})", re.IGNORECASE)
_EPOCH = re.compile(rf"\bepoch\b(?:\(\w+\))?[\s:#=\[(]*({_WHOLE}(?:\.\d+)?)", re.IGNORECASE)
_AFTER_EPOCH = re.compile(rf"[\s\]:|,)\[]*({_WHOLE})\s*/\s*({_WHOLE})")
_STEP = re.compile(
    rf"(?<![/\w])(global_?step|step|iter(?:ation)?|batch|num_updates)s?\b[\s:=#\[(]*({_WHOLE})(?![\w.])"
    rf"(?:\s*(?:/|of|out of)\s*({_WHOLE}))?",
    re.IGNORECASE,
)
_BAR = re.compile(rf"(?:\d{{1,3}}%(?:\|[^|]*\|)?\s*)?({_WHOLE})/({_WHOLE})\s*\[(\d[^\]<]*<[^\]]*)\]?")
_YOLO = re.compile(rf"\s*({_WHOLE})/({_WHOLE})\s+[\d.]+G\s")
"""Ultralytics: the epoch, then the memory of the GPU."""
_BYTES = re.compile(r"[kMGTP]?i?B/s")
_TRAINS = re.compile(r"epoch|train|step|fit|iter", re.IGNORECASE)
_KERAS = re.compile(rf"\s*({_WHOLE})/({_WHOLE})\s+(?:\[[=>.]|-\s|[━╸╺])")
_ROUND = re.compile(rf"\s*\[({_WHOLE})\]:?\s+")
_BRACKET = re.compile(rf"\[\s*({_WHOLE})\s*/\s*({_WHOLE})\s*\]")
_NAME = r"[A-Za-z_][\w./@'\-]*"
_PAIR = re.compile(rf"((?:{_NAME} )?{_NAME})\s*[:=]\s*({_NUMBER})(?![\w/:])")
_BARE = re.compile(rf"((?:{_NAME} )?{_NAME})\s+({_NUMBER})(?![\w/:])")


@dataclass(frozen=True, slots=True)
class Reading:
    """What a line tells: `epoch` of `epochs`, `step` of `steps`, and metrics by name; None where it does not.

    `is_inner`: the step counts inside the epoch, as batches do. `is_begun`: the epoch has only begun.
    """

    epoch: float | None = None
    epochs: int | None = None
    step: int | None = None
    steps: int | None = None
    is_inner: bool = False
    values: dict[str, float] = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        """Whether the line tells nothing of the kind."""
        return not self.values and self.epoch is None and self.step is None


NOTHING = Reading()


def read_line(message: str) -> Reading:
    """Return what a line tells; of text that a carriage return overwrites only the last."""
    if len(message) > MAX_LINE_CHARACTERS:
        return NOTHING
    pieces = [piece for piece in _ESCAPES.sub("", message).replace("\b", "\r").splitlines() if piece.strip()]
    text = pieces[-1] if pieces else ""
    if not any(letter.isdigit() for letter in text):
        return NOTHING
    found = read_object(text)
    return _read_text(text) if found is None else _read_found(found)


def _read_found(found: dict[str, object]) -> Reading:
    data = found.get("data")
    place = found | data if isinstance(data, dict) else found
    values = metrics_in(found)
    if not values:
        return NOTHING
    return Reading(
        epoch=first_number(place, EPOCH_NAMES),
        epochs=_count(first_number(place, EPOCHS_NAMES)),
        step=_count(first_number(place, STEP_NAMES)),
        steps=_count(first_number(place, STEPS_NAMES)),
        values=values,
    )


def _read_text(text: str) -> Reading:
    epoch, epochs, rest = _epoch(text)
    bar = _BAR.search(text)
    is_other = bar is not None and (_BYTES.search(bar[3]) or not _is_of_training(text[: bar.start()]))
    if is_other and epoch is None:
        return NOTHING
    step, steps, is_inner = _step(text, rest, bar, has_epoch=epoch is not None)
    values = _values(text, has_place=epoch is not None or step is not None)
    return Reading(epoch, epochs, step, steps, is_inner, values)


def _is_of_training(description: str) -> bool:
    """Tell whether a progress bar is one of training: Trainer's has no description, a download's and a map's do."""
    return not re.search(r"[A-Za-z]", description) or bool(_TRAINS.search(description))


def _epoch(text: str) -> tuple[float | None, int | None, str]:
    """Return the epoch, how many there are, and the text behind them."""
    if (found := _EPOCH_OF.search(text) or _YOLO.match(text)) is not None:
        return _float(found[1]), _count(_float(found[2])), text[found.end() :]
    if (found := _EPOCH.search(text)) is not None:
        return _float(found[1]), None, text[found.end() :]
    return None, None, ""


def _step(text: str, rest: str, bar: re.Match[str] | None, *, has_epoch: bool) -> tuple[int | None, int | None, bool]:
    """Return the step, how many there are, and whether they count inside the epoch."""
    if bar is not None:
        return _count(_float(bar[1])), _count(_float(bar[2])), has_epoch
    if (found := _KERAS.match(text)) is not None:
        return _count(_float(found[1])), _count(_float(found[2])), True
    if rest and (found := _AFTER_EPOCH.match(rest)) is not None:
        return _count(_float(found[1])), _count(_float(found[2])), True
    steps = sorted(_STEP.finditer(text), key=lambda each: (not each[3], not each[1].lower().startswith(("g", "num"))))
    if steps:
        word, step, total = steps[0].groups()
        return _count(_float(step)), _count(_float(total)) if total else None, word.lower() == "batch"
    if (found := _ROUND.match(text)) is not None:
        return _count(_float(found[1])), None, False
    if (found := _BRACKET.search(text)) is not None and _PAIR.search(text):
        return _count(_float(found[1])), _count(_float(found[2])), has_epoch
    return None, None, False


def _values(text: str, *, has_place: bool) -> dict[str, float]:
    """Return the metrics of a line; without a step or an epoch only those whose name leaves no doubt."""
    values: dict[str, float] = {}
    for pattern, is_wanted in ((_PAIR, may_be_metric if has_place else is_quality), (_BARE, is_metric)):
        if pattern is _BARE and not has_place:
            break
        for found in pattern.finditer(text):
            name = _name(found[1])
            number = number_of(found[2].replace(",", ""))
            if number is not None and is_wanted(name) and len(values) < MAX_VALUES:
                values.setdefault(name, number)
    return values


def _name(words: str) -> str:
    """Return a metric's name: its last word, with the one before where that tells the data it was measured on."""
    before, _, name = words.rpartition(" ")
    if before.endswith("'s"):
        return f"{before.removesuffix(chr(39) + 's')} {name}"
    return f"{before} {name}".lower() if before.lower() in PARTS else name


def _float(text: str) -> float:
    return float(text.replace(",", ""))


def _count(number: float | None) -> int | None:
    """Return a whole number that can count steps; None for what cannot."""
    return int(number) if number is not None and 0 <= number <= MAX_COUNT else None
