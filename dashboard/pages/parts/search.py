"""The board's search box: plain words search in names, `column:value` searches in one column."""

import shlex
from collections.abc import Callable

from django.db.models import Q

from jobs.states import FAILURES, FINISHED, RUNNING, SUCCESSFUL, WAITING, JobState

STATE_WORDS: dict[str, frozenset[str]] = {
    "to-approve": frozenset({JobState.AWAITING_APPROVAL}),
    "waiting": WAITING,
    "running": RUNNING,
    "succeeded": SUCCESSFUL,
    "failed": FAILURES,
    "finished": FINISHED,
}
"""Words for several states. The name of a state, in any case, matches that state."""


def states_for(word: str) -> frozenset[str]:
    """Return the states that a word matches. An unknown word is returned as the name of a state."""
    key = word.lower()
    if key in STATE_WORDS:
        return STATE_WORDS[key]
    name = key.removeprefix("job_state_").replace("-", "_")
    return frozenset({JobState(name)}) if name in set(JobState) else frozenset({word})


PREFIXES: dict[str, Callable[[str], Q]] = {
    "name": lambda value: Q(display_name__icontains=value),
    "strategy": lambda value: Q(strategy=value.lower().replace("-", "_")),
    "state": lambda value: Q(state__in=states_for(value)),
    "owner": lambda value: Q(owner__username__iexact=value),
    "region": lambda value: Q(region__iexact=value),
    "machine": lambda value: Q(machines__icontains=value),
}


def read_search(text: str) -> Q:
    """Return the condition for the typed text. All words must match, and quotes keep spaces.

    A word with an unknown prefix is searched in names as a whole, so that no typing error is an error.
    """
    condition = Q()
    for word in _words(text[:200]):
        prefix, colon, value = word.partition(":")
        if colon and value and prefix.lower() in PREFIXES:
            condition &= PREFIXES[prefix.lower()](value)
        elif not (colon and prefix.lower() in PREFIXES):  # "state:" alone is still being typed
            condition &= Q(display_name__icontains=word)
    return condition


def _words(text: str) -> list[str]:
    try:  # without NUL, which PostgreSQL does not accept in text
        return shlex.split(text.replace("\x00", ""))
    except ValueError:  # a quote that is not closed yet
        return text.replace("\x00", "").split()
