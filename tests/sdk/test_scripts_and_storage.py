"""Tests of scripts that the SDK packs and uploads, Python packages, and google-cloud-storage itself."""

from pathlib import Path
from typing import Any

import pytest
from google.api_core import exceptions
from google.auth.credentials import AnonymousCredentials

from tests.support.running_emulator import Running
from tests.unit.emulator.conftest import log_texts

SUCCEEDED = 4
IMAGE = "us-docker.pkg.dev/vertex-ai/training/pytorch-cpu.2-4.py310:latest"
SCRIPT = """
import argparse, os, pathlib
parser = argparse.ArgumentParser()
parser.add_argument("--word")
print("script says", parser.parse_args().word, flush=True)
pathlib.Path(os.environ["AIP_MODEL_DIR"], "model.txt").write_text("weights")
"""


class TestScripts:
    """`from_local_script`: pack, upload, install, run."""

    def test_a_local_script_runs(self, sdk: Any, emulator: Running, tmp_path: Path) -> None:
        script = tmp_path / "task.py"
        script.write_text(SCRIPT)
        job = sdk.CustomJob.from_local_script(
            display_name="script",
            script_path=str(script),
            container_uri=IMAGE,
            args=["--word", "hello"],
            base_output_dir="gs://stage/out",
        )
        job.run(sync=True)

        assert job.state == SUCCEEDED
        assert "script says hello" in log_texts(emulator, {"name": job.resource_name})
        client = client_of(emulator)
        assert client.bucket("stage").blob("out/model/model.txt").download_as_text() == "weights"


def client_of(emulator: Running) -> Any:
    """Google's storage client against the emulator (STORAGE_EMULATOR_HOST is set by `sdk`)."""
    from google.cloud import storage

    return storage.Client(project="demo", credentials=AnonymousCredentials())


class TestStorage:
    """google-cloud-storage: what goes up comes down."""

    @pytest.mark.parametrize("size", [0, 10, 300_000])
    def test_upload_and_download(self, sdk: Any, emulator: Running, size: int) -> None:
        data = bytes(range(256)) * (size // 256) + b"x" * (size % 256)
        blob = client_of(emulator).bucket("some-bucket").blob("a folder/ä?#.bin")
        blob.upload_from_string(data)

        assert blob.download_as_bytes() == data
        assert (emulator.state / "buckets" / "some-bucket" / "a folder" / "ä?#.bin").read_bytes() == data

    def test_resumable_upload_in_pieces(self, sdk: Any, emulator: Running, tmp_path: Path) -> None:
        data = b"0123456789abcdef" * 40_000
        file = tmp_path / "big"
        file.write_bytes(data)
        blob = client_of(emulator).bucket("some-bucket").blob("big", chunk_size=256 * 1024)
        blob.upload_from_filename(str(file))

        assert blob.download_as_bytes(start=5, end=20) == data[5:21]
        assert blob.download_as_bytes() == data

    def test_list_with_prefix_delimiter_and_pages(self, sdk: Any, emulator: Running) -> None:
        bucket = client_of(emulator).bucket("some-bucket")
        for name in ("a/1", "a/2", "a/b/3", "c"):
            bucket.blob(name).upload_from_string(name)

        assert [blob.name for blob in bucket.list_blobs(page_size=1)] == ["a/1", "a/2", "a/b/3", "c"]
        walk = bucket.list_blobs(prefix="a/", delimiter="/")
        assert [blob.name for blob in walk] == ["a/1", "a/2"]
        assert walk.prefixes == {"a/b/"}

    def test_delete_and_missing(self, sdk: Any, emulator: Running) -> None:
        bucket = client_of(emulator).get_bucket("some-bucket")
        bucket.blob("x").upload_from_string("x")
        bucket.delete_blob("x")

        assert bucket.get_blob("x") is None
        with pytest.raises(exceptions.NotFound):
            bucket.delete_blob("x")

    @pytest.mark.parametrize("name", ["../outside", "a/../../outside", "/etc/passwd"])
    def test_no_name_leaves_the_bucket(self, sdk: Any, emulator: Running, name: str) -> None:
        with pytest.raises(exceptions.BadRequest):
            client_of(emulator).bucket("some-bucket").blob(name).upload_from_string("x")

        assert not list(emulator.state.rglob("outside"))


class TestToken:
    """A throwaway service account gets its token here."""

    def test_google_auth_gets_a_token(self, emulator: Running) -> None:
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric import rsa
        from google.auth.transport.requests import AuthorizedSession
        from google.oauth2 import service_account

        key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        pem = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        info = {
            "type": "service_account",
            "client_email": "robot@demo.iam.gserviceaccount.com",
            "private_key": pem.decode(),
            "token_uri": emulator.url + "/token",
        }
        scopes = ["https://www.googleapis.com/auth/cloud-platform"]
        credentials = service_account.Credentials.from_service_account_info(info, scopes=scopes)
        with AuthorizedSession(credentials) as session:
            answer = session.get(f"{emulator.url}/v1/projects/demo/locations/us-central1/customJobs")

        assert answer.json() == {}
        assert credentials.token.startswith("emulated.")
