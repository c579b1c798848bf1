"""Tests of permissions, services and Google's time: the client against the emulator and the discovery documents."""

import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

import pytest
import requests
from django.utils import timezone

from jobs.vertex import NotFound, PermissionDenied, PlatformClient, Unavailable
from tests.sdk.schema_check import Judge
from tests.sdk.vocabulary import discovery
from tests.support.running_emulator import Running

PERMISSIONS = ["aiplatform.customJobs.create", "logging.logEntries.list"]


@pytest.fixture
def exchanged(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, Any]]:
    """Every request and its JSON answer."""
    seen: list[tuple[Any, Any]] = []
    send = requests.Session.send

    def noting(self: requests.Session, request: requests.PreparedRequest, **more: Any) -> requests.Response:
        answer = send(self, request, **more)
        seen.append((request, answer.json()))
        return answer

    monkeypatch.setattr(requests.Session, "send", noting)
    return seen


def methods(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield every method of a discovery document."""
    for resource in document.get("resources", {}).values():
        yield from resource.get("methods", {}).values()
        yield from methods(resource)


class TestShapes:
    def method(self, document: str, name: str) -> dict[str, Any]:
        return next(each for each in methods(discovery(document)) if each["id"] == name)

    def test_of_project_permissions(self, platform: PlatformClient, exchanged: list[tuple[Any, Any]]) -> None:
        assert platform.granted("my-project", PERMISSIONS) == frozenset(PERMISSIONS)

        (request, answer), judge = exchanged[0], Judge("cloudresourcemanager.v3")
        method = self.method("cloudresourcemanager.v3", "cloudresourcemanager.projects.testIamPermissions")
        assert urlsplit(request.url).path == "/" + method["path"].replace("{+resource}", "projects/my-project")
        assert request.method == method["httpMethod"]
        assert judge.faults(method["request"]["$ref"], json.loads(request.body)) == []
        assert judge.faults(method["response"]["$ref"], answer) == []

    def test_of_account_permissions(self, platform: PlatformClient, exchanged: list[tuple[Any, Any]]) -> None:
        email = "trainer@my-project.iam.gserviceaccount.com"
        assert platform.granted_on_account(email, PERMISSIONS) == frozenset(PERMISSIONS)

        (request, answer), judge = exchanged[0], Judge("iam.v1")
        method = self.method("iam.v1", "iam.projects.serviceAccounts.testIamPermissions")
        path = method["path"].replace("{+resource}", f"projects/-/serviceAccounts/{email}")
        assert urlsplit(request.url).path == f"/{path}"
        assert judge.faults(method["request"]["$ref"], json.loads(request.body)) == []
        assert judge.faults(method["response"]["$ref"], answer) == []

    def test_of_bucket_permissions(self, platform: PlatformClient, exchanged: list[tuple[Any, Any]]) -> None:
        assert platform.granted_on_bucket("stage", ["storage.objects.list", "storage.objects.get"])

        (request, answer), judge = exchanged[0], Judge("storage.v1")
        method = self.method("storage.v1", "storage.buckets.testIamPermissions")
        assert urlsplit(request.url).path == "/storage/v1/" + method["path"].replace("{bucket}", "stage")
        assert method["parameters"]["permissions"]["repeated"]
        assert request.url.endswith("permissions=storage.objects.list&permissions=storage.objects.get")
        assert judge.faults(method["response"]["$ref"], answer) == []

    def test_of_services(self, platform: PlatformClient, exchanged: list[tuple[Any, Any]]) -> None:
        named = ["aiplatform.googleapis.com", "logging.googleapis.com"]
        assert platform.enabled("my-project", named) == frozenset(named)

        (request, answer), judge = exchanged[0], Judge("serviceusage.v1")
        method = self.method("serviceusage.v1", "serviceusage.services.batchGet")
        assert urlsplit(request.url).path == "/" + method["path"].replace("{+parent}", "projects/my-project")
        assert method["parameters"]["names"]["repeated"]
        assert judge.faults(method["response"]["$ref"], answer) == []


def test_what_is_denied_and_disabled_is_missing(platform: PlatformClient, emulator: Running) -> None:
    emulator.access(deny=[PERMISSIONS[0]], disable=["aiplatform.googleapis.com"])

    assert platform.granted("p-1", PERMISSIONS) == {PERMISSIONS[1]}
    assert platform.granted("p-1", PERMISSIONS[:1]) == frozenset()
    assert platform.enabled("p-1", ["aiplatform.googleapis.com", "iam.googleapis.com"]) == {"iam.googleapis.com"}


def test_errors_are_told_apart(platform: PlatformClient, emulator: Running) -> None:
    for kind, error in (("403", PermissionDenied), ("503", Unavailable), ("html", Unavailable), ("404", NotFound)):
        emulator.fault(kind, "projects.testIamPermissions", times=1)
        with pytest.raises(error):
            platform.granted("p-1", PERMISSIONS)


def test_the_time_is_that_of_the_answer(platform: PlatformClient) -> None:
    told = platform.server_time("p-1")

    assert told is not None
    assert abs(told - timezone.now()) < timedelta(seconds=5)


def test_an_account_is_named_as_a_member(platform: PlatformClient) -> None:
    class Robot:
        service_account_email = "robot@p.iam.gserviceaccount.com"

    class Person:
        account = "ann@example.org"

    assert platform.account() == ""
    assert PlatformClient(credentials=Robot()).account() == "serviceAccount:robot@p.iam.gserviceaccount.com"
    assert PlatformClient(credentials=Person()).account() == "user:ann@example.org"
    assert PlatformClient(credentials=object()).account() == ""
