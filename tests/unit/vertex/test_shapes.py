"""Tests of every request that the client can send, against Google's discovery documents."""

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import googleapiclient
import pytest

from jobs.spec import COLLECTIONS
from jobs.vertex import RemoteJob, VertexClient

DOCUMENTS = Path(googleapiclient.__file__).parent / "discovery_cache" / "documents"
NAME = "projects/123/locations/us-central1/{}/456"
CUSTOM_SPEC = {
    "workerPoolSpecs": [
        {
            "machineSpec": {
                "machineType": "a2-highgpu-1g",
                "acceleratorType": "NVIDIA_TESLA_A100",
                "acceleratorCount": 1,
            },
            "replicaCount": "1",
            "diskSpec": {"bootDiskType": "pd-ssd", "bootDiskSizeGb": 100},
            "containerSpec": {"imageUri": "i", "command": ["python"], "args": [], "env": [{"name": "A", "value": "b"}]},
        }
    ],
    "scheduling": {"strategy": "FLEX_START", "maxWaitDuration": "0s", "timeout": "3600s"},
    "baseOutputDirectory": {"outputUriPrefix": "gs://b/out"},
}
BODIES: dict[str, dict[str, Any]] = {
    "custom_job": {"displayName": "d", "labels": {"a": "b"}, "jobSpec": CUSTOM_SPEC},
    "hyperparameter_tuning_job": {
        "displayName": "d",
        "maxTrialCount": 4,
        "parallelTrialCount": 2,
        "studySpec": {"metrics": [{"metricId": "accuracy", "goal": "MAXIMIZE"}]},
        "trialJobSpec": CUSTOM_SPEC,
    },
    "training_pipeline": {
        "displayName": "d",
        "trainingTaskDefinition": "gs://google-cloud-aiplatform/schema/trainingjob/definition/custom_task_1.0.0.yaml",
        "trainingTaskInputs": CUSTOM_SPEC,
    },
}


def document(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((DOCUMENTS / f"{name}.json").read_text())
    return found


@pytest.fixture(scope="module")
def aiplatform() -> dict[str, Any]:
    return document("aiplatform.v1")


def faults(value: Any, schema: dict[str, Any], schemas: dict[str, Any], at: str = "") -> Iterator[str]:
    """Yield where `value` is not what a discovery schema describes."""
    schema = schemas[schema["$ref"]] if "$ref" in schema else schema
    kinds = {"object": dict, "array": list, "string": str, "integer": int, "number": (int, float), "boolean": bool}
    if schema.get("type", "any") != "any" and not isinstance(value, kinds[schema["type"]]):
        yield f"{at} is no {schema['type']}"
    elif "enum" in schema and value not in schema["enum"]:
        yield f"{at} is none of {schema['enum']}"
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from faults(item, schema["items"], schemas, f"{at}[{index}]")
    elif isinstance(value, dict) and schema.get("type") == "object":
        for key, item in value.items():
            inner = schema.get("properties", {}).get(key) or schema.get("additionalProperties")
            if inner is None:
                yield f"{at}.{key} is unknown"
            else:
                yield from faults(item, inner, schemas, f"{at}.{key}")


def check(asked: Any, method: dict[str, Any], schemas: dict[str, Any]) -> None:
    """Assert that one request is a call of `method`."""
    assert asked.method == method["httpMethod"]
    flat = re.sub(r"\{\w+\}", "[^/:]+", method.get("flatPath", method["path"]))
    assert re.fullmatch(f"/{flat}", asked.path), f"{asked.path} is not {flat}"
    in_query = {name for name, each in method["parameters"].items() if each["location"] == "query"}
    assert set(asked.query) <= in_query
    assert (asked.body is not None) == ("request" in method)
    if asked.body is not None:
        assert list(faults(asked.body, method["request"], schemas)) == []


@pytest.mark.parametrize("kind", COLLECTIONS)
@pytest.mark.parametrize("verb", ["create", "get", "list", "cancel", "delete"])
def test_verb_is_a_call_of_vertex_ai(
    aiplatform: dict[str, Any], server: Any, client: VertexClient, kind: str, verb: str
) -> None:
    collection = COLLECTIONS[kind]
    name = NAME.format(collection)
    where = {"project": "my-project", "region": "us-central1"}
    everything = {"nextPageToken": "t", "name": name}
    server.json(everything)
    server.json({})

    if verb == "create":
        client.create(kind, **where, body=BODIES[kind])
    elif verb == "list":
        client.list(kind, **where, filter='labels.a="b"', fields=("name", "state", "error"))
    else:
        getattr(client, verb)(kind, name)

    method = aiplatform["resources"]["projects"]["resources"]["locations"]["resources"][collection]["methods"][verb]
    assert len(server.asked) == (2 if verb == "list" else 1)
    for asked in server.asked:
        check(asked, method, aiplatform["schemas"])


@pytest.mark.parametrize("kind", COLLECTIONS)
def test_fields_that_are_read_are_fields_of_the_resource(aiplatform: dict[str, Any], kind: str) -> None:
    singular = COLLECTIONS[kind][0].upper() + COLLECTIONS[kind][1:-1]
    known = set(aiplatform["schemas"][f"GoogleCloudAiplatformV1{singular}"]["properties"])
    read = {re.sub(r"_([a-z])", lambda letter: letter[1].upper(), field) for field in RemoteJob.__slots__}

    assert read - {"raw"} <= known


def test_page_of_each_kind_has_the_key_that_is_read(aiplatform: dict[str, Any]) -> None:
    for collection in COLLECTIONS.values():
        answer = f"GoogleCloudAiplatformV1List{collection[0].upper()}{collection[1:]}Response"
        assert {collection, "nextPageToken"} <= set(aiplatform["schemas"][answer]["properties"])


def test_reading_logs_is_a_call_of_cloud_logging(server: Any, client: VertexClient) -> None:
    logging = document("logging.v2")
    server.json({"nextPageToken": "t"})
    server.json({})

    client.log("p", job_ids=["1", "2"], after=datetime(2026, 11, 21, tzinfo=UTC), limit=10, newest=True)

    for asked in server.asked:
        check(asked, logging["resources"]["entries"]["methods"]["list"], logging["schemas"])


def test_the_judge_finds_faults(aiplatform: dict[str, Any]) -> None:
    schemas = aiplatform["schemas"]
    broken = {"displayName": 7, "jobSpec": {"scheduling": {"strategy": "CHEAP", "max_wait": "1s"}}}

    found = list(faults(broken, {"$ref": "GoogleCloudAiplatformV1CustomJob"}, schemas))

    assert [fault.split(" is ")[0] for fault in found] == [
        ".displayName",
        ".jobSpec.scheduling.strategy",
        ".jobSpec.scheduling.max_wait",
    ]
