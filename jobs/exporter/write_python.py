"""Render Python code that creates the job with google-cloud-aiplatform's generated client, which supports every field.

Source: google-cloud-aiplatform 2.7.0, services/job_service/client.py, read 2026-11-21.
"""

import json
from datetime import timedelta
from typing import Any

from jobs.exporter.shapes import request, values
from jobs.spec import Submission

SERVICES = {
    "custom_job": ("JobService", "create_custom_job"),
    "hyperparameter_tuning_job": ("JobService", "create_hyperparameter_tuning_job"),
    "training_pipeline": ("PipelineService", "create_training_pipeline"),
}
WIDTH = 100


PROGRAM = """{imports}from google.cloud import aiplatform

client = aiplatform.gapic.{service}Client(
    client_options={{"api_endpoint": {endpoint}}},
)

{kind} = {value}

created = client.{method}(
    parent={parent},
    {kind}={kind},
)
print(created.name)
"""


def python(submission: Submission) -> str:
    """Return the program."""
    kind, (service, method) = submission.kind, SERVICES[submission.kind]
    region, project = submission.region or "REGION", submission.project or "PROJECT_ID"
    value = literal(values(submission.job, by_alias=False))
    if kind == "training_pipeline":  # its inputs are a JSON value, which the client does not convert
        value = f"aiplatform.gapic.TrainingPipeline.from_json(json.dumps({literal(request(submission.job))}))"
    return PROGRAM.format(
        imports="import json\n\n" if kind == "training_pipeline" else "",
        service=service,
        endpoint=literal(f"{region}-aiplatform.googleapis.com"),
        kind=kind,
        value=value,
        method=method,
        parent=literal(f"projects/{project}/locations/{region}"),
    )


def literal(value: Any, indent: int = 0) -> str:
    """Return a value as a Python literal, on several lines if it is long."""
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False) if value.isprintable() else repr(value)
    if isinstance(value, timedelta):
        nanos = {"nanos": value.microseconds * 1000} if value.microseconds else {}
        return literal({"seconds": value.days * 86400 + value.seconds, **nanos}, indent)
    value = list(value) if isinstance(value, tuple) else value
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
