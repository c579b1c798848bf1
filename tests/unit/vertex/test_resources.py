"""Tests of listing persistent resources: the request is valid, bad entries are kept apart, odd values stay raw."""

from typing import Any

import pytest

from jobs.vertex import Unavailable, VertexClient
from jobs.vertex.resources import remote_resource
from tests.unit.vertex.test_shapes import check, document

NAME = "projects/123/locations/us-central1/persistentResources/night-shift"
WHERE = {"project": "my-project", "region": "us-central1"}


def listed(client: VertexClient) -> list[Any]:
    return [each for page in client.persistent_resources(**WHERE) for each in page]


def test_the_list_is_a_call_of_vertex_ai(server: Any, client: VertexClient) -> None:
    aiplatform = document("aiplatform.v1")
    server.json({"persistentResources": [{"name": NAME}], "nextPageToken": "t"})
    server.json({})

    found = listed(client)

    method = aiplatform["resources"]["projects"]["resources"]["locations"]["resources"]["persistentResources"]
    assert [asked.query.get("pageToken") for asked in server.asked] == [None, ["t"]]
    for asked in server.asked:
        check(asked, method["methods"]["list"], aiplatform["schemas"])
    assert [each.resource_id for each in found] == ["night-shift"]
    page = aiplatform["schemas"]["GoogleCloudAiplatformV1ListPersistentResourcesResponse"]["properties"]
    assert {"persistentResources", "nextPageToken"} <= set(page)
    read = {"name", "displayName", "state"}
    assert read <= set(aiplatform["schemas"]["GoogleCloudAiplatformV1PersistentResource"]["properties"])


def test_a_budget_is_asked_before_each_page(server: Any, client: VertexClient) -> None:
    server.json({"nextPageToken": "t"})
    server.json({})
    asked: list[int] = []

    list(client.persistent_resources(**WHERE, before_page=lambda: asked.append(1)))

    assert len(asked) == 2


def test_a_later_page_that_fails_is_asked_again(server: Any, client: VertexClient) -> None:
    server.json({"persistentResources": [{"name": NAME}], "nextPageToken": "t"})
    server.body(b"<html>", 502)
    server.json({})

    assert len([each for page in client.persistent_resources(**WHERE, tries=2) for each in page]) == 1


def test_a_page_that_is_none_is_a_failure(server: Any, client: VertexClient) -> None:
    server.json({"persistentResources": {"name": NAME}})

    with pytest.raises(Unavailable):
        listed(client)


@pytest.mark.parametrize(
    "value",
    [
        None,
        "night-shift",
        [],
        {},
        {"name": None},
        {"name": "night-shift"},
        {"name": NAME.replace("us-central1", "us-east1")},
        {"name": NAME.replace("persistentResources", "customJobs")},
        {"name": NAME + "/operations/1"},
        {"name": NAME.replace("night-shift", "Night")},
        {"name": NAME.replace("night-shift", "n" * 64)},
        {"name": NAME + "\n"},
    ],
)
def test_what_is_no_resource_of_the_region_is_told_apart(value: Any) -> None:
    assert remote_resource(value, region="us-central1") is None


@pytest.mark.parametrize(
    ("state", "read"),
    [("RUNNING", "RUNNING"), ("HIBERNATING", "HIBERNATING"), (3, "3"), (None, "STATE_UNSPECIFIED")],
)
def test_a_state_is_kept_as_it_was_sent(state: Any, read: str) -> None:
    found = remote_resource({"name": NAME, "state": state, "displayName": 7}, region="us-central1")

    assert found is not None
    assert (found.state, found.display_name) == (read, "7")
