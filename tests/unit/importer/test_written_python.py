"""Tests that run the exported Python against the emulator: Google's client creates exactly the same job."""

import functools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from google.auth.credentials import AnonymousCredentials
from google.cloud import aiplatform, aiplatform_v1
from google.protobuf import json_format

from jobs import exporter
from jobs.spec import Submission, read
from tests.support.running_emulator import Running, running

pytestmark = pytest.mark.sdk
L4 = {"machineType": "g2-standard-4", "acceleratorType": "NVIDIA_L4", "acceleratorCount": 1}
POOL = {
    "machineSpec": {"machineType": "n1-standard-4", "acceleratorType": "NVIDIA_TESLA_T4", "acceleratorCount": 1},
    "replicaCount": "1",
    "containerSpec": {
        "imageUri": "us-docker.pkg.dev/p/r/i:1",
        "args": ["it's", 'a "b"'],
        "env": [{"name": "A", "value": ""}],
    },
    "diskSpec": {"bootDiskType": "pd-ssd", "bootDiskSizeGb": 200},
}
SPOT = {"timeout": "7200s", "strategy": "SPOT"}
OUT = {"outputUriPrefix": "gs://bucket/out/"}
STUDY = {
    "metrics": [{"metricId": "loss", "goal": "MINIMIZE"}],
    "parameters": [{"parameterId": "n", "integerValueSpec": {"minValue": "1", "maxValue": "4"}}],
    "algorithm": "RANDOM_SEARCH",
}
CASES: dict[str, tuple[str, dict[str, Any], str]] = {
    "every part": (
        "custom_job",
        {
            "displayName": "größe",
            "jobSpec": {
                "workerPoolSpecs": [POOL, {}, {**POOL, "replicaCount": "2"}],
                "scheduling": SPOT,
                "baseOutputDirectory": OUT,
                "serviceAccount": "me@p.iam.gserviceaccount.com",
            },
            "labels": {"a": "b"},
        },
        "JobServiceClient(",
    ),
    "flex start": (
        "custom_job",
        {
            "displayName": "x",
            "jobSpec": {
                "workerPoolSpecs": [POOL | {"machineSpec": L4}],
                "baseOutputDirectory": OUT,
                "scheduling": {"strategy": "FLEX_START", "maxWaitDuration": "0s"},
            },
        },
        "JobServiceClient(",
    ),
    "client": (
        "custom_job",
        {
            "displayName": "x",
            "jobSpec": {"workerPoolSpecs": [POOL], "scheduling": {"timeout": "1.500s"}, "reservedIpRanges": ["r"]},
        },
        "JobServiceClient(",
    ),
    "tuning": (
        "hyperparameter_tuning_job",
        {
            "displayName": "t",
            "studySpec": STUDY,
            "maxTrialCount": 2,
            "parallelTrialCount": 1,
            "trialJobSpec": {"workerPoolSpecs": [POOL], "scheduling": SPOT},
        },
        "JobServiceClient(",
    ),
    "pipeline": (
        "training_pipeline",
        {
            "displayName": "p",
            "trainingTaskDefinition": "gs://google-cloud-aiplatform/schema/trainingjob/definition/custom_task_1.0.0.yaml",
            "trainingTaskInputs": {"workerPoolSpecs": [POOL], "baseOutputDirectory": OUT},
        },
        "PipelineServiceClient(",
    ),
}
RESOURCES = {
    "custom_job": ("customJobs", aiplatform_v1.CustomJob),
    "hyperparameter_tuning_job": ("hyperparameterTuningJobs", aiplatform_v1.HyperparameterTuningJob),
    "training_pipeline": ("trainingPipelines", aiplatform_v1.TrainingPipeline),
}
Run = Callable[[str], None]


@pytest.fixture
def emulator(tmp_path: Path) -> Iterator[Running]:
    with running(tmp_path / "emulator", scripted=True) as emulator:
        yield emulator


@pytest.fixture
def run(emulator: Running, monkeypatch: pytest.MonkeyPatch) -> Iterator[Run]:
    """`run(program)` runs it with Google's clients pointed at the emulator, without credentials."""
    here = {
        "credentials": AnonymousCredentials(),
        "client_options": {"api_endpoint": emulator.url},
        "transport": "rest",
    }
    for name in ("JobServiceClient", "PipelineServiceClient"):
        real = getattr(aiplatform.gapic, name)

        def client(client_options: dict[str, str], real: Any = real) -> Any:
            assert client_options == {"api_endpoint": "us-central1-aiplatform.googleapis.com"}
            return real(**here)

        monkeypatch.setattr(aiplatform.gapic, name, client)
    endpoint = {"api_endpoint": emulator.url, "api_transport": "rest", "credentials": here["credentials"]}
    monkeypatch.setattr(aiplatform, "init", functools.partial(aiplatform.init, **endpoint))
    yield lambda program: exec(compile(program, "written.py", "exec"), {})
    aiplatform.initializer.global_config.__init__()  # type: ignore[misc]


@pytest.mark.parametrize("case", CASES)
def test_creates_exactly_the_job(case: str, run: Run, emulator: Running) -> None:
    kind, body, how = CASES[case]
    program = exporter.write(Submission(kind, "p", "us-central1", read(kind, body)[0]), "python")
    collection, resource = RESOURCES[kind]

    run(program)

    assert how in program
    (made,) = emulator.call("GET", f"/v1/projects/p/locations/us-central1/{collection}")[collection]
    sent = {name: made[name] for name in body}
    assert parsed(resource, sent) == parsed(resource, body)


def parsed(resource: Any, body: dict[str, Any]) -> Any:
    return json_format.ParseDict(body, resource.pb(resource()))
