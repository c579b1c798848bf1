"""What `experiment=` of the SDK needs: metadata stores, contexts, artifacts and TensorBoards (MetadataService and
TensorboardService, in part).

An experiment and a run are contexts in the metadata store `default`; an experiment has a TensorBoard. Only their
descriptions are stored: no lineage and no time series. Lists filter by fields of a resource (`schema_title="..."`,
`is_default=true`) and by `parent_contexts:"NAME"`. Source: the v1 protos and the SDK, google-cloud-aiplatform 2.7.0.
"""

import re
from collections.abc import Callable
from typing import Any

from emulator.emulator import Emulator
from emulator.methods import resources
from emulator.protocol import answers, documents, filters, schema
from emulator.protocol.calls import Call
from emulator.protocol.documents import Document
from emulator.protocol.errors import exists, invalid, not_found
from emulator.protocol.filters import Comparison
from emulator.protocol.names import new_id, project_number
from emulator.state.records import (
    Artifact,
    Context,
    Execution,
    MetadataStore,
    Nested,
    Record,
    Tensorboard,
    TensorboardExperiment,
    TensorboardRun,
    TensorboardTimeSeries,
)

KINDS: dict[type[Nested], tuple[str, str]] = {
    MetadataStore: ("metadata_store_id", ""),
    Context: ("context_id", "metadataStores/{store}"),
    Artifact: ("artifact_id", "metadataStores/{store}"),
    Execution: ("execution_id", "metadataStores/{store}"),
    Tensorboard: ("", ""),
    TensorboardExperiment: ("tensorboard_experiment_id", "tensorboards/{tensorboard}"),
    TensorboardRun: ("tensorboard_run_id", "tensorboards/{tensorboard}/experiments/{experiment}"),
    TensorboardTimeSeries: (
        "tensorboard_time_series_id",
        "tensorboards/{tensorboard}/experiments/{experiment}/runs/{run}",
    ),
}
"""The query parameter with the id of each kind, and the names of the resources above it."""
OPERATIONS = {MetadataStore: "CreateMetadataStoreOperationMetadata", Tensorboard: "CreateTensorboardOperationMetadata"}
"""The kinds whose creation is a long-running operation, which is done at once here."""
HOLDERS = {
    "metadataStores": MetadataStore,
    "tensorboards": Tensorboard,
    "experiments": TensorboardExperiment,
    "runs": TensorboardRun,
}
ID = re.compile(r"[a-z0-9][a-z0-9-]{0,127}")
LIST_ARGUMENTS = (*resources.PAGE_ARGUMENTS, "filter", "orderBy", "order_by", "readMask", "read_mask")


def _holder(emulator: Emulator, call: Call, kind: type[Nested]) -> str:
    """Return the part of the names between location and collection. Raise ApiError 404 if there is no such resource."""
    holder = KINDS[kind][1].format(**call.params)
    if holder:
        above = HOLDERS[holder.split("/")[-2]]
        if emulator.store.get(above, f"{resources.parent_name(call)}/{holder}") is None:
            raise not_found(f"The {above.message} does not exist.")
    return holder


def _name(emulator: Emulator, call: Call, kind: type[Nested], identifier: str) -> str:
    holder = _holder(emulator, call, kind)
    return "/".join(part for part in (resources.parent_name(call), holder, kind.kind, identifier) if part)


def _find(emulator: Emulator, call: Call, kind: type[Nested]) -> Nested:
    record = emulator.store.get(kind, _name(emulator, call, kind, call.params["id"]))
    if record is None:
        raise not_found(f"The {kind.message} does not exist.")
    return record


def create(emulator: Emulator, call: Call, *, kind: type[Nested]) -> Document:
    """Create a resource. Return it, or a finished operation for a store and a TensorBoard."""
    argument = KINDS[kind][0]
    call.check_arguments(argument, schema.camel(argument))
    identifier = (argument and call.argument(argument, schema.camel(argument))) or new_id()
    if not ID.fullmatch(identifier):
        raise invalid(f'{argument} "{identifier}" must match the pattern {ID.pattern}')
    if emulator.store.get(kind, name := _name(emulator, call, kind, identifier)) is not None:
        raise exists(f"The {kind.message} {name} already exists.")
    document = documents.parse(kind.message, call.json(), at=schema.snake(kind.kind), version=call.version)
    record = kind(
        project=project_number(call.params["project"]),
        project_id=call.params["project"],
        location=call.params["location"],
        id=identifier,
        seq=emulator.store.next_seq(),
        document=document,
        holder=_holder(emulator, call, kind),
    )
    now = emulator.runtime.timestamp()
    document |= {"name": record.name, "createTime": now, "updateTime": now}
    if "etag" in schema.fields(kind.message):
        document["etag"] = "1"
    emulator.store.add(record)
    if kind not in OPERATIONS:
        return resources.render(call, record)
    operation = resources.new_operation(emulator, call, record, OPERATIONS[kind])
    message = f"type.googleapis.com/google.cloud.aiplatform.v1.{kind.message}"
    emulator.runtime.finish_operation(operation, response={"@type": message, **document})
    return operation.document


