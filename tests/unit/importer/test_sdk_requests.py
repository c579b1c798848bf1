"""Tests of SDK arguments that become other fields: each is read as google-cloud-aiplatform 2.7.0 sends it."""

from typing import Any

import pytest

from jobs import importer
from jobs.importer.sdk_names import MAKERS
from tests.unit.importer.test_reading import codes, refused, spec_of

POOLS = '[{"machine_spec": {"machine_type": "n1-standard-4"}, "container_spec": {"image_uri": "gcr.io/p/i"}}]'
TUNING = f"""
from google.cloud import aiplatform
from google.cloud.aiplatform import hyperparameter_tuning as hpt

aiplatform.init(project="vision", location="europe-west4")
trial = aiplatform.CustomJob("trial", {POOLS})
aiplatform.HyperparameterTuningJob(
    display_name="tune",
    custom_job=trial,
    metric_spec={{"loss": "minimize"}},
    parameter_spec={{"model": PARAMETER}},
    max_trial_count=8,
    parallel_trial_count=2,
).run(RUN)
"""
PIPELINE = """
job = aiplatform.CustomContainerTrainingJob(
    project="vision", location="europe-west4", display_name="birds", container_uri="gcr.io/p/i"
)
job.run(RUN)
"""
CONTEXTS = "projects/vision/locations/europe-west4/metadataStores/default/contexts"
TASK = {"containerSpec": {"imageUri": "gcr.io/p/i"}}
DISK = {"diskSpec": {"bootDiskType": "pd-ssd", "bootDiskSizeGb": 100}}
CHIEF = {"machineSpec": {"machineType": "n1-standard-4"}, "replicaCount": "1"} | DISK | TASK


def read(text: str, **parts: str) -> dict[str, Any]:
    """Return the REST body of a text after its words in capitals are replaced. Fail on an error."""
    for word, part in parts.items():
        text = text.replace(word, part)
    reading = importer.read_text(text)
    assert refused(reading) == []
    return reading.body


class TestConditionalParameters:
    @pytest.mark.parametrize(
        ("parent", "values", "parent_spec", "condition"),
        [
            (
                'CategoricalParameterSpec(values=["linear", "dnn"]',
                '["dnn"]',
                {"categoricalValueSpec": {"values": ["linear", "dnn"]}},
                {"parentCategoricalValues": {"values": ["dnn"]}},
            ),
            (
                'IntegerParameterSpec(min=1, max=3, scale="linear"',
                "[2, 3]",
                {"integerValueSpec": {"minValue": "1", "maxValue": "3"}, "scaleType": "UNIT_LINEAR_SCALE"},
                {"parentIntValues": {"values": ["2", "3"]}},
            ),
            (
                "DiscreteParameterSpec(values=[0.5, 1], scale=None",
                "[0.5]",
                {"discreteValueSpec": {"values": [0.5, 1]}},
                {"parentDiscreteValues": {"values": [0.5]}},
            ),
        ],
    )
    def test_name_the_values_of_their_parent(
        self, parent: str, values: str, parent_spec: dict[str, Any], condition: dict[str, Any]
    ) -> None:
        rate = f'hpt.DoubleParameterSpec(min=1e-4, max=0.1, scale="log", parent_values={values})'
        given = f'hpt.{parent}, conditional_parameter_spec={{"rate": {rate}}})'

        study = read(TUNING, PARAMETER=given, RUN="")["studySpec"]

        inner = {
            "parameterId": "rate",
            "doubleValueSpec": {"minValue": 0.0001, "maxValue": 0.1},
            "scaleType": "UNIT_LOG_SCALE",
        }
        conditions = [{**condition, "parameterSpec": inner}]
        assert study["parameters"] == [{"parameterId": "model", **parent_spec, "conditionalParameterSpecs": conditions}]

    def test_may_have_conditional_parameters_themselves(self) -> None:
        units = "hpt.IntegerParameterSpec(min=8, max=64, scale=None, parent_values=[2])"
        layers = (
            "hpt.IntegerParameterSpec(min=1, max=2, scale=None, parent_values=['dnn'],"
            f" conditional_parameter_spec={{'units': {units}}})"
        )
        kinds = f"hpt.CategoricalParameterSpec(values=['dnn'], conditional_parameter_spec={{'layers': {layers}}})"

        model = read(TUNING, PARAMETER=kinds, RUN="")["studySpec"]["parameters"][0]

        outer = model["conditionalParameterSpecs"][0]
        inner = outer["parameterSpec"]["conditionalParameterSpecs"][0]
        assert outer["parentCategoricalValues"] == {"values": ["dnn"]}
        assert inner["parentIntValues"] == {"values": ["2"]}
        assert inner["parameterSpec"] == {
            "parameterId": "units",
            "integerValueSpec": {"minValue": "8", "maxValue": "64"},
        }

    def test_that_are_no_literal_are_refused(self) -> None:
        given = "hpt.CategoricalParameterSpec(values=['a'], conditional_parameter_spec={'rate': make_rate()})"

        reading = importer.read_text(TUNING.replace("PARAMETER", given).replace("RUN", ""))

        assert codes(reading)["unknown_parameter"] == 11


