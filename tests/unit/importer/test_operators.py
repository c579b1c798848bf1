"""Tests of Airflow operators, Kubeflow components and values of tools such as TFX: the job that each requests."""

from typing import Any

import pytest

from jobs import importer
from tests.unit.importer.test_reading import refused

CONTAINER = """
train = {call}(
    {where}
    staging_bucket="gs://b/stage",
    display_name="bird",
    container_uri="gcr.io/p/i",
    command=["python", "train.py"],
    args=["--seed=1"],
    replica_count=2,
    machine_type="n1-standard-8",
    accelerator_type="NVIDIA_TESLA_T4",
    accelerator_count=1,
    service_account="me@p.iam.gserviceaccount.com",
    timeout=3600,
    training_fraction_split=0.8,
    validation_fraction_split=0.1,
    test_fraction_split=0.1,
    model_serving_container_image_uri="gcr.io/p/serve",
    model_display_name="bird-model",
)
"""
AIRFLOW = 'task_id="train", project_id="vision", region="us-central1", dataset_id="77", deferrable=True,'
KUBEFLOW = 'project="vision", location="us-central1", dataset=made.outputs["dataset"],'
MACHINE = {"machineType": "n1-standard-8", "acceleratorType": "NVIDIA_TESLA_T4", "acceleratorCount": 1}


@pytest.mark.parametrize(
    ("call", "where", "dataset"),
    [
        ("CreateCustomContainerTrainingJobOperator", AIRFLOW, "77"),
        ("components.CustomContainerTrainingJobRunOp", KUBEFLOW, "${made.outputs['dataset']}"),
    ],
)
def test_reads_constructor_and_run_in_one_call(call: str, where: str, dataset: str) -> None:
    reading = importer.read_text(CONTAINER.format(call=call, where=where))

    assert refused(reading) == []
    assert reading.submission is not None
    assert (reading.submission.project, reading.submission.region) == ("vision", "us-central1")
    inputs: dict[str, Any] = reading.body["trainingTaskInputs"]
    assert [pool["replicaCount"] for pool in inputs["workerPoolSpecs"]] == ["1", "1"]
    assert inputs["workerPoolSpecs"][0]["machineSpec"] == MACHINE
    assert inputs["workerPoolSpecs"][0]["containerSpec"]["args"] == ["--seed=1"]
    assert inputs["scheduling"] == {"timeout": "3600s"}
    assert inputs["serviceAccount"] == "me@p.iam.gserviceaccount.com"
    assert reading.body["modelToUpload"]["displayName"] == "bird-model"
    assert reading.body["inputDataConfig"]["datasetId"] == dataset
    assert reading.body["inputDataConfig"]["fractionSplit"]["trainingFraction"] == 0.8


def test_reads_a_python_package_operator() -> None:
    text = (
        'CreateCustomPythonPackageTrainingJobOperator(task_id="t", display_name="bird", container_uri="gcr.io/p/x",\n'
        '  python_package_gcs_uri="gs://b/p.tar.gz", python_module_name="trainer.task", machine_type="n1-standard-4",\n'
        '  project_id="p", region="r")\n'
    )
    package = importer.read_text(text).body["trainingTaskInputs"]["workerPoolSpecs"][0]["pythonPackageSpec"]

    assert package == {
        "executorImageUri": "gcr.io/p/x",
        "pythonModule": "trainer.task",
        "packageUris": ["gs://b/p.tar.gz"],
    }


