"""Parse named values in a line of text: `loss: 0.31`, `acc=0.9`, `train loss 4.28`, `Accuracy: 9822/10000`. Pure."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from jobs.metrics import names
from jobs.metrics.objects import CALLS, MAX_VALUES, is_measure, number_of
from jobs.metrics.positions import WHOLE, Position, splits_in

MAX_WORDS = 4
"""Maximum number of words of one name."""
MAX_OTHERS = 3
"""Maximum number of settings per metric. A line with more, without a step or an epoch, lists a program's settings."""
NUMBER = rf"[-+]?(?:{WHOLE}(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?"
_SIGN = r"\s*[:=]\s*(?:\[{1,2}(?=(?P<one>[^\[\],]{1,40})(?:,\s?(?P=one)){0,16}\])|(?!\[)|\((?=[-+.\deE]{1,30},?\)))"
_SIGN += r"|\s\[(?=[^\[\],]{1,40}\])|\s-\s(?=\d*\.\d)|\s\|\s{2}(?=\s*[-\d.e]{1,30}\s*\Z)\s*"
"""A sign before a number that may stand in brackets, also repeated: `lr:(2.0e-04,)`, `lr=[1e-5, 1e-5]`; a dash before a
decimal: `iou - 0.71`; a bar before the last number of a line: `train loss |  4.1`."""
_FIGURE = re.compile(
    rf"(?:(?<=[\w@'\")])(?: is| was)?(?P<sign>{_SIGN})|(?<=[\w@])(?: is| was| of)?\s+|(?<=') reached\s+)"
    rf"(?P<number>{NUMBER})(?P<of>/\d{{1,15}})?(?!(?!dB\b)[\w/]|\.\w|:\w|\s?: \d+\.\d|-\d|\s*-+>|\s*\*(?!\s*\d)"
    r"|%(?:\||\s*(?:━|\d+/))|\s*[\s\[](?:hours?|minutes?|seconds?|secs?|days?|ms)\b)"
)
_AFTER = re.compile(
    rf"(?:^\s*|[,;|(]\s*|: )(?P<number>{NUMBER})\s+(?:=\s+)?(?P<name>[A-Za-z][\w ]{{0,30}}?)\s*(?=[,;|)]|$)"
)
"""Darknet's `0.6892 avg loss, 0.0008 rate`, and AutoGluon's `0.956 = Validation accuracy score`."""
_UNIT = re.compile(r"\s?(?:%|dB|[kKMGT]i?B|m?s|secs?|[A-Za-z]{1,12}/s(?:ec(?:ond)?s?)?)(?![\w/])")
_BEST, _BEST_LINE = re.compile(r"(?i)\bbest\b"), re.compile(r"(?i)[^A-Za-z]*(?:[A-Za-z]+ ){0,2}best\b")
_ENDS_NAME = re.compile(
    r"(?:(?<=[\d%)])|(?<=done)|(?<=complete)|(?<=pleted)|(?<=ished)|(?<=ended))\.\s+|[,;|\t()\[\]{}<>\"]\s*|'(?!s\s)\s*|\s-{1,2}\s+|\s{2,}|[:=]\s+|:(?=[A-Za-z])"
)
_STATISTIC = re.compile(r"(?i)\b(?:std|mean|average) of \w+\s*\Z")
_NAME_WORD = re.compile(r"(?:[^\W\d][\w./@'^\-]*|\.\d+|[23]D)\Z")
_PAIR = re.compile(r"\('(\w{1,64})', (?=[-\d.])")  # `OrderedDict([('loss', 2.9), ...` of TensorFlow Federated
_SHARED = re.compile(r"\b(\w{1,30}): (train) (\d[^\s,]{0,30}),? (val|valid|test) (?=\d)")  # `loss: train 3.7 val 3.8`
_TOP = re.compile(r"(?i)(?<=\btop) (?=\d{1,2} )")
NO_FIGURES = frozenset({"train", "training", "step", "epoch", "iteration", "iter", "batch"})
"""Last words of counters: timm's `Train: 2` is an epoch, and so is the number after `val loss, epoch`."""
_CONDITION = re.compile(r"@\[[^\]]*\]|(?<=[A-Za-z]) ?\(\d[^()]{0,20}\)(?=\s?[:=])|(?<=lr)\([A-Za-z]{4,30}\)(?=\s?[:=])")
_KIND = re.compile(r"(?<=\w)\(([A-Za-z]{4,30})\)(?=\s?[:=])")  # `MRR(filter): 0.4`
"""A condition, not a metric: COCO's `AP @[ IoU=0.50:0.95 ] = 0.391`, `mAP(0.50, 11point) = 80.7`, `lr(Cosine): 0.1`."""
_NOTE = re.compile(
    r"(?i)(?<=\w) (?:\([A-Za-z][A-Za-z .\d]{0,30}(?:@[\d.:]+)?\)|for final step|\[\d[\d, -]{0,30}\]"
    r"|(?<!\d )(?:(?:of|on) (?:the|\d[\d,]*)|per(?= (?:train|eval|val|test)))"
    r"(?:(?: \w+){0,9}( train(?:ing)?| test| val(?:idation)?| eval(?:uation)?)\b)?(?: \w+){0,9})(?= ?[:=]|\s+\d*\.\d)"
)
"""LitGPT's `loss train (curr): 1.1`, and `Accuracy of the network on the 10000 test images: 54.1 %`."""
_AT = re.compile(r"(?:step|epoch|episode|iteration|iter|batch) #?\d+\s*(?:[:=]|is\b)\s*(?=[-+.\d])", re.IGNORECASE)
_BEFORE_AT = re.compile(r"(?<=\w)(?: (?:at|after|on|for|in))?(?: the)?(?: global)? \Z", re.IGNORECASE)
"""`Average loss at step 100: 3.45`."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A number in a line with the name before it. `is_alone`: nothing else stands between it and the previous number.

    `number` and `whole`, a following `/100`, are as written; `sign` is ":" or "=", or "" if only a space is there.
    """

    name: str
    number: str
    whole: str
    sign: str
    at: int
    is_alone: bool

    @property
    def is_decimal(self) -> bool:
        """Whether the number is no integer."""
        return not self.number.isdigit()


