"""Tests of both versions of the API, locations, and requests without a method."""

import json
import time
import urllib.error
from typing import Any

import pytest

from emulator.web import routes, unserved
from tests.support.running_emulator import Running
from tests.unit.emulator.conftest import JOBS, job_body

PARENT = "projects/demo/locations/us-central1"
POOL = {"resourcePools": [{"machineSpec": {"machineType": "n1-standard-4"}, "replicaCount": "1"}]}


def refusal(emulator: Running, verb: str, path: str) -> dict[str, Any]:
    """Return the error envelope's content."""
    with pytest.raises(urllib.error.HTTPError) as refused:
        emulator.call(verb, path, None if verb == "GET" else {})
    with refused.value as reply:
        error: dict[str, Any] = json.loads(reply.read())["error"]
        assert error["code"] == reply.code
    return error


def machine(job: dict[str, Any]) -> dict[str, Any]:
    """The machine of the first worker pool."""
    return dict(job["jobSpec"]["workerPoolSpecs"][0]["machineSpec"])


class TestVersions:
    """What v1 has, v1beta1 has."""

    def test_every_method_of_v1_is_one_of_v1beta1(self) -> None:
        versioned = [
            route
            for route in routes.ROUTES
            if "version" in route.pattern.groupindex and not route.pattern.pattern.startswith("/compute/")
        ]
        paths = {route: route.pattern.pattern for route in versioned}
        assert len(versioned) > 30
        for route in versioned:
            sample = paths[route].replace("(?P<version>v1|v1beta1|ui)", "{version}")
            assert sample.startswith("/{version}/"), route
        unversioned = {route.method.partition(".")[0] for route in routes.ROUTES if route not in versioned}
        of_compute_engine = {"machineTypes", "acceleratorTypes", "advice"}
        assert unversioned - of_compute_engine == {
            *("entries", "timeSeries", "token", "storage", "projects", "_emulator")
        }

    def test_a_job_made_in_one_is_there_in_the_other(self, scripted: Running) -> None:
        made = scripted.call("POST", JOBS.replace("/v1/", "/v1beta1/"), job_body(["true"]))

        assert scripted.call("GET", "/v1beta1/" + made["name"]) == scripted.call("GET", "/v1/" + made["name"])
        assert scripted.call("GET", f"/v1beta1/{PARENT}/customJobs")["customJobs"][0]["name"] == made["name"]
        assert scripted.call("POST", f"/v1beta1/{made['name']}:cancel", {}) == {}

    def test_v1beta1_takes_its_own_fields_and_v1_does_not_show_them(self, scripted: Running) -> None:
        body = job_body(["true"])
        body["jobSpec"]["workerPoolSpecs"][0]["machineSpec"] |= {
            "minGpuDriverVersion": "535",
            "multihostGpuNodeCount": 2,
        }
        with pytest.raises(urllib.error.HTTPError) as refused:
            scripted.call("POST", JOBS, body)
        with refused.value as reply:
            assert 'Unknown name "minGpuDriverVersion"' in json.loads(reply.read())["error"]["message"]
        made = scripted.call("POST", JOBS.replace("/v1/", "/v1beta1/"), body)

        assert machine(made) == {
            "machineType": "n1-standard-4",
            "minGpuDriverVersion": "535",
            "multihostGpuNodeCount": 2,
        }
        assert machine(scripted.call("GET", "/v1/" + made["name"])) == {"machineType": "n1-standard-4"}
        assert machine(scripted.call("GET", JOBS)["customJobs"][0]) == {"machineType": "n1-standard-4"}
        assert machine(scripted.call("GET", "/v1beta1/" + made["name"])) == machine(made)

    @pytest.mark.parametrize("version", ["v1", "v1beta1"])
    def test_an_operation_names_the_types_of_the_version_that_asks(self, scripted: Running, version: str) -> None:
        other = {"v1": "v1beta1", "v1beta1": "v1"}[version]
        begun = scripted.call("POST", f"/{version}/{PARENT}/persistentResources?persistentResourceId=pool", POOL)
        scripted.advance(600)

        for asked, meant in ((version, version), (other, other), ("ui", version)):
            done = scripted.call("GET", f"/{asked}/{begun['name']}")
            types = "type.googleapis.com/google.cloud.aiplatform."
            assert done["response"]["@type"] == f"{types}{meant}.PersistentResource"
            assert done["metadata"]["@type"] == f"{types}{meant}.CreatePersistentResourceOperationMetadata"
            page = scripted.call("GET", f"/{asked}/{PARENT}/persistentResources/pool/operations")
            assert page["operations"] == [done]


