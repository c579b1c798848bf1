"""Tests of persistent resources: provision, use, autoscale, reboot, update, delete."""

import json
import urllib.error
from typing import Any

import pytest

from tests.support.running_emulator import Running, running
from tests.unit.emulator.conftest import JOBS, job_body, state

POOLS = JOBS.replace("customJobs", "persistentResources")
MACHINE = {"machineType": "n1-standard-4"}
FIXED = {"id": "fixed", "machineSpec": MACHINE, "replicaCount": 2}
SCALED = {"id": "scaled", "machineSpec": MACHINE, "autoscalingSpec": {"minReplicaCount": "1", "maxReplicaCount": "3"}}


def make(emulator: Running, *pools: Any, identifier: str = "mine", **more: Any) -> Any:
    """Create a resource; return the operation."""
    body = {"resourcePools": list(pools or (FIXED,)), **more}
    return emulator.call("POST", f"{POOLS}?persistentResourceId={identifier}", body)


def get(emulator: Running, identifier: str = "mine") -> dict[str, Any]:
    """The resource now."""
    return dict(emulator.call("GET", f"{POOLS}/{identifier}"))


def job(emulator: Running, *, workers: int = 0, **more: Any) -> Any:
    """Create a job on the resource; `workers` in a second worker pool."""
    body = job_body(["train"], persistentResourceId="mine", **more)
    if workers:
        first = body["jobSpec"]["workerPoolSpecs"][0]
        body["jobSpec"]["workerPoolSpecs"].append(first | {"replicaCount": workers})
    return emulator.call("POST", JOBS, body)


def refusal(call: Any, *args: Any, **more: Any) -> dict[str, Any]:
    """The error of a call that is refused."""
    with pytest.raises(urllib.error.HTTPError) as refused:
        call(*args, **more)
    with refused.value as reply:
        error: dict[str, Any] = json.loads(reply.read())["error"]
    return error


class TestLife:
    """From creation to deletion."""

    def test_creation_is_an_operation_that_ends_with_the_resource(self, scripted: Running) -> None:
        operation = make(scripted, displayName="team pool")
        assert "/persistentResources/mine/operations/" in operation["name"]
        assert "done" not in operation
        assert get(scripted)["state"] == "PROVISIONING"
        scripted.advance(151)
        done = scripted.call("GET", "/v1/" + operation["name"])

        assert done["done"] is True
        assert done["response"]["@type"].endswith(".PersistentResource")
        assert done["response"]["name"] == get(scripted)["name"]
        assert get(scripted)["state"] == "RUNNING"
        assert "startTime" in get(scripted)

    def test_without_machines_it_ends_in_error(self, scripted: Running) -> None:
        scripted.call("POST", "/_emulator/capacity", {"machines": {"us-central1": {"cpu": 4}}})
        operation = make(scripted)
        scripted.advance(151)

        assert get(scripted)["state"] == "ERROR"
        done = scripted.call("GET", "/v1/" + operation["name"])
        assert "Resources are insufficient" in done["error"]["message"]

    def test_more_than_the_quota_is_refused(self, scripted: Running) -> None:
        quotas = {"us-central1": {"custom_model_training_cpus": 7}}
        scripted.call("POST", "/_emulator/capacity", {"quotas": quotas})

        assert refusal(make, scripted)["code"] == 429

    def test_delete_cancels_its_jobs_and_takes_it_away(self, scripted: Running) -> None:
        make(scripted)
        scripted.advance(200)
        made = job(scripted)
        scripted.advance(20)
        operation = scripted.call("DELETE", f"{POOLS}/mine")
        assert get(scripted)["state"] == "STOPPING"
        scripted.advance(100)

        assert state(scripted, made) == "JOB_STATE_CANCELLED"
        assert refusal(get, scripted)["code"] == 404
        assert scripted.call("GET", "/v1/" + operation["name"])["done"] is True
        assert scripted.call("GET", POOLS) == {}

    def test_reboot_needs_an_idle_resource_and_ends_running(self, scripted: Running) -> None:
        make(scripted)
        scripted.advance(200)
        made = job(scripted)
        scripted.advance(20)
        assert refusal(scripted.call, "POST", f"{POOLS}/mine:reboot", {})["status"] == "FAILED_PRECONDITION"
        scripted.call("POST", f"/v1/{made['name']}:cancel", {})
        scripted.advance(20)
        scripted.call("POST", f"{POOLS}/mine:reboot", {})
        assert get(scripted)["state"] == "REBOOTING"
        assert refusal(scripted.call, "DELETE", f"{POOLS}/mine")["status"] == "FAILED_PRECONDITION"
        scripted.advance(61)

        assert get(scripted)["state"] == "RUNNING"

    def test_its_pools_get_the_recorded_ids(self, scripted: Running) -> None:
        accelerator = {"machineType": "n1-highmem-2", "acceleratorType": "NVIDIA_TESLA_T4", "acceleratorCount": 1}
        plain = {"machineSpec": MACHINE, "replicaCount": 1}
        make(scripted, plain, {"machineSpec": accelerator, "replicaCount": 1}, plain)

        ids = [pool["id"] for pool in get(scripted)["resourcePools"]]
        assert ids == ["n1-standard-4", "n1-highmem-2-nvidia-tesla-t4-1", "n1-standard-4-2"]

    def test_patch_changes_counts(self, scripted: Running) -> None:
        make(scripted)
        scripted.advance(200)
        body = {"resourcePools": [FIXED | {"replicaCount": 5}]}
        operation = scripted.call("PATCH", f"{POOLS}/mine?updateMask=resource_pools.replica_count", body)
        assert get(scripted)["state"] == "UPDATING"
        scripted.advance(10)

        assert get(scripted)["resourcePools"][0]["replicaCount"] == "5"
        assert scripted.call("GET", "/v1/" + operation["name"])["done"] is True
        assert refusal(scripted.call, "PATCH", f"{POOLS}/mine", body)["code"] == 400

    def test_goes_on_after_a_restart(self, tmp_path: Any) -> None:
        with running(tmp_path / "state", scripted=True) as emulator:
            operation = make(emulator)
        with running(tmp_path / "state", scripted=True) as emulator:
            emulator.advance(200)

            assert get(emulator)["state"] == "RUNNING"
            assert emulator.call("GET", "/v1/" + operation["name"])["done"] is True

    def test_the_wait_for_its_operation_can_be_long(self, tmp_path: Any) -> None:
        with running(tmp_path / "state", speed=300) as emulator:
            operation = make(emulator)
            done = emulator.call("POST", f"/v1/{operation['name']}:wait?timeout=10s", {})

        assert done["done"] is True


