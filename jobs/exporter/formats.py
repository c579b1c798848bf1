"""The export formats of a job."""

import json
from collections.abc import Callable
from dataclasses import dataclass

from jobs.exporter.shapes import request
from jobs.exporter.write_gcloud import COMMANDS, NotWritable, gcloud, gcloud_yaml
from jobs.exporter.write_python import python
from jobs.spec import COLLECTIONS, Submission


@dataclass(frozen=True)
class Format:
    """One export format: its key, label, and the kinds of job that it supports."""

    key: str
    label: str
    write: Callable[[Submission], str]
    kinds: tuple[str, ...] = tuple(COLLECTIONS)


def write(submission: Submission, to: str) -> str:
    """Return the job as text in the format `to`, a key of FORMATS.

    Fields that only Vertex AI fills in are left out. Raise KeyError for an unknown format. Raise NotWritable if gcloud
    has no command for the kind, or cannot write a label.
    """
    chosen = FORMATS[to]
    if submission.kind not in chosen.kinds:
        raise NotWritable("gcloud has no command for training pipelines; use REST, curl or Python.")
    return chosen.write(submission)


def rest(submission: Submission) -> str:
    """Return the body of the REST request as JSON."""
    return json.dumps(request(submission.job), indent=2, ensure_ascii=False) + "\n"


def curl(submission: Submission) -> str:
    """Return the curl command that posts the request."""
    region, project = submission.region or "REGION", submission.project or "PROJECT_ID"
    address = f"https://{region}-aiplatform.googleapis.com/v1/projects/{project}/locations/{region}"
    return (
        "curl -X POST \\\n"
        '  -H "Authorization: Bearer $(gcloud auth print-access-token)" \\\n'
        '  -H "Content-Type: application/json; charset=utf-8" \\\n'
        f'  "{address}/{COLLECTIONS[submission.kind]}" \\\n'
        f"  -d @- <<'EOF'\n{rest(submission)}EOF\n"
    )


FORMATS: dict[str, Format] = {
    each.key: each
    for each in (
        Format("rest", "REST", rest),
        Format("gcloud-yaml", "gcloud YAML", gcloud_yaml, tuple(COMMANDS)),
        Format("gcloud", "gcloud command", gcloud, tuple(COMMANDS)),
        Format("python", "Python", python),
        Format("curl", "curl", curl),
    )
}
"""The formats by key, in the order in which people see them."""
