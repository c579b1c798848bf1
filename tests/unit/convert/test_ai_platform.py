"""Jobs of the former AI Platform Training: converted where a custom job says the same, else declined by name."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobs import convert
from tests.unit.convert.test_reading import codes, refused, spec_of

COMMAND = (
    "gcloud ai-platform jobs submit training night --region=us-central1 --scale-tier=custom --project=p \\\n"
    "  --master-machine-type=n1-standard-8 --master-accelerator=count=2,type=nvidia-tesla-t4 --stream-logs \\\n"
    "  --master-image-uri=gcr.io/p/i:1 --worker-count=3 --worker-machine-type=complex_model_m --job-dir=gs://b/x \\\n"
    "  -- --epochs=3\n"
)
STUDY = """jobId: j
trainingInput:
  scaleTier: CUSTOM
  masterType: n1-standard-4
  region: us-central1
  masterConfig: {imageUri: gcr.io/p/i}
  scheduling: {maxRunningTime: 7200s}
  hyperparameters:
    goal: MAXIMIZE
    hyperparameterMetricTag: acc
    maxTrials: 10
    maxParallelTrials: 2
    params:
    - {parameterName: lr, type: DOUBLE, minValue: 0.001, maxValue: 0.1, scaleType: UNIT_LOG_SCALE}
    - {parameterName: o, type: CATEGORICAL, categoricalValues: [a, b]}
"""
names = st.sampled_from(
    "scaleTier masterType masterConfig workerCount workerType args region hyperparameters packageUris jobDir "
    "scheduling encryptionConfig parameterServerCount labels serviceAccount odd".split()
)
values = st.recursive(
    st.none() | st.integers() | st.text(max_size=5),
    lambda s: st.lists(s, max_size=2) | st.dictionaries(names, s, max_size=2),
)


def test_a_command_becomes_the_custom_job_that_says_the_same() -> None:
    reading = convert.read_text(COMMAND)

    chief, worker = spec_of(reading)["workerPoolSpecs"]
    assert refused(reading) == []
    assert reading.submission is not None
    assert (reading.submission.project, reading.submission.region) == ("p", "us-central1")
    assert reading.body["displayName"] == "night"
    assert chief["machineSpec"] == {
        "machineType": "n1-standard-8",
        "acceleratorType": "NVIDIA_TESLA_T4",
        "acceleratorCount": 2,
    }
    assert chief["containerSpec"] == {"imageUri": "gcr.io/p/i:1", "args": ["--epochs=3", "--job-dir", "gs://b/x"]}
    assert (worker["machineSpec"], worker["replicaCount"]) == ({"machineType": "n1-highcpu-16"}, "3")


def test_a_package_s_runtime_is_a_placeholder_of_the_image() -> None:
    command = (
        "gcloud ai-platform jobs submit training j --region us-central1 --runtime-version=2.11 "
        "--package-path=./trainer --module-name=trainer.task\n"
    )

    reading = convert.read_text(command)

    package = spec_of(reading)["workerPoolSpecs"][0]["pythonPackageSpec"]
    assert package["pythonModule"] == "trainer.task"
    assert len(reading.holes) == 2
    assert "runtime_version" in codes(reading)


def test_hyperparameters_become_a_tuning_job() -> None:
    reading = convert.read_text(STUDY)

    assert refused(reading) == []
    assert reading.kind == "hyperparameter_tuning_job"
    assert (reading.body["maxTrialCount"], reading.body["parallelTrialCount"]) == (10, 2)
    assert reading.body["studySpec"]["metrics"] == [{"metricId": "acc", "goal": "MAXIMIZE"}]
    rate, words = reading.body["studySpec"]["parameters"]
    assert rate["doubleValueSpec"] == {"minValue": 0.001, "maxValue": 0.1}
    assert words["categoricalValueSpec"] == {"values": ["a", "b"]}
    assert reading.body["trialJobSpec"]["scheduling"] == {"timeout": "7200s"}


def test_a_config_stands_below_the_flags() -> None:
    command = "gcloud ai-platform jobs submit training night --config hp.yaml --region=a-b1"

    reading = convert.read_text(f"cat > hp.yaml <<EOF\n{STUDY}EOF\n{command}\n")

    assert (reading.kind, reading.body["displayName"]) == ("hyperparameter_tuning_job", "night")
    assert reading.submission is not None
    assert reading.submission.region == "a-b1"


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (("masterType: n1-standard-4", "masterType: standard_v100"), 4),
        (("scaleTier: CUSTOM", "scaleTier: BASIC_GPU"), 3),
        (("scaleTier: CUSTOM", "scaleTier: PREMIUM_1"), 4),
    ],
)
def test_what_has_no_exact_equal_is_declined_with_one(change: tuple[str, str], line: int) -> None:
    reading = convert.read_text(STUDY.replace(*change))

    (found,) = [finding for finding in reading.findings if finding.code == "no_equal"]
    assert found.line == line
    assert found.remedy.startswith("Give ")


@given(body=st.dictionaries(names, values, max_size=6))
@settings(max_examples=150, deadline=None)
def test_any_training_input_is_read_without_raising(body: dict[str, Any]) -> None:
    reading = convert.read_text(json.dumps({"trainingInput": body}))

    assert reading.submission is not None or reading.findings
