"""Tests of HyperparameterTuningJob with cloudml-hypertune in its trials, and of the SDK's three training pipelines."""

from typing import Any

import pytest

from tests.support.running_emulator import Running
from tests.unit.emulator.conftest import until

SUCCEEDED, FAILED, CANCELLED = 4, 5, 7
TRIAL = """
import argparse, hypertune
parser = argparse.ArgumentParser()
parser.add_argument("--x", type=float)
parser.add_argument("--kind")
parser.add_argument("--layers", type=int)
given = parser.parse_args()
tune = hypertune.HyperTune()
for step in (1, 2):
    value = (given.x - 0.3) ** 2 + (given.kind != "b") + given.layers / 100
    tune.report_hyperparameter_tuning_metric("loss", value + 1 / step, global_step=step)
"""


def custom_job(sdk: Any, code: str) -> Any:
    """What every trial runs."""
    container = {"image_uri": "i", "command": ["python", "-c", code]}
    pool = {"machine_spec": {"machine_type": "n1-standard-4"}, "replica_count": 1, "container_spec": container}
    return sdk.CustomJob(display_name="trial", worker_pool_specs=[pool], base_output_dir="gs://stage/tuning")


def tuning_job(sdk: Any, code: str = TRIAL, **more: Any) -> Any:
    """A study over three parameters that minimises loss."""
    from google.cloud.aiplatform import hyperparameter_tuning as hpt

    space = {
        "x": hpt.DoubleParameterSpec(min=0.01, max=1, scale="log"),
        "kind": hpt.CategoricalParameterSpec(values=["a", "b"]),
        "layers": hpt.IntegerParameterSpec(min=1, max=3, scale="linear"),
    }
    options = {"max_trial_count": 3, "parallel_trial_count": 2, "search_algorithm": "random"} | more
    return sdk.HyperparameterTuningJob(
        display_name="tune",
        custom_job=custom_job(sdk, code),
        metric_spec={"loss": "minimize"},
        parameter_spec=space,
        **options,
    )


class TestTuning:
    """aiplatform.HyperparameterTuningJob."""

    def test_trials_run_and_report(self, sdk: Any) -> None:
        job = tuning_job(sdk)
        job.run(sync=True)

        assert job.state == SUCCEEDED
        assert [trial.id for trial in job.trials] == ["1", "2", "3"]
        for trial in job.trials:
            point = {one.parameter_id: one.value for one in trial.parameters}
            expected = (point["x"] - 0.3) ** 2 + (point["kind"] != "b") + point["layers"] / 100 + 1 / 2
            assert trial.final_measurement.metrics[0].value == pytest.approx(expected)
            assert trial.final_measurement.step_count == 2
            assert len(trial.measurements) == 2
            assert sdk.CustomJob.get(trial.custom_job).state == SUCCEEDED

    def test_failed_trials_are_infeasible_and_fail_the_study(self, sdk: Any) -> None:
        job = tuning_job(sdk, "import os; os._exit(137)", max_failed_trial_count=2, parallel_trial_count=1)

        with pytest.raises(RuntimeError):
            job.run(sync=True)
        assert job.state == FAILED
        assert [trial.state.name for trial in job.trials] == ["INFEASIBLE", "INFEASIBLE"]
        assert "low on memory" in job.trials[0].infeasible_reason

    def test_cancel_ends_all_trials(self, sdk: Any) -> None:
        job = tuning_job(sdk, "import time; time.sleep(60)")
        job.run(sync=False)
        job.wait_for_resource_creation()
        job.cancel()

        until(lambda: job.state == CANCELLED)
        with pytest.raises(RuntimeError, match="CANCELED"):
            job.wait()  # the SDK's own thread has to end before the emulator, or it asks on during later tests
        assert {sdk.CustomJob.get(trial.custom_job).state for trial in job.trials} == {CANCELLED}

    def test_list_leaves_the_trials_out(self, sdk: Any, emulator: Running) -> None:
        tuning_job(sdk).run(sync=True)
        path = "/v1/projects/demo/locations/us-central1/hyperparameterTuningJobs"
        (listed,) = emulator.call("GET", path)["hyperparameterTuningJobs"]

        assert "trials" not in listed
        assert len(sdk.HyperparameterTuningJob.list(filter='display_name="tune"')) == 1
        sdk.HyperparameterTuningJob.list()[0].delete()
        assert emulator.call("GET", path) == {}


