"""The first waits of a team's earlier jobs for their machines, and a job's position in Trainboard's own queue."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from statistics import median
from typing import NamedTuple
from uuid import UUID

from django.utils.translation import gettext as _

from jobs import timeline
from jobs.cache import Recent
from jobs.models import Job
from jobs.states import JobState

LOOK_BACK = timedelta(days=90)
MAX_JOBS = 200
"""Maximum jobs of the team and strategy in that period that are considered, the newest."""
COLUMNS = ("machines", "region", "state", "requested_at", "approved_at", "submitted_at", "started_at", "ended_at")
"""Columns from which a job's first wait is computed."""
KEPT_SECONDS = 60
"""Seconds after which the waits are read again. Pages of waiting jobs ask for them with every update."""
MIN_ALIKE = 3
"""Minimum number of jobs with the same machines and region. With fewer, all jobs of the strategy are used."""


@dataclass(frozen=True, slots=True)
class PastWaits:
    """The first waits of earlier jobs: median, shortest and longest, and which jobs they were."""

    count: int
    median: timedelta
    shortest: timedelta
    longest: timedelta
    of: str


@dataclass(frozen=True, slots=True)
class QueuePlace:
    """A job's position among the jobs of its team that wait to be sent, from 1, and the numbers of waiting jobs."""

    place: int
    of_team: int
    of_all: int


def get_past_waits(job: Job, now: datetime) -> PastWaits | None:
    """Return the first waits of the team's earlier jobs with the same strategy, machines and region. One query at most.

    Return None if none of them ran. Only the team's own jobs are used, so nothing about other teams is revealed.
    """
    started = [each for each in _recent.get((job.team_id, job.strategy), now) if each.job != job.pk]
    alike = [each.first_wait for each in started if (each.machines, each.region) == (job.machines, job.region)]
    if len(alike) >= MIN_ALIKE:
        return _summarize(alike, _("with the same strategy, machines and region"))
    waits = [each.first_wait for each in started]
    return _summarize(waits, _("with the same strategy")) if waits else None


class _Wait(NamedTuple):
    job: UUID
    machines: str
    region: str
    first_wait: timedelta


def _load(of: tuple[int, str], now: datetime) -> list[_Wait]:
    """Return the first waits of the newest jobs that ran, of a team by its key and a strategy."""
    team, strategy = of
    jobs = Job.objects.filter(team=team, strategy=strategy, requested_at__gte=now - LOOK_BACK)
    ran = jobs.filter(started_at__isnull=False).only(*COLUMNS).order_by("-requested_at", "pk")
    return [_Wait(job.pk, job.machines, job.region, timeline.first_wait(job, now)) for job in ran[:MAX_JOBS]]


_recent: Recent[tuple[int, str], list[_Wait]] = Recent(_load, seconds=KEPT_SECONDS)


def _summarize(waits: Sequence[timedelta], of: str) -> PastWaits:
    ordered = sorted(waits)
    middle = timedelta(seconds=median(wait.total_seconds() for wait in ordered))
    return PastWaits(len(ordered), middle, ordered[0], ordered[-1], of)


def get_queue_place(job: Job) -> QueuePlace | None:
    """Return the position of a job that waits to be sent, None for any other job. Three counts over due jobs."""
    if job.state != JobState.APPROVED:
        return None
    waiting = Job.objects.filter(due_at__isnull=False, state=JobState.APPROVED, cancel_requested_at=None)
    ours = waiting.filter(team=job.team_id)
    place = ours.filter(requested_at__lt=job.requested_at).count() + 1
    # Jobs may be sent between the counts, so the later ones may be smaller.
    return QueuePlace(place, max(ours.count(), place), max(waiting.count(), place))
