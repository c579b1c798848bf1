"""The network: what `jobs.vertex` and `jobs.messages` send arrives here instead of at a socket."""

import io
import json
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, urlsplit

import requests
from requests.adapters import HTTPAdapter
from urllib3 import HTTPResponse

from jobs.vertex import deadline
from tests.simulation.kernel import Killed
from tests.simulation.site.process import SiteKernel

GOOGLE = "http://127.0.0.1:8900"
RECEIVER = "http://127.0.0.1:8901"


class Request:
    """One request on its way. `within` is the time in seconds that its sender waits for an answer."""

    def __init__(self, prepared: requests.PreparedRequest, within: float) -> None:
        parts = urlsplit(str(prepared.url))
        self.method, self.path = str(prepared.method), parts.path
        self.query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        self.headers = prepared.headers
        content = prepared.body.encode() if isinstance(prepared.body, str) else prepared.body
        self.body: Any = json.loads(content) if content else {}
        self.is_for_google = parts.port == urlsplit(GOOGLE).port
        self.within = within


class Answer:
    """An answer: its status, JSON and Retry-After in seconds."""

    def __init__(self, status: int, value: Any = None, retry_after: int | None = None) -> None:
        self.status, self.value, self.retry_after = status, value, retry_after


def refusal(status: int, reason: str, message: str, retry_after: int | None = None) -> Answer:
    """Return Google's envelope for an error."""
    return Answer(status, {"error": {"code": status, "status": reason, "message": message}}, retry_after)


class Network:
    """Sends requests of the running process to the service that they are for.

    A service is called with a request. It takes the time that it needs by `work`, and returns an Answer or raises an
    exception of requests.
    """

    def __init__(self, kernel: SiteKernel, google: Callable[[Request], Answer], receiver: Callable[[Request], Answer]):
        self.kernel, self.google, self.receiver = kernel, google, receiver

    def send(self, adapter: HTTPAdapter, prepared: requests.PreparedRequest, **options: Any) -> requests.Response:
        """Do what `HTTPAdapter.send` does."""
        limit = options.get("timeout")
        longest = max(limit) if isinstance(limit, tuple) else float(limit or 30)
        request = Request(prepared, min(longest, deadline.seconds_left()))
        answer = (self.google if request.is_for_google else self.receiver)(request)
        process = self.kernel.current
        if process is not None and process.is_killed:
            raise Killed
        headers = {"Content-Type": "application/json"}
        if answer.retry_after is not None:
            headers["Retry-After"] = str(answer.retry_after)
        content = io.BytesIO(json.dumps(answer.value if answer.value is not None else {}).encode())
        raw = HTTPResponse(body=content, headers=headers, status=answer.status, preload_content=False)
        return adapter.build_response(prepared, raw)
