"""Tests of aiplatform.CustomJob as its users use it."""

from typing import Any

import pytest
from google.api_core import exceptions

from tests.support.running_emulator import Running
from tests.unit.emulator.conftest import until

SUCCEEDED, FAILED, CANCELLED = 4, 5, 7


def pools(code: str, **more: Any) -> list[dict[str, Any]]:
    """One pool that runs some Python."""
    container = {"image_uri": "us-docker.pkg.dev/p/r/i", "command": ["python", "-c", code], **more}
    return [{"machine_spec": {"machine_type": "n1-standard-4"}, "replica_count": 1, "container_spec": container}]


def job(sdk: Any, code: str = "print('trained')", name: str = "from the sdk", **more: Any) -> Any:
    """A CustomJob that is not submitted yet."""
    return sdk.CustomJob(display_name=name, worker_pool_specs=pools(code), **more)


class TestCustomJob:
    """Run, submit, wait, cancel, delete, get, list."""

    def test_run_waits_for_success(self, sdk: Any) -> None:
        made = job(sdk, labels={"team": "red"})
        made.run(timeout=600, sync=True)

        assert made.state == SUCCEEDED
        assert made.end_time > made.start_time >= made.create_time
        assert made.error.message == ""

    def test_submit_returns_at_once_and_the_job_ends_later(self, sdk: Any) -> None:
        made = job(sdk)
        made.submit(scheduling_strategy=sdk.gapic.Scheduling.Strategy.SPOT, disable_retries=True)
        assert made.state != SUCCEEDED

        made._block_until_complete()

        assert made.state == SUCCEEDED
        assert made.gca_resource.job_spec.scheduling.strategy == sdk.gapic.Scheduling.Strategy.SPOT

    def test_a_failure_is_raised_and_its_message_follows(self, sdk: Any) -> None:
        made = job(sdk, "raise SystemExit('no data')")
        made.submit(disable_retries=True)

        with pytest.raises(RuntimeError, match="Job failed with"):
            made._block_until_complete()
        assert made.state == FAILED
        message = until(lambda: made.error.message)
        assert "exited with a non-zero status of 1" in message
        assert message.endswith("no data")

    def test_cancel_ends_it(self, sdk: Any) -> None:
        made = job(sdk, "import time; time.sleep(60)")
        made.submit()
        made.cancel()

        with pytest.raises(RuntimeError):
            made._block_until_complete()
        assert made.state == CANCELLED
        assert made.error.code == 1

    def test_delete_removes_it(self, sdk: Any) -> None:
        made = job(sdk)
        made.run(sync=True)
        made.delete()

        with pytest.raises(exceptions.NotFound):
            sdk.CustomJob.get(made.resource_name)

    def test_list_filters(self, sdk: Any) -> None:
        for name in ("first", "second"):
            job(sdk, name=name, labels={"order": name}).submit()

        assert [one.display_name for one in sdk.CustomJob.list(filter='display_name="first"')] == ["first"]
        assert [one.display_name for one in sdk.CustomJob.list(filter="labels.order=second")] == ["second"]
        assert [one.display_name for one in sdk.CustomJob.list(order_by="create_time")] == ["first", "second"]
        assert sdk.CustomJob.list(filter='state="JOB_STATE_FAILED"') == []

    def test_a_refusal_is_a_bad_request(self, sdk: Any) -> None:
        spec = pools("pass")
        spec[0]["machine_spec"] = {"machine_type": "n1-standard-1"}

        with pytest.raises(exceptions.BadRequest, match='Machine type "n1-standard-1" is not supported'):
            sdk.CustomJob(display_name="small", worker_pool_specs=spec).submit()

    def test_the_example_trains(self, sdk: Any, emulator: Running) -> None:
        image = "us-docker.pkg.dev/trainboard/samples/penguins:latest"
        container = {"image_uri": image, "args": ["--epochs", "3", "--seconds-per-epoch", "0"]}
        spec = [{"machine_spec": {"machine_type": "n1-standard-4"}, "replica_count": 1, "container_spec": container}]
        made = sdk.CustomJob(display_name="penguins", worker_pool_specs=spec, base_output_dir="gs://stage/penguins")
        made.run(sync=True)

        assert made.state == SUCCEEDED
        assert list((emulator.state / "buckets" / "stage" / "penguins").rglob("*")) != []


def text(entry: Any) -> str:
    """The text of a log entry, of the service or of a replica."""
    return str(entry.payload["message"] if isinstance(entry.payload, dict) else entry.payload)


class TestLogging:
    """google-cloud-logging reads the log lines of a job."""

    def test_entries_of_a_job(self, sdk: Any, emulator: Running) -> None:
        from google.auth.credentials import AnonymousCredentials
        from google.cloud import logging_v2

        made = job(sdk, "print('epoch 1'); import sys; print('careful', file=sys.stderr)")
        made.run(sync=True)
        client = logging_v2.Client(
            project="demo",
            credentials=AnonymousCredentials(),
            _use_grpc=False,
            client_options={"api_endpoint": emulator.url},
        )
        job_id = made.resource_name.rpartition("/")[2]
        wanted = f'resource.type="ml_job" AND resource.labels.job_id="{job_id}"'
        found = list(client.list_entries(filter_=wanted, page_size=4))

        assert {"epoch 1", "careful", "Job is running."} <= {text(entry) for entry in found}
        assert [entry.timestamp for entry in found] == sorted(entry.timestamp for entry in found)
        errors = client.list_entries(filter_=wanted + " AND severity>=ERROR", order_by="timestamp desc")
        assert [text(entry) for entry in errors] == ["careful"]
