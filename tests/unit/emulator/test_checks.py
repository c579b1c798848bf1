"""Tests of refused creates and their messages."""

import json
import urllib.error
from typing import Any

import pytest

from tests.support.running_emulator import Running
from tests.unit.emulator.conftest import JOBS, job_body


def refused(emulator: Running, body: Any, *, path: str = JOBS) -> dict[str, Any]:
    """Send a body that must be refused; return the error."""
    with pytest.raises(urllib.error.HTTPError) as answer:
        emulator.call("POST", path, body)
    with answer.value as reply:
        error: dict[str, Any] = json.loads(reply.read())["error"]
    assert error["code"] == answer.value.code
    return error


def pool(**machine: Any) -> dict[str, Any]:
    """A worker pool with this machine."""
    return {"machineSpec": machine, "containerSpec": {"imageUri": "i"}, "replicaCount": 1}


def with_pools(*pools: Any, **more: Any) -> dict[str, Any]:
    """A job with these pools."""
    return {"displayName": "n", "jobSpec": {"workerPoolSpecs": list(pools), **more}}


def gpu(machine_type: str, kind: str, count: int = 1) -> dict[str, Any]:
    """A MachineSpec with a GPU."""
    return {"machineType": machine_type, "acceleratorType": kind, "acceleratorCount": count}


GOOD = pool(machineType="n1-standard-4")
FIELD = "job_spec.worker_pool_specs[0]"


