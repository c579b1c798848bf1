"""The command that reads a job's whole log from Cloud Logging, for what is not kept here."""

import shlex
from datetime import datetime

from dashboard.access import Job
from dashboard.drawing.figures import utc

MOST_SOURCES = 100
"""More trials than this are read one by one: a filter has at most 20,000 characters."""
FORMAT = "value(timestamp,resource.labels.task_name,jsonPayload.message,textPayload)"


def command_of(job: Job, *, replica: str, since: datetime | None, until: datetime | None) -> str:
    """Return the command for the lines that a page's filters name; "" while nobody knows where they are.

    `--freshness` is not needed, for the filter names a time. Source: `gcloud logging read --help`; the filter's fields
    are those of gcloud's command_lib/ai/log_util.py; both read 2026-11-21.
    """
    label, _, name = replica.rpartition(" ")
    sources = [number for number, each in job.log_sources.items() if not replica or each in (label, replica)]
    begin = since or job.submitted_at
    if not sources or len(sources) > MOST_SOURCES or begin is None:
        return ""
    numbers = " OR ".join(f'"{number}"' for number in sources)
    terms = ['resource.type="ml_job"', f"resource.labels.job_id=({numbers})"]
    if name and replica not in job.log_sources.values():
        terms.append(f'resource.labels.task_name="{name}"')
    terms.append(f'timestamp>="{utc(begin):%Y-%m-%dT%H:%M:%S.%fZ}"')
    if until is not None:
        terms.append(f'timestamp<"{utc(until):%Y-%m-%dT%H:%M:%S.%fZ}"')
    words = ["gcloud", "logging", "read", " AND ".join(terms), f"--project={job.project}", "--order=asc"]
    return shlex.join([*words, f"--format={FORMAT}"])
