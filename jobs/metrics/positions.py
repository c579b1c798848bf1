"""Parse the epoch and the step of a line of text. Pure."""

import re
from dataclasses import dataclass

MAX_COUNT = 10**12
WHOLE = r"(?<!\d)(?:\d{1,3}(?:,\d{3}){1,5}|\d{1,18})(?!\d)"
"""A whole number, read once: from its first digit, and not a part of a longer one."""
_MANY = rf"(?:{WHOLE}|(?<![\d.])\d{{1,3}}\.\d{{1,2}}[kM])"
"""A count as tqdm writes it, in thousands or millions if it is asked to."""
_WORD = r"(?:(?<![\w-])|(?<=---))(?<!(?<!\d)/)"
"""Where a word may begin: not inside a flag, a path or another name."""
_EPOCH_OF = re.compile(
    rf"(?i){_WORD}(?:epochs?|(?<![A-Za-z] )ep\.?)(?![A-Za-z_])(?:\(\w+\)|\.{{3}})?[\s:#=\[(|]*"
    rf"({WHOLE})\s*(?:/|of|out of)\s*({WHOLE})"
)
_EPOCH = re.compile(
    rf"(?i){_WORD}(?<!best )(?<!from )(?<!at )(?<!each )(?<!per )(?:epoch|(?<![A-Za-z] )ep\.?)(?![A-Za-z_])(?:\(\w+\))?"
    rf"['\"]?[\s:#=\[(]*({WHOLE}(?:\.\d+)?)"
)
_EPOCH_AFTER = re.compile(rf"{_WORD}({WHOLE})(?:/({WHOLE}))?epoch\b", re.IGNORECASE)
_TRAIN = re.compile(rf"{_WORD}train(?:ing)?:?\s+({WHOLE})\s*(?=\[|,\s*\d+ ?/)", re.IGNORECASE)
"""timm: `Train: 0 [  50/1251 (  4%)]`, and pytracking: `[train: 2, 50 / 468]`."""
_YOLO = re.compile(rf"\s*({WHOLE})/({WHOLE})\s+[\d.]+G\s")
"""Ultralytics: the epoch, then the memory of the GPU."""
_AFTER_EPOCH = re.compile(rf"[\s\]:|,)\[]*({WHOLE})\s*/\s*({WHOLE})(?![\d/.])")
_NOT_AFTER = "".join(
    f"(?<!{word} )" for word in "total max num skipped nan warmup best eval val test validation per each".split()
)
_STEP = re.compile(
    rf"{_WORD}{_NOT_AFTER}(?:(global[ _]?|num[ _](?=updates|timesteps)))?"
    r"(training_iteration|(?:time)?step|iter(?:ation)?|itr|batch|upd(?:ate)?|episode|gen(?:eration)?|round)((?:e?s)?)"
    r"(?:[_ ]i(?:d|dx|ndex)?)?\b(?!\s*=\s*\[)['\"]?\s*[:=#]?\s*[\[(]?\s*"
    rf"({WHOLE}K?)(?!\w|\.\d|[:-]\d)(?:\s*(?:/|of|out of)\s*({WHOLE}))?",
    re.IGNORECASE,
)
_STEP_WORDS = ("step", "iter", "itr", "batch", "upd", "episode", "gen", "round")
_COUNTED = re.compile(rf"({WHOLE})\s*/\s*({WHOLE})(?:\s+(?:batches|steps|iterations|iters|of epoch)\b|(?=, train/))")
_EPOCH_AND_STEP = re.compile(rf"\s*\[({WHOLE}),\s*({WHOLE})\]\s+(?=[A-Za-z ]*loss)")
"""PyTorch's tutorials: `[2,  2000] loss: 1.234`."""
_TOTAL_EPOCHS = re.compile(
    rf"(?i)(?:(?:(?:num|max|total)[ _-](?:train[ _-])?|\bepoch=\d{{1,9}}\s)epochs['\"]?\s*[:=]\s*['\"]?"
    rf"|\btrain\w* for (?=\d+ epochs))({WHOLE})"
)
_TOTAL_STEPS = re.compile(
    rf"(?:max|total)[ _-](?:optimization |train(?:ing)?[ _-])?steps['\"]?\s*[:=]\s*({WHOLE})", re.IGNORECASE
)
_BAR = re.compile(rf"({_MANY})(?:it)?/({_MANY})(?:it)?(?: (?=rate:)|\s*\[)((?:\d[^\]<]*<|rate:)[^\]]*)\]?")
_RICH_BAR = re.compile(rf"(?<![━╸╺─-])[━╸╺─-]{{3,}}+\s+({WHOLE})/({WHOLE})\s+(?=\d+:\d\d|\d[\d.]*(?:it/s|s/it))")
_OPEN_BAR = re.compile(rf"(?<![\w.])({WHOLE})it\s*\[\d")
_LETTER = re.compile(r"[A-Za-z]")
_OF_FIGURES = re.compile(r"(?i)(?:loss|cost|reward)[\s:=]+(?:nan|inf|[-+.\d])|[:=]\s*[-+]?\d|\A (?:is|was) [-+.\d]")
_OTHER_UNITS = re.compile(r"(?:[kMGTP]?i?B|examples?|files?|shards?|rows?|docs?|tables?|ba)/s")
_TRAINS = re.compile(r"epoch|train|step|fit|iter|loss|acc", re.IGNORECASE)
_OTHER_WORK = re.compile(
    r"(?<![a-z])(?:valid|eval|test|predict|sanity|infer|generat|tokeniz|map|filter|download|upload|fetch|load|convert"
    r"|extract|appl|prepar|preproc|process|cach|scan|encod|pack|truncat|sav|copy|resolv|comput)",
    re.IGNORECASE,
)
_KERAS = re.compile(rf"\s*(?:step {{1,4}})?({WHOLE})/({WHOLE}|Unknown)(?:\s+(?:\[[=>.]|-\s|[━╸╺])|[:,]\s)")
_ROUND = re.compile(
    rf"(?:\A\s*|[:\]-]\s*)\[({WHOLE})\]:?\s+(?=[A-Za-z])|\A\s*({WHOLE}):(?:\t|\s+(?=learn|test|\d+\.\d+, ))"
)
_BRACKET = re.compile(rf"\[\s*({WHOLE})\s*/\s*({WHOLE})\s*\](?:,?\s*\[\s*({WHOLE})\s*/\s*({WHOLE})\s*\])?")
_SPLIT = re.compile(
    r"(?i)(?:^|[\s|\]:*])(train|test|val|valid|validation|eval|evaluation|dev|cv)"
    r"(?:(?<=train)ing|(?<=test)ing|(?<=valid)at(?:e|ing)|(?<=eval)uating)?"
    r"(?:[\s_]+(?:set|results?|metrics|summary|net output #\d+))?\s*"
    r"(?:(?:(?:after|at|for)\s+)?(?:epoch|(?:global )?step|num_timesteps|iter)"
    r"|batch|(?<=set )\d+\s|:\s*(?![\d.+\s-]|n/a|none|nan)|,\s+(?=[A-Za-z][\w ]{0,30}[:=])"
    r"|\||\[|@|\((?:\d+/|epoch|step)|on\b|with\b|(?:loss )?at\b|- [A-Z]|\s(?!t|v)\w+: [A-Z])"
    r"|[(\[](train|val|valid|validation|test|eval)(?:[)\]]| ?@)"
    r"|\b(?:split|phase|mode|collection)=(?:training_(?=eval))?(train|valid|val|test|eval)"
)


