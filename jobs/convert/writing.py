"""Job to text: REST, gcloud YAML, a gcloud command, SDK Python, curl. What is written reads back as the same job."""

import json
from collections.abc import Callable
from typing import Any

from jobs.convert.python_writing import python_of
from jobs.convert.reading import read_text
from jobs.convert.shell import quote
from jobs.convert.yaml_writing import yaml_of
from jobs.spec import CustomJob, HyperparameterTuningJob, Message, Submission, TrainingPipeline, rest_body
from jobs.spec.shape import fields

COLLECTIONS = {
    "custom_job": "customJobs",
    "hyperparameter_tuning_job": "hyperparameterTuningJobs",
    "training_pipeline": "trainingPipelines",
}
GROUPS = {"custom_job": "custom-jobs", "hyperparameter_tuning_job": "hp-tuning-jobs"}
DELIMITERS = ",;|:~#!@%+"
NEXT = " \\\n  "
SIMPLE_MACHINE = {"machineType": "machine-type", "tpuTopology": "tpu-topology"}


class NotWritable(Exception):
    """A format cannot hold a job; `args[0]` says why in words for people."""


def write(submission: Submission, to: str) -> str:
    """Return a submission as text in a format: rest, gcloud-yaml, gcloud, python or curl.

    Raises NotWritable where the format has no way to say it, and ValueError for an unknown format. Fields that Vertex
    AI fills in are left out.
    """
    writer = FORMATS.get(to)
    if writer is None:
        raise ValueError(f"{to!r} is none of {', '.join(FORMATS)}")
    return writer(submission, request_body(submission))


def request_body(submission: Submission) -> dict[str, Any]:
    """Return the REST body of a create request: the job without what only Vertex AI fills in."""
    body = rest_body(submission.job)
    return {name: value for name, value in body.items() if name not in _outputs(type(submission.job))}


def _outputs(model: type[Message]) -> set[str]:
    return {slot.alias for slot in fields(model) if slot.output}


def _rest(_: Submission, body: dict[str, Any]) -> str:
    return json.dumps(body, indent=2, ensure_ascii=False) + "\n"


def _curl(submission: Submission, body: dict[str, Any]) -> str:
    region = submission.region or "${REGION}"
    project = submission.project or "${PROJECT_ID}"
    address = f"https://{region}-aiplatform.googleapis.com/v1/projects/{project}/locations/{region}/{COLLECTIONS[submission.kind]}"
    data = _rest(submission, body)
    mark = _mark(data)
    words = [
        "curl --request POST",
        '--header "Authorization: Bearer $(gcloud auth print-access-token)"',
        '--header "Content-Type: application/json; charset=utf-8"',
        "--data-binary @-",
        f'"{address}"',
    ]
    return f"{NEXT.join(words)} <<'{mark}'\n{data}{mark}\n"


def _mark(text: str) -> str:
    """Return a mark for a here-document that is no line of the text."""
    mark, lines = "JOB", set(text.split("\n"))
    while mark in lines:
        mark += "_END"
    return mark


def _head(submission: Submission, body: dict[str, Any]) -> list[str]:
    """Return the flags for what a job has beside its spec."""
    if isinstance(submission.job, TrainingPipeline):
        raise NotWritable("gcloud has no command that creates a training pipeline; use REST, curl or Python.")
    flags = [f"gcloud ai {GROUPS[submission.kind]} create"]
    for name, value in (("project", submission.project), ("region", submission.region)):
        flags += [f"--{name}={quote(value)}"] if value else []
    if "displayName" in body:
        flags.append(f"--display-name={quote(body['displayName'])}")
    if body.get("labels"):
        flags.append(f"--labels={quote(_joined([f'{key}={value}' for key, value in body['labels'].items()]))}")
    if key := body.get("encryptionSpec", {}).get("kmsKeyName"):
        flags.append(f"--kms-key={quote(key)}")
    odd = any("=" in key or not key for key in body.get("labels", {}))
    empty = body.get("labels") == {} or (
        "encryptionSpec" in body and "/" not in body["encryptionSpec"].get("kmsKeyName", "")
    )
    if isinstance(submission.job, CustomJob) and (odd or empty):
        raise NotWritable("gcloud cannot say these labels or this key; correct them, or use REST.")
    return flags


def _joined(parts: list[str]) -> str:
    """Join the parts of a list flag, with a sign of their own where a part holds a comma."""
    used = "".join(parts)
    sign = next((sign for sign in DELIMITERS if sign not in used), "")
    if not sign:
        raise NotWritable("Its texts hold every sign by which gcloud could part them; use REST.")
    plain = sign == "," and not used.startswith("^")
    return sign.join(parts) if plain else f"^{sign}^" + sign.join(parts)


