"""Parse resources from a client's JSON into the stored document, or refuse them with Google's error texts.

A *document* is the stored form of a resource: lowerCamelCase names, enum names, int64 as text, no default values, no
output-only fields from a client. The parser accepts what Google's JSON transcoding accepts (both spellings of a name,
enum names or numbers, int64 as text or number, integral floats) and refuses the rest with its error texts.
"""

import base64
import re
from collections.abc import Callable
from typing import Any

from emulator.protocol import schema, timestamps
from emulator.protocol.errors import invalid
from emulator.protocol.schema import Field

Document = dict[str, Any]
Violation = tuple[str, str]
BETA = "v1beta1"
UNKNOWN = 'Invalid JSON payload received. Unknown name "{name}"{where}: Cannot find field.'


def _of(kind: type) -> Callable[[Any], Any]:
    """Return a reader for values of a JSON type."""

    def read(value: Any) -> Any:
        if not isinstance(value, kind):
            raise ValueError(value)
        return value

    return read


_text = _of(str)


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError(value)
    return float(value)


def _whole_number(value: Any, bits: int) -> int:
    if isinstance(value, str) and not re.fullmatch(r"-?\d+", value):
        raise ValueError(value)
    if not isinstance(value, int | str) and not _number(value).is_integer():
        raise ValueError(value)
    number = int(value)
    if isinstance(value, bool) or not -(2 ** (bits - 1)) <= number < 2 ** (bits - 1):
        raise ValueError(value)
    return number


def _bytes(value: Any) -> Any:
    base64.b64decode(_text(value), validate=True)
    return value


def _duration(value: Any) -> Any:
    timestamps.parse_duration(_text(value))
    return value


READERS: dict[str, Callable[[Any], Any]] = {
    "string": _text,
    "bytes": _bytes,
    "bool": _of(bool),
    "BoolValue": _of(bool),
    "double": _number,
    "float": _number,
    "int32": lambda value: _whole_number(value, 32),
    "Int32Value": lambda value: _whole_number(value, 32),
    "int64": lambda value: str(_whole_number(value, 64)),
    "Duration": _duration,
    "Timestamp": lambda value: timestamps.format_time(timestamps.parse_time(_text(value))),
    "Value": lambda value: value,
    "Any": _of(dict),
    "Struct": _of(dict),
    "ListValue": _of(list),
}
"""Readers by scalar type. Each returns the stored form of a value, or raises ValueError if it does not fit."""
DEFAULTS: dict[str, tuple[Any, ...]] = {
    "string": ("",),
    "bytes": ("",),
    "bool": (False,),
    "double": (0.0,),
    "float": (0.0,),
    "int32": (0,),
    "int64": ("0",),
}
TYPE_NAMES = {"string": "TYPE_STRING", "bytes": "TYPE_BYTES", "bool": "TYPE_BOOL", "double": "TYPE_DOUBLE"}
TYPE_NAMES |= {"float": "TYPE_FLOAT", "int32": "TYPE_INT32", "int64": "TYPE_INT64"}


class Reader:
    """Reads one JSON body of a version and collects all errors in it."""

    def __init__(self, version: str) -> None:
        self._version = version
        self.violations: list[Violation] = []

    def message(self, name: str, data: Any, at: str) -> Document:
        """Return the document of a message. `at` is its path in error texts."""
        if not isinstance(data, dict):
            self._add_violation(at, f"type.googleapis.com/google.cloud.aiplatform.v1.{name}", data)
            return {}
        document: Document = {}
        groups: dict[str, str] = {}
        for key, value in data.items():
            spelled = schema.names(name).get(key)
            if spelled is None or (schema.fields(name)[spelled].is_beta and self._version != BETA):
                where = f" at '{at}'" if at else ""
                self.violations.append((at, UNKNOWN.format(name=key, where=where)))
                continue
            field = schema.fields(name)[spelled]
            if value is None or field.is_output:
                continue
            path = f"{at}.{field.snake}" if at else field.snake
            if field.oneof and not field.oneof.startswith("_"):
                if field.oneof in groups:
                    text = f"oneof field '{field.oneof}' is already set. Cannot set '{field.name}'"
                    self.violations.append((at, f"Invalid value at '{at}' (oneof), {text}"))
                    continue
                groups[field.oneof] = field.name
            read = self._field(field, value, path)
            if not _is_default(field, read):
                document[field.name] = read
        return document

    def _field(self, field: Field, value: Any, path: str) -> Any:
        if field.shape == "list":
            if not isinstance(value, list):
                self._add_violation(path, _type_name(field), value)
                return []
            return [self._one(field, item, f"{path}[{index}]") for index, item in enumerate(value)]
        if field.shape == "map":
            if not isinstance(value, dict):
                self._add_violation(path, "TYPE_MESSAGE", value)
                return {}
            return {key: self._one(field, item, f"{path}[{key}]") for key, item in value.items()}
        return self._one(field, value, path)

    def _one(self, field: Field, value: Any, path: str) -> Any:
        if field.kind == "message":
            return self.message(field.of, value, path)
        try:
            return _enum(field.of, value) if field.kind == "enum" else READERS[field.of](value)
        except ValueError:
            self._add_violation(path, _type_name(field), value)
            return None

    def _add_violation(self, path: str, kind: str, value: Any) -> None:
        shown = f'"{value}"' if isinstance(value, str) else str(value)[:100]
        self.violations.append((path, f"Invalid value at '{path}' ({kind}), {shown}"))


def _enum(name: str, value: Any) -> str | int:
    """Return the enum's name. A number without a name is kept as a number, as in open enums."""
    if isinstance(value, str) and value in schema.ENUMS[name]:
        return value
    number = _whole_number(value, 32)
    return schema.ENUM_NAMES[name].get(number, number)


def _type_name(field: Field) -> str:
    if field.kind != "scalar":
        return f"type.googleapis.com/google.cloud.aiplatform.v1.{field.of}"
    return TYPE_NAMES.get(field.of, f"type.googleapis.com/google.protobuf.{field.of}")


def _is_default(field: Field, value: Any) -> bool:
    if value is None or (field.shape != "one" and not value):
        return True
    if field.shape != "one" or field.oneof or field.kind == "message":
        return False
    if field.kind == "enum":
        return bool(schema.ENUMS[field.of].get(value, value) == 0)
    return not isinstance(value, dict | list) and value in DEFAULTS.get(field.of, ())


def parse(message: str, data: Any, *, at: str, version: str = "v1") -> Document:
    """Parse a client's JSON as a message's document. Raise ApiError 400 with every violation if it does not fit.

    `at` is the name of the body in error texts, such as `custom_job`. `version` is the API's; v1beta1 has more fields.
    """
    reader = Reader(version)
    document = reader.message(message, data, at)
    if reader.violations:
        raise invalid("\n".join(text for _, text in reader.violations), violations=reader.violations)
    return document
