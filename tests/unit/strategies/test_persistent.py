"""Tests of a job on a persistent resource: its machines and disks are the resource's, and its replicas fit."""

from typing import Any

import pytest

from jobs.spec import read
from jobs.strategies import KnownResource, Severities, check
from tests.unit.strategies.cases import POOL, PR, SA, T4, W, pool, submission

KEY = "projects/p/locations/us-central1/keyRings/r/cryptoKeys/k"


def resource(**changes: Any) -> KnownResource:
    """Return a running resource with two pools: 4 × a2-highgpu-1g fixed and 1 to 6 T4 machines."""
    body: dict[str, Any] = {
        "resourcePools": [
            {"machineSpec": POOL["machineSpec"], "diskSpec": POOL["diskSpec"], "replicaCount": "4"},
            {
                "machineSpec": T4,
                "autoscalingSpec": {"minReplicaCount": 1, "maxReplicaCount": 6},
                "usedReplicaCount": "2",
            },
        ],
        "state": "RUNNING",
    } | changes
    found, findings = read("persistent_resource", body)
    assert not findings
    return KnownResource("pool-1", "p", "us-central1", found)


def codes(changes: dict[str, Any], *known: KnownResource, severities: Severities | None = None) -> dict[str, str]:
    """Return `{code: field}` of what the rules find about a job on pool-1."""
    return {
        f.code: f.field for f in check(submission("custom_job", PR | changes), resources=known, severities=severities)
    }


def test_matching_job_passes() -> None:
    assert codes({}, resource()) == {}


def test_unknown_resource_is_an_advice() -> None:
    known = resource()
    elsewhere = KnownResource("pool-1", "p", "us-east1", known.resource)

    assert codes({}) == {"resource_is_known": "jobSpec.persistentResourceId"}
    assert codes({}, elsewhere) == {"resource_is_known": "jobSpec.persistentResourceId"}
    assert codes({}, elsewhere, known) == {}


@pytest.mark.parametrize(("state", "found"), [("RUNNING", False), ("REBOOTING", True), ("STATE_UNSPECIFIED", True)])
def test_takes_jobs_when_it_runs(state: str, found: bool) -> None:
    assert ("resource_is_running" in codes({}, resource(state=state))) is found


class TestMatch:
    def test_needs_exactly_the_machine(self) -> None:
        found = codes({f"{W}.machineSpec": {"machineType": "n1-standard-4"}}, resource())

        assert found["pools_match_the_resource"] == f"{W}.machineSpec"

    def test_needs_exactly_the_disk(self) -> None:
        found = codes({f"{W}.diskSpec.bootDiskSizeGb": 101}, resource())

        assert found["pools_match_the_resource"] == f"{W}.diskSpec"

    @pytest.mark.parametrize("disk", [{}, {"bootDiskType": "pd-ssd"}, {"bootDiskType": "pd-standard"}])
    def test_takes_either_documented_default_where_a_side_is_silent(self, disk: dict[str, Any]) -> None:
        assert "pools_match_the_resource" not in codes(pool(1, machineSpec=T4, diskSpec=disk), resource())

    def test_takes_no_other_disk_for_a_default(self) -> None:
        found = codes(pool(1, machineSpec=T4, diskSpec={"bootDiskType": "hyperdisk-balanced"}), resource())

        assert found["pools_match_the_resource"] == "jobSpec.workerPoolSpecs[1].diskSpec"


class TestReplicas:
    def test_may_be_all_of_a_pool_summed_over_worker_pools(self) -> None:
        assert codes(pool(1, replicaCount=3), resource()) == {}
        assert codes(pool(1, replicaCount=4), resource())["replicas_fit_the_resource"].endswith("[1].replicaCount")

    def test_may_be_as_many_as_autoscaling_allows(self) -> None:
        assert "replicas_fit_the_resource" not in codes(pool(1, machineSpec=T4, replicaCount=6), resource())
        assert "replicas_fit_the_resource" in codes(pool(1, machineSpec=T4, replicaCount=7), resource())

    def test_wait_for_those_that_other_jobs_hold(self) -> None:
        assert "replicas_are_free" not in codes(pool(1, machineSpec=T4, replicaCount=4), resource())
        assert "replicas_are_free" in codes(pool(1, machineSpec=T4, replicaCount=5), resource())

    def test_count_what_is_known_of_running_jobs_before_what_the_resource_says(self) -> None:
        known = resource()
        busy = KnownResource(known.resource_id, known.project, known.region, known.resource, in_use=(4, 0))

        assert "replicas_are_free" in codes({}, busy)
        assert "replicas_are_free" not in codes({}, KnownResource("pool-1", "p", "us-central1", known.resource, (3,)))

    def test_count_trials_that_run_at_once(self) -> None:
        changes = {"trialJobSpec.persistentResourceId": "pool-1", "parallelTrialCount": 4}
        fits = submission("hyperparameter_tuning_job", changes)
        too_many = submission("hyperparameter_tuning_job", changes | {"parallelTrialCount": 5})

        assert "replicas_fit_the_resource" not in {f.code for f in check(fits, resources=[resource()])}
        assert "replicas_fit_the_resource" in {f.code for f in check(too_many, resources=[resource()])}


def test_service_account_needs_the_resources_consent() -> None:
    allowed = {"serviceAccountSpec": {"enableCustomServiceAccount": True}}

    assert codes(SA, resource()) == {"service_account_is_allowed": "jobSpec.serviceAccount"}
    assert codes(SA, resource(resourceRuntimeSpec=allowed)) == {}


def test_network_and_key_are_the_resources() -> None:
    network = "projects/1/global/networks/n"
    ours = {"jobSpec.network": network, "encryptionSpec.kmsKeyName": KEY}
    theirs = resource(network=network, encryptionSpec={"kmsKeyName": KEY})

    assert codes(ours, theirs) == {}
    assert "network_and_key_are_the_resources" in codes(ours, resource())
    assert "network_and_key_are_the_resources" in codes({}, theirs)
