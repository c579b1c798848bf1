"""Which story a new job has: the one that its label names, else that of the latest rule that matches the job."""

import fnmatch

from emulator.lifecycle.stories import STORIES
from emulator.protocol.errors import invalid
from emulator.state import listing
from emulator.state.records import Job
from emulator.state.store import Store

LABEL = "emulator_script"
SETTING = "scripts"


class StoryRules:
    """The rules. is_scripted: a job that no rule matches has the story `happy`; otherwise it runs as processes."""

    def __init__(self, store: Store, *, is_scripted: bool) -> None:
        self._store, self._is_scripted = store, is_scripted
        self.rules: list[tuple[str, str]] = [tuple(pair) for pair in store.get_setting(SETTING, [])]

    def add(self, match: str, story: str) -> None:
        """Give every new job that matches a story; ApiError 400 for an unknown story or a wrong match.

        match: a list filter (`labels.team=blue`), or a display name that may hold `*`. The latest rule wins.
        """
        if story not in STORIES:
            raise invalid(f"Unknown story {story!r}; there are {', '.join(STORIES)}.")
        if _is_filter(match):
            listing.compile_filter(Job, match)
        self.rules.append((match, story))
        self._store.set_setting(SETTING, self.rules)

    def story_of(self, job: Job) -> str:
        """Return the story of a new job, "" for processes; ApiError 400 if its label names an unknown one."""
        label = str(job.document.get("labels", {}).get(LABEL, ""))
        if label and label not in STORIES:
            raise invalid(f"Unknown story {label!r} in label {LABEL}; there are {', '.join(STORIES)}.")
        matching = (story for match, story in reversed(self.rules) if _matches(match, job))
        return label or next(matching, "happy" if self._is_scripted else "")


def _is_filter(match: str) -> bool:
    return any(sign in match for sign in "=:<>")


def _matches(match: str, job: Job) -> bool:
    if _is_filter(match):
        return listing.compile_filter(Job, match)(job)
    return fnmatch.fnmatchcase(job.document.get("displayName", ""), match or "*")
