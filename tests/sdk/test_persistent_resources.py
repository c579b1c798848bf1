"""Tests of aiplatform.PersistentResource and a job on it, and of operations with the generated client."""

from typing import Any

from google.cloud.aiplatform.persistent_resource import PersistentResource
from google.cloud.aiplatform_v1.types import ResourcePool

RUNNING, SUCCEEDED = 3, 4


def create(sdk: Any) -> Any:
    """A resource of two machines."""
    pool = ResourcePool({"machine_spec": {"machine_type": "n1-standard-4"}, "replica_count": 2})
    return PersistentResource.create(
        persistent_resource_id="team-pool", display_name="team", resource_pools=[pool], labels={"team": "red"}
    )


class TestPersistentResource:
    """Create, use, list, reboot, delete."""

    def test_a_job_runs_on_it(self, sdk: Any) -> None:
        resource = create(sdk)
        assert resource.state == RUNNING
        container = {"image_uri": "i", "command": ["python", "-c", "print('trained')"]}
        spec = [{"machine_spec": {"machine_type": "n1-standard-4"}, "replica_count": 1, "container_spec": container}]
        job = sdk.CustomJob(display_name="on it", worker_pool_specs=spec, persistent_resource_id="team-pool")
        job.run(sync=True)

        assert job.state == SUCCEEDED
        assert job.gca_resource.job_spec.persistent_resource_id == "team-pool"

    def test_reboot_list_and_delete(self, sdk: Any) -> None:
        resource = create(sdk)
        resource.reboot()
        assert resource.state == RUNNING
        assert [one.display_name for one in PersistentResource.list()] == ["team"]
        resource.delete()

        assert PersistentResource.list() == []
