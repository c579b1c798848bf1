"""Find the log of a job. Cloud Logging files lines under the number of the custom job that wrote them.

A custom job writes under its own number. A training pipeline and the trials of a tuning job run as separate custom
jobs, which Vertex AI names in the parent (vertex-facts 2.4, 3 and 10.2). A pipeline that tunes names a tuning job,
which names the trials.
"""

import re
from typing import Any

from jobs import bounds
from jobs.models import Job
from jobs.vertex import RemoteJob, wire

_NUMBER = re.compile(r"[A-Za-z0-9_-]{1,64}\Z")
"""Pattern of the numbers sent to Cloud Logging. An invalid one would make every read of the job's log fail."""
MAX_LABEL_CHARACTERS = 40
MAX_SHELLS = 100
"""Number of shell addresses kept per job."""
STUDY = "study"
"""Label of the log lines of the tuning job behind a pipeline."""


def source_columns(job: Job, remote: RemoteJob) -> dict[str, Any]:
    """Return the columns to write for the sources that an answer contains.

    A new source may have written long ago, so the log is then read from its beginning again. Lines that were read
    before are not kept twice.
    """
    sources = log_sources(job, remote)
    is_more = not sources.keys() <= job.log_sources.keys()
    return {"log_sources": sources} | ({"log_cursor_at": None} if is_more else {})


def web_access(remote: RemoteJob) -> dict[str, str] | None:
    """Return {replica: address of its interactive shell}, or None if the answer has none, as before and after a run.

    Addresses that do not start with https:// are left out, because a page links to them.
    """
    uris = wire.mapping(remote.raw.get("webAccessUris"))
    found = {str(name): uri for name, uri in uris.items() if isinstance(uri, str) and uri.startswith("https://")}
    return dict(list(found.items())[:MAX_SHELLS]) or None


def log_sources(job: Job, remote: RemoteJob) -> dict[str, str]:
    """Return {number of a custom job: label of its lines, "" for the job's own}. Known entries are kept."""
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
    """Return the name of a replica on the job's page: `workerpool0-0`, or `trial 3 workerpool0-0` in a tuning job."""
    label = job.log_sources.get(log_job_id, "")
    return f"{label} {replica}" if label else replica


def study_name(job: Job) -> str:
    """Return the name of the tuning job behind a pipeline, or "" if there is none or it is not known yet."""
    number = next((number for number, label in job.log_sources.items() if label == STUDY), "")
    place = job.remote_name.partition("/trainingPipelines/")[0]
    return f"{place}/hyperparameterTuningJobs/{number}" if number else ""


def custom_job_name(job: Job) -> str:
    """Return the name of the custom job behind a pipeline, or "" if there is none or it is not known yet."""
    place, is_pipeline, _ = job.remote_name.partition("/trainingPipelines/")
    number = next((number for number, label in job.log_sources.items() if not label), "")
    return f"{place}/customJobs/{number}" if is_pipeline and number else ""


def _number(name: str) -> str:
    number = name.rpartition("/")[2]
    return number if _NUMBER.match(number) else ""
