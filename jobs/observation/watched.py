"""Which jobs of a scope Vertex AI may still have news about."""

from collections.abc import Iterable
from datetime import datetime, timedelta

from django.db.models import BooleanField, ExpressionWrapper, F, Q

from jobs import states
from jobs.connection import account_of
from jobs.models import Job, Scope
from jobs.observation import cadence
from jobs.observation.news import Known
from jobs.observation.record import BLIND_AFTER
from jobs.states import JobState

ERROR_WINDOW = timedelta(minutes=5)
"""How long after its end a job may fail to give a reason until we believe that there is none (vertex-facts 6.1)."""
ERROR_LATEST = timedelta(hours=6)
"""After this nobody asks any more, whatever kept us from hearing of it."""
LOST_ASKED_FOR, LOST_LISTED = timedelta(hours=1), timedelta(days=1)
"""How long a lost job is still asked for by name, and followed again when a list holds it."""
DUPLICATE_WINDOW = timedelta(days=1)
"""How long after a request a second job of it is looked for in a scope where nothing else is watched."""


def watched_jobs(scope: Scope, now: datetime) -> list[Known]:
    """Jobs that Vertex AI may still have news about: active ones, those that ended without their error, and lost ones.

    The error follows about a minute after the end of a job that failed or was cancelled (vertex-facts 6.1).
    """
    recent = Q(ended_at=None) | Q(ended_at__gt=now - max(LOST_LISTED, ERROR_LATEST))
    of_scope = Job.objects.filter(recent, **place_of(scope)).exclude(remote_name="")
    with_error = Q(state__in=(JobState.FAILED, JobState.CANCELLED), deleted_at=None)
    reasonless = with_error & Q(error__isnull=True, ended_at__gt=now - ERROR_LATEST)
    reasonless &= Q(last_seen__at__lt=F("ended_at") + ERROR_WINDOW)
    active = Q(ended_at=None) & ~Q(state__in=states.LOCAL)
    flags = {
        "has_started": Q(started_at__isnull=False),
        "runs_long": Q(running_since__isnull=False, running_since__lt=now - cadence.LONG_RUN),
        "was_blind": Q(last_seen__at__isnull=False, last_seen__at__lt=now - BLIND_AFTER),
        "is_to_be_cancelled": Q(cancel_requested_at__isnull=False),
        "is_asked_for": ~Q(state=JobState.LOST) | Q(ended_at__gt=now - LOST_ASKED_FOR),
    }
    asked = {name: ExpressionWrapper(flags[name], BooleanField()) for name in flags}
    lost = Q(state=JobState.LOST, ended_at__gt=now - LOST_LISTED)
    found = of_scope.filter(active | reasonless | lost).annotate(**asked)
    longest_unheard_first = found.order_by(F("last_seen__at").asc(nulls_first=True), "submitted_at", "pk")
    return list(map(Known._make, longest_unheard_first.values_list(*Known._fields)))


def accounts_of(scope: Scope, watched: Iterable[Known]) -> list[str]:
    """Return the service accounts that a scope is listed as: those of its jobs, else that of the project's teams."""
    return sorted({known.acts_as for known in watched} or {account_of(scope.project)})


def place_of(scope: Scope) -> dict[str, str]:
    """What the jobs of a scope have in common."""
    return {"project": scope.project, "region": scope.region, "kind": scope.kind}


def may_have_duplicates(scope: Scope, now: datetime) -> bool:
    """Tell whether a create of late had no answer, so that its job may still appear although no row waits for it."""
    sent = Job.objects.filter(**place_of(scope), requested_at__gt=now - DUPLICATE_WINDOW)
    return sent.filter(Q(submit_attempts__gt=1) | Q(submit_attempts=1, remote_name="")).exists()
