"""The command that reads a job's whole log from Cloud Logging, for lines that are not kept here."""

import shlex
from datetime import datetime

from dashboard.drawing.figures import utc
from jobs.models import Job

MAX_SOURCES = 100
"""There is no command for more trials than this at once, because a filter has at most 20,000 characters."""
FORMAT = "value(timestamp,resource.labels.task_name,jsonPayload.message,textPayload)"


def command_of(job: Job, *, replica: str, since: datetime | None, until: datetime | None) -> str:
    """Return the command for the lines that a page's filters select, or "" while the log sources are not known.

    The filter contains a time, so `--freshness` is not needed. Source: `gcloud logging read --help`, read 2026-11-21.
    """
    wanted = filter_of(job, replica=replica, since=since, until=until)
    if not wanted:
        return ""
    return shlex.join(
        ["gcloud", "logging", "read", wanted, f"--project={job.project}", "--order=asc", f"--format={FORMAT}"]
    )


def filter_of(job: Job, *, replica: str = "", since: datetime | None = None, until: datetime | None = None) -> str:
    """Return the Cloud Logging filter for these lines, or "" while the log sources are not known.

    Its fields are those of gcloud's command_lib/ai/log_util.py, read 2026-11-21.
    """
    label, _, name = replica.rpartition(" ")
    sources = [number for number, each in job.log_sources.items() if not replica or each in (label, replica)]
    begin = since or job.submitted_at
    if not sources or len(sources) > MAX_SOURCES or begin is None:
        return ""
    numbers = " OR ".join(f'"{number}"' for number in sources)
    terms = ['resource.type="ml_job"', f"resource.labels.job_id=({numbers})"]
    if name and replica not in job.log_sources.values():
        terms.append(f'resource.labels.task_name="{name}"')
    terms.append(f'timestamp>="{utc(begin):%Y-%m-%dT%H:%M:%S.%fZ}"')
    if until is not None:
        terms.append(f'timestamp<"{utc(until):%Y-%m-%dT%H:%M:%S.%fZ}"')
    return " AND ".join(terms)
