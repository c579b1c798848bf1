"""Tests of machines, quotas, reservations and their changes: which jobs wait, fail or are preempted."""

import json
import urllib.error
from typing import Any

import pytest

from tests.support.running_emulator import Running, running
from tests.unit.emulator.conftest import JOBS, job_body, state

A100 = {"machineType": "a2-highgpu-1g", "acceleratorType": "NVIDIA_TESLA_A100", "acceleratorCount": 1}
REGION = "us-central1"


def body(machine: dict[str, Any] | None = None, *, replicas: int = 1, strategy: str = "", **more: Any) -> Any:
    """A job with one machine in pool 0 and perhaps more in pool 1."""
    job = job_body(["train"], **more)
    pool = job["jobSpec"]["workerPoolSpecs"][0] | {"machineSpec": machine or A100}
    job["jobSpec"]["workerPoolSpecs"] = [pool]
    if replicas > 1:
        job["jobSpec"]["workerPoolSpecs"].append(pool | {"replicaCount": replicas - 1})
    if strategy:
        job["jobSpec"].setdefault("scheduling", {})["strategy"] = strategy
    return job


def plan(emulator: Running, **sections: Any) -> Any:
    """Change the capacity plan."""
    return emulator.call("POST", "/_emulator/capacity", sections)


def submit(emulator: Running, *args: Any, **more: Any) -> Any:
    """Create a job."""
    return emulator.call("POST", JOBS, body(*args, **more))


def short(emulator: Running, job: Any) -> str:
    """Its state without the prefix."""
    return state(emulator, job).removeprefix("JOB_STATE_")


class TestQuota:
    """Limits per metric."""

    def test_more_than_the_limit_is_refused_at_once(self, scripted: Running) -> None:
        plan(scripted, quotas={REGION: {"custom_model_training_nvidia_a100_gpus": 1}})

        with pytest.raises(urllib.error.HTTPError) as refused:
            submit(scripted, replicas=2)

        with refused.value as reply:
            error = json.loads(reply.read())["error"]
        assert error["code"] == 429
        assert error["message"] == (
            "The following quota metrics exceed quota limits: "
            "aiplatform.googleapis.com/custom_model_training_nvidia_a100_gpus"
        )

    def test_what_others_use_is_waited_for_in_queued(self, scripted: Running) -> None:
        plan(scripted, quotas={REGION: {"custom_model_training_nvidia_a100_gpus": 1}})
        first, second = submit(scripted), submit(scripted)
        scripted.advance(300)
        assert (short(scripted, first), short(scripted, second)) == ("RUNNING", "QUEUED")
        scripted.advance(800)

        assert (short(scripted, first), short(scripted, second)) == ("SUCCEEDED", "RUNNING")

    @pytest.mark.parametrize("strategy", ["SPOT", "FLEX_START"])
    def test_spot_and_flex_start_draw_on_preemptible_metrics(self, scripted: Running, strategy: str) -> None:
        plan(scripted, quotas={REGION: {"custom_model_training_preemptible_a2_cpus": 11}})

        submit(scripted)
        with pytest.raises(urllib.error.HTTPError) as refused:
            submit(scripted, strategy=strategy)
        refused.value.close()

    def test_raising_it_lets_the_waiting_go(self, scripted: Running) -> None:
        plan(scripted, quotas={REGION: {"custom_model_training_cpus": 4}})
        jobs = [scripted.call("POST", JOBS, job_body(["x"])) for _ in range(2)]
        scripted.advance(100)
        plan(scripted, quotas={REGION: {"custom_model_training_cpus": 8}})
        scripted.advance(200)

        assert [short(scripted, job) for job in jobs] == ["RUNNING", "RUNNING"]


class TestMachines:
    """What is really there."""

    def test_a_standard_job_fails_after_three_retries(self, scripted: Running) -> None:
        plan(scripted, machines={REGION: {"NVIDIA_TESLA_A100": 0}})
        job = submit(scripted)
        scripted.advance(20 + 2 * 300 + 10)
        assert short(scripted, job) == "PENDING"
        scripted.advance(400)

        assert short(scripted, job) == "FAILED"
        assert scripted.truth(job["name"])["jobs"][0]["stockouts"] == 4

    def test_it_runs_when_machines_come_between_retries(self, scripted: Running) -> None:
        plan(
            scripted,
            machines={REGION: {"NVIDIA_TESLA_A100": 0}},
            changes=[{"after": 400, "machines": {REGION: {"NVIDIA_TESLA_A100": 4}}}],
        )
        job = submit(scripted)
        scripted.advance(20 + 600 + 200)

        assert short(scripted, job) == "RUNNING"

    def test_other_regions_are_not_concerned(self, scripted: Running) -> None:
        plan(scripted, machines={"europe-west4": {"NVIDIA_TESLA_A100": 0}})
        job = submit(scripted)
        scripted.advance(300)

        assert short(scripted, job) == "RUNNING"

    def test_changes_to_come_survive_a_restart(self, tmp_path: Any) -> None:
        empty = {REGION: {"NVIDIA_TESLA_A100": 0}}
        with running(tmp_path / "state", scripted=True) as emulator:
            plan(emulator, changes=[{"after": 1_000, "machines": empty}])
        with running(tmp_path / "state", scripted=True) as emulator:
            emulator.advance(1_001)

            assert emulator.call("GET", "/_emulator/capacity")["plan"]["machines"] == empty

    @pytest.mark.parametrize(
        "sections",
        [
            {"nonsense": {}},
            {"machines": {REGION: {"NVIDIA_L4": -1}}},
            {"machines": {REGION: 5}},
            {"changes": [{"machines": {}}]},
            {"changes": [{"after": 5, "nonsense": {}}]},
        ],
    )
    def test_nonsense_is_refused(self, scripted: Running, sections: Any) -> None:
        with pytest.raises(urllib.error.HTTPError) as refused:
            plan(scripted, **sections)
        refused.value.close()
        assert refused.value.code == 400