def figures_in(text: str, position: Position) -> tuple[dict[str, float], dict[str, float], dict[str, float]]:
    """Return the metrics of a line, and the values that are metrics only once a training has begun, as `lr: 0.1`.

    Without a step or an epoch, only names that are certainly metrics are used. The third are values whose names are no
    known words.
    """
    text = _without_notes(_TOP.sub("", text))
    certain, within, beside, maybe = (dict[str, float]() for _kind in range(4))  # beside metrics: `LR 0.1 | Loss 9.4`
    measured, others, settings, previous, part, since = 0, 0, 0, "", "", 0
    figures = list(_figures(text))
    splits = _splits(text, figures)
    # `LR 0.1 Sup 1.3 mIoU 85.9`: next to a metric, other names of one word are metrics, too.
    is_row = position.is_known and any(not each.sign and names.is_metric(each.name) for each in figures)
    best_line = _BEST_LINE.match(text) if len(_BEST.findall(text)) == 1 else None
    for figure, split in zip(figures, splits, strict=True):
        name, previous = _whole(figure.name, previous), figure.name
        is_setting = bool(figure.sign) and not names.is_metric(name)
        settings, others = settings + is_setting, others + (is_setting and names.may_be_metric(name))
        values = certain
        if not _is_wanted(figure, name, has_place=position.is_known, is_row=is_row):
            values = within if figure.sign and names.is_likely(name) else beside
            is_sound = names.is_likely(name) or (figure.sign and names.may_be_metric(name))
            if position.is_known or not figure.is_decimal or not is_sound:
                signs = bool(figure.sign) + figure.is_decimal + figure.is_alone
                if signs < 2 or figure.whole or not names.may_be_measured(name, is_decimal=figure.is_decimal):
                    continue
                values = maybe
        best = best_line or _BEST.search(text, max(0, figure.at - 48), figure.at)  # `best metric, acc: 0.91`
        if best is not None and (not (position.is_known and best.start()) or text[best.end() : best.end() + 2] == " ["):
            name = name if "best" in name.lower() else f"best {name}"
        # `val Loss: 0.2 Acc: 0.9`: a name goes on with the data of the one before it.
        first, space, _rest = name.replace("-", " ", 1).partition(" ")
        is_cut = "|" in text[since : figure.at] and text.count("(", 0, figure.at) == text.count(")", 0, figure.at)
        part, since = "" if is_cut else part, figure.at
        part = first.lower() if space and first.lower() in names.PARTS_OF_DATA else part
        is_of_part = names.is_quality(name) or (bool(figure.sign) and part in names.EVALUATION)
        split = split or (part if first.lower() not in (part.lower(), "best") and is_of_part else "")
        value = number_of(figure.number.replace(",", ""))
        if figure.whole and value is not None:  # `9822/10000` of an accuracy is a fraction, others are counts
            whole = int(figure.whole[1:])
            value = value / whole if whole and value <= whole and names.is_quality(name) else None
        value = None if values is maybe and best is not None and "best" not in name.lower() else value
        if value is not None and len(values) < MAX_VALUES:
            is_outcome = bool(position.steps and figure.sign) and name.lower() in names.OUTCOMES
            measured += values is certain and (is_outcome or names.is_measured(name))
            values.setdefault(named(name.lower() if " " in name else name, split), value)
    if (position.is_guess or not position.is_known) and (not measured or others > MAX_OTHERS * measured):
        is_lone = len(figures) == 1 and text.split()[-2:] == [figures[0].name, figures[0].number]
        other = not any(each.is_decimal for each in figures) or names.COSTS.intersection(names.words_of(text))
        is_signed = all(each.sign and each.name not in names.STATISTICS for each in figures)
        is_pairs = is_signed and not other and all(each.is_alone for each in figures[1:])
        unsure = certain | within | maybe | beside if is_lone or is_pairs or position.is_guess else {}
        return {}, certain | within if measured else within if settings <= len(within) else {}, unsure
    if not others:
        data = {names.words_of(name)[0] for name in certain}  # `Dev WER: 25.02% DEV del 09.50% DEV ins 02.19%`
        beside_data = {name for name in beside if names.is_measured(name) and names.words_of(name)[0] in data}
        more = (within | beside).items()
        certain |= {name: value for name, value in more if name in beside_data or names.is_metric(name)}
    is_row = len(beside) < measured or all(each.sign and each.is_alone for each in figures)
    return certain, within | beside if is_row else within, maybe | beside


