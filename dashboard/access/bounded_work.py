"""Limit the imports and assessments of a person, so that nobody can keep the site from answering others.

There are two limits: how many a person starts in a minute, counted over all web processes, and how many this process
runs at the same time. Whoever exceeds one is refused at once, because waiting would occupy the site as well.
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

BUSY_SECONDS = 2
"""Seconds after which a request may be repeated that came while others ran."""


@dataclass(frozen=True, slots=True)
class Work:
    """A kind of work with a limit. `at_once` is for one person, `of_all` for everybody in this process."""

    name: str
    at_once: int
    of_all: int


IMPORTS = Work("import", at_once=1, of_all=2)
ASSESSMENTS = Work("assessment", at_once=2, of_all=3)


class TooMuchWork(Exception):
    """The person has started too much, or too much is running. `seconds` is when a repetition may succeed."""

    def __init__(self, words: str, seconds: int) -> None:
        super().__init__(words)
        self.seconds = seconds


_lock = threading.Lock()
_running: Counter[tuple[str, int]] = Counter()


@contextmanager
def bounded_work(work: Work, user: User) -> Iterator[None]:
    """Count the work inside the block. Raise TooMuchWork instead if the person or the site runs too much of it."""
    rate = settings.IMPORTS_PER_MINUTE if work is IMPORTS else settings.ASSESSMENTS_PER_MINUTE
    bucket = rate_limit.Bucket(work.name, f"person-{user.pk}", "", rate)
    if wait := rate_limit.take(bucket, now=database_now()):
        seconds = max(math.ceil(wait.total_seconds()), 1)
        words = _("The limit is %(rate)s texts a minute for each person. Try again in %(wait)s s.")
        raise TooMuchWork(words % {"rate": rate, "wait": seconds}, seconds)
    key = (work.name, user.pk)
    with _lock:
        of_all = sum(count for (name, _person), count in _running.items() if name == work.name)
        if _running[key] >= work.at_once or of_all >= work.of_all:
            words = _("Other texts are being read or assessed. This one was not; try again in a few seconds.")
            raise TooMuchWork(str(words), BUSY_SECONDS)
        _running[key] += 1
    try:
        yield
    finally:
        with _lock:
            _running[key] -= 1
            if not _running[key]:
                del _running[key]
