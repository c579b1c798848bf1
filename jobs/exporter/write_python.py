"""Python that makes the job with google-cloud-aiplatform: its CustomJob class where that says everything, else the
generated client, which takes every field.

Source: google-cloud-aiplatform 2.7.0, aiplatform/jobs.py and services/job_service/client.py, read 2026-11-21.
"""

import json
from typing import Any

from jobs.convert.sdk.reading import read_python
from jobs.convert.texts.nodes import Node, Notes, plain
from jobs.convert.texts.tidy import Tidier
from jobs.exporter.shapes import request, snake
from jobs.spec import CustomJob, Submission, read, rest_body

SERVICES = {
    "custom_job": ("JobService", "create_custom_job"),
    "hyperparameter_tuning_job": ("JobService", "create_hyperparameter_tuning_job"),
    "training_pipeline": ("PipelineService", "create_training_pipeline"),
}
RUN = ("service_account", "network", "enable_web_access", "tensorboard", "psc_interface_config")
WIDTH = 100


class Code(str):
    """Text that is an expression, not a literal."""

    __slots__ = ()


def python(submission: Submission) -> str:
    """Write the program."""
    if submission.kind == "custom_job" and (text := _with_class(submission)) is not None and _same(text, submission):
        return text
    return _with_client(submission)


def literal(value: Any, indent: int = 0) -> str:
    """Write a value as Python, over several lines where it is long."""
    if isinstance(value, Code):
        return str(value)
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False) if value.isprintable() else repr(value)
    if not isinstance(value, dict | list) or not value:
        return repr(value)
    if isinstance(value, list):
        parts = [literal(item, indent + 4) for item in value]
        opening, closing = "[", "]"
    else:
        parts = [f"{literal(name)}: {literal(item, indent + 4)}" for name, item in value.items()]
        opening, closing = "{", "}"
    flat = f"{opening}{', '.join(parts)}{closing}"
    if len(flat) + indent <= WIDTH and "\n" not in flat:
        return flat
    inner = " " * (indent + 4)
    return f"{opening}\n" + "".join(f"{inner}{part},\n" for part in parts) + " " * indent + closing


def call(name: str, arguments: dict[str, Any]) -> str:
    """Write a call with one named argument per line."""
    lines = "".join(f"    {word}={literal(value, 4)},\n" for word, value in arguments.items())
    return f"{name}(\n{lines})\n" if lines else f"{name}()\n"


def _with_client(submission: Submission) -> str:
    """Write the program with the generated client."""
    service, method = SERVICES[submission.kind]
    region, project = submission.region or "REGION", submission.project or "PROJECT_ID"
    pipeline = submission.kind == "training_pipeline"
    body = request(submission.job) if pipeline else snake(submission.job)
    value = f"{submission.kind} = {literal(body)}\n"
    if pipeline:
        value += f"{submission.kind} = aiplatform.gapic.TrainingPipeline.from_json(json.dumps({submission.kind}))\n"
    options = {"client_options": {"api_endpoint": f"{region}-aiplatform.googleapis.com"}}
    arguments = {"parent": f"projects/{project}/locations/{region}", submission.kind: Code(submission.kind)}
    return (
        f"{'import json' + chr(10) * 2 if pipeline else ''}from google.cloud import aiplatform\n\n"
        f"client = {call(f'aiplatform.gapic.{service}Client', options)}\n"
        f"{value}\n"
        f"created = {call(f'client.{method}', arguments)}"
        "print(created.name)\n"
    )


def _with_class(submission: Submission) -> str | None:
    """Write the program with aiplatform.CustomJob, or None when that class cannot say it: it makes up a folder for
    outputs where none is given.
    """
    job = submission.job
    folder = job.job_spec.base_output_directory.output_uri_prefix if isinstance(job, CustomJob) else ""
    if not isinstance(job, CustomJob) or not folder.startswith("gs://") or not job.display_name:
        return None
    body = snake(job)
    spec = body["job_spec"]
    first = {"display_name": body["display_name"], "worker_pool_specs": spec.get("worker_pool_specs", [])}
    first["base_output_dir"] = folder
    first |= {name: body[name] for name in ("labels",) if name in body}
    first |= {name: spec[name] for name in ("persistent_resource_id",) if name in spec}
    if key := body.get("encryption_spec", {}).get("kms_key_name"):
        first["encryption_spec_key_name"] = key
    then = {name: spec[name] for name in RUN if name in spec} | _scheduling(spec.get("scheduling", {}))
    start = {"project": submission.project, "location": submission.region}
    start = {name: value for name, value in start.items() if value}
    start["staging_bucket"] = "gs://" + folder[5:].partition("/")[0]
    typed = "scheduling_strategy" in then
    return (
        "from google.cloud import aiplatform\n"
        f"{'from google.cloud.aiplatform_v1.types import custom_job as gca_custom_job' + chr(10) if typed else ''}\n"
        f"{call('aiplatform.init', start)}\n"
        f"job = {call('aiplatform.CustomJob', first)}\n"
        f"{call('job.submit', then)}"
        "print(job.resource_name)\n"
    )


def _scheduling(scheduling: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in scheduling.items():
        if name == "strategy":
            found["scheduling_strategy"] = Code(f"gca_custom_job.Scheduling.Strategy.{value}")
        else:
            found[name] = value["seconds"] if isinstance(value, dict) and "nanos" not in value else value
    return found


def _same(text: str, submission: Submission) -> bool:
    """Tell whether the program, read back, gives the same job."""
    drafts = read_python(text, Notes(), lambda *_: None).drafts
    if len(drafts) != 1:
        return False
    tree: Node = Tidier(Notes()).message(CustomJob, drafts[0].body)
    job, findings = read("custom_job", plain(tree))
    places = (drafts[0].project, drafts[0].region) == (submission.project, submission.region)
    return places and not findings and job is not None and rest_body(job) == request(submission.job)
