"""Tests of asking Artifact Registry about an image: names, calls against the emulator, and responses of any shape."""

from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
import requests
from hypothesis import given
from hypothesis import strategies as st

from jobs.spec.images import ImageStatus, RegistryImage, registry_image
from jobs.vertex import PermissionDenied, PlatformClient, RateLimited, Timeout, Unavailable
from jobs.vertex.images import digest_in, image_path, is_standard, size_in, tag_path
from tests.sdk.schema_check import Judge
from tests.sdk.vocabulary import discovery
from tests.support.running_emulator import Running
from tests.unit.vertex.conftest import LocalServer

DIGEST = "sha256:" + "0a" * 32
REPOSITORY = "europe-docker.pkg.dev/vision-research/train"
NAME = f"{REPOSITORY}/nets/resnet:1.2"


def image(name: str = NAME) -> RegistryImage:
    found = registry_image(name)
    assert found is not None
    return found


@pytest.mark.parametrize(("name", "parts"), [
    (NAME, ("europe", "vision-research", "train", "nets/resnet", "1.2", "")),
    (f"{REPOSITORY}/resnet", ("europe", "vision-research", "train", "resnet", "latest", "")),
    (f"us-central1-docker.pkg.dev/vision-research/a.b/c__d@{DIGEST}",
     ("us-central1", "vision-research", "a.b", "c__d", "latest", DIGEST)),
    (f"{NAME}@{DIGEST}", ("europe", "vision-research", "train", "nets/resnet", "1.2", DIGEST)),
])  # fmt: skip
def test_the_parts_of_a_name(name: str, parts: tuple[str, ...]) -> None:
    assert registry_image(name) == RegistryImage(*parts)


@pytest.mark.parametrize("name", [
    "", "python:3.12", "docker.io/library/python", "gcr.io/vision-research/train:1", "eu.gcr.io/vision-research/train",
    "us-docker.pkg.dev/vertex-ai/training/pytorch-gpu.2-4.py310:latest",
    "us-docker.pkg.dev/deeplearning-platform-release/gcr.io/pytorch-gpu", "${IMAGE}", f"{REPOSITORY}/TRAIN:1",
    REPOSITORY, f"{REPOSITORY}/", f"{REPOSITORY}/a:", f"{REPOSITORY}/a@sha256:12", f"{REPOSITORY}/a:b:c",
    f"{REPOSITORY}/../secrets", f"{REPOSITORY}/a?x=1", f"{REPOSITORY}/a#b", f"{REPOSITORY}/a%2Fb", f"{NAME}\n",
    f"https://{NAME}", f"x@{NAME}", "evil.example/europe-docker.pkg.dev/vision-research/train/a",
    "europe-docker.pkg.dev.evil.example/vision-research/train/a", "europe-docker.pkg.dev/example.com/p/train/a",
    f"{REPOSITORY}/{'a/' * 300}a", f"{REPOSITORY}/a\x00", f"{REPOSITORY}/{'a.' * 240}!",
])  # fmt: skip
def test_names_that_are_not_asked_about(name: str) -> None:
    assert registry_image(name) is None


@given(st.text(max_size=80))
def test_no_name_leads_elsewhere(text: str) -> None:
    found = registry_image(f"{REPOSITORY}/{text}")

    for path in (tag_path(found), image_path(found, found.digest or DIGEST)) if found else ():
        assert path.startswith("/v1/projects/vision-research/locations/europe/repositories/train/")
        assert not set(path) & set("?# \\\n")
        assert ".." not in unquote(path).split("/")


