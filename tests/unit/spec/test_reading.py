"""Tests that a REST body becomes a resource and findings, and the resource the same body again."""

import math
from datetime import timedelta
from typing import Any

import pytest

from jobs.spec import (
    CUSTOM_TASK,
    CustomJob,
    CustomJobSpec,
    Scheduling,
    Severity,
    TuningTaskInputs,
    has_errors,
    read,
    rest_body,
)
from jobs.spec.reading import MAX_FINDINGS
from jobs.spec.unknown import MAX_UNKNOWN, unknown_findings

BODY = {
    "displayName": "train",
    "jobSpec": {
        "workerPoolSpecs": [
            {
                "machineSpec": {
                    "machineType": "n1-standard-8",
                    "acceleratorType": "NVIDIA_TESLA_T4",
                    "acceleratorCount": 1,
                },
                "replicaCount": "1",
                "containerSpec": {"imageUri": "gcr.io/p/i", "args": ["--lr=0.1"], "env": [{"name": "A", "value": ""}]},
                "diskSpec": {"bootDiskType": "pd-ssd", "bootDiskSizeGb": 0},
            },
            {},
            {"replicaCount": "0"},
        ],
        "scheduling": {"timeout": "0s", "maxWaitDuration": "0s", "disableRetries": False, "strategy": "FLEX_START"},
        "baseOutputDirectory": {},
    },
    "labels": {"team": "größe"},
}


def job(body: dict[str, Any]) -> dict[str, Any]:
    return {"displayName": "d", "jobSpec": body}


class TestRestBody:
    def test_keeps_explicit_zeros_and_empty_pools(self) -> None:
        resource, findings = read("custom_job", BODY)

        assert findings == []
        assert rest_body(resource) == BODY

    def test_leaves_absent_what_was_not_given(self) -> None:
        assert rest_body(CustomJob(display_name="x")) == {"displayName": "x"}
        assert rest_body(Scheduling(max_wait_duration=timedelta(0))) == {"maxWaitDuration": "0s"}
        assert rest_body(Scheduling(max_wait_duration=None)) == {}

    def test_writes_int64_as_text_and_int32_as_number(self) -> None:
        resource, _ = read(
            "custom_job", job({"workerPoolSpecs": [{"replicaCount": 2, "diskSpec": {"bootDiskSizeGb": "100"}}]})
        )

        pool = rest_body(resource)["jobSpec"]["workerPoolSpecs"][0]
        assert pool == {"replicaCount": "2", "diskSpec": {"bootDiskSizeGb": 100}}

    def test_changes_one_field_and_keeps_the_rest(self) -> None:
        resource, _ = read("custom_job", BODY)
        scheduling = resource.job_spec.scheduling.but(max_wait_duration=None, strategy="SPOT")

        assert rest_body(scheduling) == {"timeout": "0s", "disableRetries": False, "strategy": "SPOT"}


