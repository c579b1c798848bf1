"""Tests of jobs that really run: processes, variables, output, exit codes, restarts."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.running_emulator import Running, running
from tests.unit.emulator.conftest import (
    JOBS,
    entries,
    finished,
    job_body,
    log_texts,
    python,
    text_of,
    until,
    wait_for,
)

SHOW = "import json, os; print(json.dumps(dict(os.environ)))"


def run(emulator: Running, body: dict[str, Any]) -> dict[str, Any]:
    """Create a job and wait for its end."""
    return finished(emulator, emulator.call("POST", JOBS, body))


def environment(emulator: Running, job: dict[str, Any], task: str = "workerpool0-0") -> dict[str, str]:
    """The variables that a job running SHOW has seen."""
    found = entries(emulator, job, f' AND resource.labels.task_name="{task}"')
    return dict(found[0]["jsonPayload"])


class TestRunning:
    """A command, and the state and the log of its job."""

    def test_a_command_succeeds_and_is_heard(self, real: Running) -> None:
        code = "import sys; print('to stdout'); print('to stderr', file=sys.stderr)"
        job = run(real, python(code))

        assert job["state"] == "JOB_STATE_SUCCEEDED"
        printed = {text_of(one): one for one in entries(real, job)}
        assert printed["to stdout"]["severity"] == "INFO"
        error = {"message": "to stderr", "levelname": "ERROR", "attrs": {"tag": "workerpool0-0"}}
        assert (printed["to stderr"]["severity"], printed["to stderr"]["jsonPayload"]) == ("ERROR", error)

    def test_json_lines_become_structured_entries(self, real: Running) -> None:
        line = {"severity": "warning", "message": "m", "loss": 0.5, "time": "2026-01-02T03:04:05Z"}
        job = run(real, python(f"print('''{json.dumps(line)}''')"))
        (entry,) = entries(real, job, ' AND resource.labels.task_name="workerpool0-0"')

        assert entry["jsonPayload"] == {"message": "m", "loss": 0.5}
        assert entry["severity"] == "WARNING"
        assert entry["timestamp"].startswith("2026-01-02T03:04:05")

    def test_args_follow_the_command(self, real: Running) -> None:
        job = run(real, job_body(["echo"], args=["one", "two words"]))

        assert log_texts(real, job) == ["one two words"]

    def test_a_shell_finds_python(self, real: Running) -> None:
        job = run(real, job_body(["sh", "-c", "python -c 'print(1 + 1)' && python3 -c 'print(2 + 2)'"]))

        assert log_texts(real, job) == ["2", "4"]

    def test_a_last_line_without_end_is_heard(self, real: Running) -> None:
        assert log_texts(real, run(real, job_body(["printf", "no newline"]))) == ["no newline"]

    def test_a_failure_carries_the_traceback(self, real: Running) -> None:
        job = run(real, python("raise RuntimeError('broken on purpose')", scheduling={"disableRetries": True}))

        assert job["state"] == "JOB_STATE_FAILED"
        assert job["error"]["code"] == 3
        assert job["error"]["message"].startswith(
            "The replica workerpool0-0 exited with a non-zero status of 1. Termination reason: Error. \nTraceback"
        )
        assert job["error"]["message"].endswith("RuntimeError: broken on purpose")

    @pytest.mark.parametrize(
        ("command", "words"),
        [
            (["no-such-program"], 'exec: "no-such-program": executable file not found in $PATH'),
            (["./no-such-script.sh"], "no-such-script.sh"),
        ],
    )
    def test_a_program_that_is_not_there_cannot_start(self, real: Running, command: list[str], words: str) -> None:
        job = run(real, job_body(command))

        assert "exited with a non-zero status of 128. Termination reason: StartError." in job["error"]["message"]
        assert words in job["error"]["message"]

    def test_an_image_without_command_cannot_be_pulled(self, real: Running) -> None:
        job = run(real, job_body(image="europe-docker.pkg.dev/team/repo/train:1"))

        assert job["error"]["code"] == 9
        assert job["error"]["message"].endswith(
            "access Artifact Registry repository projects/team/locations/europe/repositories/repo"
        )

    def test_the_sample_image_runs_in_its_own_folder(self, real: Running) -> None:
        image = "us-docker.pkg.dev/trainboard/samples/penguins:latest"
        job = run(real, job_body(["python", "-c", "import os; print(sorted(os.listdir()))"], image=image))

        assert "'train.py'" in log_texts(real, job)[0]

    def test_a_killed_program_is_taken_for_out_of_memory(self, real: Running) -> None:
        job = run(real, python("import os, signal; os.kill(os.getpid(), signal.SIGKILL)"))

        assert job["error"]["code"] == 8
        assert job["error"]["message"].startswith("Replicas low on memory: workerpool0.")

    def test_a_crash_retries_the_job_three_times(self, real: Running) -> None:
        job = run(real, python("import os; print('run', flush=True); os.abort()"))

        assert "non-zero status of 134" in job["error"]["message"]
        assert log_texts(real, job).count("run") == 4

    def test_an_evicted_worker_is_restarted_on_its_host(self, real: Running) -> None:
        code = (
            "import os, pathlib, time; print(os.environ['HOSTNAME'], flush=True); runs = pathlib.Path('runs'); "
            "n = int(runs.read_text()) if runs.exists() else 0; runs.write_text(str(n + 1)); time.sleep(0 if n else 60)"
        )
        job = dict(real.call("POST", JOBS, python(code)))
        until(lambda: log_texts(real, job))
        real.evict(job["name"])
        job = wait_for(real, job, "SUCCEEDED", "FAILED")

        first, taken, second = log_texts(real, job)
        assert job["state"] == "JOB_STATE_SUCCEEDED"
        assert taken.startswith("Terminated by service.")
        assert first == second

    def test_a_program_that_exits_with_an_error_is_not_tried_again(self, real: Running) -> None:
        job = run(real, python("import sys; print('run', flush=True); sys.exit(2)"))

        assert "non-zero status of 2" in job["error"]["message"]
        assert 1 <= log_texts(real, job).count("run") <= 2
        assert real.truth(job["name"])["jobs"][0]["attempt"] == 1

    def test_floods_are_cut_off(self, real: Running, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("emulator.state.logs.MAX_ENTRIES_PER_JOB", 500)
        monkeypatch.setattr("emulator.replicas.process_runner.MAX_ENTRIES_PER_JOB", 500)
        job = run(real, python("print('x' * 50 + '\\n', end='') or [print('y' * 60) for _ in range(50_000)]"))

        assert job["state"] == "JOB_STATE_SUCCEEDED"
        assert 450 <= len(log_texts(real, job)) <= 500
        assert any("the rest of this log is dropped" in line for line in log_texts(real, job, "service"))


class TestVariables:
    """What a replica finds in its environment."""

    def test_a_single_replica_knows_job_and_folders(self, real: Running) -> None:
        job = run(real, python(SHOW, baseOutputDirectory={"outputUriPrefix": "gs://some-bucket/out"}))
        seen = environment(real, job)
        folder = real.state.resolve() / "buckets" / "some-bucket" / "out"

        assert seen["CLOUD_ML_JOB_ID"] == job["name"].rpartition("/")[2]
        assert seen["CLOUD_ML_PROJECT_ID"] == job["name"].split("/")[1]
        assert seen["AIP_MODEL_DIR"] == f"{folder}/model/"
        assert seen["AIP_CHECKPOINT_DIR"] == f"{folder}/checkpoints/"
        assert seen["AIP_TENSORBOARD_LOG_DIR"] == f"{folder}/logs/"
        assert (folder / "checkpoints").is_dir()
        assert "TF_CONFIG" not in seen
        spec = json.loads(seen["CLUSTER_SPEC"])
        assert spec["task"] == {"type": "workerpool0", "index": 0}
        assert spec["environment"] == "cloud"
        assert list(spec["cluster"]) == ["workerpool0"]

    def test_little_is_inherited(self, real: Running, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("PYTHONPATH", "/somewhere")
        monkeypatch.setenv("SECRET_TOKEN", "x")
        seen = environment(real, run(real, python(SHOW)))

        assert not {"PYTHONPATH", "SECRET_TOKEN"} & set(seen)
        assert seen["HOME"].startswith(str(real.state.resolve()))

    def test_user_variables_may_refer_to_earlier_ones(self, real: Running) -> None:
        env = [
            {"name": "FIRST", "value": "1"},
            {"name": "SECOND", "value": "$(FIRST)/$(CLOUD_ML_JOB_ID)/$(UNKNOWN)/$$(FIRST)"},
            {"name": "DATA", "value": "gs://some-bucket/data.csv"},
        ]
        job = run(real, python(SHOW, env=env))
        seen = environment(real, job)

        assert seen["SECOND"] == f"1/{job['name'].rpartition('/')[2]}/$(UNKNOWN)/$(FIRST)"
        assert seen["DATA"] == f"{real.state.resolve()}/buckets/some-bucket/data.csv"

    def test_cloud_paths_in_arguments_are_local_ones(self, real: Running) -> None:
        args = [
            "gs://some-bucket/a",
            "--x=/gcs/some-bucket/b",
            "/mnt/gcs/c",
            "gs://some-bucket/../../etc",
            "gs://Bad/x",
        ]
        job = run(real, job_body(["printf", "%s\\n"], args=args))
        bucket = f"{real.state.resolve()}/buckets/some-bucket"

        assert log_texts(real, job) == [f"{bucket}/a", f"--x={bucket}/b", *args[2:]]

    def test_all_replicas_of_two_pools_know_each_other(self, real: Running) -> None:
        pool = {
            "machineSpec": {"machineType": "n1-standard-4"},
            "replicaCount": 2,
            "containerSpec": {"imageUri": "i", "command": ["python", "-c", SHOW]},
        }
        wait = "; import time; time.sleep(1)"
        job = run(real, python(SHOW + wait, pools=[pool]))
        seen = environment(real, job, "workerpool1-1")
        spec, tf_config = json.loads(seen["CLUSTER_SPEC"]), json.loads(seen["TF_CONFIG"])

        assert {name: len(hosts) for name, hosts in spec["cluster"].items()} == {"workerpool0": 1, "workerpool1": 2}
        assert spec["task"] == {"type": "workerpool1", "index": 1}
        assert tf_config["task"]["type"] == "worker"
        assert set(tf_config["cluster"]) == {"chief", "worker"}
        assert json.loads(environment(real, job)["CLUSTER_SPEC"])["cluster"] == spec["cluster"]


PATIENT = """
import os, pathlib, signal, sys, time
def term(*_):
    print("asked to stop", flush=True)
    sys.exit(143)
