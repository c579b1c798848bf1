"""Get and list locations (the Locations mixin of both versions): the regions with custom training."""

from emulator.capacity.machines import REGIONS
from emulator.methods.resources import PAGE_ARGUMENTS
from emulator.protocol import paging
from emulator.protocol.calls import Call
from emulator.protocol.documents import Document
from emulator.protocol.errors import invalid, not_found


def _location(project: str, region: str) -> Document:
    labels = {"cloud.googleapis.com/region": region}
    return {"name": f"projects/{project}/locations/{region}", "locationId": region, "labels": labels}


def get(emulator: object, call: Call) -> Document:  # noqa: ARG001
    """Return a region. Raise ApiError 404 for one without custom training."""
    call.check_arguments()
    region = call.params["location"]
    if region not in REGIONS:
        raise not_found(f"Location {region} is not found or access is unauthorized.")
    return _location(call.params["project"], region)


def list_(emulator: object, call: Call) -> Document:  # noqa: ARG001
    """Return a page of the regions, ordered by name."""
    call.check_arguments("filter", *PAGE_ARGUMENTS)
    if call.query.get("filter"):
        raise invalid("Invalid filter: the emulator lists locations without a filter only.")
    project = call.params["project"]
    position = paging.read_token(call.argument("page_token", "pageToken"), "locations", project)
    size = paging.page_size(call.argument("page_size", "pageSize"))
    rest = sorted(region for region in REGIONS if position is None or region > str(position[0]))
    page: Document = {"locations": [_location(project, region) for region in rest[:size]]}
    if len(rest) > size:
        page["nextPageToken"] = paging.make_token([rest[size - 1]], "locations", project)
    return page
