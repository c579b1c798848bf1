"""Several jobs in one text: each is named, and one of them is chosen, by its number or its name."""

from typing import NamedTuple

from jobs.convert.texts.nodes import Draft, Notes
from jobs.spec import quoted


class Named(NamedTuple):
    """A job of a text: its display name, and the line on which it begins."""

    name: str
    line: int


def named(drafts: list[Draft]) -> tuple[Named, ...]:
    """Return the jobs of a text as people name them."""
    bodies = [draft.body for draft in drafts]
    return tuple(
        Named(name.text() if (name := body.get("displayName", "display_name")) else "", body.line) for body in bodies
    )


def choose(drafts: list[Draft], job: str, notes: Notes) -> Draft | None:
    """Return the job of this number or name, the first where neither is given; its own notes are added to `notes`.

    A number or name that none of the jobs has is refused.
    """
    jobs, at = named(drafts), 0
    if job and drafts:
        same = [place for place, each in enumerate(jobs) if each.name == job]
        at = same[0] if len(same) == 1 else int(job) - 1 if job.isascii() and job.isdecimal() and len(job) < 6 else -1
    if drafts and not 0 <= at < len(drafts):
        shown = ", ".join(f"{place} {quoted(each.name)}" for place, each in enumerate(jobs[:10], 1))
        message = f"The text has no job {quoted(job)}; it has {shown}."
        notes.refuse("no_such_job", None, message, "Choose one of them.")
        return None
    for place, other in enumerate(jobs):
        if place != at:
            message = f"Another job begins here: number {place + 1}, {quoted(other.name)}; one is read at a time."
            notes.advise("further_job", other.line, message, "Choose the one that is meant.")
    own = drafts[at].notes if drafts else None
    notes.findings.extend(own.findings if own is not None else ())
    notes.left_out += own.left_out if own is not None else 0
    return drafts[at] if drafts else None
