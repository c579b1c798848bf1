"""Tests of tuning jobs and pipelines under a settable clock, and of what is refused."""

import itertools
import json
import urllib.error
import urllib.parse
from pathlib import Path
from typing import Any

import pytest

from tests.support.running_emulator import Running, running
from tests.unit.emulator.conftest import job_body, until

PARENT = "/v1/projects/demo/locations/us-central1"
STUDIES = f"{PARENT}/hyperparameterTuningJobs"
PIPELINES = f"{PARENT}/trainingPipelines"
CUSTOM = "gs://google-cloud-aiplatform/schema/trainingjob/definition/custom_task_1.0.0.yaml"
TUNING = CUSTOM.replace("custom_task", "hyperparameter_tuning_task")


def study_body(**more: Any) -> dict[str, Any]:
    """A study of six trials, two at a time."""
    parameter = {"parameterId": "x", "doubleValueSpec": {"minValue": 0.1, "maxValue": 1}}
    spec = {"metrics": [{"metricId": "m", "goal": "MAXIMIZE"}], "parameters": [parameter]}
    return {
        "displayName": "study",
        "labels": {"emulator_script": more.pop("script", "happy")},
        "studySpec": spec | more.pop("spec", {}),
        "trialJobSpec": job_body(["train"])["jobSpec"] | more.pop("job", {}),
        "maxTrialCount": 6,
        "parallelTrialCount": 2,
        **more,
    }


def get(emulator: Running, made: dict[str, Any]) -> dict[str, Any]:
    """The resource now."""
    return dict(emulator.call("GET", "/v1/" + made["name"]))


