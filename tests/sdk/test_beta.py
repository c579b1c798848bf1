"""Tests of Google's v1beta1 clients, as used by Ray on Vertex AI and gcloud beta; shells; locations."""

from collections.abc import Callable
from typing import Any

import pytest
from google.api_core import exceptions
from google.cloud import aiplatform_v1beta1 as beta
from google.cloud.location import locations_pb2

from tests.sdk.conftest import Witness
from tests.sdk.schema_check import Judge
from tests.sdk.test_custom_jobs import job, pools
from tests.support.running_emulator import Running
from tests.unit.emulator.conftest import JOBS, job_body, until

Client = Callable[[Any], Any]
PARENT = "projects/demo/locations/us-central1"


class TestBeta:
    """The generated v1beta1 clients."""

    def test_create_get_list_cancel_and_delete_a_job(self, client_of: Client, witness: Witness, transport: str) -> None:
        client = client_of(beta.JobServiceClient)
        spec = {"worker_pool_specs": pools("import time; time.sleep(60)"), "enable_web_access": True}
        made = client.create_custom_job(parent=PARENT, custom_job={"display_name": "beta", "job_spec": spec})
        until(lambda: client.get_custom_job(name=made.name).state == beta.JobState.JOB_STATE_RUNNING)

        assert set(client.get_custom_job(name=made.name).web_access_uris) == {"workerpool0-0"}
        assert [one.name for one in client.list_custom_jobs(parent=PARENT)] == [made.name]
        client.cancel_custom_job(name=made.name)
        until(lambda: client.get_custom_job(name=made.name).state == beta.JobState.JOB_STATE_CANCELLED)
        client.delete_custom_job(name=made.name).result(timeout=30)
        with pytest.raises(exceptions.NotFound):
            client.get_custom_job(name=made.name)
        assert bool(witness.seen) == (transport == "rest")

    def test_a_persistent_resource_arrives_in_beta_types(self, client_of: Client) -> None:
        client = client_of(beta.PersistentResourceServiceClient)
        pool = {"machine_spec": {"machine_type": "n1-standard-4"}, "replica_count": 1}
        begun = client.create_persistent_resource(
            parent=PARENT, persistent_resource={"resource_pools": [pool]}, persistent_resource_id="cluster"
        )

        done = begun.result(timeout=60)

        assert isinstance(done, beta.PersistentResource)
        assert isinstance(begun.metadata, beta.CreatePersistentResourceOperationMetadata)
        assert client.get_persistent_resource(name=done.name).state == beta.PersistentResource.State.RUNNING
        client.delete_persistent_resource(name=done.name).result(timeout=60)

    def test_a_ray_cluster_is_a_persistent_resource(self, client_of: Client) -> None:
        """As `vertex_ray.create_ray_cluster` makes it, with the client that `aiplatform.init` configures."""
        client = client_of(beta.PersistentResourceServiceClient)
        pool = {"id": "head-node", "machine_spec": {"machine_type": "n1-standard-16"}, "replica_count": 1}
        spec = {
            "ray_spec": {"resource_pool_images": {"head-node": "ray:2.47"}, "head_node_resource_pool_id": "head-node"}
        }
        cluster = {"resource_pools": [pool], "resource_runtime_spec": spec}
        client.create_persistent_resource(
            parent=PARENT, persistent_resource=cluster, persistent_resource_id="ray"
        ).result(timeout=60)

        made = client.get_persistent_resource(name=f"{PARENT}/persistentResources/ray")
        assert made.resource_runtime_spec.ray_spec.head_node_resource_pool_id == "head-node"
        client.delete_persistent_resource(name=made.name).result(timeout=60)

    def test_locations(self, client_of: Client) -> None:
        client = client_of(beta.JobServiceClient)

        one = client.get_location(locations_pb2.GetLocationRequest(name=PARENT))
        page = client.list_locations(locations_pb2.ListLocationsRequest(name="projects/demo"))

        assert (one.name, one.location_id) == (PARENT, "us-central1")
        assert one in page.locations

    def test_a_method_that_is_not_there_names_itself(self, client_of: Client) -> None:
        client = client_of(beta.EndpointServiceClient)

        named = r"locations\.endpoints\.list \(v1beta1\)|v1beta1\.EndpointService\.ListEndpoints"
        with pytest.raises((exceptions.NotFound, exceptions.MethodNotImplemented), match=named):
            client.list_endpoints(parent=PARENT)


class TestAnswers:
    """What v1 shows in addition."""

    def test_the_sdk_finds_the_shells_of_a_job(self, sdk: Any) -> None:
        made = job(sdk, "import time; time.sleep(60)")
        made.submit(enable_web_access=True)

        assert set(until(lambda: made.web_access_uris)) == {"workerpool0-0"}
        made.cancel()

    def test_a_failure_is_explained_by_the_first_answer_that_tells_it(self, sdk: Any) -> None:
        made = job(sdk, "raise SystemExit('no data')")
        made.submit(disable_retries=True)
        with pytest.raises(RuntimeError, match="exited with a non-zero status of 1"):
            made._block_until_complete()

    def test_parts_and_locations_have_the_documented_shape(self, scripted: Running) -> None:
        judge = Judge("aiplatform.v1")
        scripted.call("POST", JOBS, job_body(["true"]))
        page = scripted.call("GET", JOBS + "?fields=customJobs(name,jobSpec/workerPoolSpecs/machineSpec)")
        places = scripted.call("GET", "/v1/projects/demo/locations")

        assert judge.faults("GoogleCloudAiplatformV1ListCustomJobsResponse", page) == []
        assert judge.faults("GoogleCloudLocationListLocationsResponse", places) == []
