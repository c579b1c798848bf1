"""Errors in Google's envelope.

ApiError                 has HTTP status, canonical status name, message and details; `web.app` turns it into JSON
`invalid`                400 INVALID_ARGUMENT          `precondition` 400 FAILED_PRECONDITION
`not_found`              404 NOT_FOUND                 `exists`       409 ALREADY_EXISTS
`exhausted`              429 RESOURCE_EXHAUSTED        `unimplemented` 501 UNIMPLEMENTED
Inside a resource `error` is a google.rpc.Status whose code is canonical, not HTTP: `status(code, message)`.
"""

from typing import Any

CANCELLED, INVALID_ARGUMENT, RESOURCE_EXHAUSTED, FAILED_PRECONDITION = 1, 3, 8, 9
UNIMPLEMENTED, INTERNAL, UNAVAILABLE = 12, 13, 14

STATUS_OF_HTTP = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    405: "INVALID_ARGUMENT",
    409: "ALREADY_EXISTS",
    413: "INVALID_ARGUMENT",
    416: "OUT_OF_RANGE",
    429: "RESOURCE_EXHAUSTED",
    499: "CANCELLED",
    500: "INTERNAL",
    501: "UNIMPLEMENTED",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}


class ApiError(Exception):
    """A request that is answered with an error envelope."""

    def __init__(self, http: int, message: str, *, status: str = "", details: list[Any] | None = None) -> None:
        super().__init__(message)
        self.http = http
        self.message = message
        self.status = status or STATUS_OF_HTTP.get(http, "UNKNOWN")
        self.details = details or []

    def body(self) -> dict[str, Any]:
        """Return the envelope: `{"error": {"code", "message", "status", "details"?}}`."""
        error: dict[str, Any] = {"code": self.http, "message": self.message, "status": self.status}
        if self.details:
            error["details"] = self.details
        return {"error": error}


def invalid(message: str, *, violations: list[tuple[str, str]] | None = None) -> ApiError:
    """Return a 400 INVALID_ARGUMENT. `violations` are (field path, description) pairs."""
    details = []
    if violations:
        fields = [{"field": field, "description": text} for field, text in violations]
        details.append({"@type": "type.googleapis.com/google.rpc.BadRequest", "fieldViolations": fields})
    return ApiError(400, message, details=details)


def precondition(message: str) -> ApiError:
    """Return a 400 FAILED_PRECONDITION: the request is valid, but not in the current state of the resource."""
    return ApiError(400, message, status="FAILED_PRECONDITION")


def not_found(message: str) -> ApiError:
    """Return a 404 NOT_FOUND."""
    return ApiError(404, message)


def exists(message: str) -> ApiError:
    """Return a 409 ALREADY_EXISTS."""
    return ApiError(409, message)


def exhausted(message: str) -> ApiError:
    """Return a 429 RESOURCE_EXHAUSTED."""
    return ApiError(429, message)


def unimplemented(method: str) -> ApiError:
    """Return a 501 with the name of a method that exists at Google and not here."""
    return ApiError(501, f"The emulator does not implement {method}.")


def status(code: int, message: str) -> dict[str, Any]:
    """Return a google.rpc.Status for a resource's `error`."""
    return {"code": code, "message": message}