def get(emulator: Emulator, call: Call, *, kind: type[Nested]) -> Document:
    """Return a resource."""
    call.check_arguments()
    return resources.render(call, _find(emulator, call, kind))


def patch(emulator: Emulator, call: Call, *, kind: type[Nested]) -> Document:
    """Change the fields in `updateMask`, or those in the body."""
    call.check_arguments("updateMask", "update_mask", "allowMissing", "allow_missing")
    record = _find(emulator, call, kind)
    body = documents.parse(kind.message, call.json(), at=schema.snake(kind.kind), version=call.version)
    mask = call.argument("update_mask", "updateMask")
    names = [path[0] for path in answers.mask_paths(kind.message, mask)] if mask else list(body)
    kept = {"name", "createTime", "etag", "parentContexts"}
    record.document |= {name: body[name] for name in names if name in body and name not in kept}
    _touch(emulator, record)
    return resources.render(call, record)


def _touch(emulator: Emulator, record: Nested) -> None:
    """Save a changed resource."""
    record.document["updateTime"] = emulator.runtime.timestamp()
    if "etag" in record.document:
        record.document["etag"] = str(int(record.document["etag"]) + 1)
    emulator.store.save(record)


def delete(emulator: Emulator, call: Call, *, kind: type[Nested]) -> Document:
    """Delete a resource and those below it."""
    call.check_arguments("force", "etag")
    record = _find(emulator, call, kind)
    operation = resources.new_operation(emulator, call, record, "DeleteOperationMetadata")
    for other in [each for below in KINDS for each in emulator.store.all(below)]:
        if other is record or other.name.startswith(f"{record.name}/"):
            emulator.store.remove(other)
    emulator.runtime.finish_operation(operation, response=resources.EMPTY)
    return operation.document


def list_(emulator: Emulator, call: Call, *, kind: type[Nested]) -> Document:
    """Return a page of resources, newest first."""
    call.check_arguments(*LIST_ARGUMENTS)
    text = call.query.get("filter", "")
    holder, tree = _holder(emulator, call, kind), filters.parse(text)
    test = None if tree is None else filters.compile_tree(tree, lambda one: _test(kind, one))

    def is_listed(record: Nested) -> bool:
        return record.holder == holder and (test is None or test(record))

    records, page = resources.take_page(emulator, call, kind, is_listed, holder, text)
    shown = [resources.render(call, record) for record in records]
    return ({kind.kind: shown} if shown else {}) | page


def _test(kind: type[Nested], one: Comparison) -> Callable[[Record], bool]:
    name = schema.camel(one.field)
    if name == "parentContexts" and one.operator == ":":
        return lambda record: one.value in record.document.get(name, [])
    if name not in schema.fields(kind.message) or one.operator not in ("=", "!="):
        raise invalid(f"Invalid filter: the emulator does not support '{one.field}{one.operator}' here.")
    wanted = one.value.lower()
    return lambda record: (_text(record.document.get(name, "")) == wanted) == (one.operator == "=")


def _text(value: Any) -> str:
    return str(value).lower()


def add_children(emulator: Emulator, call: Call) -> Document:
    """Make contexts children of a context."""
    parent = _find(emulator, call, Context)
    for name in _names(call, "childContexts"):
        child = emulator.store.get(Context, _canonical(name))
        if child is None:
            raise not_found("The Context does not exist.")
        parents = child.document.setdefault("parentContexts", [])
        if parent.name not in parents:
            parents.append(parent.name)
            _touch(emulator, child)
    return {}


def add_artifacts_and_executions(emulator: Emulator, call: Call) -> Document:
    """Accept what a context is about. The emulator keeps no lineage, so nothing reads it."""
    _find(emulator, call, Context)
    for kind, field in ((Artifact, "artifacts"), (Execution, "executions")):
        for name in _names(call, field):
            if emulator.store.get(kind, _canonical(name)) is None:
                raise not_found(f"The {kind.message} does not exist.")
    return {}


def _names(call: Call, field: str) -> list[str]:
    body = call.json()
    names = body.get(field, body.get(schema.snake(field), [])) if isinstance(body, dict) else None
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise invalid(f"Invalid value at '{schema.snake(field)}': a list of names is required.")
    return names


def _canonical(name: str) -> str:
    """Return a full name with the project's number."""
    parts = name.split("/")
    return "/".join([*parts[:1], *(project_number(part) for part in parts[1:2]), *parts[2:]])
