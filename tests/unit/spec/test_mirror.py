"""Tests that the typed specs match Google's definitions field by field: its protos and its discovery document."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import googleapiclient
import pytest
from google.cloud import aiplatform_v1

from jobs.spec import KINDS
from jobs.spec.fields import Message
from jobs.spec.shape import Slot, fields

pytestmark = pytest.mark.sdk

PROTOS = {
    "custom_job": aiplatform_v1.CustomJob,
    "hyperparameter_tuning_job": aiplatform_v1.HyperparameterTuningJob,
    "training_pipeline": aiplatform_v1.TrainingPipeline,
    "persistent_resource": aiplatform_v1.PersistentResource,
}
SCALARS = {"TYPE_STRING": "text", "TYPE_BOOL": "flag", "TYPE_INT32": "int32", "TYPE_INT64": "int64"}
SCALARS |= {"TYPE_DOUBLE": "number", "TYPE_FLOAT": "number", "TYPE_ENUM": "enum"}
WRAPPED = {"Duration": "duration", "Timestamp": "moment", "Value": "free", "BoolValue": "flag", "Int32Value": "int32"}
TYPES = {1: "TYPE_DOUBLE", 2: "TYPE_FLOAT", 3: "TYPE_INT64", 5: "TYPE_INT32", 8: "TYPE_BOOL", 9: "TYPE_STRING"}
TYPES |= {14: "TYPE_ENUM"}
CARRIED_AS_JSON = {"explanationSpec", "baseModelSource", "modelSourceInfo", "originalModelInfo", "dataStats"}
CARRIED_AS_JSON |= {"deployedModels", "checkpoints", "supportedExportFormats", "details", "trainingTaskInputs"}
NEWER = {("PersistentResource", "satisfiesPzs"), ("PersistentResource", "satisfiesPzi")}
"""In the discovery document, not yet in the protos."""
NAMED_AS_TEXT = {"supportedDeploymentResourcesTypes"}


def pairs(model: type[Message], descriptor: Any) -> Iterator[tuple[type[Message], Any]]:
    """Yield each of our messages below `model` with the proto's descriptor of the same message."""
    waiting, seen = [(model, descriptor)], set()
    while waiting:
        ours, theirs = waiting.pop()
        if ours in seen:
            continue
        seen.add(ours)
        yield ours, theirs
        by_name = {field.json_name: field for field in theirs.fields}
        waiting.extend((slot.model, by_name[slot.alias].message_type) for slot in fields(ours) if slot.model)


def kind_of(field: Any) -> str:
    """Name the kind that our field should have."""
    if field.message_type is None:
        return SCALARS[TYPES[field.type]]
    if field.message_type.GetOptions().map_entry:
        return "text"
    return WRAPPED.get(field.message_type.name, "message")


def same(slot: Slot, field: Any) -> bool:
    if slot.alias in CARRIED_AS_JSON:
        return slot.kind.name in {"free", "task"}
    if slot.alias in NAMED_AS_TEXT:
        return slot.kind.name == "text"
    is_map = bool(field.message_type and field.message_type.GetOptions().map_entry)
    numbers = {v.number: v.name for v in field.enum_type.values} if field.enum_type else {}
    return (
        slot.kind.name == kind_of(field)
        and slot.mapping == is_map
        and slot.many == (field.is_repeated and not is_map)
        and dict(slot.kind.names) == numbers
    )


@pytest.mark.parametrize("kind", KINDS)
def test_every_field_of_the_protos_is_there_with_its_type(kind: str) -> None:
    for ours, theirs in pairs(KINDS[kind], PROTOS[kind].pb(PROTOS[kind]()).DESCRIPTOR):
        by_name = {field.json_name: field for field in theirs.fields}
        shared = [slot for slot in fields(ours) if (ours.__name__, slot.alias) not in NEWER]

        assert {slot.alias for slot in shared} == set(by_name), ours
        assert {slot.name for slot in shared} == {field.name.rstrip("_") for field in theirs.fields}, ours
        assert [slot.alias for slot in shared if not same(slot, by_name[slot.alias])] == [], ours


def test_output_fields_are_those_that_the_discovery_document_marks() -> None:
    folder = Path(googleapiclient.__file__).parent / "discovery_cache" / "documents"
    schemas = json.loads((folder / "aiplatform.v1.json").read_text(encoding="utf-8"))["schemas"]
    for kind in KINDS.values():
        properties = schemas[f"GoogleCloudAiplatformV1{kind.__name__}"]["properties"]
        read_only = {name for name, shape in properties.items() if shape.get("readOnly")}
        outputs = {slot.alias for slot in fields(kind) if slot.output}

        assert outputs - {"name"} == read_only - {"name"}