def _without_notes(text: str) -> str:
    """Return a text without notes between names and numbers: `Average loss at step 100: 3.45`."""
    text = _PAIR.sub(r" \1=", text) if "OrderedDict(" in text else text
    text = _SHARED.sub(r"\2 \1: \3 \4 \1: ", text) if ": train " in text else text
    text = CALLS.sub(r"\1", text) if "tensor(" in text or "Array(" in text or ".float" in text else text
    if (
        "@[" in text
        or ")" in text
        or " the " in text
        or any(word in text for word in (" final ", " of ", " on ", " per ", "]:"))
    ):
        text = _KIND.sub(r" \1", _CONDITION.sub(" ", text))
        text = _NOTE.sub(lambda note: "" if (note[1] or "").strip() in text[: note.start()].lower() else note[1], text)
    found = _AT.search(text)
    before = _BEFORE_AT.search(text[: found.start()]) if found is not None else None
    return f"{text[: before.start()]}: {text[found.end() :]}" if found is not None and before is not None else text


def _splits(text: str, figures: list[Figure]) -> list[str]:
    """Return for each figure the data that it was measured on, by the words before it, or after all of them."""
    marks = splits_in(text)
    if {split for _at, split in marks} == {"train"} and "valuat" not in text:
        marks = []
    after = marks[0][1] if len(marks) == 1 and figures and marks[0][0] > figures[-1].at else ""
    return [([after] + [split for place, split in marks if place <= figure.at])[-1] for figure in figures]


