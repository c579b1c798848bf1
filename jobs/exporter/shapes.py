"""The body of a request in other spellings: without what Vertex AI fills in, in snake_case, with plain numbers."""

from typing import Any

from jobs.spec import CustomJobSpec, Message, TuningTaskInputs, rest_body
from jobs.spec.fields import parse_duration
from jobs.spec.shape import Slot, slots

RESERVED = {"exec": "exec_"}
"""Fields whose name is a word of Python's; Google's generated types add an underscore."""
TUNING = {"studySpec", "trialJobSpec", "maxTrialCount", "parallelTrialCount"}


def request(job: Message) -> dict[str, Any]:
    """Return the REST body without fields that only Vertex AI fills in."""
    body = rest_body(job)
    known = slots(type(job))
    return {name: value for name, value in body.items() if not known[name].output}


def numbers(job: Message) -> dict[str, Any]:
    """Return the request with 64-bit numbers as numbers, as people write them in YAML."""
    return _message(type(job), request(job), is_python=False)


def snake(job: Message) -> dict[str, Any]:
    """Return the request as the keyword arguments of Google's generated types: names, numbers, durations."""
    return _message(type(job), request(job), is_python=True)


def _message(model: type[Message], body: dict[str, Any], *, is_python: bool) -> dict[str, Any]:
    changed: dict[str, Any] = {}
    for key, value in body.items():
        slot = slots(model)[key]
        name = RESERVED.get(slot.name, slot.name) if is_python else slot.alias
        items = [_value(slot, item, is_python=is_python) for item in (value if slot.many else [value])]
        changed[name] = items if slot.many else items[0]
    return changed


def _value(slot: Slot, value: Any, *, is_python: bool) -> Any:
    kind, model = slot.kind.name, slot.model
    if kind == "task":
        model = CustomJobSpec if TUNING.isdisjoint(value) else TuningTaskInputs
    if model is not None:
        return _message(model, value, is_python=is_python)
    if kind == "int64" and not slot.mapping:
        return int(value)
    if kind == "duration" and is_python and not slot.mapping:
        length = parse_duration(value)
        seconds = {"seconds": length.days * 86400 + length.seconds}
        return seconds | ({"nanos": length.microseconds * 1000} if length.microseconds else {})
    return value
