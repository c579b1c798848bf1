"""Errors of the API as application/problem+json (RFC 9457), with what is wrong and where."""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from http import HTTPStatus
from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from ninja import NinjaAPI, Schema
from ninja.errors import HttpError, ValidationError

from dashboard.access.bounded_work import TooMuchWork
from dashboard.api.shapes import FindingShape
from jobs.errors import NotAllowed, NotPermitted
from jobs.spec import Finding

MEDIA_TYPE = "application/problem+json"
TYPES = {
    "refused": "The job has errors. `findings` lists them, with the field in the REST body and the line in the text.",
    "unreadable": "The text cannot be read as a job. `findings` lists the places.",
    "key-reused": "The Idempotency-Key was used for another request.",
    "too-many-requests": "Too many requests of the token or its owner. Retry after the seconds in Retry-After.",
    "wrong-state": "The state of the job or schedule does not allow this.",
    "other-amount": "The maximum cost of the job has changed since you read it.",
    "scope": "The token does not have the scope that this operation needs.",
}
"""Problem types for which a status is not enough: {name: description}. The type is `/api/#problem-<name>`."""


class FieldError(Schema):
    """An error in one value of the request. `place` is path, query, header or body."""

    place: str
    field: str
    message: str


class ProblemDetails(Schema):
    """An error response (RFC 9457, section 3.1). `errors` are about the request, `findings` about the job."""

    type: str
    title: str
    status: int
    detail: str
    instance: str
    errors: list[FieldError] = []
    findings: list[FindingShape] = []


class Problem(Exception):
    """An error that is returned as a problem. `kind` is one of TYPES, or "" if the status is enough."""

    def __init__(
        self,
        status: HTTPStatus,
        detail: str,
        *,
        kind: str = "",
        findings: Iterable[Finding] = (),
        errors: Iterable[FieldError] = (),
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(detail)
        self.status, self.detail, self.kind = status, detail, kind
        self.findings, self.errors, self.headers = list(findings), list(errors), dict(headers or {})


def answer(request: HttpRequest, problem: Problem) -> HttpResponse:
    """Return a problem as a response."""
    content = {
        "type": f"/api/#problem-{problem.kind}" if problem.kind else "about:blank",
        "title": problem.status.phrase,
        "status": int(problem.status),
        "detail": problem.detail,
        "instance": request.path,
        "errors": [error.model_dump() for error in problem.errors],
        "findings": [finding.as_dict() for finding in problem.findings],
    }
    return JsonResponse(content, status=problem.status, content_type=MEDIA_TYPE, headers=problem.headers)


def field_error(place: str, field: str, message: str) -> Problem:
    """Return the problem for one unusable value of the request."""
    errors = [FieldError(place=place, field=field, message=message)]
    return Problem(HTTPStatus.UNPROCESSABLE_ENTITY, f"{field}: {message}", errors=errors)


def not_found(words: str = "Not found, or you may not see it.") -> Problem:
    """Return the problem for an object that does not exist or that the caller may not see."""
    return Problem(HTTPStatus.NOT_FOUND, words)


def _from_http_error(error: HttpError) -> Problem:
    status = HTTPStatus(error.status_code)
    if status is not HTTPStatus.UNAUTHORIZED:
        return Problem(status, str(error))
    words = "Send a valid API token in the header Authorization: Bearer TOKEN."
    return Problem(status, words, headers={"WWW-Authenticate": "Bearer"})


def _from_validation(error: ValidationError) -> Problem:
    errors = [_field_of(each) for each in error.errors]
    words = "; ".join(f"{each.field}: {each.message}" for each in errors[:5])
    return Problem(HTTPStatus.UNPROCESSABLE_ENTITY, words, errors=errors)


def _field_of(error: Mapping[str, Any]) -> FieldError:
    place, *path = (str(part) for part in error["loc"])
    path = path[1:] if place == "body" and len(path) > 1 else path  # the first part names the function's parameter
    return FieldError(place=place, field=".".join(path), message=str(error["msg"]))


def handle_problems(api: NinjaAPI) -> None:
    """Convert exceptions of the API's functions to problems. Any other exception is a bug and is left to Django."""
    unseen = not_found()
    handlers: dict[type[Exception], Any] = {
        Problem: lambda problem: problem,
        Http404: lambda _: unseen,
        PermissionDenied: lambda error: Problem(
            HTTPStatus.FORBIDDEN, str(error) or "You do not have permission to do this."
        ),
        TooMuchWork: lambda error: Problem(
            HTTPStatus.TOO_MANY_REQUESTS,
            str(error),
            kind="too-many-requests",
            headers={"Retry-After": str(getattr(error, "seconds", 1))},
        ),
        NotPermitted: lambda error: Problem(HTTPStatus.FORBIDDEN, str(error)),
        NotAllowed: lambda error: refused(error.findings),
        ValidationError: _from_validation,
        HttpError: _from_http_error,
    }
    for kind, convert in handlers.items():
        api.add_exception_handler(kind, partial(_handle, convert))


def _handle(convert: Callable[[Exception], Problem], request: HttpRequest, error: Exception) -> HttpResponse:
    return answer(request, convert(error))


def refused(findings: Iterable[Finding], kind: str = "refused") -> Problem:
    """Return the problem for a job with errors."""
    listed = list(findings)
    words = "; ".join(each.message for each in listed if each.severity == "error") or "The job has errors."
    return Problem(HTTPStatus.UNPROCESSABLE_ENTITY, words, kind=kind, findings=listed)
