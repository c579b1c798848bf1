"""Phrases that indicate each cause, as data, and the small matcher that uses them.

A cue is written as `cause: one phrase|another & of a second group & !none of these|nor this`, and goes on in indented
lines. It matches a line that contains a phrase of every group, and none of a group that begins with "!". A "~" is a
space at the edge of a phrase. Quotes, case and repeated spaces are ignored. Matching does not backtrack, so its time is
proportional to the length of the text.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from jobs.diagnosis.cues.lines import Line

Phrases = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Cue:
    """Groups of phrases of which a line must contain one each, and phrases that it must not contain."""

    cause: str
    wanted: tuple[Phrases, ...]
    unwanted: Phrases

    def fits(self, text: str) -> bool:
        """Return whether the cue matches a line of folded text."""
        return self.may_fit(text) and not any(phrase in text for phrase in self.unwanted)

    def may_fit(self, text: str) -> bool:
        """Return whether a line of the folded text could match: every group has a phrase somewhere in the text."""
        return all(any(phrase in text for phrase in group) for group in self.wanted)


def read_cues(text: str) -> tuple[Cue, ...]:
    """Return the cues of a text in the format above."""
    found = list[Cue]()
    for line in text.strip().replace("\n    ", "").split("\n"):
        cause, _colon, rest = line.partition(": ")
        groups = [tuple(phrase.strip().replace("~", " ") for phrase in group.split("|")) for group in rest.split("&")]
        wanted = tuple(group for group in groups if not group[0].startswith("!"))
        unwanted = tuple(phrase.removeprefix("!") for group in groups if group not in wanted for phrase in group)
        found.append(Cue(cause, wanted, unwanted))
    return tuple(found)


def first_fit(cues: Iterable[Cue], lines: Sequence[Line]) -> tuple[Cue, Line] | None:
    """Return the first cue, in order, that matches a line, and the first line that it matches; None if none does."""
    everything = "\n".join(line.folded for line in lines)
    for each in cues:
        if each.may_fit(everything):
            line = next((line for line in lines if each.fits(line.folded)), None)
            if line is not None:
                return each, line
    return None
