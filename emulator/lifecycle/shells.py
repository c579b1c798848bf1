"""Where the interactive shells of a running job would be: `webAccessUris`.

One address for each replica if `enableWebAccess` is set; the chief's alone for `enableDashboardAccess` (field comments
of CustomJob and CustomJobSpec in the v1 protos). They have the form of Vertex AI's and lead nowhere: there is no
shell, and the host is under a name that never is one (RFC 2606).
"""

import hashlib

from emulator.lifecycle import exits
from emulator.state.records import Job

HOST = "aiplatform-training.invalid"


def uris(job: Job) -> dict[str, str]:
    """Return `{"workerpool0-0": URI}`, {} for a job that did not ask for access. Other machines, other addresses."""
    names = job.replica_names if job.spec.get("enableWebAccess") else []
    if not names and job.spec.get("enableDashboardAccess"):
        names = [exits.PRIMARY]
    return {name: f"https://{_token(job, name)}-dot-{job.location}.{HOST}" for name in names}


def _token(job: Job, replica: str) -> str:
    return hashlib.sha256(f"{job.name} {job.hosts} {replica}".encode()).hexdigest()[:16]
