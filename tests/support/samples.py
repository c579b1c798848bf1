"""Specs for tests: a small valid job, and the ways in which a test may want it different."""

from typing import Any

from jobs import spec


def body(
    *,
    name: str = "resnet-prune",
    strategy: str = "SPOT",
    machine: dict[str, Any] | None = None,
    replicas: int = 1,
    scheduling: dict[str, Any] | None = None,
    labels: dict[str, str] | None = None,
) -> dict[str, Any]:
    """The REST body of a custom job with one pool; by default one Spot machine with an A100."""
    machine = machine or {
        "machineType": "a2-highgpu-1g",
        "acceleratorType": "NVIDIA_TESLA_A100",
        "acceleratorCount": 1,
    }
    whole: dict[str, Any] = {
        "displayName": name,
        "jobSpec": {
            "workerPoolSpecs": [
                {
                    "machineSpec": machine,
                    "replicaCount": str(replicas),
                    "containerSpec": {
                        "imageUri": "us-docker.pkg.dev/trainboard/samples/penguins:latest",
                        "command": ["python", "train.py"],
                        "args": ["--epochs", "3"],
                    },
                }
            ],
            "scheduling": {"timeout": "86400s", "strategy": strategy} | (scheduling or {}),
        },
    }
    if labels is not None:
        whole["labels"] = labels
    return whole


def submission(*, project: str = "vision-research", region: str = "us-central1", **changes: Any) -> spec.Submission:
    """A custom job ready to be requested; `changes` as for `body`."""
    job, findings = spec.read("custom_job", body(**changes))
    assert job is not None, findings
    return spec.Submission(kind="custom_job", project=project, region=region, job=job)
