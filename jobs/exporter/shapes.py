"""The body of a request without fields that Vertex AI fills in, as JSON or as Python values."""

from typing import Any

from jobs.spec import Message, rest_body
from jobs.spec.shape import fields


def request(job: Message) -> dict[str, Any]:
    """Return the REST body without fields that only Vertex AI fills in."""
    filled_in = {slot.alias for slot in fields(type(job)) if slot.output}
    return {name: value for name, value in rest_body(job).items() if name not in filled_in}


def values(job: Message, *, by_alias: bool) -> dict[str, Any]:
    """Return the request with numbers as int and durations as timedelta, with the API's names or in snake_case."""
    filled_in = {slot.name for slot in fields(type(job)) if slot.output}
    return job.model_dump(by_alias=by_alias, exclude=filled_in, exclude_unset=True, exclude_none=True)