class TestExperiments:
    @pytest.mark.parametrize(
        ("given", "fields"),
        [
            ('experiment="birds"', {"experiment": f"{CONTEXTS}/birds"}),
            (
                'experiment="birds", experiment_run="one"',
                {"experiment": f"{CONTEXTS}/birds", "experimentRun": f"{CONTEXTS}/birds-one"},
            ),
            (f'experiment="{CONTEXTS}/whole"', {"experiment": f"{CONTEXTS}/whole"}),
        ],
    )
    def test_become_contexts_of_the_default_store(self, given: str, fields: dict[str, str]) -> None:
        text = f'aiplatform.init(project="vision", location="europe-west4")\njob = aiplatform.CustomJob("x", {POOLS})\n'

        spec = read(f"{text}job.submit(RUN)", RUN=given)["jobSpec"]

        assert {name: spec[name] for name in spec if name != "workerPoolSpecs"} == fields

    def test_without_a_project_hold_placeholders(self) -> None:
        reading = importer.read_text(f'aiplatform.CustomJob("x", {POOLS}).run(experiment="birds")')

        store = "projects/${project}/locations/${location}/metadataStores/default"
        assert reading.body["jobSpec"]["experiment"] == f"{store}/contexts/birds"
        assert "jobSpec.experiment" in reading.placeholders

    def test_a_run_without_an_experiment_is_refused(self) -> None:
        reading = importer.read_text(f'aiplatform.CustomJob("x", {POOLS}).run(experiment_run="one")')

        assert "no_experiment" in codes(reading)


class TestReductionServers:
    GIVEN = (
        'reduction_server_replica_count=4, reduction_server_machine_type="n1-highcpu-16",'
        ' reduction_server_container_uri="gcr.io/p/reduce"'
    )
    SERVERS = {
        "machineSpec": {"machineType": "n1-highcpu-16"},
        "replicaCount": "4",
        "containerSpec": {"imageUri": "gcr.io/p/reduce"},
    }

    def test_are_the_third_pool(self) -> None:
        pools = read(PIPELINE, RUN=f"replica_count=3, {self.GIVEN}")["trainingTaskInputs"]["workerPoolSpecs"]

        assert pools == [CHIEF, CHIEF | {"replicaCount": "2"}, self.SERVERS]

    def test_are_the_third_pool_where_there_are_no_workers(self) -> None:
        pools = read(PIPELINE, RUN=self.GIVEN)["trainingTaskInputs"]["workerPoolSpecs"]

        assert pools == [CHIEF, {}, self.SERVERS]

    def test_none_are_no_pool(self) -> None:
        pools = read(PIPELINE, RUN="reduction_server_replica_count=0")["trainingTaskInputs"]["workerPoolSpecs"]

        assert pools == [CHIEF]


class TestInputData:
    FRACTIONS = "training_fraction_split=0.7, validation_fraction_split=0.2, test_fraction_split=0.1"
    SPLIT = {"trainingFraction": 0.7, "validationFraction": 0.2, "testFraction": 0.1}

    @pytest.mark.parametrize(
        ("given", "fields"),
        [
            (FRACTIONS, {"fractionSplit": SPLIT}),
            (
                'training_filter_split="a=1", validation_filter_split="a=2", test_filter_split="a=3"',
                {"filterSplit": {"trainingFilter": "a=1", "validationFilter": "a=2", "testFilter": "a=3"}},
            ),
            ('predefined_split_column_name="set"', {"predefinedSplit": {"key": "set"}}),
            (f'{FRACTIONS}, timestamp_split_column_name="at"', {"timestampSplit": {**SPLIT, "key": "at"}}),
            ('annotation_schema_uri="gs://s/a.yaml"', {"annotationSchemaUri": "gs://s/a.yaml"}),
            ('bigquery_destination="bq://p"', {"bigqueryDestination": {"outputUri": "bq://p"}}),
            ('base_output_dir="gs://b/out"', {"gcsDestination": {"outputUriPrefix": "gs://b/out"}}),
            (
                'base_output_dir="gs://b/out", bigquery_destination="bq://p"',
                {"bigqueryDestination": {"outputUri": "bq://p"}},
            ),
        ],
    )
    def test_is_split_and_placed_as_the_sdk_does(self, given: str, fields: dict[str, Any]) -> None:
        body = read(PIPELINE, RUN=f"dataset=made, {given}")

        assert body["inputDataConfig"] == {"datasetId": "${made}", **fields}

    def test_without_a_dataset_is_not_given(self) -> None:
        assert "inputDataConfig" not in read(PIPELINE, RUN=f'base_output_dir="gs://b/out", {self.FRACTIONS}')


