"""Parse named values in a line of text: `loss: 0.31`, `acc=0.9`, `train loss 4.28`, `Accuracy: 9822/10000`. Pure."""

import re
from collections.abc import Iterator

from jobs.metrics.names import (
    ABOUT_NOTHING,
    EVALUATION,
    MAX_NAME_CHARACTERS,
    PARTS,
    PARTS_OF_DATA,
    is_measured,
    is_metric,
    is_of_evaluation,
    is_quality,
    may_be_metric,
)
from jobs.metrics.objects import MAX_VALUES, is_measure, number_of
from jobs.metrics.positions import WHOLE, Position, splits_in

Figure = tuple[str, str, str, str, int]

MAX_WORDS = 4
"""Maximum number of words of one name."""
MAX_OTHERS = 3
"""Maximum number of settings per metric. A line with more, without a step or an epoch, lists a program's settings."""
NUMBER = rf"[-+]?(?:{WHOLE}(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?"
_FIGURE = re.compile(
    rf"(?:(?<=[\w@'\")])(?P<sign>\s*[:=]\s*\[{{0,2}})|(?<=[\w@])(?: is| was| of)?\s+)"
    rf"(?P<number>{NUMBER})(?P<of>/\d{{1,15}})?"
    r"(?![\w/]|\.\w|:\w|: \d+\.\d|-\d|\s*\*(?!\s*\d)|%\s*(?:[|━]|\d+/)|\s+(?:hours?|minutes?|seconds?|secs|days?|ms)\b)"
)
_ENDS_NAME = re.compile(r"[,;|\t()\[\]{}<>\"]\s*|'(?!s\s)\s*|\s-{1,2}\s+|\s{2,}|[:=]\s+|:(?=[A-Za-z])")
_NAME_WORD = re.compile(r"(?:[A-Za-z_][\w./@'\-]*|\.\d+)\Z")
NO_FIGURES = frozenset({"train", "training", "step", "epoch", "iteration", "iter", "batch"})
"""Last words of counters: timm's `Train: 2` is an epoch, and so is the number after `val loss, epoch`."""
_CONDITION = re.compile(r"@\[[^\]]*\]")
"""COCO's `AP @[ IoU=0.50:0.95 | area=all ] = 0.391` names a condition here, not a metric."""
_NOTE = re.compile(
    r"(?i)(?<=\w) (?:\([A-Za-z][A-Za-z .]{0,30}(?:@[\d.:]+)?\)|for final step"
    r"|(?:of|on) the(?:(?: \w+){0,9}( train| test| val(?:idation)?)\b)?(?: \w+){0,9})(?= ?[:=]|\s+\d*\.\d)"
)
"""LitGPT's `loss train (curr): 1.1`, and `Accuracy of the network on the 10000 test images: 54.1 %`."""
_AT = re.compile(r"(?:step|epoch|iteration|iter|batch) #?\d+\s*[:=]\s*(?=[-+.\d])", re.IGNORECASE)
_BEFORE_AT = re.compile(r"(?<=\w)(?: (?:at|after|on|for|in))?(?: the)?(?: global)? \Z", re.IGNORECASE)
"""`Average loss at step 100: 3.45`."""


def figures_in(text: str, position: Position) -> dict[str, float]:
    """Return the metrics of a line. Without a step or an epoch, only names that are certainly metrics are used."""
    if "@[" in text or ")" in text or " the " in text or " final " in text:
        text = _CONDITION.sub(" ", text)
        text = _NOTE.sub(lambda note: "" if (note[1] or "").strip() in text[: note.start()].lower() else note[1], text)
    if position.is_known:
        # `Average loss at step 100: 3.45` becomes `Average loss: 3.45`.
        found = _AT.search(text)
        before = _BEFORE_AT.search(text[: found.start()]) if found is not None else None
        text = f"{text[: before.start()]}: {text[found.end() :]}" if found is not None and before is not None else text
    values: dict[str, float] = {}
    measured, others, previous, part = 0, 0, "", ""
    has_place = position.is_known
    figures = list(_figures(text))
    splits = _splits(text, figures)
    for (name, number, whole, sign, _at), split in zip(figures, splits, strict=True):
        name, previous = _whole(name, previous), name
        others += bool(sign) and not is_metric(name) and may_be_metric(name)
        if not _is_wanted(name, number, whole, sign, has_place=has_place):
            continue
        # `val Loss: 0.2 Acc: 0.9`: a name goes on with the data of the one before it.
        first, space, _rest = name.partition(" ")
        part = first if space and first.lower() in PARTS_OF_DATA else part
        split = split or (part if part != first and is_quality(name) else "")
        value = number_of(number.replace(",", ""))
        if whole:
            value = _share(value, int(whole[1:]), name)
        if value is not None and len(values) < MAX_VALUES:
            measured += is_measured(name)
            values.setdefault(_named(name.lower() if " " in name else name, split), value)
    is_doubtful = position.is_guess or not has_place
    return {} if is_doubtful and (not measured or others > MAX_OTHERS * measured) else values