class TestReading:
    def test_takes_snake_case_enum_numbers_and_nulls(self) -> None:
        body = {
            "display_name": "x",
            "labels": None,
            "job_spec": {"scheduling": {"strategy": 4}, "worker_pool_specs": [{"machine_spec": {"machine_type": "m"}}]},
        }

        resource, findings = read("custom_job", body)

        assert findings == []
        assert rest_body(resource) == {
            "displayName": "x",
            "jobSpec": {"scheduling": {"strategy": "SPOT"}, "workerPoolSpecs": [{"machineSpec": {"machineType": "m"}}]},
        }

    @pytest.mark.parametrize(
        ("spec", "field", "words"),
        [
            ({"workerPoolSpecs": {}}, "jobSpec.workerPoolSpecs", "must be a list"),
            ({"workerPoolSpecs": ["a"]}, "jobSpec.workerPoolSpecs[0]", "must be an object"),
            ({"scheduling": {"timeout": 7200}}, "jobSpec.scheduling.timeout", '"7200s"'),
            ({"enableWebAccess": "yes"}, "jobSpec.enableWebAccess", "must be true or false"),
            ({"workerPoolSpecs": [{"replicaCount": "one"}]}, "jobSpec.workerPoolSpecs[0].replicaCount", "“one”"),
            ({"service_account": "a", "serviceAccount": "b"}, "jobSpec.serviceAccount", "given twice"),
        ],
    )
    def test_explains_what_is_wrong_at_its_field(self, spec: dict[str, Any], field: str, words: str) -> None:
        _, findings = read("custom_job", job(spec))

        assert [finding.field for finding in findings] == [field]
        assert words in findings[0].message + findings[0].remedy
        assert findings[0].severity is Severity.ERROR

    @pytest.mark.parametrize(
        ("spec", "field", "words"),
        [
            ({"workerPoolSpecs": [{"replicaCont": 1}]}, "jobSpec.workerPoolSpecs[0].replicaCont", "`replicaCount`"),
            ({"boot_disk_type": "x"}, "jobSpec.boot_disk_type", "`jobSpec.workerPoolSpecs[].diskSpec.bootDiskType`"),
            ({"displayName": "x"}, "jobSpec.displayName", "belongs in `displayName`"),
            ({"scheduling": {"strategy": "spot"}}, "jobSpec.scheduling.strategy", "`SPOT`"),
            ({"network": "n", "Network": "m"}, "jobSpec.Network", "`network`"),
        ],
    )
    def test_keeps_what_it_does_not_know_and_names_what_was_probably_meant(
        self, spec: dict[str, Any], field: str, words: str
    ) -> None:
        resource, findings = read("custom_job", job(spec))
        (unknown,) = unknown_findings(resource)

        assert findings == []
        assert rest_body(resource) == job(spec)
        assert (unknown.field, unknown.severity) == (field, Severity.APPROVAL)
        assert words in unknown.remedy
        assert unknown.confirm.startswith(field.replace("[0]", "[]") + "=")

    @pytest.mark.parametrize(
        ("given", "meant"),
        [
            ("NVIDIA_T4", "NVIDIA_TESLA_T4"),
            ("nvidia-tesla-a100", "NVIDIA_TESLA_A100"),
            ("TPU_V4", "TPU_V4_POD"),
            ("H100", "NVIDIA_H100_80GB"),
        ],
    )
    def test_offers_the_nearest_accelerator(self, given: str, meant: str) -> None:
        resource, _ = read("custom_job", job({"workerPoolSpecs": [{"machineSpec": {"acceleratorType": given}}]}))

        assert next(unknown_findings(resource)).remedy == f"Did you mean `{meant}`?"
        assert resource.job_spec.worker_pool_specs[0].machine_spec.accelerator_type == given

    def test_finds_everything_at_once_and_keeps_the_rest(self) -> None:
        resource, findings = read(
            "custom_job", {"displayName": 5, "labels": {"a": 1, "b": "c"}, "jobSpec": {"tensorboard": "t", "x": 1}}
        )

        assert {finding.field for finding in findings} == {"displayName", "labels[a]"}
        assert rest_body(resource) == {"labels": {"b": "c"}, "jobSpec": {"tensorboard": "t", "x": 1}}

    @pytest.mark.parametrize("body", [None, 5, "text", [], True, float("nan")])
    def test_takes_no_body_that_is_no_object(self, body: object) -> None:
        resource, findings = read("custom_job", body)

        assert resource is None
        assert has_errors(findings)

    def test_stops_at_depth_size_and_numbers_beyond_json(self) -> None:
        deep: Any = {}
        for _ in range(100_000):
            deep = {"jobSpec": deep}

        for body in (deep, {"a": [0] * 300_000}, {"a": math.inf}, {"a": 10**5000}):
            resource, findings = read("custom_job", body)

            assert resource is None
            assert [finding.code for finding in findings] == ["unreadable_body"]

    def test_keeps_messages_short_and_their_number_bounded(self) -> None:
        body = {"x" * 1_000_000: 1, **{f"field{n}": n for n in range(1000)}}
        body["labels"] = {"a" * 500_000: 5, **{f"label{n}": n for n in range(1000)}}

        resource, findings = read("custom_job", body)
        unknown = list(unknown_findings(resource))

        assert (len(findings), len(unknown)) == (MAX_FINDINGS + 1, MAX_UNKNOWN + 1)
        assert findings[-1].message.startswith("901 more")
        assert unknown[-1].message.startswith("951 more")
        assert unknown[-1].severity is Severity.ERROR
        assert len(unknown[0].confirm) < 1_000_100
        findings += unknown
        assert all(len(finding.message) < 400 and len(finding.field) < 200 for finding in findings)

    def test_refuses_an_unknown_kind(self) -> None:
        assert read("batch_job", {})[1][0].code == "unknown_kind"


