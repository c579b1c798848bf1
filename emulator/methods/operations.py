"""Long-running operations, plain or nested below a resource: get, list, wait, cancel, delete."""

import asyncio

from emulator.emulator import Emulator
from emulator.methods.resources import PAGE_ARGUMENTS, parent_name, take_page
from emulator.protocol import answers, timestamps
from emulator.protocol.calls import Call
from emulator.protocol.documents import Document
from emulator.protocol.errors import invalid, not_found, precondition
from emulator.state.records import Operation

CHECK_SECONDS = 0.05
MAX_WAIT_SECONDS = 60.0


def _find(emulator: Emulator, call: Call) -> Operation:
    holder = call.params.get("holder", "")
    name = f"{parent_name(call)}/{holder + '/' if holder else ''}operations/{call.params['id']}"
    operation = emulator.store.get(Operation, name)
    if operation is None:
        raise not_found(f"The operation {name} does not exist.")
    return operation


def _shown(operation: Operation) -> Document:
    document: Document = answers.in_version(operation.document, operation.version)
    return document


def get(emulator: Emulator, call: Call) -> Document:
    """Return an operation."""
    return _shown(_find(emulator, call))


def list_(emulator: Emulator, call: Call) -> Document:
    """Return a page of the operations of a location or of one resource, newest first."""
    call.check_arguments("filter", *PAGE_ARGUMENTS)
    holder = call.params.get("holder", "")
    parent_name(call)
    if call.query.get("filter"):
        raise invalid("Invalid filter: the emulator lists operations without a filter only.")
    records, page = take_page(emulator, call, Operation, lambda operation: operation.holder == holder, holder)
    return ({"operations": [_shown(record) for record in records]} if records else {}) | page


async def wait(emulator: Emulator, call: Call) -> Document:
    """Return an operation when it is done or the given time is over."""
    text = call.query.get("timeout") or call.json().get("timeout") or f"{MAX_WAIT_SECONDS}s"
    try:
        left = min(timestamps.parse_duration(text), MAX_WAIT_SECONDS)
    except ValueError:
        raise invalid(
            f"Invalid value at 'timeout' (type.googleapis.com/google.protobuf.Duration), \"{text}\""
        ) from None
    operation = _find(emulator, call)
    while not operation.document.get("done") and left > 0:
        await asyncio.sleep(CHECK_SECONDS)
        left -= CHECK_SECONDS
    return _shown(operation)


def cancel(emulator: Emulator, call: Call) -> Document:
    """Accept the request without effect, because operations here cannot be cancelled."""
    _find(emulator, call)
    return {}


def delete(emulator: Emulator, call: Call) -> Document:
    """Delete an operation that is done."""
    operation = _find(emulator, call)
    if not operation.document.get("done"):
        raise precondition(f"The operation {operation.name} is not done.")
    emulator.store.remove(operation)
    return {}
