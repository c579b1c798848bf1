"""The documentation page of the API. It is rendered here from the OpenAPI document and loads nothing from elsewhere."""

from dataclasses import dataclass
from typing import Any

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from dashboard.access import Request
from dashboard.api.problems import TYPES
from dashboard.api.site import document

REF = "#/components/schemas/"


@dataclass(frozen=True, slots=True)
class Value:
    """A parameter, or a field of a request or response body."""

    name: str
    place: str
    kind: str
    is_required: bool
    words: str


@dataclass(frozen=True, slots=True)
class Operation:
    """One method of one path."""

    key: str
    method: str
    address: str
    summary: str
    words: str
    values: list[Value]
    answers: list[tuple[str, str]]


@require_safe
def docs_page(request: Request) -> HttpResponse:
    """Show all operations and problem types."""
    context = {"operations": list_operations(), "problems": TYPES.items()}
    return render(request, "api_docs.html", context)


def list_operations() -> list[Operation]:
    """Return the operations of the document, in its order."""
    found = document()
    schemas = found["components"]["schemas"]
    return [
        Operation(
            key=operation["operationId"],
            method=method.upper(),
            address=address,
            summary=operation["summary"],
            words=operation.get("description", ""),
            values=[*_parameters(operation), *_body(operation, schemas)],
            answers=[(str(code), _answer(each)) for code, each in operation["responses"].items()],
        )
        for address, operations in found["paths"].items()
        for method, operation in operations.items()
    ]


def _parameters(operation: dict[str, Any]) -> list[Value]:
    return [
        Value(each["name"], each["in"], _kind(each["schema"]), each.get("required", False), _words(each))
        for each in operation["parameters"]
    ]


def _words(parameter: dict[str, Any]) -> str:
    return str(parameter.get("description") or parameter["schema"].get("description", ""))


def _body(operation: dict[str, Any], schemas: dict[str, Any]) -> list[Value]:
    body = operation.get("requestBody")
    if body is None:
        return []
    schema = schemas[_name(body["content"]["application/json"]["schema"])]
    required = schema.get("required", ())
    return [
        Value(name, "body", _kind(each), name in required, each.get("description", ""))
        for name, each in schema["properties"].items()
    ]


def _answer(response: dict[str, Any]) -> str:
    schemas = [each["schema"] for each in response.get("content", {}).values()]
    shape = _kind(schemas[0]) if schemas else ""
    return shape if shape != "ProblemDetails" else str(response["description"])


def _kind(schema: dict[str, Any]) -> str:
    """Return a readable name for the type of a schema."""
    if "$ref" in schema:
        return _name(schema)
    if "anyOf" in schema:
        return " or ".join(_kind(each) for each in schema["anyOf"])
    if schema.get("type") == "array":
        return f"list of {_kind(schema.get('items', {}))}"
    return str(schema.get("format") or schema.get("type", "any"))


def _name(schema: dict[str, Any]) -> str:
    return str(schema["$ref"]).removeprefix(REF)
