"""Turn errors that Django answers before or outside the API's functions into problems: 404, 405, 413, 500."""

import re
from collections.abc import Callable, Mapping
from functools import cache
from http import HTTPStatus

from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from dashboard.api.known_values import problem_of, unknown_names
from dashboard.api.problems import MEDIA_TYPE, Problem, answer
from dashboard.api.site import document
from jobs.bounds import parse_digits

PREFIX = "/api/v1/"
WORDS = {
    HTTPStatus.NOT_FOUND: "Not found, or you may not see it.",
    HTTPStatus.METHOD_NOT_ALLOWED: "This address does not support this method. The header Allow lists those it does.",
    HTTPStatus.INTERNAL_SERVER_ERROR: "Trainboard failed to process the request. The site's log has the details.",
}
PARAMETER = re.compile(r"<(?:[a-z]+:)?([a-z_]+)>")
"""A part of Django's route, which the document writes as `{job_id}`."""
KEPT = ("Allow", "Retry-After", "WWW-Authenticate")


@cache
def _parameters() -> Mapping[tuple[str, str], frozenset[str]]:
    """Return {(path, method): names of its parameters in an address}, as the OpenAPI document has them."""
    return {
        (path, method): frozenset(each["name"] for each in operation.get("parameters", ()) if each["in"] == "query")
        for path, operations in document()["paths"].items()
        for method, operation in operations.items()
    }


class ProblemMiddleware:
    """Turns every error response below /api/v1/ into a problem."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Return the response. A body that is too large is refused before it is read."""
        if not request.path.startswith(PREFIX):
            return self.get_response(request)
        length = request.headers.get("Content-Length") or "0"
        size, most = parse_digits(length), settings.DATA_UPLOAD_MAX_MEMORY_SIZE or 0
        if size is None or size > most:
            words = f"The request body is too large. The limit is {most:,} bytes."
            return answer(request, Problem(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, words))
        response = self.get_response(request)
        if response.status_code < HTTPStatus.BAD_REQUEST or response.headers.get("Content-Type") == MEDIA_TYPE:
            return response
        status = HTTPStatus(response.status_code)
        headers = {name: response.headers[name] for name in KEPT if name in response.headers}
        return answer(request, Problem(status, WORDS.get(status, status.description or status.phrase), headers=headers))

    def process_view(self, request: HttpRequest, *_: object) -> HttpResponseBase | None:
        """Refuse a parameter in the address that the operation does not have, instead of passing it over."""
        match, method = request.resolver_match, (request.method or "").lower()
        if match is None or not request.GET or not request.path.startswith(PREFIX):
            return None
        path = "/" + PARAMETER.sub(r"{\1}", match.route)
        known = _parameters().get((path, method))
        names = [(name, name) for name in request.GET]
        problem = problem_of(unknown_names("parameter", names, known)) if known is not None else None
        return answer(request, problem) if problem is not None else None
