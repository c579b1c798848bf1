"""Methods shared by all kinds of resources: get, list, cancel, delete; and helpers for other methods."""

import itertools
from collections.abc import Callable, Iterable
from typing import TypeVar

from emulator.capacity.machines import REGIONS
from emulator.emulator import Emulator
from emulator.protocol import answers, paging
from emulator.protocol.calls import Call
from emulator.protocol.documents import Document
from emulator.protocol.errors import invalid, not_found, precondition
from emulator.protocol.names import new_id, project_number
from emulator.protocol.timestamps import format_time
from emulator.state import listing
from emulator.state.records import Job, Operation, PersistentResource, Pipeline, Record, Study, WithHistory

R = TypeVar("R", bound=Record)
PAGE_ARGUMENTS = ("pageSize", "page_size", "pageToken", "page_token")
FILTER_ARGUMENTS = ("filter", "readMask", "read_mask")
TYPES = "type.googleapis.com/google.cloud.aiplatform.v1."
EMPTY = {"@type": "type.googleapis.com/google.protobuf.Empty"}


def parent_name(call: Call) -> str:
    """Return `projects/NUMBER/locations/REGION` of a call. Raise ApiError 400 for a region without training."""
    location = call.params["location"]
    if location not in REGIONS:
        raise invalid(f"Location '{location}' is not supported for custom training.")
    return f"projects/{project_number(call.params['project'])}/locations/{location}"


def project_and_location(call: Call) -> dict[str, str]:
    """Return the project and the location of a call, as arguments of `RecordFactory`."""
    return {name: call.params[name] for name in ("project", "location")}


def get_record(emulator: Emulator, call: Call, kind: type[R]) -> R:
    """Return the record that the path names. Raise ApiError 404 if there is none."""
    name = f"{parent_name(call)}/{kind.kind}/{call.params['id']}"
    record = emulator.store.get(kind, name)
    if record is None:
        raise not_found(f"The {kind.message} does not exist.")  # recorded 2026-07, without the name
    return record


def render(call: Call, record: Record, *, without: Iterable[str] = (), shows_state: bool = True) -> Document:
    """Return a record's document in the format that the client requested. Count the response if it shows the state."""
    document = record.document
    if call.is_answered and shows_state and isinstance(record, WithHistory):
        record.answers[-1] += 1
    if without:
        document = {name: value for name, value in document.items() if name not in without}
    if call.version == "v1":
        document = answers.in_v1(record.message, document)
    return answers.with_numbers(record.message, document) if call.wants_numbers else document


def get(emulator: Emulator, call: Call, *, kind: type[Record]) -> Document:
    """Return a resource."""
    call.check_arguments()
    return render(call, get_record(emulator, call, kind))


def list_(emulator: Emulator, call: Call, *, kind: type[Record]) -> Document:
    """Return a page of resources, newest first, `{}` if none matches. Tuning jobs are listed without their trials."""
    call.check_arguments(*PAGE_ARGUMENTS, *(() if kind is PersistentResource else FILTER_ARGUMENTS))
    text, mask = call.query.get("filter", ""), call.argument("read_mask", "readMask")
    test = listing.compile_filter(kind, text)
    paths = answers.mask_paths(kind.message, mask, collection=kind.kind)
    created_until = format_time(emulator.clock.now() - call.lag_seconds) if call.lag_seconds else ""

    def is_listed(record: Record) -> bool:
        return test(record) and (not created_until or record.document["createTime"] <= created_until)

    records, page = take_page(emulator, call, kind, is_listed, text, label=listing.required_label(text))
    without = ("trials",) if kind is Study else ()
    shows_state = not paths or ["state"] in paths
    rendered = (render(call, record, without=without, shows_state=shows_state) for record in records)
    shown = [answers.apply_mask(document, paths) for document in rendered]
    return ({kind.kind: shown} if shown else {}) | page


def take_page(
    emulator: Emulator,
    call: Call,
    kind: type[R],
    test: Callable[[R], bool],
    *bound: str,
    label: tuple[str, str] | None = None,
) -> tuple[list[R], Document]:
    """Return the records of a page, newest first, and `{"nextPageToken": TOKEN}` if more follow.

    `bound` are further values to which a token belongs. `label` is one that all records have, if the filter requires
    it.
    """
    where = parent_name(call)
    position = paging.read_token(call.argument("page_token", "pageToken"), kind.kind, where, *bound)
    before = int(str(position[0])) if position else None
    size = paging.page_size(call.argument("page_size", "pageSize"))
    matching = filter(test, emulator.store.newest_first(kind, where, before=before, label=label))
    records = list(itertools.islice(matching, size + 1))
    if len(records) <= size:
        return records, {}
    token = paging.make_token([records[size - 1].seq], kind.kind, where, *bound)
    return records[:size], {"nextPageToken": token}


def new_operation(emulator: Emulator, call: Call, record: Record, metadata: str, *, holder: str = "") -> Operation:
    """Add a new, unfinished long-running operation about a record. `metadata` is the message type of its metadata.

    It stores the version of the call, because clients of both versions request `/ui/` and expect their own types.
    """
    now = emulator.runtime.timestamp()
    operation = Operation(
        project=record.project,
        project_id=record.project_id,
        location=record.location,
        id=new_id(),
        seq=emulator.store.next_seq(),
        document={},
        holder=holder,
        version=call.version or "v1",
    )
    generic = {"createTime": now, "updateTime": now}
    operation.document = {"name": operation.name, "metadata": {"@type": TYPES + metadata, "genericMetadata": generic}}
    emulator.store.add(operation)
    return operation


def cancel(emulator: Emulator, call: Call, *, kind: type[Record]) -> Document:
    """Start to cancel a job, study or pipeline."""
    call.json()
    match get_record(emulator, call, kind):
        case Job() as job:
            emulator.engine.cancel(job)
        case Study() as study:
            emulator.studies.cancel(study)
        case Pipeline() as pipeline:
            emulator.pipelines.cancel(pipeline)
    return {}


def delete(emulator: Emulator, call: Call, *, kind: type[Record]) -> Document:
    """Delete a resource that has ended, and return the finished operation. Its log and the jobs of others are kept."""
    record = get_record(emulator, call, kind)
    if isinstance(record, WithHistory) and not record.is_finished:
        text = f"The {record.message} {record.name} is in state {record.state}; cancel it before it is deleted."
        raise precondition(text)
    operation = new_operation(emulator, call, record, "DeleteOperationMetadata")
    emulator.store.remove(record)
    emulator.runtime.finish_operation(operation, response=EMPTY)
    return operation.document


METHODS = {"list": list_, "get": get, "delete": delete, "cancel": cancel}
