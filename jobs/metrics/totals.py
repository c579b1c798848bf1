"""The number of epochs or steps that a job's arguments request. Pure."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from jobs.metrics.objects import number_of

_FLAG = re.compile(
    r"(?:--?)?(?:\w{1,40}\.){0,4}(?:(?:max|num(?:ber_of)?|n|total|train(?:ing)?|stop)[-_]?)*(?:(epochs?)|((?:time[-_]?)?steps?|updates?|episodes?"
    r"|iterations?|iters?|(?:boost[-_])?rounds?))\Z",
    re.IGNORECASE,
)
WORD_LISTS = ("args", "command")


@dataclass(frozen=True, slots=True)
class Totals:
    """The totals in the arguments, None if they contain none."""

    epochs: int | None = None
    steps: int | None = None


def totals_of(spec: Any) -> Totals:
    """Return the epochs and steps that the arguments of a REST body request: `--epochs=40`, `--max_steps 9`, `steps=9`.

    The first of each is used. Ray's iterations count as steps.
    """
    epochs, steps = None, None
    for is_epochs, count in _counts(list(_words(spec))):
        if is_epochs:
            epochs = epochs or count
        else:
            steps = steps or count
    return Totals(epochs, steps)


def _counts(words: list[str]) -> Iterator[tuple[bool, int]]:
    for word, following in zip_longest(words, words[1:], fillvalue=""):
        flag, sign, value = word.partition("=")
        found = _FLAG.match(flag)
        number = number_of(value if sign else following if flag.startswith("-") or "." in flag else None)
        if found is not None and number is not None and number >= 1:
            yield found[1] is not None, int(number)


def _words(value: Any) -> Iterator[str]:
    """Yield the words of all lists of arguments, including those of a single long shell argument."""
    if isinstance(value, Mapping):
        for name, item in value.items():
            if name in WORD_LISTS and isinstance(item, list):
                yield from (part for word in item if isinstance(word, str) for part in word.split())
            else:
                yield from _words(item)
    elif isinstance(value, list):
        for item in value:
            yield from _words(item)