signal.signal(signal.SIGTERM, term)
print("start", flush=True)
time.sleep({seconds})
print("end", flush=True)
"""


class TestStopping:
    """Cancel, timeout, Spot: SIGTERM first."""

    def test_cancel_asks_before_it_kills(self, real: Running) -> None:
        job = real.call("POST", JOBS, python(PATIENT.format(seconds=60)))
        until(lambda: "start" in log_texts(real, job))
        real.call("POST", f"/v1/{job['name']}:cancel", {})
        ended = finished(real, job)

        assert ended["state"] == "JOB_STATE_CANCELLED"
        assert log_texts(real, job)[-1] == "asked to stop"

    def test_who_ignores_the_request_is_killed_after_the_grace(self, tmp_path: Path) -> None:
        with running(tmp_path / "state", speed=100_000) as emulator:
            code = "import signal, time; signal.signal(15, signal.SIG_IGN); print('start', flush=True); time.sleep(60)"
            job = emulator.call("POST", JOBS, python(code))
            until(lambda: "start" in log_texts(emulator, job))
            emulator.call("POST", f"/v1/{job['name']}:cancel", {})

            assert finished(emulator, job)["state"] == "JOB_STATE_CANCELLED"

    def test_timeout_counts_real_seconds(self, real: Running) -> None:
        job = run(real, python(PATIENT.format(seconds=60), scheduling={"timeout": "1s"}))

        assert job["state"] == "JOB_STATE_CANCELLED"
        assert "asked to stop" in log_texts(real, job)

    def test_spot_jobs_are_reclaimed_as_planned(self, tmp_path: Path) -> None:
        with running(tmp_path / "state", reclaim_spot=(0.2, 0.2)) as emulator:
            job = run(emulator, python("import time; time.sleep(2)", scheduling={"strategy": "SPOT"}))
            truth = emulator.truth(job["name"])["jobs"][0]

        assert job["state"] == "JOB_STATE_SUCCEEDED"
        assert truth["preemptions"] == 2
        steps = [step["state"].removeprefix("JOB_STATE_") for step in truth["history"]]
        assert steps == ["PENDING", "QUEUED", *["PENDING", "RUNNING"] * 3, "SUCCEEDED"]

    def test_the_end_of_the_primary_ends_the_others(self, real: Running) -> None:
        pool = {
            "machineSpec": {"machineType": "n1-standard-4"},
            "containerSpec": {"imageUri": "i", "command": ["python", "-c", PATIENT.format(seconds=60)]},
        }
        job = run(real, python("import time; time.sleep(1)", pools=[pool]))

        assert job["state"] == "JOB_STATE_SUCCEEDED"
        assert "asked to stop" in log_texts(real, job, "workerpool1-0")

    def test_leftovers_of_a_replica_end_with_it(self, real: Running, tmp_path: Path) -> None:
        child = "import time; time.sleep(60)"
        code = (
            "import subprocess, sys; "
            f"print(subprocess.Popen([sys.executable, '-c', {child!r}], start_new_session=True).pid)"
        )
        job = run(real, python(code))

        assert not Path(f"/proc/{log_texts(real, job)[0]}").exists()


class TestAgain:
    """A new emulator on the same folder."""

    def test_a_running_job_is_started_again_once_and_ends(self, tmp_path: Path) -> None:
        code = (
            "import pathlib, time\n"
            "print('start', flush=True)\n"
            "again = pathlib.Path('again').exists(); pathlib.Path('again').touch()\n"
            "time.sleep(0 if again else 60)\n"
        )
        with running(tmp_path / "state") as emulator:
            job = emulator.call("POST", JOBS, python(code))
            until(lambda: "start" in log_texts(emulator, job))
            wait_for(emulator, job, "RUNNING")
        with running(tmp_path / "state") as emulator:
            ended = finished(emulator, job)

            assert ended["state"] == "JOB_STATE_SUCCEEDED"
            assert log_texts(emulator, job).count("start") == 2
            truth = emulator.truth(job["name"])["jobs"][0]
            assert [step["state"] for step in truth["history"]].count("JOB_STATE_RUNNING") == 1

    def test_a_scripted_one_goes_on_with_its_clock_and_rules(self, tmp_path: Path) -> None:
        with running(tmp_path / "state", scripted=True) as emulator:
            emulator.script("oom", match="bad*")
            job = emulator.call("POST", JOBS, job_body())
            now = emulator.advance(400)
        with running(tmp_path / "state", scripted=True) as emulator:
            assert emulator.truth()["now"] == now
            emulator.advance(500)
            bad = emulator.call("POST", JOBS, job_body(name="bad one"))

            assert emulator.call("GET", "/v1/" + job["name"])["state"] == "JOB_STATE_SUCCEEDED"
            assert emulator.truth(bad["name"])["jobs"][0]["script"] == "oom"