class TestAgainstTheEmulator:
    def ask(self, platform: PlatformClient, name: str = NAME) -> tuple[ImageStatus, int | None]:
        found = platform.image(image(name))
        return found.status, found.size_bytes

    def change(self, emulator: Running, **body: Any) -> None:
        emulator.call("POST", "/_emulator/images", body)

    def test_an_image_by_tag_and_by_digest(self, platform: PlatformClient, emulator: Running) -> None:
        self.change(emulator, sizes={NAME: 4_321_000_000, f"{REPOSITORY}/resnet:2": None})

        assert self.ask(platform) == (ImageStatus.FOUND, 4_321_000_000)
        assert self.ask(platform, f"{REPOSITORY}/resnet:2") == (ImageStatus.FOUND, None)
        status, size = self.ask(platform, f"{REPOSITORY}/resnet@{DIGEST}")
        assert status == ImageStatus.FOUND
        assert size is not None
        assert size > 10**8

    def test_what_is_missing(self, platform: PlatformClient, emulator: Running) -> None:
        self.change(emulator, missing=[f"{REPOSITORY}/nets/*"])
        assert self.ask(platform) == (ImageStatus.NO_IMAGE, None)
        assert self.ask(platform, f"{REPOSITORY}/nets/resnet@{DIGEST}") == (ImageStatus.NO_IMAGE, None)

        self.change(emulator, missing=[f"{REPOSITORY}/nets/*"], remote=[REPOSITORY])
        assert self.ask(platform) == (ImageStatus.UNKNOWN, None)

        self.change(emulator, missing=[REPOSITORY])
        assert self.ask(platform) == (ImageStatus.NO_REPOSITORY, None)

    def test_who_may_not_see_it_is_not_told_that_it_is_missing(
        self, platform: PlatformClient, emulator: Running
    ) -> None:
        self.change(emulator, missing=["*"])
        emulator.access(deny=["artifactregistry.tags.get"])
        with pytest.raises(PermissionDenied):
            platform.image(image())

        emulator.access(deny=["artifactregistry.repositories.get"])
        with pytest.raises(PermissionDenied):
            platform.image(image())

    @pytest.mark.parametrize(("kind", "error"), [
        ("403", PermissionDenied), ("429", RateLimited), ("500", Unavailable), ("html", Unavailable),
        ("truncated", Unavailable), ("reset", Unavailable),
    ])  # fmt: skip
    def test_errors(self, platform: PlatformClient, emulator: Running, kind: str, error: type[Exception]) -> None:
        for method in ("tags.get", "dockerImages.get"):
            emulator.fault(kind, method, times=1)
            with pytest.raises(error):
                platform.image(image())

    def test_the_calls_and_answers_are_those_of_the_discovery_document(
        self, platform: PlatformClient, emulator: Running, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        seen: list[tuple[str, Any]] = []
        send = requests.Session.send

        def noting(self: requests.Session, request: requests.PreparedRequest, **more: Any) -> requests.Response:
            answer = send(self, request, **more)
            seen.append((urlsplit(request.url).path, answer.json()))
            return answer

        monkeypatch.setattr(requests.Session, "send", noting)
        platform.image(image())
        self.change(emulator, missing=[NAME])
        platform.image(image())

        repositories = discovery("artifactregistry.v1")["resources"]["projects"]["resources"]["locations"]["resources"]
        resources, judge = repositories["repositories"]["resources"], Judge("artifactregistry.v1")
        (tag, tag_answer), (docker, image_answer), _, (repository, repository_answer) = seen
        for path, method in ((tag, resources["packages"]["resources"]["tags"]["methods"]["get"]),
                             (docker, resources["dockerImages"]["methods"]["get"]),
                             (repository, repositories["repositories"]["methods"]["get"])):  # fmt: skip
            pattern = method["flatPath"]
            assert len(path.strip("/").split("/")) == len(pattern.split("/"))
        assert judge.faults("Tag", tag_answer) == []
        assert judge.faults("DockerImage", image_answer) == []
        assert judge.faults("Repository", repository_answer) == []
        assert "/packages/nets%2Fresnet/tags/1.2" in tag


class TestOddAnswers:
    def client(self, server: LocalServer) -> PlatformClient:
        return PlatformClient(endpoint=server.url, timeout=Timeout(connect=2, read=2, total=3))

    def test_a_redirect_is_not_followed(self, server: LocalServer) -> None:
        server.body(b"", 302, Location="https://elsewhere.example/")

        with pytest.raises(Unavailable):
            self.client(server).image(image())
        assert len(server.asked) == 1

    def test_a_tag_without_a_version(self, server: LocalServer) -> None:
        server.json({"name": "t", "version": "projects/1/versions/1"})

        with pytest.raises(Unavailable, match="names no version"):
            self.client(server).image(image())

    def test_silence_ends(self, server: LocalServer) -> None:
        server.silence()

        with pytest.raises(Unavailable):
            PlatformClient(endpoint=server.url, timeout=Timeout(connect=1, read=0.2, total=0.5)).image(image())


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10), inner, max_size=3),
    max_leaves=8,
)


@given(JSON)
def test_any_answer_is_read(value: Any) -> None:
    for each in (value, {"imageSizeBytes": value, "version": value, "mode": value}):
        size = size_in(each)
        assert size is None or 0 < size < 10**15
        assert digest_in(each) is None
        assert not is_standard(each)


@pytest.mark.parametrize(("document", "size"), [
    ({"imageSizeBytes": "123"}, 123), ({"imageSizeBytes": "-1"}, None), ({"imageSizeBytes": "9" * 19}, None),
    ({}, None),
    ({"imageSizeBytes": "999", "mediaType": "application/vnd.oci.image.index.v1+json"}, None),
])  # fmt: skip
def test_the_size(document: dict[str, Any], size: int | None) -> None:
    assert size_in(document) == size
