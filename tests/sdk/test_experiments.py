"""Tests of `experiment=` of the SDK: metadata store, contexts and TensorBoards, over REST and gRPC."""

from typing import Any

import pytest
from google.api_core import exceptions
from google.cloud.aiplatform_v1.services.metadata_service import MetadataServiceClient
from google.cloud.aiplatform_v1.types import Scheduling

from tests.sdk.test_custom_jobs import job, pools
from tests.support.running_emulator import Running
from tests.unit.emulator.conftest import JOBS

METADATA = JOBS.replace("customJobs", "metadataStores")


def test_the_sample_of_the_flex_start_page_runs(sdk: Any, transport: str) -> None:
    """The calls of create_custom_job with `experiment=` and Flex-start."""
    sdk.init(experiment="night-runs", api_transport=transport)
    machine = {"machine_type": "a2-highgpu-1g", "accelerator_type": "NVIDIA_TESLA_A100", "accelerator_count": 1}
    spec = [pools("print('trained')")[0] | {"machine_spec": machine}]
    made = sdk.CustomJob(display_name="flex", worker_pool_specs=spec)

    made.run(
        service_account="trainer@demo.iam.gserviceaccount.com",
        experiment="night-runs",
        max_wait_duration=1_800,
        scheduling_strategy=Scheduling.Strategy.FLEX_START,
    )

    assert made.state.name == "JOB_STATE_SUCCEEDED"
    experiment = sdk.Experiment("night-runs")
    assert made.gca_resource.job_spec.experiment == experiment.resource_name
    (tensorboard,) = sdk.Tensorboard.list(filter="is_default=true")
    assert experiment.backing_tensorboard_resource_name == tensorboard.resource_name


def test_a_job_belongs_to_a_run_of_an_experiment(sdk: Any, transport: str) -> None:
    sdk.init(experiment="night-runs", api_transport=transport)
    with sdk.start_run("first") as run:
        run.log_params({"lr": 0.1})
        made = job(sdk)
        made.submit(experiment="night-runs", experiment_run="first")

    again = sdk.ExperimentRun("first", experiment="night-runs")
    assert again.get_params() == {"lr": 0.1}
    assert again.get_state() == "COMPLETE"
    assert made.gca_resource.job_spec.experiment_run == again.resource_name
    assert [one.name for one in sdk.Experiment.list()] == ["night-runs"]
    made.wait_for_resource_creation()


def test_an_experiment_that_is_not_there_is_not_found(sdk: Any) -> None:
    with pytest.raises(exceptions.NotFound):
        sdk.Experiment("nowhere")
    with pytest.raises(exceptions.NotFound):
        job(sdk).submit(experiment="nowhere")


def test_a_store_is_made_once_and_deleted_with_what_is_in_it(sdk: Any, emulator: Running, client_of: Any) -> None:
    client = client_of(MetadataServiceClient)
    parent = METADATA.removeprefix("/v1/").rpartition("/")[0]
    client.create_metadata_store(parent=parent, metadata_store={}, metadata_store_id="default").result(timeout=20)
    with pytest.raises(exceptions.Conflict, match="already exists"):
        client.create_metadata_store(parent=parent, metadata_store={}, metadata_store_id="default")
    store = f"{parent}/metadataStores/default"
    made = client.create_context(parent=store, context={"schema_title": "system.Experiment"}, context_id="one")
    client.create_context(parent=store, context={"schema_title": "system.ExperimentRun"}, context_id="one-run")
    client.add_context_children(context=made.name, child_contexts=[f"{store}/contexts/one-run"])

    listed = client.list_contexts(request={"parent": store, "filter": 'schema_title="system.Experiment"'})
    assert [each.name for each in listed] == [made.name]
    below = client.list_contexts(request={"parent": store, "filter": f'parent_contexts:"{made.name}"'})
    assert [each.name.rpartition("/")[2] for each in below] == ["one-run"]
    client.delete_metadata_store(name=store).result(timeout=20)
    with pytest.raises(exceptions.NotFound):
        client.get_context(name=made.name)
