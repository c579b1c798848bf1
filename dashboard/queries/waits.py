"""Past waits of a team's jobs for their machines, and a job's position in Trainboard's own queue."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from statistics import median

from django.utils.translation import gettext as _

from jobs import timeline
from jobs.models import Job
from jobs.states import JobState

LOOK_BACK = timedelta(days=90)
MAX_JOBS = 200
"""Maximum jobs of the team in that period that are considered, the newest."""
COLUMNS = ("machines", "region", "state", "requested_at", "approved_at", "submitted_at", "started_at", "ended_at")
"""Columns from which a job's wait is computed."""
MIN_ALIKE = 3
"""Minimum number of jobs with the same machines and region. With fewer, all jobs of the strategy are used."""


@dataclass(frozen=True, slots=True)
class PastWaits:
    """The waits of earlier jobs: median, shortest and longest, and which jobs they were."""

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
    """Return the waits of the team's earlier jobs with the same strategy, machines and region. One query.

    Return None if none of them ran. Only the team's own jobs are used, so nothing about other teams is revealed.
    """
    jobs = Job.objects.filter(team=job.team_id, strategy=job.strategy, requested_at__gte=now - LOOK_BACK)
    ran = jobs.filter(started_at__isnull=False).exclude(pk=job.pk).only(*COLUMNS)
    started = list(ran.order_by("-requested_at", "pk")[:MAX_JOBS])
    alike = [each for each in started if (each.machines, each.region) == (job.machines, job.region)]
    if len(alike) >= MIN_ALIKE:
        return _summarize(alike, now, _("with the same strategy, machines and region"))
    return _summarize(started, now, _("with the same strategy")) if started else None


def _summarize(jobs: Sequence[Job], now: datetime, of: str) -> PastWaits:
    waits = sorted(timeline.waited(job, now) for job in jobs)
    middle = timedelta(seconds=median(wait.total_seconds() for wait in waits))
    return PastWaits(len(waits), middle, waits[0], waits[-1], of)


def get_queue_place(job: Job) -> QueuePlace | None:
    """Return the position of a job that waits to be sent, None for any other job. Three counts over due jobs."""
    if job.state != JobState.APPROVED:
        return None
    waiting = Job.objects.filter(due_at__isnull=False, state=JobState.APPROVED, cancel_requested_at=None)
    ours = waiting.filter(team=job.team_id)
    place = ours.filter(requested_at__lt=job.requested_at).count() + 1
    # Jobs may be sent between the counts, so the later ones may be smaller.
    return QueuePlace(place, max(ours.count(), place), max(waiting.count(), place))
