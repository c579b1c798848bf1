"""Choose the script of a new job: the one in its label, else that of the latest matching rule."""

import fnmatch
from typing import Any, NamedTuple

from emulator.lifecycle.scripts import SCRIPTS, check_times
from emulator.protocol.errors import invalid
from emulator.state import listing
from emulator.state.records import Job
from emulator.state.store import Store

LABEL = "emulator_script"
SETTING = "scripts"


class Rule(NamedTuple):
    """A script for matching jobs. `times` replace the script's own."""

    match: str
    script: str
    times: dict[str, Any]


class ScriptRules:
    """The rules.

    With `is_scripted`, a job without a matching rule has the script `happy`; else it runs as processes.
    """

    def __init__(self, store: Store, *, is_scripted: bool) -> None:
        self._store, self._is_scripted = store, is_scripted
        self.rules = [Rule(match, script, *(times or [{}])) for match, script, *times in store.get_setting(SETTING, [])]

    def add(self, match: str, script: str, times: dict[str, Any]) -> None:
        """Assign a script to every matching new job. Raise ApiError 400 for an unknown script, invalid match or times.

        `match` is a list filter (`labels.team=blue`), or a display name that may contain `*`. The latest rule takes
        precedence.
        """
        if script not in SCRIPTS:
            raise invalid(f"Unknown script {script!r}; the scripts are {', '.join(SCRIPTS)}.")
        if _is_filter(match):
            listing.compile_filter(Job, match)
        try:
            check_times(times)
        except ValueError as error:
            raise invalid(str(error)) from None
        self.rules.append(Rule(match, script, times))
        self._store.set_setting(SETTING, self.rules)

    def give_script(self, job: Job) -> None:
        """Set the script of a new job, "" for processes. Raise ApiError 400 if its label names an unknown one."""
        label = str(job.document.get("labels", {}).get(LABEL, ""))
        if label and label not in SCRIPTS:
            raise invalid(f"Unknown script {label!r} in label {LABEL}; the scripts are {', '.join(SCRIPTS)}.")
        usual = Rule("*", "happy" if self._is_scripted else "", {})
        rule = next((rule for rule in reversed(self.rules) if _matches(rule.match, job)), usual)
        job.script, job.script_times = (label, {}) if label else (rule.script, rule.times)


def _is_filter(match: str) -> bool:
    return any(sign in match for sign in "=:<>")


def _matches(match: str, job: Job) -> bool:
    if _is_filter(match):
        return listing.compile_filter(Job, match)(job)
    return fnmatch.fnmatchcase(job.document.get("displayName", ""), match or "*")
