"""Which story a new job has: the one that its label names, else that of the latest rule that matches the job."""

import fnmatch
from typing import Any, NamedTuple

from emulator.lifecycle.stories import STORIES, read_times
from emulator.protocol.errors import invalid
from emulator.state import listing
from emulator.state.records import Job
from emulator.state.store import Store

LABEL = "emulator_script"
SETTING = "scripts"


class Rule(NamedTuple):
    """A story for jobs that match; `times` are used in place of the story's own."""

    match: str
    story: str
    times: dict[str, Any]


class StoryRules:
    """The rules. is_scripted: a job that no rule matches has the story `happy`; otherwise it runs as processes."""

    def __init__(self, store: Store, *, is_scripted: bool) -> None:
        self._store, self._is_scripted = store, is_scripted
        self.rules = [Rule(match, story, *(times or [{}])) for match, story, *times in store.get_setting(SETTING, [])]

    def add(self, match: str, story: str, times: dict[str, Any]) -> None:
        """Give every new job that matches a story; ApiError 400 for an unknown story, a wrong match or wrong times.

        match: a list filter (`labels.team=blue`), or a display name that may hold `*`. The latest rule wins.
        """
        if story not in STORIES:
            raise invalid(f"Unknown story {story!r}; there are {', '.join(STORIES)}.")
        if _is_filter(match):
            listing.compile_filter(Job, match)
        try:
            read_times(times)
        except ValueError as error:
            raise invalid(str(error)) from None
        self.rules.append(Rule(match, story, times))
        self._store.set_setting(SETTING, self.rules)

    def give_story(self, job: Job) -> None:
        """Write the story of a new job into it, "" for processes; ApiError 400 if its label names an unknown one."""
        label = str(job.document.get("labels", {}).get(LABEL, ""))
        if label and label not in STORIES:
            raise invalid(f"Unknown story {label!r} in label {LABEL}; there are {', '.join(STORIES)}.")
        usual = Rule("*", "happy" if self._is_scripted else "", {})
        rule = next((rule for rule in reversed(self.rules) if _matches(rule.match, job)), usual)
        job.story, job.story_times = (label, {}) if label else (rule.story, rule.times)


def _is_filter(match: str) -> bool:
    return any(sign in match for sign in "=:<>")


def _matches(match: str, job: Job) -> bool:
    if _is_filter(match):
        return listing.compile_filter(Job, match)(job)
    return fnmatch.fnmatchcase(job.document.get("displayName", ""), match or "*")