@dataclass(slots=True)
class Position:
    """The position of a line in a training, as in `Reading`. `part` is the data of an evaluation that the line is of.

    `is_guess` means that the position was read from the form of the line alone, and counts only with measured values.
    `is_other` means that the line is a progress bar of something else.
    """

    epoch: float | None = None
    epochs: int | None = None
    step: int | None = None
    steps: int | None = None
    is_inner: bool = False
    part: str = ""
    is_guess: bool = False
    is_other: bool = False
    is_bare: bool = False
    is_of_training: bool = False

    @property
    def is_known(self) -> bool:
        """Whether the line has an epoch or a step."""
        return self.epoch is not None or self.step is not None


def position_of(text: str) -> Position:
    """Return the epoch and the step of a line, their totals, and whether the line is of an evaluation."""
    lower = text.lower()
    position, rest = Position(), ""
    if "ep" in lower or "train" in lower:
        rest = _set_epoch(position, text)
    elif "G " in text and (found := _YOLO.match(text)) is not None:
        position.epoch, position.epochs = epoch_of(found[1]), count_of(found[2])
    splits = {split for _, split in splits_in(text)} if "v" in lower or "t" in lower else set()
    position.is_of_training = "train" in splits
    position.part = splits.pop() if len(splits) == 1 and not position.is_of_training else ""
    text = _set_totals(position, text, lower)
    lower = text.lower()
    if not _set_by_bar(position, text):
        total = position.steps
        _set_step(position, text, lower, rest)
        if total and (position.is_guess or position.step is None):
            position.step, position.steps, position.is_guess = None, total, False
    if position.part and position.steps is not None:
        position.step = position.steps = None
        position.is_inner = position.is_guess = False
    return position


