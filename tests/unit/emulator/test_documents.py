"""Tests of reading and writing resources as Google's JSON transcoding does."""

from typing import Any

import pytest

from emulator.protocol import answers, documents
from emulator.protocol.errors import ApiError

POOL = {"machineSpec": {"machineType": "n1-standard-4"}, "containerSpec": {"imageUri": "i"}}


def read(spec: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Read a custom job with this jobSpec."""
    return documents.parse("CustomJob", {"displayName": "n", "jobSpec": spec, **more}, at="custom_job")


def refusal(spec: dict[str, Any], **more: Any) -> ApiError:
    """Return why a custom job cannot be read."""
    with pytest.raises(ApiError) as refused:
        read(spec, **more)
    return refused.value


class TestReading:
    """What a client may send."""

    def test_accepts_both_spellings(self) -> None:
        snake = read({"worker_pool_specs": [{"machine_spec": {"machine_type": "m"}, "replica_count": 2}]})

        assert snake == read({"workerPoolSpecs": [{"machineSpec": {"machineType": "m"}, "replicaCount": "2"}]})

    @pytest.mark.parametrize("given", ["SPOT", 4, "4", 4.0])
    def test_accepts_enum_names_and_numbers(self, given: Any) -> None:
        assert read({"scheduling": {"strategy": given}})["jobSpec"]["scheduling"] == {"strategy": "SPOT"}

    @pytest.mark.parametrize("given", [3, "3", 3.0])
    def test_keeps_int64_as_text(self, given: Any) -> None:
        assert read({"workerPoolSpecs": [{"replicaCount": given}]})["jobSpec"]["workerPoolSpecs"] == [
            {"replicaCount": "3"}
        ]

    def test_drops_defaults_but_keeps_empty_pools_and_zero_durations(self) -> None:
        spec = read(
            {
                "enableWebAccess": False,
                "serviceAccount": "",
                "workerPoolSpecs": [POOL, {}, POOL],
                "scheduling": {"maxWaitDuration": "0s", "strategy": 0},
            }
        )["jobSpec"]

        assert set(spec) == {"workerPoolSpecs", "scheduling"}
        assert spec["workerPoolSpecs"][1] == {}
        assert spec["scheduling"] == {"maxWaitDuration": "0s"}

    def test_ignores_what_only_the_service_sets(self) -> None:
        assert "state" not in read({}, state="JOB_STATE_SUCCEEDED", name="mine", createTime="2026-01-01T00:00:00Z")

    def test_names_every_unknown_field_with_its_place(self) -> None:
        problem = refusal({"workerPoolSpecs": [{"nonsense": 1}]}, alsoWrong=2)

        assert "Unknown name \"nonsense\" at 'custom_job.job_spec.worker_pool_specs[0]'" in problem.message
        assert "Unknown name \"alsoWrong\" at 'custom_job'" in problem.message
        assert len(problem.details[0]["fieldViolations"]) == 2

    @pytest.mark.parametrize(
        ("spec", "words"),
        [
            ({"workerPoolSpecs": [{"replicaCount": "many"}]}, 'replica_count\' (TYPE_INT64), "many"'),
            ({"workerPoolSpecs": [{"replicaCount": 1.5}]}, "(TYPE_INT64), 1.5"),
            ({"workerPoolSpecs": [{"replicaCount": 2**63}]}, "(TYPE_INT64)"),
            ({"workerPoolSpecs": {}}, "worker_pool_specs'"),
            ({"scheduling": {"strategy": "SOON"}}, 'Scheduling.Strategy), "SOON"'),
            ({"scheduling": {"timeout": 60}}, "google.protobuf.Duration), 60"),
            ({"scheduling": {"timeout": "1 h"}}, 'google.protobuf.Duration), "1 h"'),
            ({"enableWebAccess": "yes"}, "(TYPE_BOOL)"),
            ({"serviceAccount": 7}, "(TYPE_STRING)"),
            (
                {"workerPoolSpecs": [{"containerSpec": {}, "pythonPackageSpec": {}}]},
                "oneof field 'task' is already set",
            ),
        ],
    )
    def test_refuses_values_of_another_type(self, spec: dict[str, Any], words: str) -> None:
        assert words in refusal(spec).message

    @pytest.mark.parametrize("body", [None, [], "text", 3])
    def test_refuses_a_body_that_is_no_object(self, body: Any) -> None:
        with pytest.raises(ApiError):
            documents.parse("CustomJob", body, at="custom_job")


class TestAnswering:
    """What a client gets."""

    def test_writes_enums_as_numbers_on_request(self) -> None:
        job = read({"scheduling": {"strategy": "FLEX_START"}}) | {"state": "JOB_STATE_RUNNING"}
        numbered = answers.with_numbers("CustomJob", job)

        assert numbered["state"] == 3
        assert numbered["jobSpec"]["scheduling"]["strategy"] == 6
        assert job["state"] == "JOB_STATE_RUNNING"

    @pytest.mark.parametrize("mask", ["name,jobSpec.scheduling", "name,job_spec.scheduling", "customJobs.name"])
    def test_cuts_by_a_mask_in_either_spelling(self, mask: str) -> None:
        job = read({"scheduling": {"timeout": "5s"}, "serviceAccount": "s"}) | {"name": "n"}
        cut = answers.apply_mask(job, answers.mask_paths("CustomJob", mask, collection="customJobs"))

        assert cut["name"] == "n"
        assert cut.get("jobSpec", {}) in ({}, {"scheduling": {"timeout": "5s"}})

    @pytest.mark.parametrize("mask", ["nonsense", "jobSpec.nonsense", "displayName.deeper"])
    def test_refuses_a_mask_that_names_nothing(self, mask: str) -> None:
        with pytest.raises(ApiError):
            answers.mask_paths("CustomJob", mask)