INIT = """
aiplatform.init(
    project="vision", location="europe-west4", staging_bucket="gs://b", service_account="sa", network="n",
    encryption_spec_key_name="projects/vision/keys/k",
)
"""
CUSTOM = f'job = aiplatform.CustomJob("x", {POOLS})\n'
TRAINING = 'job = aiplatform.CustomContainerTrainingJob(display_name="birds", container_uri="gcr.io/p/i")\n'


class TestDefaultsOfInit:
    @pytest.mark.parametrize(
        ("text", "key", "given"),
        [
            (f"{CUSTOM}job.run()", "jobSpec", {"serviceAccount": "sa", "network": "n"}),
            (f"{CUSTOM}job.submit()", "jobSpec", {"serviceAccount": "sa"}),
            (f'{CUSTOM}job.run(service_account="own")', "jobSpec", {"serviceAccount": "own", "network": "n"}),
            (f"{CUSTOM}job.run(service_account=None)", "jobSpec", {"serviceAccount": "sa", "network": "n"}),
            (f"{TRAINING}job.run()", "trainingTaskInputs", {"serviceAccount": "sa", "network": "n"}),
            (f"{TRAINING}job.submit()", "trainingTaskInputs", {"network": "n"}),
        ],
    )
    def test_are_what_the_sdk_sends(self, text: str, key: str, given: dict[str, str]) -> None:
        body = read(INIT + text)

        spec = body[key]
        assert {name: spec[name] for name in spec if name != "workerPoolSpecs"} == given
        assert body["encryptionSpec"] == {"kmsKeyName": "projects/vision/keys/k"}

    def test_apply_to_a_tuning_job_and_not_to_the_key_of_its_trials(self) -> None:
        text = TUNING.replace('aiplatform.init(project="vision", location="europe-west4")', INIT)

        body = read(text, PARAMETER="hpt.IntegerParameterSpec(min=1, max=3, scale=None)", RUN="")

        assert body["trialJobSpec"]["serviceAccount"] == "sa"
        assert body["trialJobSpec"]["network"] == "n"
        assert body["encryptionSpec"] == {"kmsKeyName": "projects/vision/keys/k"}

    def test_the_model_of_a_training_job_has_the_same_key(self) -> None:
        served = TRAINING.replace(")", ', model_serving_container_image_uri="gcr.io/p/serve")')

        body = read(f"{INIT}{served}job.run()")

        assert body["modelToUpload"]["encryptionSpec"] == {"kmsKeyName": "projects/vision/keys/k"}

    def test_a_staging_bucket_is_reported_at_its_line(self) -> None:
        for text in (CUSTOM, TRAINING):
            assert codes(importer.read_text(f"{INIT}{text}job.run()"))["staging_bucket"] == 3

    def test_an_operator_of_a_workflow_has_none(self) -> None:
        call = "CustomContainerTrainingJobRunOp(display_name='x', container_uri='gcr.io/p/i')"

        assert "serviceAccount" not in read(f"{INIT}{call}")["trainingTaskInputs"]


class TestReplicas:
    @pytest.mark.parametrize(
        ("count", "placeholder"), [('os.environ["NODES"]', "${NODES - 1}"), ("nodes", "${nodes - 1}")]
    )
    def test_an_open_number_leaves_one_less_for_the_workers(self, count: str, placeholder: str) -> None:
        reading = importer.read_text(f"import os\n{TRAINING}job.run(replica_count={count})")

        path = "trainingTaskInputs.workerPoolSpecs[1].replicaCount"
        found = [finding.message for finding in reading.findings if finding.field == path]
        assert found == [f"“{placeholder}” is a placeholder; it is left out until you fill it in."]

    def test_a_number_in_quotes_counts(self) -> None:
        pools = read(f'{TRAINING}job.run(replica_count="4")')["trainingTaskInputs"]["workerPoolSpecs"]

        assert [pool["replicaCount"] for pool in pools] == ["1", "3"]


@pytest.mark.parametrize("maker", sorted(MAKERS))
def test_reads_each_call_that_creates_a_job(maker: str) -> None:
    text = f"from google.cloud.aiplatform import {maker}\n\nmade = {maker}(location='us-east1')\n"

    assert importer.read_text(text).format == "python"


def test_a_component_of_a_pipeline_is_a_custom_job() -> None:
    text = """
from google_cloud_pipeline_components.v1.custom_job import CustomTrainingJobOp
from kfp import dsl

@dsl.pipeline(name="digits")
def digits(project: str = "vision", machine: str = "n1-standard-8"):
    machine_spec = {"machine_type": machine}
    pool = {"machine_spec": machine_spec, "container_spec": {"image_uri": "gcr.io/p/i"}}
    CustomTrainingJobOp(display_name="digits", project=project, location="us-west1", worker_pool_specs=[pool])
"""

    reading = importer.read_text(text)

    assert reading.submission is not None
    place = reading.kind, reading.submission.project, reading.submission.region, reading.submission.display_name
    assert place == ("custom_job", "vision", "us-west1", "digits")
    assert spec_of(reading)["workerPoolSpecs"][0]["machineSpec"] == {"machineType": "n1-standard-8"}