TUNING = """
from google.cloud.aiplatform import hyperparameter_tuning as hpt
pools = [{"machine_spec": {"machine_type": "n1-standard-4"}, "replica_count": 1,
          "container_spec": {"image_uri": "gcr.io/p/i"}}]
"""
OPERATOR = """
CreateHyperparameterTuningJobOperator(task_id="tune", project_id="p", region="r", display_name="bird",
    worker_pool_specs=pools, metric_spec={"loss": "minimize"}, base_output_dir="gs://b/out",
    parameter_spec={"rate": hpt.DoubleParameterSpec(min=0.1, max=1, scale="log")},
    max_trial_count=9, parallel_trial_count=3, search_algorithm="random", enable_web_access=True)
"""
COMPONENT = """
HyperparameterTuningJobRunOp(project="p", location="r", display_name="bird", worker_pool_specs=pools,
    study_spec_metrics=serialize_metrics({"loss": "minimize"}), base_output_directory="gs://b/out",
    study_spec_parameters=serialize_parameters({"rate": hpt.DoubleParameterSpec(min=0.1, max=1, scale="log")}),
    max_trial_count=9, parallel_trial_count=3, study_spec_algorithm="RANDOM_SEARCH", enable_web_access=True)
"""


@pytest.mark.parametrize("call", [OPERATOR, COMPONENT])
def test_reads_a_tuning_job_of_pools(call: str) -> None:
    reading = importer.read_text(TUNING + call)

    assert refused(reading) == []
    assert reading.kind == "hyperparameter_tuning_job"
    assert (reading.body["maxTrialCount"], reading.body["parallelTrialCount"]) == (9, 3)
    assert reading.body["studySpec"]["algorithm"] == "RANDOM_SEARCH"
    assert reading.body["studySpec"]["metrics"] == [{"metricId": "loss", "goal": "MINIMIZE"}]
    assert reading.body["studySpec"]["parameters"][0]["doubleValueSpec"] == {"minValue": 0.1, "maxValue": 1}
    inner = reading.body["trialJobSpec"]
    assert inner["workerPoolSpecs"][0]["containerSpec"] == {"imageUri": "gcr.io/p/i"}
    assert inner["baseOutputDirectory"] == {"outputUriPrefix": "gs://b/out"}
    assert inner["enableWebAccess"] is True


def test_an_argument_that_an_operator_does_not_have_is_refused() -> None:
    text = 'CreateCustomContainerTrainingJobOperator(display_name="x", container_uri="gcr.io/p/i", machine_tipe="m")'

    assert refused(importer.read_text(text)) == ["unknown_argument"]


def test_takes_the_project_beside_a_job_that_a_tool_sends() -> None:
    text = (
        'tuner_args = {"project": "vision", "region": "us-central1", "job_spec": {"worker_pool_specs": [\n'
        '    {"machine_spec": {"machine_type": "n1-standard-4"}, "container_spec": {"image_uri": "gcr.io/p/i"}}]}}\n'
        "tuner = Tuner(custom_config=tuner_args)\n"
    )
    reading = importer.read_text(text, name="tuner")

    assert refused(reading) == []
    assert reading.submission is not None
    assert (reading.submission.project, reading.submission.region) == ("vision", "us-central1")
    assert reading.body["displayName"] == "tuner"


def test_assumes_no_counts_of_trials_for_a_value_of_a_program() -> None:
    text = "import helper\nstudy_spec = {'study_spec': {'metrics': []}, 'trial_job_spec': {'worker_pool_specs': []}}\n"

    assert "maxTrialCount" not in importer.read_text(text).body


def test_a_request_made_in_a_function_takes_the_job_that_the_program_holds() -> None:
    wanted = (
        "job = {'display_name': 'bird', 'job_spec': {'worker_pool_specs': [\n"
        "    {'machine_spec': {'machine_type': 'n1-standard-4'}, 'replica_count': 1,\n"
        "     'container_spec': {'image_uri': 'gcr.io/p/i'}}]}}\n"
    )
    send = "def send(job):\n    return client.create_custom_job(parent=parent, custom_job=job)\n\n"
    reading = importer.read_text(wanted + send + "send(job)\n")

    assert refused(reading) == []
    assert reading.body["displayName"] == "bird"
    assert refused(importer.read_text(send)) == ["unknown_job"]