def _whole(name: str, before: str) -> str:
    """Return LitGPT's `loss train: 1.1, val: 1.2` as `train loss` and `val loss`. `before` is the name before it."""
    if name.lower() in names.EVALUATION and before.lower().endswith(" train"):
        return f"{name} {before[: -len(' train')]}"
    first, _space, last = name.rpartition(" ")
    return f"{last} {first}" if last.lower() in names.PARTS_OF_DATA and names.is_quality(first) else name


def _figures(text: str) -> Iterator[Figure]:
    """Yield the numbers that have a name."""
    start = 0
    for found in _FIGURE.finditer(text):
        before = text[max(start, found.start() - 2 * names.MAX_NAME_CHARACTERS) : found.start()]
        sign = found["sign"] or ""
        # A name is padded so that the signs stand below each other: `Force  MAE     : 0.2`.
        name = _name(" ".join(before.split()) if sign[:2] == "  " or "|" in sign else before)
        sign = sign.strip(" [(")
        unit = _UNIT.match(text, found.end())
        start = unit.end() if unit is not None else found.end()
        if name:
            is_alone = before.rpartition(")")[2].rpartition("|")[2].strip(" ,;\t%-") == name
            yield Figure(name, found["number"], found["of"] or "", sign, found.start(), is_alone)
    if not start or "," in text:
        for found in _AFTER.finditer(text):
            name = "avg loss" if found["name"] == "avg" else found["name"]
            if names.is_metric(name):
                yield Figure(name, found["number"], "", ",", found.start(), is_alone=False)


def _name(before: str) -> str:
    """Return the name at the end of a text: all words since the last mark, or the last word and what belongs to it.

    LightGBM's `valid_0's rmse` is one name of two words.
    """
    words = _ENDS_NAME.split(before.rstrip("'\" "))[-1].split()
    found: list[str] = []
    is_cut = False
    for word in reversed(words[-MAX_WORDS - 1 :]):
        is_of = word == "of" and bool(found) and _STATISTIC.search(before) is not None
        is_name = not found and word.isupper() and word.lower() not in names.LOG_LEVELS  # `IS=2.3`
        if not is_of and (_NAME_WORD.match(word) is None or (not is_name and word.lower() in names.ABOUT_NOTHING)):
            is_cut = True
            break
        found.insert(0, word.rstrip("."))
    if len(found) < 2:
        return found[0] if found else ""
    if (is_cut or len(found) == len(words)) and len(found) <= MAX_WORDS:
        return " ".join(found).replace("'s ", " ")
    # The last word, with the previous one if that is the data it was measured on.
    part, name = found[-2:]
    return f"{part} {name}" if part.lower() in names.PARTS else name


def _is_wanted(figure: Figure, name: str, *, has_place: bool, is_row: bool) -> bool:
    """Return whether a number may be a metric. Without a sign between name and number, the name has to be known."""
    if not figure.is_decimal and name.rpartition(" ")[2].lower() in NO_FIGURES:
        return False
    if not has_place:
        return (
            names.is_quality(name)
            and (bool(figure.whole) or is_measure(name, figure.number.replace(",", "")))
            and (bool(figure.sign) or "." in figure.number)
        )
    if not figure.sign or not figure.is_decimal:
        is_word = " " not in name and "." in figure.number and names.may_be_metric(name)
        is_joined = len(names.words_of(name)) > 1 and names.is_measured(name)  # `Val_rf 0.48`
        return names.is_metric(name) or (is_word and ((is_row and figure.is_alone) or is_joined))
    return names.may_be_metric(name) or names.is_measured(name)


def named(name: str, part: str) -> str:
    """Return the name of a metric with the data that it was measured on, unless it contains it."""
    is_complete = not part or names.is_quiet(name) or not names.PARTS_OF_DATA.isdisjoint(names.words_of(name))
    return name if is_complete else f"{part} {name}"
