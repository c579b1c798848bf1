"""Specs for tests: a small valid job, and the ways in which a test may want it different."""

from typing import Any

from jobs import spec


def body(
    *,
    name: str = "resnet-prune",
    strategy: str = "SPOT",
    machine: dict[str, Any] | None = None,
    replicas: int = 1,
    extra_replicas: int = 0,
    scheduling: dict[str, Any] | None = None,
    labels: dict[str, str] | None = None,
) -> dict[str, Any]:
    """The REST body of a custom job with one pool; by default one Spot machine with an A100.

    `extra_replicas` adds a second pool of so many machines of the same kind.
    """
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
    if extra_replicas:
        (primary,) = whole["jobSpec"]["workerPoolSpecs"]
        whole["jobSpec"]["workerPoolSpecs"].append(primary | {"replicaCount": str(extra_replicas)})
    if labels is not None:
        whole["labels"] = labels
    return whole


def pipeline(*, name: str = "resnet-pipeline", **changes: Any) -> dict[str, Any]:
    """The REST body of a training pipeline whose custom task is the sample job."""
    return {
        "displayName": name,
        "trainingTaskDefinition": spec.CUSTOM_TASK,
        "trainingTaskInputs": body(**changes)["jobSpec"],
    }


def tuning_job(*, name: str = "resnet-sweep", trials: int = 4, parallel: int = 2, **changes: Any) -> dict[str, Any]:
    """The REST body of a tuning job whose trials are the sample job."""
    return {
        "displayName": name,
        "studySpec": {
            "metrics": [{"metricId": "accuracy", "goal": "MAXIMIZE"}],
            "parameters": [
                {"parameterId": "learning-rate", "doubleValueSpec": {"minValue": 0.001, "maxValue": 0.1}},
            ],
            "algorithm": "RANDOM_SEARCH",
        },
        "maxTrialCount": trials,
        "parallelTrialCount": parallel,
        "trialJobSpec": body(**changes)["jobSpec"],
    }


BODIES = {"custom_job": body, "training_pipeline": pipeline, "hyperparameter_tuning_job": tuning_job}


def submission(
    *, kind: str = "custom_job", project: str = "vision-research", region: str = "us-central1", **changes: Any
) -> spec.Submission:
    """A job of a kind ready to be requested; `changes` as for `body`, `pipeline` and `tuning_job`."""
    job, findings = spec.read(kind, BODIES[kind](**changes))
    assert job is not None, findings
    return spec.Submission(kind=kind, project=project, region=region, job=job)