class TestLocations:
    """projects.locations."""

    def test_get_names_the_region(self, scripted: Running) -> None:
        assert scripted.call("GET", f"/v1beta1/{PARENT}") == {
            "name": PARENT,
            "locationId": "us-central1",
            "labels": {"cloud.googleapis.com/region": "us-central1"},
        }

    def test_list_gives_every_region_once_over_its_pages(self, scripted: Running) -> None:
        whole = scripted.call("GET", "/v1/projects/demo/locations")
        found, token = [], ""
        while True:
            page = scripted.call("GET", f"/v1/projects/demo/locations?pageSize=7&pageToken={token}")
            found += page["locations"]
            if not (token := page.get("nextPageToken", "")):
                break

        assert found == whole["locations"]
        assert len({one["locationId"] for one in found}) == len(found) > 30

    def test_a_region_without_training_is_not_found(self, scripted: Running) -> None:
        error = refusal(scripted, "GET", "/v1/projects/demo/locations/mars-north1")
        assert (error["code"], error["status"]) == (404, "NOT_FOUND")


class TestWhatIsNotThere:
    """Methods that exist at Google only, and paths that exist nowhere."""

    def test_a_resource_that_is_not_there_is_not_named(self, scripted: Running) -> None:
        for collection, message in (
            ("customJobs", "CustomJob"),
            ("hyperparameterTuningJobs", "HyperparameterTuningJob"),
        ):
            error = refusal(scripted, "GET", f"/v1/{PARENT}/{collection}/1")
            assert error == {"code": 404, "message": f"The {message} does not exist.", "status": "NOT_FOUND"}

    @pytest.mark.parametrize(
        ("verb", "path", "words"),
        [
            ("GET", f"/v1/{PARENT}/endpoints", "aiplatform.projects.locations.endpoints.list (v1)"),
            ("GET", f"/v1beta1/{PARENT}/endpoints", "aiplatform.projects.locations.endpoints.list (v1beta1)"),
            ("POST", f"/v1/{PARENT}/endpoints/1:predict", "aiplatform.projects.locations.endpoints.predict (v1)"),
            ("PATCH", f"/ui/{PARENT}/models/1", "aiplatform.projects.locations.models.patch (v1)"),
            ("POST", f"/v1/{PARENT}:askContexts", "aiplatform.projects.locations.askContexts (v1)"),
            (
                "POST",
                f"/v1beta1/{PARENT}/exampleStores",
                "aiplatform.projects.locations.exampleStores.create (v1beta1)",
            ),
            ("POST", f"/v1/{PARENT}/exampleStores", "v1 has no such method"),
            ("PATCH", f"/v1beta1/{PARENT}/customJobs/1", "v1beta1 has no such method"),
            ("GET", f"/v1/{PARENT}/wonders", "v1 has no such method"),
            ("GET", f"/v2/{PARENT}/customJobs", "no such method of v2; it serves v1 and v1beta1"),
            ("GET", "/nowhere", "Not found: GET /nowhere"),
        ],
    )
    def test_is_named_with_its_version(self, scripted: Running, verb: str, path: str, words: str) -> None:
        error = refusal(scripted, verb, path)

        assert words in error["message"]
        assert error["status"] == "NOT_FOUND"

    def test_no_client_takes_it_for_a_passing_trouble(self, scripted: Running) -> None:
        """gcloud's HTTP library tries every status from 500 up, and 429, again and again."""
        began = time.monotonic()
        for version, collections in unserved.KNOWN.items():
            for collection in list(collections)[:20]:
                if collection and "." not in collection and not collection.endswith("Jobs"):
                    path = f"/{version}/{PARENT}/{collection}/1:wonder"
                    assert refusal(scripted, "POST", path)["code"] == 404
        assert time.monotonic() - began < 10