def splits_in(text: str) -> list[tuple[int, str]]:
    """Return where a line names a part of the data: [(place, "train")]."""
    return [(found.start(), (found[1] or found[2] or found[3]).lower()) for found in _SPLIT.finditer(text)]


def _set_epoch(position: Position, text: str) -> str:
    """Set the epoch and the total of epochs. Return the text after them."""
    if (found := _EPOCH_OF.search(text) or _EPOCH_AFTER.search(text)) is not None:
        position.epoch, position.epochs = epoch_of(found[1]), count_of(found[2])
    elif (found := _EPOCH.search(text) or _TRAIN.search(text)) is not None:
        position.epoch = epoch_of(found[1])
    return text[found.end() :] if found is not None else ""


def _set_totals(position: Position, text: str, lower: str) -> str:
    """Set the total of epochs or steps if the line contains it. Return the text without the total of steps."""
    if "epochs" in lower and (found := _TOTAL_EPOCHS.search(text)) is not None:
        position.epochs = count_of(found[1])
    if "steps" in lower and (found := _TOTAL_STEPS.search(text)) is not None:
        position.steps = count_of(found[1])
        return f"{text[: found.start()]} {text[found.end() :]}"
    return text


def _set_by_bar(position: Position, text: str) -> bool:
    """Set the step from a progress bar. Return whether there is one."""
    found = _BAR.search(text) if "<" in text or " rate:" in text else None
    if found is None and ("━" in text or "---" in text):
        found = _RICH_BAR.search(text)
    if found is None:
        return False
    details, words = found[3] if found.re is _BAR else text[found.end() :], text[: found.start()]
    has_words = _LETTER.search(words) is not None
    has_epoch = position.epoch is not None
    is_training = has_epoch or not has_words or _TRAINS.search(words) or "loss" in details
    is_other_work = has_words and _OTHER_WORK.search(words)
    if found[2] == "1" or _OTHER_UNITS.search(details) or not is_training or is_other_work:
        position.is_other = not has_epoch
        position.part = position.part or next((part for part in ("valid", "test", "eval") if part in words.lower()), "")
        return True
    position.step, position.steps, position.is_inner = count_of(found[1]), count_of(found[2]), has_epoch
    position.is_bare = "".join(filter(str.isalpha, words)).lower() in {"", "train", "training"}
    return True


