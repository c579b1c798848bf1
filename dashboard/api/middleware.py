"""Turn errors that Django answers before or outside the API's functions into problems: 404, 405, 413, 500."""

from collections.abc import Callable
from http import HTTPStatus

from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from dashboard.api.problems import MEDIA_TYPE, Problem, answer
from jobs.bounds import parse_digits

PREFIX = "/api/v1/"
WORDS = {
    HTTPStatus.NOT_FOUND: "Not found, or you may not see it.",
    HTTPStatus.METHOD_NOT_ALLOWED: "This address does not support this method. The header Allow lists those it does.",
    HTTPStatus.INTERNAL_SERVER_ERROR: "Trainboard failed to process the request. The site's log has the details.",
}
KEPT = ("Allow", "Retry-After", "WWW-Authenticate")


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
