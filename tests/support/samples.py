"""Specs for tests: a small valid job with options for what tests vary."""

from typing import Any

from jobs import spec

A100 = {"machineType": "a2-highgpu-1g", "acceleratorType": "NVIDIA_TESLA_A100", "acceleratorCount": 1}


def body(
    *,
    name: str = "resnet-prune",
    strategy: str = "SPOT",
    machine: dict[str, Any] | None = None,
    replicas: int = 1,
    extra_replicas: int = 0,
    scheduling: dict[str, Any] | None = None,
    labels: dict[str, str] | None = None,
    resource: str = "",
    folder: str = "",
) -> dict[str, Any]:
    """Return the REST body of a custom job with one worker pool; by default one Spot machine with an A100.

    `extra_replicas` adds a second worker pool of that many equal machines. `resource` names a persistent resource,
    `folder` the output folder.
    """
    pool: dict[str, Any] = {
        "machineSpec": machine or A100,
        "replicaCount": str(replicas),
        "containerSpec": {
            "imageUri": "us-docker.pkg.dev/trainboard/samples/penguins:latest",
            "command": ["python", "train.py"],
            "args": ["--epochs", "3"],
        },
    }
    if resource:
        pool["diskSpec"] = {"bootDiskType": "pd-ssd", "bootDiskSizeGb": 100}
    more = [pool | {"replicaCount": str(extra_replicas)}] if extra_replicas else []
    whole: dict[str, Any] = {
        "displayName": name,
        "jobSpec": {
            "workerPoolSpecs": [pool, *more],
            "scheduling": {"timeout": "86400s", "strategy": strategy} | (scheduling or {}),
        },
    }
    if folder:
        whole["jobSpec"]["baseOutputDirectory"] = {"outputUriPrefix": folder}
    if resource:
        whole["jobSpec"]["persistentResourceId"] = resource
        del whole["jobSpec"]["scheduling"]["strategy"]
    return whole if labels is None else whole | {"labels": labels}


def pipeline(
    *, name: str = "resnet-pipeline", model: dict[str, Any] | None = None, tunes: bool = False, **changes: Any
) -> dict[str, Any]:
    """Return the REST body of a training pipeline with the sample job as its task, or the sample tuning job if `tunes`.

    `model` is uploaded afterwards.
    """
    task = tuning_job(**changes) if tunes else body(**changes)["jobSpec"]
    whole = {
        "displayName": name,
        "trainingTaskDefinition": spec.TUNING_TASK if tunes else spec.CUSTOM_TASK,
        "trainingTaskInputs": {key: value for key, value in task.items() if key != "displayName"},
    }
    return whole if model is None else whole | {"modelToUpload": {"displayName": name} | model}


def tuning_job(
    *, name: str = "resnet-sweep", trials: int = 4, parallel: int = 2, failed: int = 0, **changes: Any
) -> dict[str, Any]:
    """Return the REST body of a tuning job whose trials are the sample job.

    `failed` is the number of trials that may fail; 0 leaves it unset.
    """
    return ({"maxFailedTrialCount": failed} if failed else {}) | {
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


def limited(hours: float, changes: dict[str, Any], *, least: float = 0.0) -> dict[str, Any]:
    """Return `changes` with a timeout of that many hours, unless they contain one.

    The timeout limits the maximum cost to the expected one. It is at least `least` hours, and at least a minute.
    """
    seconds = max(60, round(max(hours, least) * 3600))
    return changes | {"scheduling": {"timeout": f"{seconds}s"} | (changes.get("scheduling") or {})}


BODIES = {"custom_job": body, "training_pipeline": pipeline, "hyperparameter_tuning_job": tuning_job}


def submission(
    *, kind: str = "custom_job", project: str = "vision-research", region: str = "us-central1", **changes: Any
) -> spec.Submission:
    """Return a submission of a kind. `changes` are as for `body`, `pipeline` and `tuning_job`."""
    job, findings = spec.read(kind, BODIES[kind](**changes))
    assert job is not None, findings
    return spec.Submission(kind=kind, project=project, region=region, job=job)