def with_part(values: dict[str, float], part: str) -> dict[str, float]:
    """Return metrics with the data on which they were measured in their names."""
    return {_named(name, part): value for name, value in values.items()} if part else values


def _splits(text: str, figures: list[Figure]) -> list[str]:
    """Return for each figure the data that it was measured on, by the words before it, or after all of them."""
    marks = splits_in(text)
    if len({split for _at, split in marks}) == 1 and marks[0][1] == "train":
        marks = []
    after = marks[0][1] if len(marks) == 1 and figures and marks[0][0] > figures[-1][4] else ""
    return [([after] + [split for place, split in marks if place <= at])[-1] for *_others, at in figures]


def _whole(name: str, before: str) -> str:
    """Return LitGPT's `loss train: 1.1, val: 1.2` as `train loss` and `val loss`. `before` is the name before it."""
    if name.lower() in EVALUATION and before.lower().endswith(" train"):
        return f"{name} {before[: -len(' train')]}"
    first, _space, last = name.rpartition(" ")
    return f"{last} {first}" if first and last.lower() == "train" else name


def _figures(text: str) -> Iterator[Figure]:
    """Yield each name with its number as written, a following `/100`, the sign between them, and its place."""
    start = 0
    for found in _FIGURE.finditer(text):
        sign = found["sign"]
        name = _name(text[max(start, found.start() - 2 * MAX_NAME_CHARACTERS) : found.start()])
        start = found.end()
        if name:
            yield name, found["number"], found["of"] or "", (sign.strip() and sign) if sign else "", found.start()


def _name(before: str) -> str:
    """Return the name at the end of a text: all words since the last mark, or the last word and what belongs to it.

    LightGBM's `valid_0's rmse` is one name of two words.
    """
    words = _ENDS_NAME.split(before.rstrip("'\" "))[-1].split()
    names: list[str] = []
    for word in reversed(words[-MAX_WORDS - 1 :]):
        if _NAME_WORD.match(word) is None or word.lower() in ABOUT_NOTHING:
            break
        names.insert(0, word.rstrip("."))
    if len(names) < 2:
        return names[0] if names else ""
    if len(names) == len(words) <= MAX_WORDS:
        return " ".join(names).replace("'s ", " ")
    # The last word, with the previous one if that is the data it was measured on.
    part, name = names[-2:]
    return f"{part} {name}" if part.lower() in PARTS else name


def _is_wanted(name: str, number: str, whole: str, sign: str, *, has_place: bool) -> bool:
    """Return whether a number may be a metric. Without a sign between name and number, the name has to be known."""
    if number.isdigit() and name.rpartition(" ")[2].lower() in NO_FIGURES:
        return False
    if not has_place:
        return (
            is_quality(name)
            and (bool(whole) or is_measure(name, number.replace(",", "")))
            and (bool(sign) or "." in number)
        )
    if not sign or (sign.rstrip("[") == ":" and number.isdigit()):
        return is_metric(name)
    return may_be_metric(name) or is_measured(name)


def _share(value: float | None, whole: int, name: str) -> float | None:
    """Return `9822/10000` of an accuracy as a fraction, or None for other counts."""
    return value / whole if value is not None and whole and value <= whole and is_quality(name) else None


def _named(name: str, part: str) -> str:
    return f"{part} {name}" if part and not is_of_evaluation(name) else name
