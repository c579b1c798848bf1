"""Limit the imports and assessments of a person, so that nobody can keep the site from answering others.

There are two limits: how many a person starts in a minute, counted over all web processes, and how many imports this
process runs at the same time. An import waits a moment for its place and is refused then, because waiting occupies the
site as well.
"""

import math
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from django.conf import settings
from django.contrib.auth.models import User
from django.utils.translation import gettext_lazy as _

from jobs.clock import database_now
from jobs.queue import rate_limit

WAIT_SECONDS = 1.0
"""How long an import waits for its place. Requests of a program that arrive together then follow each other."""
BUSY_SECONDS = 2
"""Seconds after which a request may be repeated that came while others ran."""


@dataclass(frozen=True, slots=True)
class Work:
    """A kind of work with a limit. `at_once` is for one person, `of_all` for everybody in this process; 0: none."""

    name: str
    at_once: int = 0
    of_all: int = 0


IMPORTS = Work("import", at_once=1, of_all=2)
ASSESSMENTS = Work("assessment")


class TooMuchWork(Exception):
    """The person has started too much, or too much is running. `seconds` is when a repetition may succeed."""

    def __init__(self, words: str, seconds: int) -> None:
        super().__init__(words)
        self.seconds = seconds


_running: Counter[int] = Counter()
"""{id of a person: their imports that run in this process}."""
_change = threading.Condition()


@contextmanager
def bounded_work(work: Work, user: User) -> Iterator[None]:
    """Count the work inside the block. Raise TooMuchWork instead if the person or the site runs too much of it."""
    rate = settings.IMPORTS_PER_MINUTE if work is IMPORTS else settings.ASSESSMENTS_PER_MINUTE
    bucket = rate_limit.Bucket(work.name, f"person-{user.pk}", "", rate)
    if wait := rate_limit.take(bucket, now=database_now()):
        seconds = max(math.ceil(wait.total_seconds()), 1)
        words = _("The limit is %(rate)s texts a minute for each person. Try again in %(wait)s s.")
        raise TooMuchWork(words % {"rate": rate, "wait": seconds}, seconds)
    if not work.at_once:
        yield
        return
    with _change:
        if not _change.wait_for(lambda: _has_place(work, user), WAIT_SECONDS):
            words = _("Other texts are being read. This one was not; try again in a few seconds.")
            raise TooMuchWork(str(words), BUSY_SECONDS)
        _running[user.pk] += 1
    try:
        yield
    finally:
        with _change:
            _running[user.pk] -= 1
            _change.notify_all()


def _has_place(work: Work, user: User) -> bool:
    return _running[user.pk] < work.at_once and _running.total() < work.of_all