class TestStudies:
    """The life of a study."""

    def test_runs_two_trials_at_a_time_until_all_are_done(self, scripted: Running) -> None:
        made = scripted.call("POST", STUDIES, study_body())
        assert made["state"] == "JOB_STATE_PENDING"
        scripted.advance(200)
        assert get(scripted, made)["state"] == "JOB_STATE_RUNNING"
        assert [trial["state"] for trial in get(scripted, made)["trials"]] == ["ACTIVE"] * 2
        scripted.advance(10_000)
        ended = get(scripted, made)

        assert ended["state"] == "JOB_STATE_SUCCEEDED"
        assert [trial["state"] for trial in ended["trials"]] == ["SUCCEEDED"] * 6
        assert all("finalMeasurement" in trial for trial in ended["trials"])
        assert {"startTime", "endTime"} <= set(ended)

    def test_trials_are_custom_jobs_with_their_parameters(self, scripted: Running) -> None:
        made = scripted.call("POST", STUDIES, study_body())
        scripted.advance(3)
        trial = get(scripted, made)["trials"][0]
        job = scripted.call("GET", "/v1/" + trial["customJob"])
        container = job["jobSpec"]["workerPoolSpecs"][0]["containerSpec"]

        assert container["args"] == [f"--x={trial['parameters'][0]['value']}"]

    def test_a_grid_may_end_before_the_count(self, scripted: Running) -> None:
        parameter = {"parameterId": "k", "categoricalValueSpec": {"values": ["a", "b", "c"]}}
        made = scripted.call("POST", STUDIES, study_body(spec={"parameters": [parameter], "algorithm": "GRID_SEARCH"}))
        scripted.advance(10_000)

        assert [trial["parameters"][0]["value"] for trial in get(scripted, made)["trials"]] == ["a", "b", "c"]

    def test_the_first_failure_ends_it_without_a_limit(self, scripted: Running) -> None:
        made = scripted.call("POST", STUDIES, study_body(script="oom"))
        scripted.advance(10_000)
        ended = get(scripted, made)

        assert ended["state"] == "JOB_STATE_FAILED"
        assert "low on memory" in ended["error"]["message"]
        assert len(ended["trials"]) == 2

    def test_a_limit_allows_failures(self, scripted: Running) -> None:
        made = scripted.call("POST", STUDIES, study_body(script="oom", maxFailedTrialCount=4))
        scripted.advance(10_000)

        states = [trial["state"] for trial in get(scripted, made)["trials"]]
        assert states.count("INFEASIBLE") >= 4
        assert get(scripted, made)["state"] == "JOB_STATE_FAILED"

    def test_cancel_waits_for_its_trials(self, scripted: Running) -> None:
        made = scripted.call("POST", STUDIES, study_body())
        scripted.advance(300)
        scripted.call("POST", f"/v1/{made['name']}:cancel", {})
        assert get(scripted, made)["state"] == "JOB_STATE_CANCELLING"
        scripted.advance(100)

        assert get(scripted, made)["state"] == "JOB_STATE_CANCELLED"
        assert get(scripted, made)["error"]["code"] == 1

    def test_hopeless_trials_are_stopped_early(self, tmp_path: Path) -> None:
        code = (
            "import sys, time, json, os\n"
            "x = float(sys.argv[1].split('=')[1])\n"
            "for step in range(1, 30):\n"
            "    line = json.dumps({'m': str(x), 'global_step': str(step)})\n"
            "    open(os.environ['CLOUD_ML_HP_METRIC_FILE'], 'a').write(line + '\\n')\n"
            "    if x > 2: break\n"
            "    time.sleep(1)\n"
        )
        values = {"parameterId": "x", "discreteValueSpec": {"values": [1, 3, 4, 5]}}
        spec = {"parameters": [values], "algorithm": "GRID_SEARCH", "medianAutomatedStoppingSpec": {}}
        body = study_body(spec=spec, job=job_body(["python", "-c", code])["jobSpec"], maxTrialCount=4)
        with running(tmp_path / "state") as emulator:
            made = emulator.call("POST", STUDIES, body | {"labels": {}})
            until(lambda: get(emulator, made)["state"] == "JOB_STATE_SUCCEEDED")
            first = get(emulator, made)["trials"][0]

        assert first["state"] == "SUCCEEDED"
        assert len(first["measurements"]) < 29

    def test_goes_on_after_a_restart(self, tmp_path: Path) -> None:
        with running(tmp_path / "state", scripted=True) as emulator:
            made = emulator.call("POST", STUDIES, study_body())
            emulator.advance(300)
        with running(tmp_path / "state", scripted=True) as emulator:
            emulator.advance(20_000)

            assert get(emulator, made)["state"] == "JOB_STATE_SUCCEEDED"
            assert len(get(emulator, made)["trials"]) == 6

    @pytest.mark.parametrize(
        ("change", "words"),
        [
            ({"maxTrialCount": 0}, "max_trial_count; Message: Required"),
            ({"parallelTrialCount": 7}, "parallel_trial_count"),
            ({"maxFailedTrialCount": 7}, "max_failed_trial_count"),
            ({"spec": {"metrics": []}}, "study_spec.metrics"),
            ({"spec": {"metrics": [{"metricId": "a b"}]}}, "must not contain whitespace"),
            ({"spec": {"parameters": [{"parameterId": "x"}]}}, "One of the value specs must be set"),
            ({"spec": {"algorithm": "GRID_SEARCH"}}, "Grid search does not support parameters of type DOUBLE"),
            ({"job": {"workerPoolSpecs": []}}, "trial_job_spec.worker_pool_specs"),
        ],
    )
    def test_refuses(self, scripted: Running, change: dict[str, Any], words: str) -> None:
        with pytest.raises(urllib.error.HTTPError) as refused:
            scripted.call("POST", STUDIES, study_body(**change))

        with refused.value as reply:
            assert words in json.loads(reply.read())["error"]["message"]


