"""Tests with generated specs: a round trip loses nothing, no JSON makes reading or assessing raise, Google agrees."""

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import googleapiclient
import jsonschema
import pytest
from google.cloud import aiplatform_v1
from google.protobuf import json_format
from hypothesis import given

from jobs.spec import KINDS, CustomJobSpec, Submission, TrainingPipeline, read, rest_body
from jobs.spec.reading import MAX_FINDINGS
from jobs.strategies import STRATEGIES, check
from tests.support.specs import jobs, json_values, spoilt

PROTOS = {
    "custom_job": aiplatform_v1.CustomJob,
    "hyperparameter_tuning_job": aiplatform_v1.HyperparameterTuningJob,
    "training_pipeline": aiplatform_v1.TrainingPipeline,
    "persistent_resource": aiplatform_v1.PersistentResource,
}
TYPES = {"int32": "integer", "double": "number", "float": "number"}


@given(jobs(outputs=True) | jobs(outputs=True, newer=True))
def test_body_is_written_as_it_was_read(drawn: tuple[str, dict[str, Any]]) -> None:
    kind, body = drawn

    resource, findings = read(kind, body)

    assert findings == []
    assert rest_body(resource) == body
    assert json.loads(json.dumps(rest_body(resource))) == body
    assert read(kind, resource)[0] == resource


@given(jobs() | jobs(newer=True))
def test_snake_case_is_read_as_the_same(drawn: tuple[str, dict[str, Any]]) -> None:
    kind, body = drawn
    resource, _ = read(kind, body)

    snake = resource.model_dump(mode="json", exclude_unset=True, exclude_none=True, by_alias=False)

    assert rest_body(read(kind, snake)[0]) == body


@pytest.mark.sdk
@given(jobs())
def test_googles_protos_parse_what_is_accepted(drawn: tuple[str, dict[str, Any]]) -> None:
    kind, body = drawn
    resource, _ = read(kind, body)

    parsed = PROTOS[kind].pb(PROTOS[kind]())
    json_format.ParseDict(rest_body(resource), parsed)
    again = json_format.MessageToDict(parsed)

    kept, findings = read(kind, again)
    assert findings == []
    assert json_format.ParseDict(rest_body(kept), PROTOS[kind].pb(PROTOS[kind]())) == parsed
    if isinstance(resource, TrainingPipeline) and isinstance(resource.training_task_inputs, CustomJobSpec):
        json_format.ParseDict(
            rest_body(resource.training_task_inputs), aiplatform_v1.CustomJobSpec.pb(aiplatform_v1.CustomJobSpec())
        )


def schema_of(discovered: dict[str, Any]) -> dict[str, Any]:
    """Turn a schema of Google's discovery format into JSON Schema, unknown fields refused."""
    if "$ref" in discovered:
        return {"$ref": f"#/$defs/{discovered['$ref']}"}
    if discovered.get("type") == "any":
        return {}
    found: dict[str, Any] = {"type": TYPES.get(discovered.get("format", ""), discovered["type"])}
    if "enum" in discovered:
        found["enum"] = discovered["enum"]
    if "items" in discovered:
        found["items"] = schema_of(discovered["items"])
    if "properties" in discovered:
        found["properties"] = {name: schema_of(part) for name, part in discovered["properties"].items()}
    if discovered["type"] == "object":
        extra = discovered.get("additionalProperties")
        found["additionalProperties"] = schema_of(extra) if extra else False
    return found


@cache
def validator(kind: str) -> jsonschema.Draft202012Validator:
    """Return the judge of a kind, made of Google's discovery document."""
    folder = Path(googleapiclient.__file__).parent / "discovery_cache" / "documents"
    schemas = json.loads((folder / "aiplatform.v1.json").read_text(encoding="utf-8"))["schemas"]
    defs = {name: schema_of(found) for name, found in schemas.items()}
    root = f"#/$defs/GoogleCloudAiplatformV1{KINDS[kind].__name__}"
    return jsonschema.Draft202012Validator({"$ref": root, "$defs": defs})


@pytest.mark.sdk
@given(jobs(outputs=True))
def test_discovery_accepts_what_is_accepted(drawn: tuple[str, dict[str, Any]]) -> None:
    kind, body = drawn
    resource, _ = read(kind, body)

    assert [error.message for error in validator(kind).iter_errors(rest_body(resource))] == []


def judged(kind: str, resource: Any) -> Iterator[list[Any]]:
    for strategy in STRATEGIES.values():
        submission = Submission(kind=kind, project="p", region="us-central1", job=resource)
        yield check(submission, strategy=strategy)
        yield check(strategy.apply(submission))


@given(spoilt())
def test_no_body_makes_reading_or_judging_raise(drawn: tuple[str, Any]) -> None:
    kind, body = drawn

    resource, findings = read(kind, body)

    assert len(findings) <= MAX_FINDINGS + 1
    if resource is not None and kind != "persistent_resource":
        for found in judged(kind, resource):
            findings = findings + found
    for finding in findings:
        assert json.dumps(finding.as_dict()).encode()
        assert finding.message.isprintable()


@given(json_values)
def test_no_json_at_all_makes_reading_raise(body: Any) -> None:
    for kind in KINDS:
        resource, findings = read(kind, body)

        assert resource is not None or findings
