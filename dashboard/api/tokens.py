"""Authentication of API requests: a personal token in the Authorization header, its scope and its rate limit."""

import math
from http import HTTPStatus

from django.conf import settings
from django.http import HttpRequest
from ninja.security import HttpBearer

from dashboard import rehearsal
from dashboard.access.known_password import has_known_password
from dashboard.api.problems import Problem
from jobs.clock import database_now
from jobs.models import ApiToken
from jobs.queue import rate_limit
from jobs.requests.api_tokens import authenticate_token


class BearerToken(HttpBearer):
    """Authentication by a personal token with a scope. Session cookies are not accepted, so CSRF is not possible."""

    def __init__(self, scope: str) -> None:
        super().__init__()
        self.scope = scope

    def authenticate(self, request: HttpRequest, token: str) -> ApiToken | None:
        """Set the token's owner as the user of the request. Return None for an invalid token.

        Raise Problem for 403 and 429.
        """
        now = database_now()
        known = authenticate_token(token.strip(), now=now)
        if known is None or (rehearsal.refusal(request) and has_known_password(known.owner)):
            return None
        bucket = rate_limit.Bucket("API", f"token-{known.pk}", "", settings.API_CALLS_PER_MINUTE)
        if wait := rate_limit.take(bucket, now=now):
            seconds = max(math.ceil(wait.total_seconds()), 1)
            words = f"Too many requests. The limit is {settings.API_CALLS_PER_MINUTE} per minute. Retry in {seconds} s."
            headers = {"Retry-After": str(seconds)}
            raise Problem(HTTPStatus.TOO_MANY_REQUESTS, words, kind="too-many-requests", headers=headers)
        if self.scope not in known.scopes:
            raise Problem(HTTPStatus.FORBIDDEN, f"This token does not have the scope {self.scope!r}.", kind="scope")
        request.user = known.owner
        return known


READ, SUBMIT, APPROVE = BearerToken("read"), BearerToken("submit"), BearerToken("approve")
