"""Changes to documents before they are sent: the version of types, enum numbers if requested, read masks."""

import re
from collections.abc import Sequence
from typing import Any

from emulator.protocol import schema
from emulator.protocol.documents import Document
from emulator.protocol.errors import invalid

TYPES = re.compile(r"type\.googleapis\.com/google\.cloud\.aiplatform\.v1(?:beta1)?\.")


def in_version(document: Any, version: str) -> Any:
    """Return an operation with its types (`@type`) in a version. Return anything else unchanged."""
    if not isinstance(document, dict):
        return document
    if "operations" in document:
        return document | {"operations": [in_version(each, version) for each in document["operations"]]}
    inside = {key: _typed(document[key], version) for key in ("metadata", "response") if key in document}
    return document | inside


def _typed(message: Any, version: str) -> Any:
    if not isinstance(message, dict) or "@type" not in message:
        return message
    return message | {"@type": TYPES.sub(f"type.googleapis.com/google.cloud.aiplatform.{version}.", message["@type"])}


def in_v1(message: str, document: Document) -> Document:
    """Return the document without the fields that only v1beta1 has. It is the same object if it has none of them."""
    known = schema.fields(message)
    kept = {name: _field_in_v1(known[name], value) for name, value in document.items() if not known[name].is_beta}
    is_same = len(kept) == len(document) and all(value is document[name] for name, value in kept.items())
    return document if is_same else kept


def _field_in_v1(field: schema.Field, value: Any) -> Any:
    if field.kind != "message" or field.shape == "map":
        return value
    if field.shape == "one":
        return in_v1(field.of, value)
    items = [in_v1(field.of, item) for item in value]
    return value if all(new is old for new, old in zip(items, value, strict=True)) else items


def with_numbers(message: str, document: Document) -> Document:
    """Return the document with enums as numbers, as `$alt=json;enum-encoding=int` requests."""
    known = schema.fields(message)
    return {name: _numbered(known[name], value) for name, value in document.items()}


def _numbered(field: schema.Field, value: Any) -> Any:
    if field.kind == "scalar":
        return value
    if field.shape == "list":
        return [_number(field, item) for item in value]
    if field.shape == "map":
        return {key: _number(field, item) for key, item in value.items()}
    return _number(field, value)


def _number(field: schema.Field, value: Any) -> Any:
    if field.kind == "enum":
        return schema.ENUMS[field.of].get(value, value)
    return with_numbers(field.of, value)


def mask_paths(message: str, text: str, *, collection: str = "") -> list[list[str]]:
    """Parse a field mask (`name,jobSpec.scheduling`, either spelling) into paths. Raise ApiError 400 if one is unknown.

    Paths starting at the list's field (`customJobs.name`) are equivalent. `*` or an empty mask means everything ([]).
    """
    paths = []
    for entry in (part.strip() for part in text.split(",")):
        if entry == "*":
            return []
        if not entry:
            continue
        steps = entry.split(".")
        if collection and schema.camel(steps[0]) == collection and len(steps) > 1:
            steps = steps[1:]
        paths.append(_path(message, steps, entry))
    return paths


def _path(message: str, steps: Sequence[str], entry: str) -> list[str]:
    within, path = message, []
    for position, step in enumerate(steps):
        spelled = schema.names(within).get(step)
        if spelled is None:
            raise invalid(f"Request contains an invalid argument: field mask path '{entry}' does not exist.")
        path.append(spelled)
        field = schema.fields(within)[spelled]
        if field.kind != "message" or field.shape != "one":
            if position + 1 < len(steps) and field.shape != "map":
                raise invalid(f"Request contains an invalid argument: field mask path '{entry}' goes too deep.")
            return path + list(steps[position + 1 :])
        within = field.of
    return path


def apply_mask(document: Document, paths: list[list[str]]) -> Document:
    """Return only the fields in the paths, or everything without paths."""
    if not paths:
        return document
    kept: Document = {path[0]: document[path[0]] for path in paths if len(path) == 1 and path[0] in document}
    for path in paths:
        if len(path) > 1:
            _copy(document, kept, path)
    return kept


def _copy(source: Document, target: Document, path: Sequence[str]) -> None:
    first, rest = path[0], path[1:]
    if not rest and first in source:
        target[first] = source[first]
    elif rest and first in source:
        inside = dict(target.get(first, {}))
        _copy(source[first], inside, rest)
        if inside:
            target[first] = inside