def _gcloud_yaml(submission: Submission, body: dict[str, Any]) -> str:
    """Write the file for gcloud's --config, with the command that takes it in a comment on top."""
    command = " ".join([*_head(submission, body), "--config=job.yaml"])
    held = body.get("jobSpec", {}) if isinstance(submission.job, CustomJob) else body
    return f"# {command}\n{yaml_of(held)}\n"


def _gcloud(submission: Submission, body: dict[str, Any]) -> str:
    """Write a command with flags alone where they say everything, else with its file as a here-document."""
    head = _head(submission, body)
    if isinstance(submission.job, CustomJob):
        flags = _spec_flags(body)
        if flags is not None:
            text = NEXT.join([*head, *flags]) + "\n"
            read = read_text(text).submission
            if read is not None and rest_body(read.job) == body:
                return text
    held = body.get("jobSpec", {}) if isinstance(submission.job, CustomJob) else body
    data = yaml_of(held) + "\n"
    mark = _mark(data)
    return f"cat > job.yaml <<'{mark}'\n{data}{mark}\n{NEXT.join([*head, '--config=job.yaml'])}\n"


def _spec_flags(body: dict[str, Any]) -> list[str] | None:
    """Return the flags that say a CustomJobSpec, or None where there are none for it; the caller compares."""
    spec = body.get("jobSpec", {})
    pools = spec.get("workerPoolSpecs", [])
    tasks = [pool.get("containerSpec", pool.get("pythonPackageSpec", {})) for pool in pools]
    lists = {(tuple(t.get("args", ())), tuple(t.get("command", ())), tuple(t.get("packageUris", ()))) for t in tasks}
    if len(lists) != 1 or any(task.get("env") for task in tasks):
        return None
    flags = []
    for pool in pools:
        parts = _pool_parts(pool)
        if any("," in part for part in parts):
            return None
        flags.append(f"--worker-pool-spec={quote(','.join(parts))}")
    for name, values in zip(("args", "command", "python-package-uris"), next(iter(lists)), strict=True):
        if values and (len(values) > 1 or values[0]):
            flags.append(f"--{name}={quote(_joined(list(values)))}")
    for name, flag in (
        ("serviceAccount", "service-account"),
        ("network", "network"),
        ("persistentResourceId", "persistent-resource-id"),
    ):
        flags += [f"--{flag}={quote(spec[name])}"] if name in spec else []
    for name, flag in (("enableWebAccess", "enable-web-access"), ("enableDashboardAccess", "enable-dashboard-access")):
        flags += [f"--{flag}"] if spec.get(name) else []
    return flags


def _pool_parts(pool: dict[str, Any]) -> list[str]:
    machine, disk = pool.get("machineSpec", {}), pool.get("diskSpec", {})
    affinity = machine.get("reservationAffinity", {})
    values = {
        "machine-type": machine.get("machineType"),
        "replica-count": pool.get("replicaCount"),
        "accelerator-type": machine.get("acceleratorType"),
        "accelerator-count": machine.get("acceleratorCount"),
        "tpu-topology": machine.get("tpuTopology"),
        "reservation-affinity-type": affinity.get("reservationAffinityType"),
        "key": affinity.get("key"),
        "values": ";".join(affinity["values"]) if affinity.get("values") else None,
        "boot-disk-type": disk.get("bootDiskType"),
        "boot-disk-size": disk.get("bootDiskSizeGb"),
        "container-image-uri": pool.get("containerSpec", {}).get("imageUri"),
        "executor-image-uri": pool.get("pythonPackageSpec", {}).get("executorImageUri"),
        "python-module": pool.get("pythonPackageSpec", {}).get("pythonModule"),
    }
    return [f"{name}={value}" for name, value in values.items() if value is not None]


def _python(submission: Submission, body: dict[str, Any]) -> str:
    return python_of(submission.kind, submission.project, submission.region, body)


FORMATS: dict[str, Callable[[Submission, dict[str, Any]], str]] = {
    "rest": _rest,
    "gcloud-yaml": _gcloud_yaml,
    "gcloud": _gcloud,
    "python": _python,
    "curl": _curl,
}


def targets(submission: Submission) -> tuple[str, ...]:
    """Return the formats that can hold a kind of job."""
    gcloud = isinstance(submission.job, CustomJob | HyperparameterTuningJob)
    return tuple(FORMATS) if gcloud else ("rest", "python", "curl")
