"""Tests of SDK code: literals are read as the SDK sends them, unknown values become placeholders, nothing runs."""

import json

import pytest

from jobs import importer
from tests.unit.importer.test_reading import codes, refused, spec_of

POOLS = """[{
    "machine_spec": {"machine_type": "n1-standard-4"},
    "replica_count": 1,
    "container_spec": {"image_uri": "gcr.io/p/i"},
}]"""
POOL = {
    "machineSpec": {"machineType": "n1-standard-4"},
    "replicaCount": "1",
    "containerSpec": {"imageUri": "gcr.io/p/i"},
}


class TestCustomJob:
    @pytest.mark.parametrize(
        "text",
        [
            f"from google.cloud import aiplatform\naiplatform.CustomJob(display_name='x', worker_pool_specs={POOLS})",
            f"from google.cloud.aiplatform import CustomJob\ns: list = {POOLS}\njob = CustomJob('x', s)\njob.run()",
            f"import vertexai\nSPECS = {POOLS}\ndef go(name='x'):\n    aiplatform.CustomJob(name, SPECS).submit()",
            f"kwargs = dict(display_name='x', worker_pool_specs={POOLS})\naiplatform.CustomJob(**kwargs)",
            "specs = []\nspecs.append(dict(machine_spec={}, replica_count=1))\n"
            "specs[0]['machine_spec']['machine_type'] = 'n1-' + 'standard-4'\n"
            "specs[0].update({'container_spec': {'image_uri': f'gcr.io/{\"p\"}/i'}})\n"
            "aiplatform.CustomJob(display_name='x', worker_pool_specs=specs)",
            "aiplatform.CustomJob(display_name='x', worker_pool_specs=[WorkerPoolSpec("
            "machine_spec=gapic.MachineSpec(machine_type='n1-standard-4'), replica_count=1, "
            "container_spec=ContainerSpec(image_uri='gcr.io/p/i'))])",
            f"!pip install google-cloud-aiplatform\n%time\naiplatform.CustomJob('x', {POOLS})",
        ],
    )
    def test_is_read_in_every_spelling(self, text: str) -> None:
        reading = importer.read_text(text)

        assert reading.format == "python"
        assert refused(reading) == []
        assert reading.body == {"displayName": "x", "jobSpec": {"workerPoolSpecs": [POOL]}}

    def test_run_gives_the_rest(self) -> None:
        text = f"""
aiplatform.init(project="p", location="europe-west4", staging_bucket="gs://b")
job = aiplatform.CustomJob(
    display_name="x",
    worker_pool_specs={POOLS},
    base_output_dir="gs://b/out",
    labels={{"a": "b"}},
    encryption_spec_key_name="projects/k",
)
job.run(
    service_account="me", network="n", timeout=2 * 60 * 60, restart_job_on_worker_restart=False, disable_retries=True,
    enable_web_access=True, tensorboard="t", scheduling_strategy=gca.Scheduling.Strategy.FLEX_START,
    max_wait_duration=0, sync=False, persistent_resource_id=None,
)
"""

        reading = importer.read_text(text)

        assert refused(reading) == []
        assert reading.submission is not None
        assert (reading.submission.project, reading.submission.region) == ("p", "europe-west4")
        assert reading.body["encryptionSpec"] == {"kmsKeyName": "projects/k"}
        assert spec_of(reading) == {
            "workerPoolSpecs": [POOL],
            "scheduling": {
                "timeout": "7200s",
                "strategy": "FLEX_START",
                "disableRetries": True,
                "maxWaitDuration": "0s",
            },
            "serviceAccount": "me",
            "network": "n",
            "baseOutputDirectory": {"outputUriPrefix": "gs://b/out"},
            "tensorboard": "t",
            "enableWebAccess": True,
        }

    def test_what_only_a_run_knows_is_a_placeholder(self) -> None:
        text = """
import os
def start(image, bucket=None):
    return aiplatform.CustomJob(
        display_name=f"run-{now()}",
        worker_pool_specs=[{"container_spec": {"image_uri": image, "env": [{"name": "A", "value": os.environ["A"]}]}}],
        base_output_dir=os.getenv("OUT", "gs://out"),
    )
"""

        reading = importer.read_text(text)

        assert reading.body["displayName"] == "run-${now()}"
        container = spec_of(reading)["workerPoolSpecs"][0]["containerSpec"]
        assert container == {"imageUri": "${image}", "env": [{"name": "A", "value": "${A}"}]}
        assert spec_of(reading)["baseOutputDirectory"] == {"outputUriPrefix": "gs://out"}
        assert {"displayName", "jobSpec.workerPoolSpecs[0].containerSpec.imageUri"} <= set(reading.placeholders)
        assert reading.line_of("displayName") == 5

    def test_only_conditions_that_are_known_are_followed(self) -> None:
        text = f"""
kind = "b"
if kind == "a":
    name, image = "a", "a"
elif kind in ("b", "c"):
    name = "b"
else:
    name = "c"
if unknown:
    run = "first"
else:
    run = "second"
aiplatform.CustomJob(display_name=name, labels={{"run": run}}, worker_pool_specs={POOLS})
"""

        reading = importer.read_text(text)

        assert (reading.body["displayName"], reading.body["labels"]) == ("b", {"run": "${run}"})

    def test_unknown_arguments_are_refused_at_their_line(self) -> None:
        reading = importer.read_text(f"aiplatform.CustomJob(\n  display_name='x',\n  worker_pool_spec={POOLS})")

        found = next(finding for finding in reading.findings if finding.code == "unknown_argument")
        assert (found.line, found.remedy) == (3, "Did you mean `worker_pool_specs`?")

    def test_a_local_script_leaves_a_placeholder_for_its_package(self) -> None:
        text = """aiplatform.CustomJob.from_local_script(display_name="x", script_path="train.py", args=["--a"],
  container_uri="us-docker.pkg.dev/vertex-ai/training/tf-cpu.2-4:latest", replica_count=3, requirements=["a"])"""

        reading = importer.read_text(text)

        pools = spec_of(reading)["workerPoolSpecs"]
        assert refused(reading) == []
        assert [pool["replicaCount"] for pool in pools] == ["1", "2"]
        assert pools[0]["pythonPackageSpec"]["packageUris"] == ["${PACKAGE_URI}"]
        assert codes(reading)["local_code"] == 1


