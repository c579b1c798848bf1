"""Where the log of a job is found: Cloud Logging files lines under the number of the custom job that wrote them.

A custom job writes under its own number. A training pipeline and the trials of a tuning job run as custom jobs of their
own, which Vertex AI names in the parent (vertex-facts 2.4, 3 and 10.2). A pipeline that tunes names a tuning job, which
names the trials.
"""

import re
from typing import Any

from jobs import bounds
from jobs.models import Job
from jobs.vertex import RemoteJob, wire

_NUMBER = re.compile(r"[A-Za-z0-9_-]{1,64}\Z")
"""What Cloud Logging is asked for: one that is no number would make every read of the job's log fail."""
MAX_LABEL_CHARACTERS = 40
MAX_SHELLS = 100
"""Addresses of shells that are kept of one job."""
STUDY = "study"
"""What the lines of the tuning job behind a pipeline are called."""


def source_columns(job: Job, remote: RemoteJob) -> dict[str, Any]:
    """Return the columns to write for what an answer holds about the sources.

    A source that was not known may have written long ago, so the log is then read from its beginning again; what was
    read before is not kept twice.
    """
    sources = log_sources(job, remote)
    is_more = not sources.keys() <= job.log_sources.keys()
    return {"log_sources": sources} | ({"log_cursor_at": None} if is_more else {})


def web_access(remote: RemoteJob) -> dict[str, str] | None:
    """Return {replica: address of its interactive shell}; None where the answer has none, as before and after a run.

    Addresses that are none of the web are left out: a page links to them.
    """
    uris = wire.mapping(remote.raw.get("webAccessUris"))
    found = {str(name): uri for name, uri in uris.items() if isinstance(uri, str) and uri.startswith("https://")}
    return dict(list(found.items())[:MAX_SHELLS]) or None


def log_sources(job: Job, remote: RemoteJob) -> dict[str, str]:
    """Return {number of a custom job: what its lines are called, "" for the job's own}; what was known is kept."""
    if job.kind == Job.Kind.CUSTOM_JOB:
        return {_number(remote.name): ""}
    found = dict(job.log_sources)
    metadata = wire.mapping(remote.raw.get("trainingTaskMetadata"))
    if backing := _number(str(metadata.get("backingCustomJob") or "")):
        found[backing] = ""
    if backing := _number(str(metadata.get("backingHyperparameterTuningJob") or "")):
        found[backing] = STUDY
    trials = remote.raw.get("trials")
    for trial in map(wire.mapping, trials if isinstance(trials, list) else []):
        if number := _number(str(trial.get("customJob") or "")):
            found[number] = bounds.bounded(f"trial {trial.get('id', '?')}", MAX_LABEL_CHARACTERS)
    return found


def replica_name(job: Job, log_job_id: str, replica: str) -> str:
    """What a replica is called on the job's page: `workerpool0-0`, or `trial 3 workerpool0-0` in a tuning job."""
    label = job.log_sources.get(log_job_id, "")
    return f"{label} {replica}" if label else replica


def study_name(job: Job) -> str:
    """The name of the tuning job behind a pipeline; "" while Vertex AI has not returned it, and for every other job."""
    number = next((number for number, label in job.log_sources.items() if label == STUDY), "")
    place = job.remote_name.partition("/trainingPipelines/")[0]
    return f"{place}/hyperparameterTuningJobs/{number}" if number else ""


def custom_job_name(job: Job) -> str:
    """The name of the custom job behind a pipeline; "" while Vertex AI has not returned it, and for every other job."""
    place, is_pipeline, _ = job.remote_name.partition("/trainingPipelines/")
    number = next((number for number, label in job.log_sources.items() if not label), "")
    return f"{place}/customJobs/{number}" if is_pipeline and number else ""


def _number(name: str) -> str:
    number = name.rpartition("/")[2]
    return number if _NUMBER.match(number) else ""
