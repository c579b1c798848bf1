"""The API object, its URLs, and its OpenAPI document with all errors that an operation may return."""

from functools import cache
from typing import Any

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import URLPattern, path
from django.views.decorators.http import require_safe
from ninja import NinjaAPI

from dashboard import __version__
from dashboard.api import actions, job_requests, jobs, reference_data, schedules
from dashboard.api.problems import MEDIA_TYPE, ProblemDetails, handle_problems
from dashboard.api.tokens import READ

NAMESPACE = "api-v1"
DESCRIPTION = (
    "Request, watch and decide about the training jobs of your teams. Data, permissions and assessment are the same as "
    "on the pages. Errors are problem details (RFC 9457). Amounts are US dollars as strings. Times are ISO 8601."
)
ERRORS = {
    400: "The request body is not JSON.",
    401: "The token is missing or invalid.",
    403: "The scope of the token, or the role of its owner, does not allow this.",
    404: "Not found, or you may not see it.",
    405: "The address does not support this method.",
    409: "The state of the job or schedule does not allow this.",
    413: "The request body is too large.",
    422: "A value of the request is invalid, or the job has errors.",
    429: "The token has made too many requests.",
}
EVERY = (401, 403, 405, 422, 429)
WITH_BODY = (400, 413)

api = NinjaAPI(
    title="Trainboard",
    version=__version__,
    description=DESCRIPTION,
    urls_namespace=NAMESPACE,
    openapi_url=None,
    docs_url=None,
    auth=READ,
)
for _router in (reference_data.router, jobs.router, job_requests.router, actions.router, schedules.router):
    api.add_router("", _router)
handle_problems(api)


def api_urls() -> tuple[list[Any], str, str]:
    """Return the URLs below /api/v1/. They require a token, so Django's middleware need not require a session."""
    patterns, app, namespace = api.urls
    for pattern in patterns:
        if isinstance(pattern, URLPattern):
            login_not_required(pattern.callback)
    return [path("openapi.json", openapi, name="openapi"), *patterns], app, namespace


@login_not_required
@require_safe
def openapi(_request: HttpRequest) -> HttpResponse:
    """Return the OpenAPI document. It contains no data of teams, so it is public."""
    return JsonResponse(document())


@cache
def document() -> dict[str, Any]:
    """Return the OpenAPI 3.1 document, with the problems that each operation may return."""
    made: dict[str, Any] = dict(api.get_openapi_schema(path_prefix="api/v1"))
    schemas = made["components"]["schemas"]
    problem = ProblemDetails.model_json_schema(ref_template="#/components/schemas/{model}")
    schemas |= problem.pop("$defs", {})
    schemas["ProblemDetails"] = problem
    for address, operations in made["paths"].items():
        for operation in operations.values():
            operation["operationId"] = operation["operationId"].rpartition("_dashboard_api_")[2]
            operation["responses"] |= _errors(address, has_body="requestBody" in operation)
    return made


def _errors(address: str, *, has_body: bool) -> dict[int, Any]:
    codes = {*EVERY, *(WITH_BODY if has_body else ())}
    codes |= {404} if "{" in address or has_body else set()
    codes |= {409} if has_body or address.endswith(("/cancel", "/resume", "/run")) else set()
    schema = {"schema": {"$ref": "#/components/schemas/ProblemDetails"}}
    return {code: {"description": ERRORS[code], "content": {MEDIA_TYPE: schema}} for code in sorted(codes)}