class TestWaitingTrials:
    """A trial that was suggested is ACTIVE, whether or not there are machines for its custom job."""

    ONE = {"quotas": {"us-central1": {"custom_model_training_cpus": 4}}}

    def begin(self, emulator: Running, plan: dict[str, Any]) -> dict[str, Any]:
        emulator.call("POST", "/_emulator/capacity", plan)
        return dict(emulator.call("POST", STUDIES, study_body(maxTrialCount=4)))

    def jobs(self, emulator: Running, made: dict[str, Any]) -> list[dict[str, Any]]:
        return [emulator.call("GET", "/v1/" + trial["customJob"]) for trial in get(emulator, made)["trials"]]

    def test_short_quota_keeps_its_custom_job_queued(self, scripted: Running) -> None:
        made = self.begin(scripted, self.ONE)
        scripted.advance(300)
        first, second = self.jobs(scripted, made)

        assert [trial["state"] for trial in get(scripted, made)["trials"]] == ["ACTIVE", "ACTIVE"]
        assert (first["state"], second["state"]) == ("JOB_STATE_RUNNING", "JOB_STATE_QUEUED")
        assert "." not in first["startTime"]
        assert "." in second["startTime"]
        assert ["startTime" in trial for trial in get(scripted, made)["trials"]] == [True, False]
        assert get(scripted, made)["state"] == "JOB_STATE_RUNNING"

    def test_runs_one_after_the_other_where_quota_is_for_one(self, scripted: Running) -> None:
        made = self.begin(scripted, self.ONE)
        scripted.advance(10_000)

        runs = sorted((job["startTime"], job["endTime"]) for job in self.jobs(scripted, made))
        assert get(scripted, made)["state"] == "JOB_STATE_SUCCEEDED"
        assert len(runs) == 4
        assert all(before[1] <= after[0] for before, after in itertools.pairwise(runs))

    def test_a_study_of_which_no_trial_has_machines_is_not_running(self, scripted: Running) -> None:
        long = job_body(["train"], labels={"emulator_script": "long"})
        other = scripted.call("POST", f"{PARENT}/customJobs", long)
        scripted.call("POST", "/_emulator/capacity", self.ONE)
        scripted.advance(100)
        made = scripted.call("POST", STUDIES, study_body())
        scripted.advance(600)

        assert get(scripted, other)["state"] == "JOB_STATE_RUNNING"
        assert [job["state"] for job in self.jobs(scripted, made)] == ["JOB_STATE_QUEUED"] * 2
        assert get(scripted, made)["state"] == "JOB_STATE_PENDING"
        assert all("startTime" not in trial for trial in get(scripted, made)["trials"])

    def test_without_machines_it_is_infeasible_and_says_so(self, scripted: Running) -> None:
        made = self.begin(scripted, {"machines": {"us-central1": {"cpu": 0}}})
        scripted.advance(20_000)
        ended = get(scripted, made)

        assert ended["state"] == "JOB_STATE_FAILED"
        assert "Resources are insufficient" in ended["trials"][0]["infeasibleReason"]
        assert all("." in job["startTime"] for job in self.jobs(scripted, made))


def pipeline_body(inputs: Any, definition: str = CUSTOM, **more: Any) -> dict[str, Any]:
    """A training pipeline."""
    return {
        "displayName": "pipeline",
        "labels": {"emulator_script": "happy"},
        "trainingTaskDefinition": definition,
        "trainingTaskInputs": inputs,
        **more,
    }


MIXED = {
    "worker_pool_specs": [
        {
            "machineSpec": {"machine_type": "n1-standard-4"},
            "replicaCount": 1.0,
            "container_spec": {"image_uri": "i", "command": ["x"]},
        }
    ],
    "baseOutputDirectory": {"output_uri_prefix": "gs://stage/out"},
    "scheduling": {"timeout": "60s", "restart_job_on_worker_restart": False},
}


