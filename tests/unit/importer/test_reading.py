"""Tests of the ways in which people write jobs: each is read, with findings at its lines."""

import json
from typing import Any

import pytest

from jobs import importer
from jobs.spec import Severity

POOL = {
    "machineSpec": {"machineType": "n1-standard-4"},
    "replicaCount": "1",
    "containerSpec": {"imageUri": "gcr.io/p/i"},
}
YAML_POOL = """
- machineSpec:
    machineType: n1-standard-4
  replicaCount: 1
  containerSpec:
    imageUri: gcr.io/p/i
"""


def indented(text: str, by: int = 2) -> str:
    return "".join(f"{' ' * by}{line}\n" for line in text.strip().split("\n"))


def codes(reading: importer.Reading) -> dict[str, int | None]:
    """Return `{code: line}` of the findings."""
    return {finding.code: finding.line for finding in reading.findings}


def refused(reading: importer.Reading) -> list[str]:
    return [finding.code for finding in reading.findings if finding.severity is Severity.ERROR]


def spec_of(reading: importer.Reading) -> dict[str, Any]:
    found: dict[str, Any] = reading.body["jobSpec"]
    return found


class TestForms:
    @pytest.mark.parametrize(
        ("text", "form"),
        [
            (f"workerPoolSpecs:{YAML_POOL}", "a bare CustomJobSpec"),
            (f"worker_pool_specs:{YAML_POOL}", "a bare CustomJobSpec"),
            (YAML_POOL, "a bare list of worker pools"),
            (YAML_POOL.replace("- ", "  "), "a bare worker pool"),
            (f"displayName: x\njobSpec:\n  workerPoolSpecs:\n{indented(YAML_POOL)}", "a CustomJob"),
            (f"vertexSpecs:\n  workerPoolSpecs:\n{indented(YAML_POOL)}", "inside “vertexSpecs”"),
            (json.dumps({"jobSpec": {"workerPoolSpecs": [POOL]}}), "a CustomJob"),
            (json.dumps({"customJob": {"displayName": "x", "jobSpec": {"workerPoolSpecs": [POOL]}}}), "“customJob”"),
            (json.dumps([POOL]), "a bare list of worker pools"),
            (f"```yaml\nworkerPoolSpecs:{YAML_POOL}```\n", "a bare CustomJobSpec"),
        ],
    )
    def test_each_is_recognised_and_named(self, text: str, form: str) -> None:
        reading = importer.read_text(text, name="train")

        assert refused(reading) == []
        assert form in reading.form
        assert reading.body.get("displayName") in ("x", None if form == "a CustomJob" else "train")
        assert spec_of(reading)["workerPoolSpecs"] == [POOL]

    def test_tuning_and_pipelines_are_recognised(self) -> None:
        tuning = importer.read_text(
            "studySpec: {metrics: [{metricId: a, goal: MAXIMIZE}]}\ntrialJobSpec: {}\n", name="t"
        )
        pipeline = importer.read_text('{"displayName": "x", "trainingTaskInputs": {"workerPoolSpecs": []}}')

        assert tuning.kind == "hyperparameter_tuning_job"
        assert (tuning.body["maxTrialCount"], tuning.body["displayName"]) == (1, "t")
        assert pipeline.kind == "training_pipeline"

    def test_launchers_of_other_tools_are_unwrapped(self) -> None:
        text = f"spec:\n  worker_pool_specs:\n{indented(YAML_POOL)}  staging_bucket: gs://b\nrun:\n  timeout: 60\n"

        reading = importer.read_text(text)

        assert refused(reading) == []
        assert spec_of(reading) == {"workerPoolSpecs": [POOL], "scheduling": {"timeout": "60s"}}
        assert codes(reading)["staging_bucket"] == 8

    @pytest.mark.parametrize(
        ("text", "words"),
        [
            ("resourcePools: []", "persistent resource"),
            ("apiVersion: v1\nkind: Job\nspec: {}", "Kubernetes"),
            ("a: 1", "No job was found"),
            ("hello", "No job was found"),
        ],
    )
    def test_what_is_no_job_is_named(self, text: str, words: str) -> None:
        reading = importer.read_text(text)

        assert reading.submission is None
        assert words in reading.findings[0].message

    def test_a_command_in_the_comment_at_the_head_is_read(self) -> None:
        head = "# Start it by:\n#   gcloud ai custom-jobs create --region=us-east1 --display-name=x --config=c.yaml\n"

        reading = importer.read_text(f"{head}workerPoolSpecs:{YAML_POOL}")

        assert reading.submission is not None
        assert (reading.submission.region, reading.submission.display_name) == ("us-east1", "x")
        assert [job.name for job in reading.jobs] == ["x"]

    def test_a_command_in_a_comment_is_read_in_a_block_of_a_page_too(self) -> None:
        head = "# gcloud ai custom-jobs create --region=us-east1 --display-name=x --config=c.yaml\n"

        reading = importer.read_text(f"# How to\n\nUse this:\n\n```yaml\n{head}workerPoolSpecs:{YAML_POOL}```\n")

        assert reading.submission is not None
        assert (reading.submission.region, reading.submission.display_name) == ("us-east1", "x")

    def test_the_first_job_of_several_takes_the_command_in_the_comment(self) -> None:
        head = "# gcloud ai custom-jobs create --region=us-east1 --display-name=x --config=c.yaml\n"
        text = f"{head}workerPoolSpecs:{YAML_POOL}---\nworkerPoolSpecs:{YAML_POOL}"

        first, second = importer.read_text(text), importer.read_text(text, name="y", job="2")

        assert [each.submission and each.submission.region for each in (first, second)] == ["us-east1", ""]
        assert "command_beside" not in codes(second)

    def test_further_jobs_are_not_lost_silently(self) -> None:
        reading = importer.read_text(f"workerPoolSpecs:{YAML_POOL}---\nworkerPoolSpecs:{YAML_POOL}")

        assert codes(reading)["further_job"] == 8


