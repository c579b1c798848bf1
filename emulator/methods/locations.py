"""projects.locations: get, list (the Locations mixin of both versions): the regions with custom training."""

from emulator.capacity.machines import REGIONS
from emulator.protocol import paging
from emulator.protocol.calls import Call
from emulator.protocol.documents import Document
from emulator.protocol.errors import invalid, not_found


def _location(project: str, region: str) -> Document:
    labels = {"cloud.googleapis.com/region": region}
    return {"name": f"projects/{project}/locations/{region}", "locationId": region, "labels": labels}


def get(world: object, call: Call) -> Document:  # noqa: ARG001
    """Return a region; ApiError 404 for one without custom training."""
    call.refuse_unknown_arguments()
    region = call.params["location"]
    if region not in REGIONS:
        raise not_found(f"Location {region} is not found or access is unauthorized.")
    return _location(call.params["project"], region)


def list_(world: object, call: Call) -> Document:  # noqa: ARG001
    """Return a page of the regions, in the order of their names."""
    call.refuse_unknown_arguments("filter", "pageSize", "page_size", "pageToken", "page_token")
    if call.query.get("filter"):
        raise invalid("Invalid filter: the emulator lists locations without a filter only.")
    project = call.params["project"]
    place = paging.position(call.argument("page_token", "pageToken"), "locations", project)
    size = paging.page_size(call.argument("page_size", "pageSize"))
    rest = sorted(region for region in REGIONS if place is None or region > str(place[0]))
    found: Document = {"locations": [_location(project, region) for region in rest[:size]]}
    if len(rest) > size:
        found["nextPageToken"] = paging.token([rest[size - 1]], "locations", project)
    return found