class TestCreate:
    """customJobs.create refuses with the error messages of the real service."""

    def test_lists_all_findings_separated_by_tabs(self, scripted: Running) -> None:
        error = refused(scripted, {"jobSpec": {"workerPoolSpecs": []}})

        assert error["status"] == "INVALID_ARGUMENT"
        assert error["message"] == (
            "List of found errors:\t1.Field: display_name; Message: Required field is not set.\t"
            "2.Field: job_spec.worker_pool_specs; Message: Required field is not set.\t"
        )
        assert [one["field"] for one in error["details"][0]["fieldViolations"]] == [
            "display_name",
            "job_spec.worker_pool_specs",
        ]

    @pytest.mark.parametrize(
        ("body", "field"),
        [
            ({}, "job_spec"),
            ({"displayName": "n" * 129, "jobSpec": {"workerPoolSpecs": [GOOD]}}, "display_name"),
            (with_pools({}, GOOD), "job_spec.worker_pool_specs"),
            (with_pools(GOOD | {"replicaCount": 2}), f"{FIELD}.replica_count"),
            (with_pools({"machineSpec": {"machineType": "n1-standard-4"}}), f"{FIELD};"),
            (with_pools(GOOD | {"containerSpec": {"command": ["x"]}}), f"{FIELD}.container_spec.image_uri"),
            (with_pools(pool()), f"{FIELD}.machine_spec.machine_type"),
            (with_pools(GOOD | {"diskSpec": {"bootDiskSizeGb": 99}}), f"{FIELD}.disk_spec.boot_disk_size_gb"),
            (with_pools(*[GOOD] * 5), "job_spec.worker_pool_specs"),
            (with_pools(GOOD, baseOutputDirectory={"outputUriPrefix": "/local"}), "output_uri_prefix"),
            (with_pools(GOOD, scheduling={"timeout": "-1s"}), "job_spec.scheduling.timeout"),
            (with_pools(GOOD, scheduling={"strategy": "FLEX_START", "timeout": "604801s"}), "scheduling.timeout"),
            (with_pools(GOOD, tensorboard="projects/p/locations/l/tensorboards/1"), "job_spec.service_account"),
            (with_pools(GOOD) | {"labels": {"Upper": "x"}}, "labels"),
            (with_pools(GOOD) | {"labels": {"a": "x" * 65}}, "labels"),
        ],
    )
    def test_names_the_field(self, scripted: Running, body: Any, field: str) -> None:
        assert field in refused(scripted, body)["message"]

    def test_wants_accelerator_type_and_count_together(self, scripted: Running) -> None:
        body = with_pools(pool(machineType="n1-standard-4", acceleratorType="NVIDIA_TESLA_T4"))

        assert refused(scripted, body)["message"] == (
            "List of found errors:\t1.Field: job_spec.worker_pool_specs[0].machine_spec.accelerator_type; "
            "Message: Both `accelerator_type` and `accelerator_count` should be specified or none.\t"
        )

    def test_names_a_machine_type_that_training_does_not_have(self, scripted: Running) -> None:
        error = refused(scripted, with_pools(pool(machineType="n1-standard-1")))

        assert error["message"] == 'Machine type "n1-standard-1" is not supported.'

    def test_names_an_accelerator_that_does_not_fit(self, scripted: Running) -> None:
        machine = {"machineType": "n1-standard-4", "acceleratorType": "NVIDIA_TESLA_K80", "acceleratorCount": 1}
        error = refused(scripted, with_pools(pool(**machine)))

        assert error["message"] == 'Accelerator "NVIDIA_TESLA_K80" is not supported for machine type "n1-standard-4"'

    def test_refuses_an_unknown_field(self, scripted: Running) -> None:
        assert 'Unknown name "jobspec"' in refused(scripted, {"jobspec": {}})["message"]

    def test_refuses_a_region_without_training(self, scripted: Running) -> None:
        refused(scripted, job_body(), path="/v1/projects/demo/locations/global/customJobs")

    def test_refuses_flex_start_with_different_machines(self, scripted: Running) -> None:
        other = pool(machineType="n1-standard-8")
        error = refused(scripted, with_pools(GOOD, other, scheduling={"strategy": "FLEX_START"}))

        assert "job_spec.scheduling;" in error["message"]

    @pytest.mark.parametrize("wait", ["0s", "1800s"])
    @pytest.mark.parametrize("strategy", ["STANDARD", "SPOT", None])
    def test_refuses_a_waiting_time_without_flex_start(
        self, scripted: Running, strategy: str | None, wait: str
    ) -> None:
        scheduling = {"maxWaitDuration": wait} | ({"strategy": strategy} if strategy else {})
        message = refused(scripted, with_pools(GOOD, scheduling=scheduling))["message"]

        assert "Field: job_spec.scheduling.max_wait_duration; Message: max_wait_duration is supported for" in message

    @pytest.mark.parametrize(
        ("machine", "is_offered"),
        [
            (gpu("g2-standard-4", "NVIDIA_L4"), True),
            (gpu("a2-highgpu-1g", "NVIDIA_TESLA_A100"), True),
            (gpu("a3-highgpu-8g", "NVIDIA_H100_80GB", 8), True),
            (gpu("n1-standard-4", "NVIDIA_TESLA_T4"), False),
            (gpu("g4-standard-48", "NVIDIA_RTX_PRO_6000"), False),
            ({"machineType": "n1-standard-4"}, False),
            ({"machineType": "ct5lp-hightpu-1t", "tpuTopology": "1x1"}, False),
        ],
    )
    def test_flex_start_offers_some_gpus_only(self, scripted: Running, machine: Any, is_offered: bool) -> None:
        body = with_pools(pool(**machine), scheduling={"strategy": "FLEX_START", "maxWaitDuration": "0s"})
        if is_offered:
            assert scripted.call("POST", JOBS, body)["state"] == "JOB_STATE_PENDING"
        else:
            message = refused(scripted, body)["message"]
            assert f"Field: {FIELD}.machine_spec; Message: The FLEX_START strategy does not support" in message

    @pytest.mark.parametrize("strategy", ["SPOT", "LOW_COST", "STANDARD"])
    @pytest.mark.parametrize(
        ("machine", "is_pod"),
        [
            ({"machineType": "cloud-tpu", "acceleratorType": "TPU_V3", "acceleratorCount": 8}, False),
            ({"machineType": "cloud-tpu", "acceleratorType": "TPU_V3", "acceleratorCount": 32}, True),
            ({"machineType": "ct5lp-hightpu-4t", "tpuTopology": "2x2"}, False),
            ({"machineType": "ct5lp-hightpu-4t", "tpuTopology": "2x4"}, True),
            ({"machineType": "ct5lp-hightpu-8t", "tpuTopology": "2x4"}, False),
            ({"machineType": "tpu7x-standard-4t", "tpuTopology": "2x2x2"}, True),
        ],
    )
    def test_refuses_tpu_pods_under_spot(self, scripted: Running, machine: Any, is_pod: bool, strategy: str) -> None:
        body = with_pools(pool(**machine), scheduling={"strategy": strategy})
        if is_pod and strategy != "STANDARD":
            assert "The SPOT strategy does not support TPU Pods." in refused(scripted, body)["message"]
        else:
            assert scripted.call("POST", JOBS, body)["state"] == "JOB_STATE_PENDING"

    def test_refuses_spot_on_a_persistent_resource(self, scripted: Running) -> None:
        body = with_pools(GOOD, scheduling={"strategy": "SPOT"}, persistentResourceId="shared")
        message = refused(scripted, body)["message"]

        assert "Field: job_spec.scheduling.strategy; Message: The SPOT strategy cannot be used together with" in message

    def test_keeps_nothing_of_a_refused_job(self, scripted: Running) -> None:
        refused(scripted, {})

        assert scripted.call("GET", JOBS) == {}


class TestDefaults:
    """What the service fills in."""

    def test_fills_in_disk_replicas_and_the_slash(self, scripted: Running) -> None:
        body = job_body(baseOutputDirectory={"outputUriPrefix": "gs://bucket/x"})
        del body["jobSpec"]["workerPoolSpecs"][0]["replicaCount"]
        spec = scripted.call("POST", JOBS, body)["jobSpec"]

        assert spec["workerPoolSpecs"][0]["diskSpec"] == {"bootDiskType": "pd-ssd", "bootDiskSizeGb": 100}
        assert spec["workerPoolSpecs"][0]["replicaCount"] == "1"
        assert spec["baseOutputDirectory"]["outputUriPrefix"] == "gs://bucket/x/"

    def test_answers_with_the_project_number(self, scripted: Running) -> None:
        made = scripted.call("POST", JOBS, job_body())

        assert made["name"].split("/")[1].isdigit()
        assert scripted.call("GET", f"{JOBS}/{made['name'].rpartition('/')[2]}")["name"] == made["name"]
