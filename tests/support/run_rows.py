"""Rows about runs that pages draw: a family of two runs that differ, and a running job that is stuck."""

from datetime import datetime, timedelta

from jobs.models import Job, JobHealth, RunSummary
from jobs.upkeep import file_jobs


def make_family(first: Job, second: Job) -> list[str]:
    """Make two jobs a family with other labels, settings and results; return the addresses of its pages."""
    file_jobs()
    Job.objects.filter(pk=second.pk).update(spec=second.spec | {"labels": {"goal": "b"}})
    for number, job in enumerate((first, second)):
        Job.objects.filter(pk=job.pk).update(family=first.pk)
        values = {"settings": {"--lr": number}, "results": {key: [1.0, 0.5, 2.0] for key in ("loss", "accuracy")}}
        RunSummary.objects.update_or_create(job=job, defaults=values)
    return [f"/families/{first.pk}/", f"/families/{first.pk}/move/?job={second.pk}"]


def make_stuck(job: Job, now: datetime, *, answer_hours: int = 0) -> None:
    """Let a running job count as stuck for two hours; with `answer_hours` its owner was just asked."""
    values = {"code": "stuck", "since": now - timedelta(hours=2), "facts": {"usual": 60.0}, "assessed_at": now}
    values |= {"asked_at": now if answer_hours else None, "answer_hours": answer_hours}
    JobHealth.objects.create(job=job, running_since=job.running_since, restarts=job.restarts, **values)
