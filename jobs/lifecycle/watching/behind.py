"""The tuning job behind a pipeline: Vertex AI names it in the pipeline, and only it knows its trials (vertex-facts 3).

The look at the pipeline's log asks for it, because the trials are also where that log is found.
"""

from collections.abc import Iterable
from datetime import datetime
from uuid import UUID

from django.db import transaction

from jobs import vertex
from jobs.lifecycle import budget, claims, storable
from jobs.lifecycle.aside import Aside
from jobs.lifecycle.connection import client
from jobs.lifecycle.watching import cadence
from jobs.lifecycle.watching.sources import source_columns, study_name
from jobs.lifecycle.watching.trials import record_trials
from jobs.models import Job, LogFeed


def look_behind(
    feed: LogFeed, jobs: Iterable[Job], aside: Aside, watch: cadence.Stopwatch, now: datetime
) -> tuple[vertex.VertexError | None, set[UUID]]:
    """Ask for the tuning job of each pipeline that has one; a failure keeps none of the others from being asked for.

    Returns the last failure, and the jobs of which it is to be asked again before their log counts as read. Ends early
    when our budget is used up, when the time of a look is, or when another worker has taken the feed over.
    """
    trouble: vertex.VertexError | None = None
    unasked = {job.pk: job for job in jobs if study_name(job)}
    for job in list(unasked.values()):
        if watch.has_run_out or not claims.renew_look(feed, now=watch.now):
            break
        try:
            budget.spend(budget.reads(job.project, job.region), now=now)
            with vertex.at_most(cadence.PATIENCE_SECONDS if trouble is None else cadence.PROBE_SECONDS):
                remote = client().get(Job.Kind.TUNING_JOB, study_name(job))
        except budget.OverBudget as error:
            return error, set(unasked)
        except (vertex.Unavailable, vertex.RateLimited) as error:
            trouble = error
        except vertex.VertexError as error:  # asking again would bring the same
            trouble = error
            del unasked[job.pk]
        else:
            del unasked[job.pk]
            with aside.item(f"tuning job of {job.pk}"):
                _record(job, remote, now)
    return trouble, set(unasked)


def _record(job: Job, remote: vertex.RemoteJob, now: datetime) -> None:
    with transaction.atomic():
        locked = Job.objects.select_for_update().get(pk=job.pk)
        record_trials(locked, remote, now=now)
        Job.objects.filter(pk=job.pk).update(**storable.fit_columns(Job, source_columns(locked, remote)))
