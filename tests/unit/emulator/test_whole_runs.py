"""Tests of whole runs: replicas that communicate, a Spot run that loses no work, limits that take effect."""

import json
from pathlib import Path
from typing import Any

from tests.support.running_emulator import Running, running
from tests.unit.emulator.conftest import JOBS, finished, job_body, log_texts, python, until

SAMPLE = "us-docker.pkg.dev/trainboard/samples/penguins:latest"
TALK = """
import json, os, socket, time
spec = json.loads(os.environ["CLUSTER_SPEC"])
task = spec["task"]
host, port = spec["cluster"][task["type"]][task["index"]].split(":")
if task["type"] == "workerpool0":
    server = socket.create_server((host, int(port)))
    heard = []
    while len(heard) < 2:
        connection, _ = server.accept()
        heard.append(connection.recv(100).decode())
        connection.sendall(b"thanks")
    print("heard", sorted(heard), flush=True)
else:
    chief = spec["cluster"]["workerpool0"][0].split(":")
    for _ in range(100):
        try:
            connection = socket.create_connection((chief[0], int(chief[1])), timeout=5)
            break
        except OSError:
            time.sleep(0.1)
    connection.sendall(f"worker {task['index']}".encode())
    print(connection.recv(100).decode(), flush=True)
    time.sleep(30)
"""


def sample(*args: str, bucket: str, **more: Any) -> dict[str, Any]:
    """The example, with a folder of its own."""
    output = {"outputUriPrefix": f"gs://{bucket}/out"}
    return job_body(image=SAMPLE, args=["--epochs", "12", *args], baseOutputDirectory=output, **more)


class TestRehearsals:
    """Whole runs."""

    def test_two_pools_communicate(self, real: Running) -> None:
        pool = {
            "machineSpec": {"machineType": "n1-standard-4"},
            "replicaCount": 2,
            "containerSpec": {"imageUri": "i", "command": ["python", "-c", TALK]},
        }
        job = finished(real, real.call("POST", JOBS, python(TALK, pools=[pool])))

        assert job["state"] == "JOB_STATE_SUCCEEDED"
        assert log_texts(real, job) == ["heard ['worker 0', 'worker 1']"]
        assert "thanks" in log_texts(real, job, "workerpool1-1")

    def test_a_spot_run_preempted_twice_ends_as_an_undisturbed_one(self, tmp_path: Path) -> None:
        with running(tmp_path / "state") as emulator:
            spot = sample("--seconds-per-epoch", "0.4", bucket="disturbed", scheduling={"strategy": "SPOT"})
            disturbed = emulator.call("POST", JOBS, spot)
            calm = finished(emulator, emulator.call("POST", JOBS, sample("--seconds-per-epoch", "0", bucket="calm")))
            for epoch in (2, 5):
                until(lambda epoch=epoch: any(f"epoch {epoch}/12" in line for line in log_texts(emulator, disturbed)))
                emulator.preempt(disturbed["name"])
            ended = finished(emulator, disturbed)
            truth = emulator.truth(disturbed["name"])["jobs"][0]

            assert calm["state"] == ended["state"] == "JOB_STATE_SUCCEEDED"
            assert truth["preemptions"] == 2
            assert sum("resuming from epoch" in line for line in log_texts(emulator, disturbed)) == 2
            assert log_texts(emulator, disturbed)[-1] == log_texts(emulator, calm)[-1]
            results = [models(emulator.state / "buckets" / bucket) for bucket in ("disturbed", "calm")]
            assert results[0] == results[1]
            assert results[0]

    def test_a_replica_over_its_memory_ends_out_of_memory(self, tmp_path: Path) -> None:
        code = "import time; held = bytearray(200_000_000); print('held', flush=True); time.sleep(30)"
        with running(tmp_path / "state", memory_mib=100) as emulator:
            job = finished(emulator, emulator.call("POST", JOBS, python(code)))

        assert job["error"]["message"].startswith("Replicas low on memory: workerpool0.")


def models(bucket: Path) -> dict[str, Any]:
    """What a run has left in its model folder."""
    return {
        str(path.relative_to(bucket)): json.loads(path.read_text()) if path.suffix == ".json" else path.read_bytes()
        for path in sorted((bucket / "out" / "model").rglob("*"))
        if path.is_file()
    }
