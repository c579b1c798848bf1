"""Which words show which cause: data, and the small matcher that reads it.

A cue is a cause and groups of phrases. It fits a line that holds a phrase of every group; a group that begins with "!"
must have none in the line. Quotes, capitals and repeated spaces play no part. Nothing here can backtrack, so the time
is in proportion to the length of the text.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from jobs.diagnosis.cues.lines import Line

Phrases = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Cue:
    """The phrases of which a line must hold one of each group, and those that it must not hold."""

    cause: str
    wanted: tuple[Phrases, ...]
    unwanted: Phrases

    def fits(self, text: str) -> bool:
        """Return whether the folded text has what the cue wants."""
        return all(any(phrase in text for phrase in group) for group in self.wanted) and not any(
            phrase in text for phrase in self.unwanted
        )

    def may_fit(self, text: str) -> bool:
        """Return whether a line of the folded text could fit: it holds a phrase of every group somewhere."""
        return all(any(phrase in text for phrase in group) for group in self.wanted)


def cue(cause: str, *groups: str) -> Cue:
    """Return the cue of groups that are written as "one phrase|another" and "!none of these|nor this"."""
    wanted = tuple(tuple(group.split("|")) for group in groups if not group.startswith("!"))
    unwanted = [phrase for group in groups if group.startswith("!") for phrase in group[1:].split("|")]
    return Cue(cause, wanted, tuple(unwanted))


def first_fit(cues: Iterable[Cue], lines: Sequence[Line]) -> tuple[Cue, Line] | None:
    """Return the first cue, in the order of the cues, that fits a line, with the first such line; None if none does."""
    everything = "\n".join(line.folded for line in lines)
    for each in cues:
        if each.may_fit(everything):
            line = next((line for line in lines if each.fits(line.folded)), None)
            if line is not None:
                return each, line
    return None
