"""Fixtures for Google's clients against an emulator. Its responses are checked with the discovery documents."""

import re
import urllib.parse
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import requests
from google.auth.credentials import AnonymousCredentials

from tests.sdk.schema_check import Judge
from tests.support import certificates
from tests.support.running_emulator import Running, running

# Before any test: others use Google's clients too, and the first of a process loads the certificate that all trust.
certificates.shared()
V1 = "GoogleCloudAiplatformV1"
RESOURCES = {
    "customJobs": "CustomJob",
    "hyperparameterTuningJobs": "HyperparameterTuningJob",
    "trainingPipelines": "TrainingPipeline",
    "persistentResources": "PersistentResource",
    "contexts": "Context",
    "artifacts": "Artifact",
    "executions": "Execution",
    "runs": "TensorboardRun",
    "experiments": "TensorboardExperiment",
}
OPERATIONS = ("persistentResources", "metadataStores", "tensorboards")
"""Collections whose resources are created by long-running operations."""


class Witness:
    """Records every JSON response to `requests`, and checks it."""

    def __init__(self) -> None:
        self.aiplatform, self.logging = Judge("aiplatform.v1"), Judge("logging.v2")
        self.seen: list[tuple[str, str, Any]] = []

    def note(self, answer: requests.Response, *_: Any, **__: Any) -> requests.Response:
        """Take a note of an answer."""
        if "json" in answer.headers.get("Content-Type", "") and answer.status_code == 200:
            self.seen.append((str(answer.request.method), str(answer.url), answer.json()))
        return answer

    def faults(self) -> list[str]:
        """Return what is wrong with the answers so far."""
        return [fault for verb, url, body in self.seen for fault in self._judge(verb, url, body)]

    def _judge(self, verb: str, url: str, body: Any) -> list[str]:
        path = url.partition("?")[0]
        if path.endswith("/entries:list"):
            return self.logging.faults("ListLogEntriesResponse", body)
        found = re.search(r"/(\w+)(/\d+|/[\w-]+)?$", path)
        is_write = verb in ("PATCH", "POST") and found is not None and found[1] in OPERATIONS
        if verb == "DELETE" or is_write or "/operations" in path:
            return self.aiplatform.faults("GoogleLongrunningOperation", body)
        if found is None or found[1] not in RESOURCES:
            return []
        message = RESOURCES[found[1]]
        is_list = verb == "GET" and found[2] is None
        return self.aiplatform.faults(f"{V1}List{message}sResponse" if is_list else V1 + message, body)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests in this folder."""
    for item in items:
        if "sdk" in item.path.parts:
            item.add_marker(pytest.mark.sdk)


@pytest.fixture
def witness(monkeypatch: pytest.MonkeyPatch) -> Iterator[Witness]:
    """Listen to every request that Google's clients send; in the end nothing may be wrong."""
    made = Witness()
    send = requests.Session.send

    def listening(self: requests.Session, request: requests.PreparedRequest, **more: Any) -> requests.Response:
        return made.note(send(self, request, **more))

    monkeypatch.setattr(requests.Session, "send", listening)
    yield made
    assert made.faults() == []


@pytest.fixture(params=["rest", "grpc"])
def transport(request: pytest.FixtureRequest) -> str:
    """How Google's clients speak to the emulator; a test that asks for a client runs once with each."""
    return str(request.param)


@pytest.fixture
def emulator(tmp_path: Path, transport: str) -> Iterator[Running]:
    """An emulator that really runs what it is given; the service's own times are a thousandth."""
    certificates.give(tmp_path / "state")
    with running(tmp_path / "state", grpc=transport == "grpc") as made:
        yield made


@pytest.fixture
def scripted(tmp_path: Path) -> Iterator[Running]:
    """An emulator with a settable clock."""
    with running(tmp_path / "state", scripted=True) as made:
        yield made


@pytest.fixture
def sdk(emulator: Running, transport: str, witness: Witness, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The official SDK against the emulator, polling without its usual pauses."""
    from google.cloud import aiplatform
    from google.cloud.aiplatform import jobs, training_jobs

    monkeypatch.setenv("STORAGE_EMULATOR_HOST", emulator.url)
    for module, name in ((jobs, "_JOB_WAIT_TIME"), (jobs, "_LOG_WAIT_TIME")):
        monkeypatch.setattr(module, name, 0.1)
    monkeypatch.setattr(training_jobs, "_JOB_WAIT_TIME", 0.1, raising=False)
    aiplatform.init(
        project="demo",
        location="us-central1",
        api_endpoint=emulator.grpc or emulator.url,
        api_transport=transport,
        credentials=AnonymousCredentials(),
        staging_bucket="gs://stage",
    )
    yield aiplatform
    aiplatform.initializer.global_config.__init__()


@pytest.fixture
def client_of(emulator: Running, transport: str) -> Callable[[Any], Any]:
    """`client_of(JobServiceClient)` is a generated client against the emulator."""

    def make(kind: Any) -> Any:
        if transport == "grpc":
            return kind(credentials=AnonymousCredentials(), client_options={"api_endpoint": emulator.grpc})
        where = urllib.parse.urlsplit(emulator.url)
        rest = kind.get_transport_class("rest")
        return kind(transport=rest(host=where.netloc, credentials=AnonymousCredentials(), url_scheme=where.scheme))

    return make