class TestPipelines:
    """The life of a pipeline."""

    def test_follows_its_job(self, scripted: Running) -> None:
        made = scripted.call("POST", PIPELINES, pipeline_body(MIXED | {"scheduling": {}}))
        job_name = made["trainingTaskMetadata"]["backingCustomJob"]
        assert made["state"] == "PIPELINE_STATE_PENDING"
        assert made["trainingTaskInputs"] == MIXED | {"scheduling": {}}
        scripted.advance(0.3)
        runs = get(scripted, made)
        assert (runs["state"], runs["startTime"]) == ("PIPELINE_STATE_RUNNING", runs["updateTime"])
        scripted.advance(10_000)

        ended = get(scripted, made)
        assert ended["state"] == "PIPELINE_STATE_SUCCEEDED"
        assert (ended["startTime"], ended["endTime"]) == (runs["startTime"], ended["updateTime"])
        assert scripted.call("GET", "/v1/" + job_name)["state"] == "JOB_STATE_SUCCEEDED"

    def test_reads_either_spelling_and_floats(self, scripted: Running) -> None:
        made = scripted.call("POST", PIPELINES, pipeline_body(MIXED))
        spec = scripted.call("GET", "/v1/" + made["trainingTaskMetadata"]["backingCustomJob"])["jobSpec"]

        assert spec["workerPoolSpecs"][0]["replicaCount"] == "1"
        assert spec["baseOutputDirectory"] == {"outputUriPrefix": "gs://stage/out/"}

    def test_a_timeout_cancels_both(self, scripted: Running) -> None:
        made = scripted.call("POST", PIPELINES, pipeline_body(MIXED))
        scripted.advance(10_000)

        assert get(scripted, made)["state"] == "PIPELINE_STATE_CANCELLED"
        assert get(scripted, made)["error"]["code"] == 1

    def test_a_tuning_task_is_a_study(self, scripted: Running) -> None:
        inputs = {key: value for key, value in study_body().items() if key not in ("displayName", "labels")}
        made = scripted.call("POST", PIPELINES, pipeline_body(inputs, TUNING))
        scripted.advance(10_000)
        study = scripted.call("GET", "/v1/" + made["trainingTaskMetadata"]["backingHyperparameterTuningJob"])

        assert study["state"] == "JOB_STATE_SUCCEEDED"
        assert get(scripted, made)["state"] == "PIPELINE_STATE_SUCCEEDED"

    def test_uploads_a_model(self, scripted: Running) -> None:
        model = {"displayName": "m", "containerSpec": {"imageUri": "serve"}}
        body = pipeline_body(MIXED | {"scheduling": {}}, modelToUpload=model, modelId="my-model")
        made = scripted.call("POST", PIPELINES, body)
        scripted.advance(10_000)
        uploaded = get(scripted, made)["modelToUpload"]

        assert uploaded["name"].endswith("/models/my-model")
        assert get(scripted, uploaded)["artifactUri"] == "gs://stage/out/model"

    def test_can_be_found_by_its_definition(self, scripted: Running) -> None:
        scripted.call("POST", PIPELINES, pipeline_body(MIXED))

        for text, count in (('training_task_definition:"*custom_task*"', 1), ('trainingTaskDefinition="x"', 0)):
            found = scripted.call("GET", f"{PIPELINES}?filter={urllib.parse.quote(text)}")
            assert len(found.get("trainingPipelines", [])) == count

    @pytest.mark.parametrize(
        ("body", "status", "words"),
        [
            ({"displayName": "n"}, 400, "training_task_definition"),
            (pipeline_body({"worker_pool_specs": []}), 400, "training_task_inputs.worker_pool_specs"),
            (pipeline_body({"nonsense": 1}), 400, "Unknown name \"nonsense\" at 'training_task_inputs'"),
            (pipeline_body(MIXED, "gs://x/automl_tables_1.0.0.yaml"), 400, "Unsupported training task definition"),
            (pipeline_body(MIXED, inputDataConfig={"datasetId": "1"}), 501, "inputDataConfig"),
        ],
    )
    def test_refuses(self, scripted: Running, body: dict[str, Any], status: int, words: str) -> None:
        with pytest.raises(urllib.error.HTTPError) as refused:
            scripted.call("POST", PIPELINES, body)

        with refused.value as reply:
            assert reply.code == status
            assert words in json.loads(reply.read())["error"]["message"]
