"""The body of a request in other spellings: without what Vertex AI fills in, in snake_case, with plain numbers."""

from collections.abc import Callable
from typing import Any

from jobs.spec import CustomJobSpec, Message, TuningTaskInputs, rest_body
from jobs.spec.fields import parse_duration
from jobs.spec.shape import Slot, slots

Change = Callable[[Slot, Any], Any]
Model = type[Message]
RESERVED = {"exec": "exec_"}
"""Fields whose name is a word of Python's; Google's generated types add an underscore."""


def request(job: Message) -> dict[str, Any]:
    """Return the REST body without fields that only Vertex AI fills in."""
    body = rest_body(job)
    known = slots(type(job))
    return {name: value for name, value in body.items() if not known[name].output}


def numbers(job: Message) -> dict[str, Any]:
    """Return the request with 64-bit numbers as numbers, as people write them in YAML."""
    return _walk(type(job), request(job), lambda slot: slot.alias, _whole)


def snake(job: Message) -> dict[str, Any]:
    """Return the request as the keyword arguments of Google's generated types: names, numbers, durations."""
    return _walk(type(job), request(job), lambda slot: RESERVED.get(slot.name, slot.name), _proto)


def _whole(slot: Slot, value: Any) -> Any:
    return int(value) if slot.kind.name == "int64" else value


def _proto(slot: Slot, value: Any) -> Any:
    if slot.kind.name != "duration":
        return _whole(slot, value)
    length = parse_duration(value)
    parts = {"seconds": length.days * 86400 + length.seconds}
    return parts | ({"nanos": length.microseconds * 1000} if length.microseconds else {})


def _walk(model: Model, body: dict[str, Any], name: Callable[[Slot], str], change: Change) -> dict[str, Any]:
    known = slots(model)
    found: dict[str, Any] = {}
    for key, value in body.items():
        slot = known[key]
        one = _one_of(slot, name, change)
        found[name(slot)] = [one(item) for item in value] if slot.many else one(value)
    return found


def _one_of(slot: Slot, name: Callable[[Slot], str], change: Change) -> Callable[[Any], Any]:
    def one(value: Any) -> Any:
        if slot.kind.name == "task":
            tuning = not {"studySpec", "trialJobSpec", "maxTrialCount", "parallelTrialCount"}.isdisjoint(value)
            return _walk(TuningTaskInputs if tuning else CustomJobSpec, value, name, change)
        if slot.model is not None:
            return _walk(slot.model, value, name, change)
        return value if slot.mapping or slot.kind.name == "free" else change(slot, value)

    return one
