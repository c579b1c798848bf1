"""List the jobs of a scope that Vertex AI may have news about, and decide whether an answer is news."""

import uuid
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import NamedTuple

from django.db.models import BooleanField, ExpressionWrapper, F, Q

from jobs import states, vertex
from jobs.clients import account_of
from jobs.models import Job, Scope
from jobs.observation import cadence, starts
from jobs.observation.record import BLIND_AFTER
from jobs.states import JobState

ERROR_WINDOW = timedelta(minutes=5)
"""How long after a job's end its error may arrive before we assume that there is none (vertex-facts 6.1)."""
ERROR_LATEST = timedelta(hours=6)
"""After this the error of an ended job is not requested any more, even if no answer has come."""
LOST_ASKED_FOR, LOST_LISTED = timedelta(hours=1), timedelta(days=1)
"""How long a lost job is still requested by name, and how long it is followed again if a list contains it."""
DUPLICATE_WINDOW = timedelta(days=1)
"""How long after a request its duplicates are looked for in a scope where nothing else is watched."""


class WatchedJob(NamedTuple):
    """The columns of a job that show whether an answer is news. Ten thousand of them are in memory at once."""

    pk: uuid.UUID
    remote_name: str
    state: str
    started_at: datetime | None
    runs_long: bool
    was_blind: bool
    """Whether there was no poll for so long that `record` records it."""
    is_to_be_cancelled: bool
    is_asked_for: bool
    """Whether the job is requested by name if the list does not contain it."""
    acts_as: str = ""
    """The service account used for its calls."""

    @property
    def has_started(self) -> bool:
        """Whether the job has run before."""
        return self.started_at is not None

    @property
    def may_be_restarting(self) -> bool:
        """Whether the job has run before and is waiting for machines again."""
        return self.has_started and self.state in states.WAITING_AT_VERTEX

    def is_news(self, remote: vertex.RemoteJob, now: datetime) -> bool:
        """Return whether `record` would write more than the time it was seen, or a restart may still need a cause."""
        state = states.from_vertex(remote.state)
        is_other = state != self.state or bool(remote.error)
        return is_other or self._start_is_news(remote, now) or self.was_blind or self.may_be_restarting

    def _start_is_news(self, remote: vertex.RemoteJob, now: datetime) -> bool:
        """Return whether an answer changes what may be concluded from `startTime`, although the state is the same.

        A start that is recorded as the time of an answer was settled since, or the job waits after an earlier start.
        """
        if not self.has_started:
            return self.state in states.WAITING_AT_VERTEX and remote.settled_start is not None
        return starts.earlier_start(self.started_at, remote, now) is not None

    def has_just_ended(self, remote: vertex.RemoteJob) -> bool:
        """Return whether an answer is the first one that shows that the job has ended."""
        return states.from_vertex(remote.state) in states.FINISHED and self.state not in states.FINISHED


def list_watched(scope: Scope, now: datetime) -> list[WatchedJob]:
    """Return the jobs that Vertex AI may have news about: active ones, ended ones without their error, and lost ones.

    The error follows about a minute after the end of a job that failed or was cancelled (vertex-facts 6.1).
    """
    recent = Q(ended_at=None) | Q(ended_at__gt=now - max(LOST_LISTED, ERROR_LATEST))
    of_scope = Job.objects.filter(recent, **scope_filter(scope)).exclude(remote_name="")
    with_error = Q(state__in=(JobState.FAILED, JobState.CANCELLED), deleted_at=None)
    reasonless = with_error & Q(error__isnull=True, ended_at__gt=now - ERROR_LATEST)
    reasonless &= Q(last_seen__at__lt=F("ended_at") + ERROR_WINDOW)
    active = Q(ended_at=None) & ~Q(state__in=states.LOCAL)
    flags = {
        "runs_long": Q(running_since__isnull=False, running_since__lt=now - cadence.LONG_RUN),
        "was_blind": Q(last_seen__at__isnull=False, last_seen__at__lt=now - BLIND_AFTER),
        "is_to_be_cancelled": Q(cancel_requested_at__isnull=False),
        "is_asked_for": ~Q(state=JobState.LOST) | Q(ended_at__gt=now - LOST_ASKED_FOR),
    }
    columns = {name: ExpressionWrapper(flags[name], BooleanField()) for name in flags}
    lost = Q(state=JobState.LOST, ended_at__gt=now - LOST_LISTED)
    found = of_scope.filter(active | reasonless | lost).annotate(**columns)
    longest_unheard_first = found.order_by(F("last_seen__at").asc(nulls_first=True), "submitted_at", "pk")
    return list(map(WatchedJob._make, longest_unheard_first.values_list(*WatchedJob._fields)))


def list_accounts(scope: Scope, watched: Iterable[WatchedJob]) -> list[str]:
    """Return the service accounts a scope is listed with: those of its jobs, else that of the project's teams."""
    return sorted({job.acts_as for job in watched} or {account_of(scope.project)})


def scope_filter(scope: Scope) -> dict[str, str]:
    """Return the filter that selects the jobs of a scope."""
    return {"project": scope.project, "region": scope.region, "kind": scope.kind}


def may_have_duplicates(scope: Scope, now: datetime) -> bool:
    """Return whether a recent create had no answer, so that its job may still appear although no row waits for it."""
    sent = Job.objects.filter(**scope_filter(scope), requested_at__gt=now - DUPLICATE_WINDOW)
    return sent.filter(Q(submit_attempts__gt=1) | Q(submit_attempts=1, remote_name="")).exists()
