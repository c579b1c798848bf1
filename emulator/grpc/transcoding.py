"""Convert gRPC to HTTP and back by the methods' `google.api.http` rules (google/api/http.proto, AIP-127, AIP-193)."""

import json
from typing import Any, NamedTuple
from urllib.parse import quote

from google.protobuf import json_format
from google.protobuf.message import DecodeError
from google.rpc import code_pb2

from emulator.grpc.services import Method, Rule, Services
from emulator.protocol.errors import STATUS_OF_HTTP, ApiError, invalid

FIELD_MASK = "google.protobuf.FieldMask"
MAX_MESSAGE_CHARACTERS, MAX_DETAILS_BYTES = 1_500, 3_000
"""Limits because clients refuse trailers of more than 8 KiB. A message is sent twice, with up to three bytes per
character."""


class Request(NamedTuple):
    """An HTTP request. `query` is the part after the question mark."""

    verb: str
    path: str
    query: str
    body: bytes


class Failure(Exception):
    """A call that is answered with a status. `details` is a serialized google.rpc.Status, b"" if there are none."""

    def __init__(self, code: int, message: str, details: bytes = b"") -> None:
        super().__init__(message)
        self.code, self.message, self.details = code, message, details


class Transcoder:
    """Converts messages of all methods into HTTP requests, and responses into messages."""

    def __init__(self, services: Services) -> None:
        self._services = services

    def request(self, method: Method, data: bytes) -> Request:
        """Return the HTTP request for a serialized request message.

        Raise ApiError 400 if the message cannot be parsed, or if a name in it has another format than the method
        requires.
        """
        try:
            message = method.request.FromString(data)
        except DecodeError:
            raise invalid("Request proto is invalid.") from None
        for rule in method.rules:
            names = {field: _value(message, field) for field in rule.variables}
            if all(pattern.fullmatch(names[field]) for field, pattern in rule.variables.items()):
                return self._request(rule, message, names)
        values = {field: _value(message, field) for rule in method.rules for field in rule.variables}
        shown = ", ".join(f'{field} "{value}"' for field, value in values.items())
        raise invalid(f"Invalid resource field value in the request: {shown}.")

    def _request(self, rule: Rule, message: Any, names: dict[str, str]) -> Request:
        rest = request_fields(message, self._services.pool)
        for name in names:
            if "." not in name:  # a name inside a message is also part of the body
                rest.pop(message.DESCRIPTOR.fields_by_name[name].json_name)
        body: Any = None
        if rule.body == "*":
            body, rest = rest, {}
        elif rule.body:
            body = rest.pop(message.DESCRIPTOR.fields_by_name[rule.body].json_name, {})
        path = rule.template
        for name, value in names.items():
            path = path.replace(f"{{{name}}}", value)
        query = "&".join(f"{quote(name)}={quote(_text(value), safe='')}" for name, value in rest.items())
        return Request(rule.verb, path, query, b"" if body is None else json.dumps(body).encode())

    def answer(self, method: Method, body: bytes) -> bytes:
        """Return a method's JSON response as a serialized message.

        Raise Failure INTERNAL if it is incomplete JSON. Raise json_format.ParseError if it does not match the method's
        message.
        """
        try:
            document = json.loads(body)
        except ValueError:
            raise Failure(code_pb2.INTERNAL, "The answer was cut off.") from None
        message = json_format.ParseDict(document, method.response(), descriptor_pool=self._services.pool)
        return bytes(message.SerializeToString())

    def failure(self, http: int, body: bytes) -> Failure:
        """Return the gRPC status for an HTTP error."""
        try:
            error = json.loads(body)["error"]
            name, message, details = error["status"], error["message"], error.get("details", [])
        except (ValueError, KeyError, TypeError):  # from a proxy instead of Google's services
            name, message, details = STATUS_OF_HTTP.get(http, "UNKNOWN"), f"Received HTTP status code {http}.", []
        code = code_pb2.Code.Value(name)
        message = message if len(message) <= MAX_MESSAGE_CHARACTERS else message[: MAX_MESSAGE_CHARACTERS - 1] + "…"
        if not details:
            return Failure(code, message)
        document = {"code": code, "message": message, "details": details}
        status = json_format.ParseDict(document, self._services.status(), descriptor_pool=self._services.pool)
        while sum(detail.ByteSize() for detail in status.details) > MAX_DETAILS_BYTES:
            del status.details[-1]
        return Failure(code, message, bytes(status.SerializeToString()))

    def error(self, problem: ApiError) -> Failure:
        """Return the gRPC status of an error that was raised before there was an HTTP request."""
        return self.failure(problem.http, json.dumps(problem.body()).encode())


def request_fields(message: Any, pool: Any) -> dict[str, Any]:
    """Return the fields of a request message as JSON. The paths of a field mask are not converted."""
    masks = {}
    plain = type(message)()
    plain.CopyFrom(message)
    for field, value in message.ListFields():
        if field.message_type is not None and field.message_type.full_name == FIELD_MASK:
            masks[field.json_name] = ",".join(value.paths)
            plain.ClearField(field.name)
    try:
        fields: dict[str, Any] = json_format.MessageToDict(plain, descriptor_pool=pool)
    except (ValueError, json_format.Error) as problem:  # JSON cannot represent it: an infinite number in a Struct
        raise invalid(f"Request contains an invalid argument. {problem}") from None
    return fields | masks


def _value(message: Any, field: str) -> str:
    """Return the text in a field. `a.b` is a nested field."""
    for name in field.split("."):
        message = getattr(message, name)
    return str(message)


def _text(value: Any) -> str:
    return ("true" if value else "false") if isinstance(value, bool) else str(value)
