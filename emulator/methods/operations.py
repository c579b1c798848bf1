"""Long-running operations, plain or nested below a resource: get, list, wait, cancel, delete."""

import asyncio

from emulator.methods.resources import parent
from emulator.protocol import answers, paging, timestamps
from emulator.protocol.calls import Call
from emulator.protocol.documents import Document
from emulator.protocol.errors import invalid, not_found, precondition
from emulator.state import listing
from emulator.state.records import Operation
from emulator.world import World

CHECK_SECONDS = 0.05
LONGEST_WAIT = 60.0


def _find(world: World, call: Call) -> Operation:
    holder = call.params.get("holder", "")
    name = f"{parent(call)}/{holder + '/' if holder else ''}operations/{call.params['id']}"
    found = world.store.get(Operation, name)
    if found is None:
        raise not_found(f"The operation {name} does not exist.")
    return found


def _shown(found: Operation) -> Document:
    document: Document = answers.in_version(found.document, found.version)
    return document


def get(world: World, call: Call) -> Document:
    """Return an operation."""
    return _shown(_find(world, call))


def list_(world: World, call: Call) -> Document:
    """Return a page of the operations of a location or of one resource, newest first."""
    call.refuse_unknown_arguments("filter", "pageSize", "pageToken", "page_size", "page_token")
    where, holder = parent(call), call.params.get("holder", "")
    if call.query.get("filter"):
        raise invalid("Invalid filter: the emulator lists operations without a filter only.")
    place = paging.position(call.argument("page_token", "pageToken"), "operations", where, holder)
    size = paging.page_size(call.argument("page_size", "pageSize"))
    before = int(str(place[0])) if place else None
    walk = (one for one in world.store.newest_first(Operation, where, before=before) if one.holder == holder)
    records, is_more = listing.page(walk, lambda record: True, size)  # noqa: ARG005
    found: Document = {"operations": [_shown(record) for record in records]} if records else {}
    if is_more:
        found["nextPageToken"] = paging.token([records[-1].seq], "operations", where, holder)
    return found


async def wait(world: World, call: Call) -> Document:
    """Return an operation when it is done or the time given is over."""
    text = call.query.get("timeout") or call.json().get("timeout") or f"{LONGEST_WAIT}s"
    try:
        left = min(timestamps.seconds(text), LONGEST_WAIT)
    except ValueError:
        raise invalid(
            f"Invalid value at 'timeout' (type.googleapis.com/google.protobuf.Duration), \"{text}\""
        ) from None
    found = _find(world, call)
    while not found.document.get("done") and left > 0:
        await asyncio.sleep(CHECK_SECONDS)
        left -= CHECK_SECONDS
    return _shown(found)


def cancel(world: World, call: Call) -> Document:
    """Accept the wish: what is done stays done, and what runs here cannot be called off."""
    _find(world, call)
    return {}


def delete(world: World, call: Call) -> Document:
    """Forget an operation that is done."""
    found = _find(world, call)
    if not found.document.get("done"):
        raise precondition(f"The operation {found.name} is not done.")
    world.store.remove(found)
    return {}
