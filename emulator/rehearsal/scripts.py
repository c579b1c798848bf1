"""Which story a new job plays: the one that its label names, else that of the latest rule that fits the job."""

import fnmatch

from emulator.protocol.errors import invalid
from emulator.rehearsal.stories import STORIES
from emulator.state import listing
from emulator.state.records import Job
from emulator.state.store import Store

LABEL = "emulator_script"


class Scripts:
    """The rules. is_scripted: a job that none fits is happy; otherwise it runs as processes."""

    def __init__(self, store: Store, *, is_scripted: bool) -> None:
        self._store, self._is_scripted = store, is_scripted
        self.rules: list[tuple[str, str]] = [tuple(pair) for pair in store.setting("scripts", [])]

    def add(self, match: str, story: str) -> None:
        """Let every new job that fits play a story; ApiError 400 for an unknown story or a wrong match.

        match: a list filter (`labels.team=blue`), or a display name that may hold `*`. The latest rule wins.
        """
        if story not in STORIES:
            raise invalid(f"Unknown story {story!r}; there are {', '.join(STORIES)}.")
        if _is_filter(match):
            listing.test_of(Job, match)
        self.rules.append((match, story))
        self._store.set("scripts", self.rules)

    def story_of(self, job: Job) -> str:
        """Return the story of a new job, "" for real processes; ApiError 400 if its label names none."""
        label = job.document.get("labels", {}).get(LABEL, "")
        if label:
            if label not in STORIES:
                raise invalid(f"Unknown story {label!r} in label {LABEL}; there are {', '.join(STORIES)}.")
            return str(label)
        told = next((story for match, story in reversed(self.rules) if _fits(match, job)), "")
        return told or ("happy" if self._is_scripted else "")


def _is_filter(match: str) -> bool:
    return any(sign in match for sign in "=:<>")


def _fits(match: str, job: Job) -> bool:
    if _is_filter(match):
        return listing.test_of(Job, match)(job)
    return fnmatch.fnmatchcase(job.document.get("displayName", ""), match or "*")