class TestPipelines:
    def test_read_inputs_as_the_task_that_the_definition_names(self) -> None:
        tuning = {
            "trainingTaskDefinition": "gs://x/hyperparameter_tuning_task_1.0.0.yaml",
            "trainingTaskInputs": {"maxTrialCount": 4.0},
        }
        custom = {
            "trainingTaskDefinition": "gs://x/custom_task_1.0.0.yaml",
            "trainingTaskInputs": {"service_account": "a"},
        }

        assert read("training_pipeline", tuning)[0].training_task_inputs == TuningTaskInputs(max_trial_count=4)
        assert read("training_pipeline", custom)[0].training_task_inputs == CustomJobSpec(service_account="a")

    @pytest.mark.parametrize("first", [None, CUSTOM_TASK])
    @pytest.mark.parametrize("second", [None, CUSTOM_TASK])
    def test_refuse_a_definition_in_two_spellings(self, first: str | None, second: str | None) -> None:
        """A null in one spelling hid the definition in the other, so that a decoy study was priced instead."""
        names = {"trainingTaskDefinition": first, "training_task_definition": second}
        decoy = {"studySpec": {}, "workerPoolSpecs": [{}]}
        for body in (names, dict(reversed(names.items()))):
            _, findings = read("training_pipeline", {**body, "trainingTaskInputs": decoy})

            assert [finding.code for finding in findings] == ["given_twice"]

    @pytest.mark.parametrize("name", ["studySpec", "study_spec", "trialJobSpec", "trial_job_spec"])
    def test_read_inputs_as_what_they_look_like(self, name: str) -> None:
        pipeline, findings = read("training_pipeline", {"trainingTaskInputs": {name: {}}})

        assert findings == []
        assert isinstance(pipeline.training_task_inputs, TuningTaskInputs)

    @pytest.mark.parametrize("end", ["", "?custom_task", "#/custom_task_1.0.0.yaml.x"])
    def test_refuse_other_tasks(self, end: str) -> None:
        body = {
            "trainingTaskDefinition": "gs://x/automl_tabular_1.0.0.yaml" + end,
            "trainingTaskInputs": {"targetColumn": "x"},
        }

        pipeline, findings = read("training_pipeline", body)

        assert [finding.code for finding in findings] == ["unknown_task"]
        assert pipeline.training_task_inputs is None

    def test_keep_null_inside_free_json(self) -> None:
        body = {"displayName": "x", "trainingTaskMetadata": {"a": None, "b": [None, {"c": None}]}}

        pipeline, _ = read("training_pipeline", body)

        assert rest_body(pipeline) == body


@pytest.mark.parametrize(
    ("field", "value", "remedy"),
    [
        ("baseOutputDirectory", "gs://b/out", "Put it below, as `outputUriPrefix`."),
        ("baseOutputDirectory", 3, ""),
        ("scheduling", "7200s", ""),  # it may belong into several fields
    ],
)
def test_text_for_an_object_of_one_field_names_that_field(field: str, value: object, remedy: str) -> None:
    _, findings = read("custom_job", job({field: value}))

    assert [(each.field, each.code, each.remedy) for each in findings] == [(f"jobSpec.{field}", "wrong_type", remedy)]
