"""Whether an answer about a watched job says anything new: most do not, and then the job's row is not loaded."""

import uuid
from typing import NamedTuple

from jobs import states, vertex
from jobs.states import JobState


class Known(NamedTuple):
    """What is known of a watched job: ten thousand of them are held at once, so only what tells news from no news."""

    pk: uuid.UUID
    remote_name: str
    state: str
    has_started: bool
    runs_long: bool
    was_blind: bool
    """Nobody has looked for so long that `record` writes it down."""
    is_to_be_cancelled: bool
    is_asked_for: bool
    """Whether it is asked for by name when the list does not hold it."""
    acts_as: str = ""
    """The service account of its calls."""


def is_news(known: Known, remote: vertex.RemoteJob) -> bool:
    """Whether `record` would write anything but that it was seen, or a restart may be waiting for its cause."""
    state = states.from_vertex(remote.state)
    start_is_unknown = not known.has_started and state != JobState.RUNNING and bool(remote.start_time)
    is_other = state != known.state or bool(remote.error)
    return is_other or start_is_unknown or known.was_blind or may_be_restarting(known)


def may_be_restarting(known: Known) -> bool:
    """Whether the job has run before and waits for machines again."""
    return known.has_started and known.state in states.WAITING_AT_VERTEX


def has_just_ended(known: Known, remote: vertex.RemoteJob) -> bool:
    """Whether an answer is the first that says that the job has ended."""
    return states.from_vertex(remote.state) in states.FINISHED and known.state not in states.FINISHED
