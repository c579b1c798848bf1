"""Tests of images that need no command: `--images FILE` and the Reduction Server."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from emulator.replicas import images
from emulator.replicas.images import Images
from tests.support.running_emulator import Running, running
from tests.unit.emulator.conftest import JOBS, finished, job_body, log_texts
from tests.unit.emulator.test_command import ROOT

IMAGE = "europe-docker.pkg.dev/my-project/train/task:v1"
REDUCER = "us-docker.pkg.dev/vertex-ai-restricted/training/reductionserver:latest"
LINES = f"""
# what runs for which image
{IMAGE}: echo 'one word'
"us-docker.pkg.dev/p/*": ["python", "-m", "trainer.task"]
eu.gcr.io/p/old: [python, 'a b.py']
docker.io/library/x:
  - python
  - "--flag=c d"
"""


def read(tmp_path: Path, text: str) -> images.ImageTable:
    """Read a file of this content."""
    file = tmp_path / "images"
    file.write_text(text)
    return images.load(file)


class TestFile:
    """A file that names images and the local commands for them."""

    def test_in_lines(self, tmp_path: Path) -> None:
        assert read(tmp_path, LINES) == (
            (IMAGE, ["echo", "one word"]),
            ("us-docker.pkg.dev/p/*", ["python", "-m", "trainer.task"]),
            ("eu.gcr.io/p/old", ["python", "a b.py"]),
            ("docker.io/library/x", ["python", "--flag=c d"]),
        )

    def test_as_json(self, tmp_path: Path) -> None:
        given = read(tmp_path, '{"a/*": "python x.py", "b@sha256:1": ["true"]}')

        assert given == (("a/*", ["python", "x.py"]), ("b@sha256:1", ["true"]))

    @pytest.mark.parametrize(
        ("text", "words"),
        [
            ("just words", "line 1 is not of the form"),
            ("a/b:latest", "line 1 is not of the form"),
            ("a/b:", "the command must be"),
            ("a/b: 'open", "No closing quotation"),
            ('{"a": 7}', "the command must be"),
            ('{"a": [""]}', "the command must be"),
            ('{"a": ', "images: Expecting value"),
        ],
    )
    def test_that_says_nothing_is_refused(self, tmp_path: Path, text: str, words: str) -> None:
        with pytest.raises(ValueError, match=words):
            read(tmp_path, text)

    def test_stops_the_start_when_it_is_wrong(self, tmp_path: Path) -> None:
        (tmp_path / "wrong").write_text("just words")
        options = ["--port", "0", "--state", str(tmp_path / "state"), "--images"]
        for name, words in (("wrong", "line 1 is not of the form"), ("absent", "No such file")):
            command = [sys.executable, "-m", "emulator", *options, str(tmp_path / name)]
            ended = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=20, check=False)
            assert ended.returncode == 2
            assert words in ended.stderr


class TestPatterns:
    """Which image is known."""

    def test_the_first_that_fits_is_taken(self) -> None:
        known = Images((("a/b:*", ["one"]), ("a/*", ["two"])))

        assert [known.find(uri) and known.find(uri)[0] for uri in ("a/b:1", "a/c", "b/a")] == [["one"], ["two"], None]

    @pytest.mark.parametrize(
        ("uri", "is_known"),
        [
            (REDUCER, True),
            (REDUCER.replace("us-", "europe-").removesuffix(":latest"), True),
            (REDUCER.replace("-restricted", ""), False),
            (REDUCER.replace(".dev", ".example.com"), False),
            (REDUCER + "/more", False),
        ],
    )
    def test_the_reduction_server_is_known(self, uri: str, is_known: bool) -> None:
        assert (Images().find(uri) is not None) == is_known


class TestJobs:
    """Jobs whose containers have no command."""

    def test_runs_what_the_file_says_with_the_arguments_of_the_job(self, tmp_path: Path) -> None:
        with running(tmp_path / "state", images=((IMAGE, ["echo", "entry"]),)) as emulator:
            jobs = [
                emulator.call("POST", JOBS, job_body(image=IMAGE, args=["--epochs", "3"])),
                emulator.call("POST", JOBS, job_body(["echo", "own"], image=IMAGE)),
                emulator.call("POST", JOBS, job_body(image=IMAGE.replace("v1", "v2"))),
            ]
            ended = [finished(emulator, job) for job in jobs]

            assert log_texts(emulator, jobs[0]) == ["entry --epochs 3"]
            assert log_texts(emulator, jobs[1]) == ["own"]
            assert ended[2]["error"]["code"] == 9

    def test_a_pool_of_reduction_servers_runs_until_the_job_ends(self, real: Running) -> None:
        machine: dict[str, Any] = {"machineType": "n1-highcpu-16"}
        reducer = {"machineSpec": machine, "replicaCount": "2", "containerSpec": {"imageUri": REDUCER}}
        job = finished(real, real.call("POST", JOBS, job_body(["echo", "trained"], pools=[{}, reducer])))

        assert job["state"] == "JOB_STATE_SUCCEEDED"
        assert log_texts(real, job) == ["trained"]
        assert real.truth(job["name"])["jobs"][0]["attempt"] == 1
