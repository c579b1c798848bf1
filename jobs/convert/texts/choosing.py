"""Several jobs in one text: each is named, and one of them is chosen, by its number or its name."""

from typing import NamedTuple

from jobs.convert.texts.nodes import Draft, Notes
from jobs.spec import quoted

MAX_NAMED = 10


class Named(NamedTuple):
    """A job of a text: its display name, and the line on which it begins."""

    name: str
    line: int


def named(drafts: list[Draft]) -> tuple[Named, ...]:
    """Return the jobs of a text as people name them."""
    names = (draft.body.get("displayName", "display_name") for draft in drafts)
    return tuple(
        Named(name.text() if name is not None else "", draft.body.line)
        for name, draft in zip(names, drafts, strict=True)
    )


def choose(drafts: list[Draft], job: str, notes: Notes) -> Draft | None:
    """Return the job of this number or name, the first where neither is given; its own notes are added to `notes`.

    A number or name that none of the jobs has is refused.
    """
    jobs = named(drafts)
    at = 0
    if job and drafts:
        same = [place for place, each in enumerate(jobs) if each.name == job]
        number = int(job) - 1 if job.isascii() and job.isdecimal() and len(job) < 6 else -1
        at = same[0] if len(same) == 1 else number
        if not 0 <= at < len(drafts):
            shown = ", ".join(f"{place} {quoted(each.name)}" for place, each in enumerate(jobs[:MAX_NAMED], 1))
            notes.refuse(
                "no_such_job", None, f"The text has no job {quoted(job)}; it has {shown}.", "Choose one of them."
            )
            return None
    for place, other in enumerate(jobs):
        if place != at:
            message = f"Another job begins here: number {place + 1}, {quoted(other.name)}; one is read at a time."
            notes.advise("further_job", other.line, message, "Choose the one that is meant.")
    if not drafts:
        return None
    own = drafts[at].notes
    if own is not None:
        notes.findings.extend(own.findings)
        notes.left_out += own.left_out
    return drafts[at]
