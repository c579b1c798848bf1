"""Tests that each fix changes one thing of a copy, the one that it names."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from jobs.diagnosis.diagnosis import ACTIONS
from jobs.requests.fixes import FIXES, NOTHING, apply_fix
from jobs.spec import Submission
from tests.support import samples

T4 = {"machineType": "n1-standard-8", "acceleratorType": "NVIDIA_TESLA_T4", "acceleratorCount": 1}
B200 = {"machineType": "a4-highgpu-8g", "acceleratorType": "NVIDIA_B200", "acceleratorCount": 8}


def made(action: str, submission: Submission, **details: Any) -> tuple[Submission, str]:
    return apply_fix(submission, {"action": action, **details})


def machine_of(submission: Submission) -> tuple[str, str, int]:
    spec = submission.pools[0][1].machine_spec
    return spec.machine_type, spec.accelerator, spec.accelerator_count


def with_arguments(submission: Submission, *words: str) -> Submission:
    spec = submission.job_spec
    pools = [pool.but(container_spec=pool.container_spec.but(args=words)) for pool in spec.worker_pool_specs]
    return submission.with_job_spec(spec.but(worker_pool_specs=tuple(pools)))


def test_addresses_of_buckets_in_arguments_become_paths_of_the_mount() -> None:
    after, words = made("gcs_path", with_arguments(samples.submission(), "--data=gs://b/x", "gs", "gs://b/y,gs://b/z"))

    (pool,) = after.job_spec.worker_pool_specs
    assert pool.container_spec.args == ("--data=/gcs/b/x", "gs", "/gcs/b/y,/gcs/b/z")
    assert "/gcs/" in words
    assert made("gcs_path", after) == (after, NOTHING)


def test_every_fix_is_an_action_of_a_diagnosis() -> None:
    assert set(FIXES) <= ACTIONS


class TestMachines:
    def test_the_next_size_has_more_memory_and_keeps_what_is_attached(self) -> None:
        after, words = made("next_machine_size", samples.submission(machine=T4, strategy="STANDARD"))

        assert machine_of(after) == ("n1-highmem-8", "NVIDIA_TESLA_T4", 1)
        assert words == "Changed: worker pool 0 has n1-highmem-8 instead of n1-standard-8."

    def test_the_next_size_of_a_machine_with_gpus_names_them(self) -> None:
        after, _ = made("next_machine_size", samples.submission())

        assert machine_of(after) == ("a2-highgpu-2g", "NVIDIA_TESLA_A100", 2)

    def test_only_the_pools_that_ran_out_change(self) -> None:
        before = samples.submission()

        assert made("next_machine_size", before, pools=["workerpool1"]) == (before, NOTHING)
        assert made("next_machine_size", before, pools=["workerpool0"])[0] != before

    def test_a_bigger_gpu_is_one_that_the_region_has(self) -> None:
        after, _ = made("bigger_gpu", samples.submission())

        assert machine_of(after) == ("a2-ultragpu-1g", "NVIDIA_A100_80GB", 1)

    def test_nothing_is_bigger_than_the_biggest(self) -> None:
        before = samples.submission(machine=B200)

        assert made("bigger_gpu", before) == (before, NOTHING)

    def test_another_gpu_may_be_smaller(self) -> None:
        after, _ = made("other_accelerator", samples.submission(machine=B200))

        assert machine_of(after)[1] == "NVIDIA_H200_141GB"


class TestOtherThings:
    def test_another_region_has_the_accelerator_and_is_near(self) -> None:
        before = samples.submission()

        after, words = made("other_region", before, avoid="us-east1")

        assert after.region not in {"us-central1", "us-east1"}
        assert after.region.startswith("us-")
        assert after.job == before.job
        assert words == f"Changed: it runs in {after.region} instead of us-central1."

    def test_a_disk_doubles(self) -> None:
        after, words = made("more_disk", made("more_disk", samples.submission())[0])

        assert after.pools[0][1].disk_spec.boot_disk_size_gb == 400
        assert words == "Changed: boot disks of 400 GB."

    def test_a_timeout_doubles_as_far_as_the_strategy_allows(self) -> None:
        spot, words = made("longer_timeout", samples.submission())
        flex, _ = made("longer_timeout", samples.submission(strategy="FLEX_START", scheduling={"timeout": "518400s"}))

        assert spot.job_spec.scheduling.timeout == timedelta(days=2)
        assert words == "Changed: it is stopped after 48 hours."
        assert flex.job_spec.scheduling.timeout == timedelta(days=7)

    def test_flex_start_is_asked_for(self) -> None:
        after, _ = made("flex_start", samples.submission())

        assert after.job_spec.scheduling.strategy == "FLEX_START"

    def test_a_wait_doubles_from_a_day_and_can_have_no_end(self) -> None:
        given = samples.submission(strategy="FLEX_START", scheduling={"maxWaitDuration": "7200s"})
        absent = samples.submission(strategy="FLEX_START")

        longer, words = made("longer_wait", given)
        endless, _ = made("endless_wait", given)

        assert longer.job_spec.scheduling.max_wait_duration == timedelta(hours=4)
        assert words == "Changed: it waits up to 4 hours."
        assert made("longer_wait", absent)[0].job_spec.scheduling.max_wait_duration == timedelta(hours=48)
        assert endless.job_spec.scheduling.max_wait_duration == timedelta()
        assert made("longer_wait", endless) == (endless, NOTHING)
        assert made("endless_wait", endless) == (endless, NOTHING)

    def test_a_wait_goes_with_flex_start_and_with_no_other_strategy(self) -> None:
        flexible, _ = made("longer_wait", samples.submission())
        demanded, words = made("standard", flexible)

        assert flexible.job_spec.scheduling.strategy == "FLEX_START"
        assert demanded.job_spec.scheduling.max_wait_duration is None
        assert words == "Changed: it asks for machines on demand."
        assert made("standard", demanded) == (demanded, NOTHING)
        assert made("spot", demanded)[0].job_spec.scheduling.strategy == "SPOT"

    def test_a_persistent_resource_is_left(self) -> None:
        before = samples.submission(resource="team-gpu")

        after, words = made("own_machines", before)

        assert not after.job_spec.persistent_resource_id
        assert after.job_spec.worker_pool_specs == before.job_spec.worker_pool_specs
        assert words == "Changed: it runs on machines of its own."
        assert made("own_machines", after) == (after, NOTHING)

    @pytest.mark.parametrize("action", sorted(ACTIONS - set(FIXES)))
    def test_what_needs_a_person_changes_nothing(self, action: str) -> None:
        before = samples.submission()

        assert made(action, before) == (before, "")


@pytest.mark.parametrize("kind", sorted(samples.BODIES))
@pytest.mark.parametrize("action", sorted(FIXES))
def test_serves_every_kind(kind: str, action: str) -> None:
    before = samples.submission(kind=kind)

    if action == "own_machines":
        before = replace(before, job=samples.submission(kind=kind, resource="team-gpu").job)
    if action == "spot":
        before, _ = made("standard", before)
    if action == "gcs_path":
        before = with_arguments(before, "--data=gs://b/train.csv")

    after, words = made(action, before)

    assert words.startswith("Changed: ")
    assert after != before
    assert after.kind == kind
