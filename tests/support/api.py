"""An API client that uses a user's token."""

import json
from datetime import timedelta
from typing import Any

from django.contrib.auth.models import User
from django.test import Client

from jobs.clock import database_now
from jobs.requests.api_tokens import SCOPES, create_token


class Caller:
    """Sends requests with one token and without cookies."""

    def __init__(self, token: str) -> None:
        self.token = token
        self.client = Client(raise_request_exception=True, enforce_csrf_checks=True)

    def get(self, path: str, **parameters: Any) -> Any:
        """Send GET /api/v1<path>."""
        return self.client.get(f"/api/v1{path}", parameters, headers=self.headers())

    def post(self, path: str, body: Any = None, key: str = "") -> Any:
        """Send POST /api/v1<path> with a JSON body, and with an Idempotency-Key if `key` is set."""
        headers = self.headers() | ({"Idempotency-Key": key} if key else {})
        content = json.dumps({} if body is None else body)
        return self.client.post(f"/api/v1{path}", content, content_type="application/json", headers=headers)

    def patch(self, path: str, body: Any) -> Any:
        """Send PATCH /api/v1<path> with a JSON body."""
        content = json.dumps(body)
        return self.client.patch(f"/api/v1{path}", content, content_type="application/json", headers=self.headers())

    def delete(self, path: str) -> Any:
        """Send DELETE /api/v1<path>."""
        return self.client.delete(f"/api/v1{path}", headers=self.headers())

    def headers(self) -> dict[str, str]:
        """Return the header with the token."""
        return {"Authorization": f"Bearer {self.token}"}


def token_of(user: User, *scopes: str) -> str:
    """Return the text of a new token of a user, with every scope by default."""
    made, text = create_token(
        user, name="test", scopes=scopes or tuple(SCOPES), lifetime=timedelta(days=7), now=database_now()
    )
    assert made.owner == user
    return text


def caller(user: User, *scopes: str) -> Caller:
    """Return a client with a new token of a user."""
    return Caller(token_of(user, *scopes))