class TestRepairs:
    @pytest.mark.parametrize(
        ("text", "code", "line", "path", "value"),
        [
            ("workerPoolSpecs:\n  replicaCount: 1\n", "single_value", 1, "workerPoolSpecs", [{"replicaCount": "1"}]),
            (
                "workerPoolSpecs: []\nscheduling:\n  timeout: 7200\n",
                "seconds_without_s",
                3,
                "scheduling.timeout",
                "7200s",
            ),
            (
                "workerPoolSpecs: []\nscheduling:\n  timeout: '7200'\n",
                "seconds_without_s",
                3,
                "scheduling.timeout",
                "7200s",
            ),
            ("workerPoolSpecs: []\nmodels: [010]\n", "number_as_text", 2, "models", ["010"]),
            ("workerPoolSpecs: []\nmodels: [1.10]\n", "number_as_text", 2, "models", ["1.10"]),
            ("workerPoolSpecs: []\nmodels: [no]\n", "number_as_text", 2, "models", ["no"]),
            ("workerPoolSpecs: []\nmodels: [2026-01-01]\n", "", 0, "models", ["2026-01-01"]),
            ("workerPoolSpecs:\n- replicaCount: 010\n", "yaml_number", 2, "workerPoolSpecs", [{"replicaCount": "8"}]),
            ("workerPoolSpecs:\n- replicaCount: 1:30\n", "yaml_number", 2, "workerPoolSpecs", [{"replicaCount": "90"}]),
            ("workerPoolSpecs:\n- {}\n-\n- {}\n", "", 0, "workerPoolSpecs", [{}, {}, {}]),
            ("workerPoolSpecs: []\nnetwork:\n", "empty_value", 2, "network", None),
            ("# why\nworkerPoolSpecs: []\n", "comments", 1, "workerPoolSpecs", []),
        ],
    )
    def test_are_made_with_a_finding(self, text: str, code: str, line: int, path: str, value: Any) -> None:
        for given in (
            text,
            text.replace("\n", "\r\n"),
            "\ufeff" + text,
            text.encode("utf-16"),
            text.encode("utf-8-sig"),
        ):
            reading = importer.read_text(given)

            found: Any = spec_of(reading)
            for step in path.split("."):
                found = found.get(step)
            assert found == value
            assert refused(reading) == []
            assert not code or codes(reading)[code] == line

    def test_output_fields_pasted_back_are_dropped_with_a_finding(self) -> None:
        reading = importer.read_text('{"name": "projects/1",\n"state": "JOB_STATE_FAILED", "jobSpec": {}}')

        assert reading.body == {"jobSpec": {}}
        assert [finding.line for finding in reading.findings if finding.code == "output_field"] == [1, 2]

    def test_anchors_and_merges_are_written_out(self) -> None:
        text = (
            "x: &m {machineType: a}\nworkerPoolSpecs:\n- machineSpec: *m\n- machineSpec: {<<: *m, tpuTopology: 2x2}\n"
        )

        pools = spec_of(importer.read_text(text))["workerPoolSpecs"]

        assert pools == [
            {"machineSpec": {"machineType": "a"}},
            {"machineSpec": {"machineType": "a", "tpuTopology": "2x2"}},
        ]

    def test_variables_as_a_mapping_are_refused_but_carried(self) -> None:
        text = "workerPoolSpecs:\n- containerSpec:\n    env:\n      A: 1\n"

        reading = importer.read_text(text)

        assert "env_as_mapping" in refused(reading)
        assert spec_of(reading)["workerPoolSpecs"][0]["containerSpec"]["env"] == [{"name": "A", "value": "1"}]
