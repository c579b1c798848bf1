"""Check JSON responses against the schemas of Google's discovery documents.

Discovery schemas are JSON Schema draft 3 with `$ref`, `format` and `enum`. Unknown properties are errors here, because
the tests look for them.
"""

import re
from collections.abc import Iterator
from typing import Any

from tests.sdk.vocabulary import discovery

STAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z")
FORMATS = {
    "google-datetime": STAMP,
    "google-duration": re.compile(r"-?\d+(\.\d{1,9})?s"),
    "int64": re.compile(r"-?\d+"),
}
PYTHON: dict[str, Any] = {"array": list, "integer": int, "number": (int, float), "boolean": bool}


class Judge:
    """Checks values against one discovery document."""

    def __init__(self, document: str) -> None:
        self.schemas = discovery(document)["schemas"]

    def faults(self, schema: str, value: Any) -> list[str]:
        """Return everything in which a value differs from a named schema."""
        return list(self._check({"$ref": schema}, value, schema))

    def _check(self, schema: dict[str, Any], value: Any, at: str) -> Iterator[str]:
        if "$ref" in schema:
            schema = self.schemas[schema["$ref"]]
        kind = schema.get("type")
        if kind == "object":
            yield from self._object(schema, value, at)
        elif kind == "array" and isinstance(value, list):
            for index, item in enumerate(value):
                yield from self._check(schema["items"], item, f"{at}[{index}]")
        elif kind == "string":
            yield from _text(schema, value, at)
        elif kind != "any" and (not isinstance(value, PYTHON[kind]) or (kind != "boolean" and value is True)):
            yield f"{at}: {value!r} is no {kind}"

    def _object(self, schema: dict[str, Any], value: Any, at: str) -> Iterator[str]:
        if not isinstance(value, dict):
            yield f"{at}: {value!r} is no object"
            return
        properties = schema.get("properties", {})
        for name, item in value.items():
            if name in properties:
                yield from self._check(properties[name], item, f"{at}.{name}")
            elif "additionalProperties" in schema:
                yield from self._check(schema["additionalProperties"], item, f"{at}.{name}")
            elif name != "@type":
                yield f"{at}: unknown field {name}"


def _text(schema: dict[str, Any], value: Any, at: str) -> Iterator[str]:
    if "enum" in schema and type(value) is int:
        return  # `enum-encoding=int` was asked for; the clients themselves read the numbers
    if not isinstance(value, str):
        yield f"{at}: {value!r} is no string"
        return
    pattern = FORMATS.get(schema.get("format", ""))
    if pattern and not pattern.fullmatch(value):
        yield f"{at}: {value!r} is no {schema['format']}"
    if "enum" in schema and value not in schema["enum"]:
        yield f"{at}: {value!r} is none of the enum's values"