class TestFlexStart:
    """All nodes at once, or not at all."""

    def test_waits_until_all_nodes_are_free(self, scripted: Running) -> None:
        plan(scripted, machines={REGION: {"NVIDIA_TESLA_A100": 3}})
        first = submit(scripted)
        scripted.advance(30)
        job = submit(scripted, replicas=3, strategy="FLEX_START")
        scripted.advance(600)
        assert short(scripted, job) == "PENDING"
        scripted.advance(600)

        assert (short(scripted, first), short(scripted, job)) == ("SUCCEEDED", "RUNNING")

    @pytest.mark.parametrize(
        ("wait", "after", "end"),
        [("1800s", 1_801, "FAILED"), ("0s", 900_000, "PENDING"), (None, 86_401, "FAILED")],
    )
    def test_gives_up_after_its_wait(self, scripted: Running, wait: str | None, after: float, end: str) -> None:
        plan(scripted, machines={REGION: {"NVIDIA_TESLA_A100": 0}})
        scheduling = {"maxWaitDuration": wait} if wait else {}
        job = submit(scripted, strategy="FLEX_START", scheduling=scheduling)
        scripted.advance(after - 10)
        assert short(scripted, job) == "PENDING"
        scripted.advance(10 + 5)

        assert short(scripted, job) == end


class TestSpot:
    """Machines that are reclaimed."""

    def test_shrinking_capacity_reclaims_the_youngest(self, scripted: Running) -> None:
        plan(scripted, spot={REGION: {"NVIDIA_TESLA_A100": 2}})
        old = submit(scripted, strategy="SPOT")
        scripted.advance(10)
        young = submit(scripted, strategy="SPOT")
        scripted.advance(200)
        plan(scripted, spot={REGION: {"NVIDIA_TESLA_A100": 1}})
        scripted.advance(10)

        assert (short(scripted, old), short(scripted, young)) == ("RUNNING", "PENDING")
        scripted.advance(5_000)
        assert (short(scripted, old), short(scripted, young)) == ("SUCCEEDED", "SUCCEEDED")

    def test_seeded_reclaims_are_repeatable(self, tmp_path: Any) -> None:
        histories = []
        for name in ("one", "two"):
            with running(tmp_path / name, scripted=True, start=1e9) as emulator:
                plan(emulator, reclaim={"mean_seconds": 100, "seed": 3})
                job = submit(emulator, strategy="SPOT")
                emulator.advance(50_000)
                histories.append(emulator.truth(job["name"])["jobs"][0]["history"])

        assert histories[0] == histories[1]
        assert len(histories[0]) > 4

    def test_machines_of_standard_jobs_stay(self, scripted: Running) -> None:
        job = submit(scripted)
        scripted.advance(200)
        plan(scripted, spot={REGION: {"NVIDIA_TESLA_A100": 0}}, reclaim={"mean_seconds": 1, "seed": 1})
        scripted.advance(100)

        assert short(scripted, job) == "RUNNING"


class TestReservations:
    """Capacity that is reserved for some jobs."""

    NAME = "projects/p/zones/us-central1-a/reservations/mine"

    def reserved(self, kind: str) -> dict[str, Any]:
        """A machine with an affinity."""
        affinity: dict[str, Any] = {"reservationAffinityType": kind}
        if kind == "SPECIFIC_RESERVATION":
            affinity |= {"key": "compute.googleapis.com/reservation-name", "values": [self.NAME]}
        return A100 | {"reservationAffinity": affinity}

    @pytest.mark.parametrize("kind", ["SPECIFIC_RESERVATION", "ANY_RESERVATION"])
    def test_a_reservation_has_its_own_machines(self, scripted: Running, kind: str) -> None:
        plan(
            scripted,
            machines={REGION: {"NVIDIA_TESLA_A100": 0}},
            reservations={self.NAME: {"machineType": "a2-highgpu-1g", "count": 1}},
        )
        first, second = submit(scripted, self.reserved(kind)), submit(scripted, self.reserved("SPECIFIC_RESERVATION"))
        scripted.advance(300)

        assert short(scripted, first) == "RUNNING"
        assert short(scripted, second) == "PENDING"

    def test_any_reservation_falls_back_to_what_there_is(self, scripted: Running) -> None:
        job = submit(scripted, self.reserved("ANY_RESERVATION"))
        scripted.advance(300)

        assert short(scripted, job) == "RUNNING"

    def test_a_specific_one_does_not(self, scripted: Running) -> None:
        job = submit(scripted, self.reserved("SPECIFIC_RESERVATION"))
        scripted.advance(5_000)

        assert short(scripted, job) == "FAILED"