def _set_step(position: Position, text: str, lower: str, rest: str) -> None:
    """Set the step from the words or the form of the line, and whether it counts inside the epoch."""
    has_epoch = position.epoch is not None
    if (found := _KERAS.match(text)) is not None:
        position.step, position.is_inner, position.is_guess = count_of(found[1]), True, not has_epoch
        position.steps = None if found[2] == "Unknown" else count_of(found[2])
    elif rest and (found := _AFTER_EPOCH.match(rest)) is not None:
        position.step, position.steps, position.is_inner = count_of(found[1]), count_of(found[2]), True
    elif any(word in lower for word in _STEP_WORDS) and (steps := list(_STEP.finditer(text))):
        _set_by_word(position, steps, has_epoch=has_epoch, behind=len(text) - len(rest))
        found = _BRACKET.search(text) if not has_epoch and position.steps is None else None
        if found is not None and found[3]:  # `[38/200], [501/604], global_step: 13599`
            position.epoch, position.epochs = epoch_of(found[1]), count_of(found[2])
        elif found is not None and position.is_guess:  # `[408/2000] score=30.80, steps = 1000`
            _set_by_bracket(position, found, has_epoch=False)
    elif not has_epoch and ("[" in text or text.lstrip()[:1].isdigit()) and (found := _ROUND.search(text)) is not None:
        position.step, position.is_guess = count_of(found[1] or found[2]), True
    elif "[" in text and (found := _BRACKET.search(rest if has_epoch else text)) is not None:
        _set_by_bracket(position, found, has_epoch=has_epoch)
    elif "/" in text and (found := _COUNTED.search(text)) is not None:
        position.step, position.steps, position.is_inner = count_of(found[1]), count_of(found[2]), has_epoch
    elif not has_epoch and (found := _EPOCH_AND_STEP.match(text)) is not None:
        position.epoch, position.step, position.is_inner = epoch_of(found[1]), count_of(found[2]), True
    elif "it [" in text and (found := _OPEN_BAR.search(text)) is not None and _TRAINS.search(text):
        position.step, position.is_inner = count_of(found[1]), has_epoch


def _set_by_word(position: Position, steps: list[re.Match[str]], *, has_epoch: bool, behind: int) -> None:
    """Set the position from `step 5 of 100`, but not from `Step 1: Ask the user` or a setting `iterations = 100`.

    `behind` is where the words of the epoch end. A step before them does not count inside it.
    """
    found = min(steps, key=lambda each: (not each[5], not each[1]))
    whole, word, plural, step, total = found.groups()
    position.step, position.steps = count_of(step), count_of(total) or position.steps
    is_part = (has_epoch and found.start() >= behind) or any(each[1] for each in steps)
    position.is_inner = word.lower() == "batch" or bool(is_part and total and not whole)
    if not has_epoch and not total:
        rest = found.string[found.end() :]
        is_prose = _LETTER.search(rest) is not None and _OF_FIGURES.search(rest) is None
        position.is_guess = word.lower() == "batch" or bool(plural and not whole) or is_prose


def _set_by_bracket(position: Position, found: re.Match[str], *, has_epoch: bool) -> None:
    """Set the position from `[50/1000]`. If there are two brackets, the first is the epoch."""
    first, total, inner, inner_total = found.groups()
    position.is_guess = not has_epoch
    if inner is None:
        position.step, position.steps, position.is_inner = count_of(first), count_of(total), has_epoch
        return
    position.epoch, position.epochs = epoch_of(first), count_of(total)
    position.step, position.steps, position.is_inner = count_of(inner), count_of(inner_total), True


def float_of(text: str) -> float:
    """Return a number that may have commas between its thousands, or be in thousands or millions, such as `31K`."""
    return float(text.rstrip("KkM").replace(",", "")) * {"K": 1_000, "k": 1_000, "M": 1_000_000}.get(text[-1:], 1)


def epoch_of(text: str) -> float | None:
    """Return an epoch, which may be fractional, or None if it is too large."""
    number = float_of(text)
    return number if number <= MAX_COUNT else None


def count_of(text: str | float | None) -> int | None:
    """Return an integer that can be a count of steps, or None."""
    if text is None:
        return None
    number = float_of(text) if isinstance(text, str) else text
    return int(number) if 0 <= number <= MAX_COUNT else None
