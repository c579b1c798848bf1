"""Give each request an id, which the response and every log line about the request contain."""

import uuid
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from contextvars import ContextVar
from typing import Any

from django.http import HttpRequest, HttpResponse

from jobs import log_context

HEADER = "X-Request-ID"
_stack: ContextVar[ExitStack] = ContextVar("stack")


class RequestIdMiddleware:
    """Binds the id to the log. It comes first, so that every later failure is logged with the id."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Use the id of X-Request-ID or traceparent if it is well-formed, else create one."""
        given = request.headers.get(HEADER, "")
        request_id = log_context.request_id_from(given, request.headers.get("traceparent", ""))
        with ExitStack() as stack:
            stack.enter_context(log_context.bind(request_id=request_id))
            token = _stack.set(stack)
            try:
                response = self._get_response(request)
            finally:
                _stack.reset(token)
        response.headers[HEADER] = request_id
        return response

    def process_view(
        self, request: HttpRequest, view: Any, _args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> HttpResponse | None:
        """Bind the person's primary key, never a name, and the job id of the URL.

        The user is not loaded for a view without sign-in, because that needs the database, which may be down.
        """
        user_id = request.user.pk if getattr(view, "login_required", True) else None
        pk = kwargs.get("pk")
        job_id = pk if isinstance(pk, uuid.UUID) else None
        _stack.get().enter_context(log_context.bind(user_id=user_id, job_id=job_id))
        return None