class TestOtherJobs:
    def test_tuning_jobs_are_read_with_their_custom_job(self) -> None:
        text = f"""
from google.cloud.aiplatform import hyperparameter_tuning as hpt
custom = aiplatform.CustomJob(display_name="c", worker_pool_specs={POOLS})
job = aiplatform.HyperparameterTuningJob(
    display_name="t", custom_job=custom, metric_spec={{"loss": "minimize"}},
    parameter_spec={{
        "lr": hpt.DoubleParameterSpec(min=0.001, max=1, scale="log"),
        "n": hpt.DiscreteParameterSpec(values=[1, 2], scale=None),
    }},
    max_trial_count=8, parallel_trial_count=2, search_algorithm="random",
)
job.run(timeout=60)
"""

        reading = importer.read_text(text)

        assert refused(reading) == []
        assert reading.kind == "hyperparameter_tuning_job"
        assert reading.body == {
            "displayName": "t",
            "studySpec": {
                "metrics": [{"metricId": "loss", "goal": "MINIMIZE"}],
                "parameters": [
                    {
                        "doubleValueSpec": {"minValue": 0.001, "maxValue": 1},
                        "parameterId": "lr",
                        "scaleType": "UNIT_LOG_SCALE",
                    },
                    {"discreteValueSpec": {"values": [1, 2]}, "parameterId": "n"},
                ],
                "algorithm": "RANDOM_SEARCH",
                "measurementSelectionType": "BEST_MEASUREMENT",
            },
            "maxTrialCount": 8,
            "parallelTrialCount": 2,
            "trialJobSpec": {"workerPoolSpecs": [POOL], "scheduling": {"timeout": "60s"}},
        }

    def test_training_jobs_become_pipelines(self) -> None:
        text = """
job = aiplatform.CustomContainerTrainingJob(display_name="x", container_uri="gcr.io/p/i", command=["python"],
    model_serving_container_image_uri="gcr.io/p/serve")
model = job.run(machine_type="n1-standard-8", accelerator_type="NVIDIA_TESLA_T4", accelerator_count=1,
    args=["--a=1"], environment_variables={"A": "1"}, base_output_dir="gs://b", model_display_name="m")
"""

        reading = importer.read_text(text)

        assert refused(reading) == []
        assert reading.kind == "training_pipeline"
        container = {
            "imageUri": "gcr.io/p/i",
            "command": ["python"],
            "args": ["--a=1"],
            "env": [{"name": "A", "value": "1"}],
        }
        pool = reading.body["trainingTaskInputs"]["workerPoolSpecs"][0]
        assert pool["containerSpec"] == container | {"env": [{"name": "A", "value": "1"}]}
        assert pool["diskSpec"] == {"bootDiskType": "pd-ssd", "bootDiskSizeGb": 100}
        assert reading.body["modelToUpload"] == {"displayName": "m", "containerSpec": {"imageUri": "gcr.io/p/serve"}}

    def test_the_generated_client_is_read(self) -> None:
        body = {"display_name": "x", "job_spec": {"scheduling": {"timeout": {"seconds": 60}}}}
        text = f"""client = aiplatform.gapic.JobServiceClient()
client.create_custom_job(request={{"parent": "projects/p/locations/us-east1", "custom_job": {json.dumps(body)}}})"""

        reading = importer.read_text(text)

        assert reading.submission is not None
        assert reading.submission.region == "us-east1"
        assert reading.body == {"displayName": "x", "jobSpec": {"scheduling": {"timeout": "60s"}}}

    def test_nothing_is_run(self, tmp_path: object) -> None:
        text = f"open({str(tmp_path)!r} + '/x', 'w')\naiplatform.CustomJob(display_name=str(open('/nonexistent')))"

        reading = importer.read_text(text)

        assert tuple(reading.placeholders) == ("displayName",)
        assert list(tmp_path.iterdir()) == []  # type: ignore[attr-defined]

    @pytest.mark.parametrize("text", ["aiplatform.CustomJob(", "import aiplatform\nCustomJob(print 'x')"])
    def test_broken_python_is_refused_at_its_line(self, text: str) -> None:
        reading = importer.read_text(text)

        assert refused(reading) == ["unreadable_python"]
        assert reading.findings[0].line in (1, 2)


class TestAliases:
    """What something unknown may change is open under every name that it has."""

    @pytest.mark.parametrize(
        "change",
        [
            "import mine\nmine.fix(pool)",
            "other = next(p for p in pools if p)\nother['replica_count'] = 2",
            "for p in sorted(pools, key=str):\n    p['replica_count'] = 2",
            "other = pool if unknown() else None\nother['replica_count'] = 2",
            "other = unknown() or pool\nother['replica_count'] = 2",
            "other = pools[unknown()]\nother['replica_count'] = 2",
            "while unknown():\n    pool['replica_count'] = 2\n    pool = dict(pool)",
            "first = {}\nother = first if unknown() else pool\nother['replica_count'] = 2",
        ],
    )
    def test_a_change_through_an_unknown_name_is_open(self, change: str) -> None:
        text = f"from google.cloud import aiplatform\npools = {POOLS}\npool = pools[0]\n{change}\n"
        text += "aiplatform.CustomJob(display_name='x', worker_pool_specs=pools).run()\n"

        reading = importer.read_text(text)

        assert any("jobSpec.workerPoolSpecs[0].replicaCount".startswith(path) for path in reading.placeholders)