class TestJobs:
    """Jobs on a resource."""

    def test_start_at_once_and_hold_replicas(self, scripted: Running) -> None:
        make(scripted)
        scripted.advance(200)
        made = job(scripted)
        scripted.advance(7)

        assert state(scripted, made) == "JOB_STATE_RUNNING"
        assert get(scripted)["resourcePools"][0]["usedReplicaCount"] == "1"
        scripted.advance(700)
        assert state(scripted, made) == "JOB_STATE_SUCCEEDED"
        assert "usedReplicaCount" not in get(scripted)["resourcePools"][0]

    def test_wait_for_free_replicas(self, scripted: Running) -> None:
        make(scripted)
        scripted.advance(200)
        first, second = job(scripted, workers=1), job(scripted)
        scripted.advance(100)
        assert state(scripted, second) == "JOB_STATE_QUEUED"
        scripted.advance(700)

        assert state(scripted, first) == "JOB_STATE_SUCCEEDED"
        assert state(scripted, second) == "JOB_STATE_RUNNING"

    def test_a_scaled_pool_grows_and_shrinks(self, scripted: Running) -> None:
        make(scripted, SCALED)
        scripted.advance(200)
        assert get(scripted)["resourcePools"][0]["replicaCount"] == "1"
        made = job(scripted, workers=2)
        scripted.advance(100)
        assert get(scripted)["resourcePools"][0]["replicaCount"] == "3"
        assert state(scripted, made) == "JOB_STATE_PENDING"
        scripted.advance(1_000)
        assert state(scripted, made) == "JOB_STATE_SUCCEEDED"
        scripted.advance(301)

        assert get(scripted)["resourcePools"][0]["replicaCount"] == "1"

    @pytest.mark.parametrize(
        ("change", "words"),
        [
            ({"workers": 2}, "asks for 2 replicas, more than"),
            ({"serviceAccount": "me@demo.iam.gserviceaccount.com"}, "does not enable custom service accounts"),
        ],
    )
    def test_that_never_fit_are_refused(self, scripted: Running, change: Any, words: str) -> None:
        make(scripted)
        scripted.advance(200)
        error = refusal(job, scripted, **change)

        assert error["status"] == "FAILED_PRECONDITION"
        assert words in error["message"]

    def test_need_equal_machines_and_disks(self, scripted: Running) -> None:
        make(scripted, FIXED | {"diskSpec": {"bootDiskSizeGb": 200}})
        scripted.advance(200)

        assert "machine_spec and disk_spec must be equal" in refusal(job, scripted)["message"]

    def test_need_a_running_resource(self, scripted: Running) -> None:
        assert "does not exist" in refusal(job, scripted)["message"]
        make(scripted)
        assert "PROVISIONING, not RUNNING" in refusal(job, scripted)["message"]


class TestRefusals:
    """What cannot be created."""

    @pytest.mark.parametrize("identifier", ["", "Upper", "1st", "a" * 64, "ends-"])
    def test_ids(self, scripted: Running, identifier: str) -> None:
        assert "persistent_resource_id" in refusal(make, scripted, identifier=identifier)["message"]

    def test_twice(self, scripted: Running) -> None:
        make(scripted)

        assert refusal(make, scripted)["status"] == "ALREADY_EXISTS"

    @pytest.mark.parametrize(
        ("pool", "field"),
        [
            ({"machineSpec": MACHINE}, "resource_pools[0].replica_count"),
            ({"replicaCount": 1}, "resource_pools[0].machine_spec.machine_type"),
            (SCALED | {"autoscalingSpec": {"minReplicaCount": 0, "maxReplicaCount": 3}}, "autoscaling_spec"),
            (SCALED | {"replicaCount": 4}, "resource_pools[0].replica_count"),
        ],
    )
    def test_pools(self, scripted: Running, pool: Any, field: str) -> None:
        assert field in refusal(make, scripted, pool)["message"]

    def test_there_is_no_filter(self, scripted: Running) -> None:
        assert 'Unknown name "filter"' in refusal(scripted.call, "GET", f"{POOLS}?filter=x")["message"]
