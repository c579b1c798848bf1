"""What the methods of all resource kinds have in common: find, list, answer, operations."""

from collections.abc import Iterable
from typing import Any, TypeVar

from emulator.capacity.machines import REGIONS
from emulator.protocol import answers, paging
from emulator.protocol.calls import Call
from emulator.protocol.documents import Document
from emulator.protocol.errors import invalid, not_found
from emulator.protocol.names import new_id, project_number
from emulator.protocol.timestamps import stamp
from emulator.state import listing
from emulator.state.records import Lived, Operation, Record
from emulator.world import World

R = TypeVar("R", bound=Record)
LIST_ARGUMENTS = ("filter", "pageSize", "page_size", "pageToken", "page_token", "readMask", "read_mask")
TYPES = "type.googleapis.com/google.cloud.aiplatform.v1."
EMPTY = {"@type": "type.googleapis.com/google.protobuf.Empty"}


def parent(call: Call) -> str:
    """Return `projects/NUMBER/locations/REGION` of a call; ApiError 400 for a region without training."""
    location = call.params["location"]
    if location not in REGIONS:
        raise invalid(f"Location '{location}' is not supported for custom training.")
    return f"projects/{project_number(call.params['project'])}/locations/{location}"


def find(world: World, call: Call, kind: type[R]) -> R:
    """Return the record that the path names; ApiError 404 if there is none."""
    name = f"{parent(call)}/{kind.kind}/{call.params['id']}"
    found = world.store.get(kind, name)
    if found is None:
        raise not_found(f"The {kind.message} {name} does not exist.")
    return found


def answer(call: Call, record: Record, *, without: Iterable[str] = ()) -> Document:
    """Return a record's document as the client wants it."""
    document = record.document
    if call.is_heard and isinstance(record, Lived):
        record.told[-1] += 1
    if without:
        document = {name: value for name, value in document.items() if name not in without}
    return answers.with_numbers(record.message, document) if call.wants_numbers else document


def listed(
    world: World, call: Call, kind: type[R], *, arguments: Iterable[str] = LIST_ARGUMENTS, without: Iterable[str] = ()
) -> Document:
    """Answer a list call: newest first, filter, page, read mask. `{}` when nothing fits."""
    call.refuse_unknown_arguments(*arguments)
    where = parent(call)
    text, mask = call.query.get("filter", ""), call.argument("read_mask", "readMask")
    test = listing.test_of(kind, text)
    paths = answers.mask_paths(kind.message, mask, collection=kind.kind)
    place = paging.position(call.argument("page_token", "pageToken"), kind.kind, where, text)
    before = int(str(place[0])) if place else None
    size = paging.page_size(call.argument("page_size", "pageSize"))
    walk = iter(world.store.newest_first(kind, where, before=before, label=listing.label_of(text)))
    if call.behind_seconds:
        known_until = stamp(world.clock.now() - call.behind_seconds)
        walk = (record for record in walk if record.document["createTime"] <= known_until)
    records, is_more = listing.page(walk, test, size)
    found: Document = {}
    if records:
        found[kind.kind] = [answers.masked(answer(call, record, without=without), paths) for record in records]
    if is_more:
        found["nextPageToken"] = paging.token([records[-1].seq], kind.kind, where, text)
    return found


def operation(world: World, call: Call, record: Record, metadata: str, *, holder: str = "") -> Operation:
    """Keep a new long-running operation about a record; `metadata` is its metadata's message. Not done yet.

    It keeps the version of the call: at `/ui/` clients of both versions ask for it, each in its own types.
    """
    now = stamp(world.clock.now())
    made = Operation(
        project=record.project,
        project_id=record.project_id,
        location=record.location,
        id=new_id(),
        seq=world.store.next_seq(),
        document={},
        holder=holder,
        version=call.version or "v1",
    )
    generic = {"createTime": now, "updateTime": now}
    made.document = {"name": made.name, "metadata": {"@type": TYPES + metadata, "genericMetadata": generic}}
    world.store.add(made)
    return made


def complete(world: World, pending: Operation, **result: Any) -> Document:
    """End an operation with `response=` or `error=`; return its document."""
    pending.document["metadata"]["genericMetadata"]["updateTime"] = stamp(world.clock.now())
    pending.document |= {"done": True, **result}
    world.store.save(pending)
    return pending.document


def deleted(world: World, call: Call, record: Record) -> Document:
    """Remove a record; return the finished operation."""
    pending = operation(world, call, record, "DeleteOperationMetadata")
    world.store.remove(record)
    return complete(world, pending, response=EMPTY)
