"""A job as text, in each format. What a format cannot hold goes into the command around it, so that nothing is lost."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from jobs.exporter.shapes import numbers, request
from jobs.exporter.write_gcloud import NotWritable, command, config, heading
from jobs.exporter.write_python import python
from jobs.spec import Submission

COLLECTIONS = {
    "custom_job": "customJobs",
    "hyperparameter_tuning_job": "hyperparameterTuningJobs",
    "training_pipeline": "trainingPipelines",
}


@dataclass(frozen=True)
class Format:
    """One way of writing a job: its key, label, file ending, and the kinds of job it can hold."""

    key: str
    label: str
    ending: str
    write: Callable[[Submission], str]
    kinds: tuple[str, ...] = tuple(COLLECTIONS)


def write(submission: Submission, to: str) -> str:
    """Return the job as text in the format `to`, a key of FORMATS.

    Fields that only Vertex AI fills in are left out. Raises KeyError for an unknown format and NotWritable where gcloud
    has no command for the kind, or cannot write a label.
    """
    chosen = FORMATS[to]
    if submission.kind not in chosen.kinds:
        raise NotWritable("gcloud has no command for training pipelines; use REST, curl or Python.")
    return chosen.write(submission)


def rest(submission: Submission) -> str:
    """Write the body of the REST request as JSON."""
    return json.dumps(request(submission.job), indent=2, ensure_ascii=False) + "\n"


def curl(submission: Submission) -> str:
    """Write the curl command that posts the request."""
    region, project = submission.region or "REGION", submission.project or "PROJECT_ID"
    address = f"https://{region}-aiplatform.googleapis.com/v1/projects/{project}/locations/{region}"
    return (
        "curl -X POST \\\n"
        '  -H "Authorization: Bearer $(gcloud auth print-access-token)" \\\n'
        '  -H "Content-Type: application/json; charset=utf-8" \\\n'
        f'  "{address}/{COLLECTIONS[submission.kind]}" \\\n'
        f"  -d @- <<'EOF'\n{rest(submission)}EOF\n"
    )


class Dumper(yaml.SafeDumper):
    """Writes lists indented and never shares parts by alias."""

    def ignore_aliases(self, data: Any) -> bool:
        """Write every part out."""
        del data
        return True

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        """Indent lists below their name."""
        del indentless
        super().increase_indent(flow, indentless=False)


def _text(dumper: Dumper, text: str) -> yaml.ScalarNode:
    """Write text with line ends or invisible signs in double quotes, where they are escaped."""
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=None if text.isprintable() else '"')


Dumper.add_representer(str, _text)


def to_yaml(body: Mapping[str, Any]) -> str:
    """Write YAML that YAML 1.1 and 1.2 read alike."""
    text: str = yaml.dump(dict(body), Dumper=Dumper, sort_keys=False, allow_unicode=True, width=10**9)
    return text


def gcloud_yaml(submission: Submission) -> str:
    """Write the file that gcloud's --config takes, below a comment with the command that takes it."""
    body = to_yaml(config(submission, numbers(submission.job)))
    return f"{heading(submission)}{body}"


def gcloud(submission: Submission) -> str:
    """Write the gcloud command: flags alone where they say everything, else with the config as its input."""
    return command(submission, to_yaml(config(submission, numbers(submission.job))))


GCLOUD_KINDS = ("custom_job", "hyperparameter_tuning_job")
FORMATS: dict[str, Format] = {
    found.key: found
    for found in (
        Format("rest", "REST", "json", rest),
        Format("gcloud-yaml", "gcloud YAML", "yaml", gcloud_yaml, GCLOUD_KINDS),
        Format("gcloud", "gcloud command", "sh", gcloud, GCLOUD_KINDS),
        Format("python", "Python", "py", python),
        Format("curl", "curl", "sh", curl),
    )
}
"""The formats by key, in the order in which people see them."""


def formats_for(kind: str) -> list[Format]:
    """Return the formats that can hold a kind of job."""
    return [found for found in FORMATS.values() if kind in found.kinds]