class TestPipelines:
    """CustomContainerTrainingJob, CustomTrainingJob, CustomPythonPackageTrainingJob."""

    def test_a_container_trains(self, sdk: Any) -> None:
        job = sdk.CustomContainerTrainingJob(
            display_name="container", container_uri="i", command=["python", "-c", "print('trained')"]
        )
        job.run(replica_count=1, machine_type="n1-standard-4", base_output_dir="gs://stage/x", sync=True, timeout=600)

        assert job.state.name == "PIPELINE_STATE_SUCCEEDED"
        assert not job.has_failed
        assert len(sdk.CustomContainerTrainingJob.list(filter='display_name="container"')) == 1

    def test_a_failure_is_raised_with_its_message(self, sdk: Any) -> None:
        job = sdk.CustomContainerTrainingJob(
            display_name="container", container_uri="i", command=["python", "-c", "raise SystemExit(3)"]
        )

        with pytest.raises(RuntimeError, match="exited with a non-zero status of 3"):
            job.run(replica_count=1, machine_type="n1-standard-4", disable_retries=True, sync=True)
        assert job.has_failed

    def test_a_local_script_trains_and_uploads_a_model(self, sdk: Any, tmp_path: Any) -> None:
        script = tmp_path / "task.py"
        script.write_text("print('trained')")
        job = sdk.CustomTrainingJob(
            display_name="script",
            script_path=str(script),
            container_uri="us-docker.pkg.dev/vertex-ai/training/pytorch-cpu.2-4.py310:latest",
            model_serving_container_image_uri="us-docker.pkg.dev/p/r/serve",
        )
        model = job.run(
            replica_count=1,
            machine_type="n1-standard-4",
            base_output_dir="gs://stage/out",
            model_display_name="a model",
            sync=True,
        )

        assert model.display_name == "a model"
        assert model.uri == "gs://stage/out/model"

    def test_a_python_package_trains(self, sdk: Any, emulator: Running, tmp_path: Any) -> None:
        import tarfile

        root = tmp_path / "pkg-1.0"
        (root / "trainer").mkdir(parents=True)
        (root / "trainer" / "__init__.py").write_text("")
        (root / "trainer" / "task.py").write_text("import sys; print('package', sys.argv[1:])")
        (root / "setup.py").write_text("from setuptools import setup; setup(name='pkg', packages=['trainer'])")
        bucket = emulator.state / "buckets" / "stage"
        bucket.mkdir(parents=True)
        with tarfile.open(bucket / "pkg-1.0.tar.gz", "w:gz") as archive:
            archive.add(root, "pkg-1.0")
        job = sdk.CustomPythonPackageTrainingJob(
            display_name="package",
            python_package_gcs_uri="gs://stage/pkg-1.0.tar.gz",
            python_module_name="trainer.task",
            container_uri="us-docker.pkg.dev/vertex-ai/training/pytorch-cpu.2-4.py310:latest",
        )
        job.run(replica_count=1, machine_type="n1-standard-4", args=["--epochs", "1"], sync=True)

        assert job.state.name == "PIPELINE_STATE_SUCCEEDED"

    def test_cancel_follows_to_the_job(self, sdk: Any) -> None:
        job = sdk.CustomContainerTrainingJob(
            display_name="long", container_uri="i", command=["python", "-c", "import time; time.sleep(60)"]
        )
        job.submit(replica_count=1, machine_type="n1-standard-4")
        job.cancel()

        until(lambda: job.state.name == "PIPELINE_STATE_CANCELLED")
