"""Build the emulator's data files from what Google publishes. Tests compare, `python -m tests.sdk.vocabulary` writes.

Messages, field types and enum numbers come from the generated types of google-cloud-aiplatform. Output-only fields and
methods come from the discovery document in google-api-python-client. What only v1beta1 has is marked "beta".
"""

import json
from pathlib import Path
from typing import Any

import googleapiclient
from google.cloud import aiplatform_v1beta1
from google.cloud.aiplatform_v1.types import (
    artifact,
    context,
    custom_job,
    execution,
    hyperparameter_tuning_job,
    metadata_store,
    persistent_resource,
    tensorboard,
    tensorboard_experiment,
    tensorboard_run,
    tensorboard_time_series,
    training_pipeline,
)
from google.protobuf.descriptor import Descriptor, FieldDescriptor

DATA = Path(__file__).resolve().parents[2] / "emulator" / "data"
DOCUMENTS = Path(googleapiclient.__file__).parent / "discovery_cache" / "documents"
VERSIONS = ("v1", "v1beta1")
ROOTS = (
    custom_job.CustomJob,
    hyperparameter_tuning_job.HyperparameterTuningJob,
    training_pipeline.TrainingPipeline,
    persistent_resource.PersistentResource,
    metadata_store.MetadataStore,
    context.Context,
    artifact.Artifact,
    execution.Execution,
    tensorboard.Tensorboard,
    tensorboard_experiment.TensorboardExperiment,
    tensorboard_run.TensorboardRun,
    tensorboard_time_series.TensorboardTimeSeries,
)
SCALARS = {
    FieldDescriptor.TYPE_STRING: "string",
    FieldDescriptor.TYPE_INT64: "int64",
    FieldDescriptor.TYPE_INT32: "int32",
    FieldDescriptor.TYPE_BOOL: "bool",
    FieldDescriptor.TYPE_DOUBLE: "double",
    FieldDescriptor.TYPE_FLOAT: "float",
    FieldDescriptor.TYPE_BYTES: "bytes",
}


def discovery(name: str) -> dict[str, Any]:
    """Read a discovery document, e.g. `aiplatform.v1`."""
    document: dict[str, Any] = json.loads((DOCUMENTS / f"{name}.json").read_text())
    return document


class Messages:
    """Walks message descriptors of a version and notes fields, types and enums."""

    def __init__(self, version: str) -> None:
        self.version, self.package = version, f"google.cloud.aiplatform.{version}."
        self.found: dict[str, dict[str, str]] = {}
        self.enums: dict[str, dict[str, int]] = {}
        self.schemas = discovery(f"aiplatform.{version}")["schemas"]

    def visit(self, message: Descriptor) -> None:
        """Note a message and everything below it."""
        name = message.full_name.removeprefix(self.package)
        if name in self.found:
            return
        self.found[name] = {}
        schema = f"GoogleCloudAiplatform{self.version.capitalize()}" + name.replace(".", "")
        described = self.schemas.get(schema, {}).get("properties", {})
        for field in message.fields:
            kind = self.shape(field)
            if described.get(field.json_name, {}).get("readOnly"):
                kind += ", output"
            if field.containing_oneof is not None:
                kind += ", oneof " + field.containing_oneof.name
            self.found[name][field.json_name] = kind

    def shape(self, field: FieldDescriptor) -> str:
        """Return the type with `list ` or `map ` before it."""
        if field.is_repeated and field.message_type and field.message_type.GetOptions().map_entry:
            return "map " + self.type_of(field.message_type.fields_by_name["value"])
        return ("list " if field.is_repeated else "") + self.type_of(field)

    def type_of(self, field: FieldDescriptor) -> str:
        """Return the name of the field's own type."""
        if field.type == FieldDescriptor.TYPE_MESSAGE:
            if field.message_type.full_name.startswith("google.protobuf."):
                return str(field.message_type.name)
            self.visit(field.message_type)
            return str(field.message_type.full_name).removeprefix(self.package)
        if field.type == FieldDescriptor.TYPE_ENUM:
            name = field.enum_type.full_name.removeprefix(self.package)
            self.enums[name] = {value.name: value.number for value in field.enum_type.values}
            return f"enum {name}"
        return SCALARS[field.type]


def messages() -> dict[str, Any]:
    """`{"messages": {name: {jsonName: "type[, output][, oneof group][, beta]"}}, "enums": {name: {value: number}}}`."""
    walk, beta = Messages("v1"), Messages("v1beta1")
    for root in ROOTS:
        walk.visit(root.pb(root()).DESCRIPTOR)
        later = getattr(aiplatform_v1beta1, root.__name__)
        beta.visit(later.pb(later()).DESCRIPTOR)
    for name, fields in beta.found.items():
        known = walk.found.setdefault(name, {})
        known.update({field: f"{kind}, beta" for field, kind in fields.items() if field not in known})
    return {"messages": walk.found, "enums": beta.enums | walk.enums}


def methods(version: str) -> dict[str, list[str]]:
    """`{"endpoints.operations": ["cancel", "delete", ...]}`: every method of a project's location in a version."""
    known: dict[str, list[str]] = {}

    def visit(node: dict[str, Any]) -> None:
        for method in node.get("methods", {}).values():
            prefix = "aiplatform.projects.locations."
            if method["id"].startswith(prefix):
                collection, _, verb = method["id"].removeprefix(prefix).rpartition(".")
                known.setdefault(collection, []).append(verb)
        for child in node.get("resources", {}).values():
            visit(child)

    visit(discovery(f"aiplatform.{version}"))
    return {name: sorted(verbs) for name, verbs in sorted(known.items())}


def main() -> None:
    """Write both data files."""
    (DATA / "messages.json").write_text(json.dumps(messages(), indent=1) + "\n")
    parts = []
    for version in VERSIONS:
        rows = ",\n".join(f"  {json.dumps(name)}: {json.dumps(verbs)}" for name, verbs in methods(version).items())
        parts.append(f" {json.dumps(version)}: {{\n{rows}\n }}")
    (DATA / "methods.json").write_text("{\n" + ",\n".join(parts) + "\n}\n")


if __name__ == "__main__":
    main()
