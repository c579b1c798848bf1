"""Make one call: a session per thread, a time limit, one try, and pages until there are no more."""

import json
import os
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

import requests
import urllib3.exceptions
from google.auth.exceptions import GoogleAuthError
from google.auth.transport.requests import AuthorizedSession

from jobs import counts
from jobs.vertex import answers, auth, errors, logs, monitoring, storage, wire
from jobs.vertex.deadline import at_most, seconds_left

MAX_PAGES = 1_000
"""Maximum number of pages of one list. More means that the server repeats itself."""

BeforePage = Callable[[], object]


OnOdd = Callable[[object, str], object]
"""Takes an item of a list that cannot be read, and the reason."""


def nothing() -> None:
    """Do nothing before a page."""


class Exchange(NamedTuple):
    """One call and its answer as it arrived, before anything of it is read or refused."""

    call: answers.Call
    query: Mapping[str, str | list[str]]
    body: Mapping[str, Any] | None
    status: int
    headers: Mapping[str, str]
    content: bytes


OnExchange = Callable[[Exchange], object]


@dataclass(frozen=True, slots=True)
class Timeout:
    """Timeouts in seconds: for connecting, between two parts of an answer, and for a method with all of its pages."""

    connect: float = 5
    read: float = 30
    total: float = 120


class Caller:
    """Call one endpoint with one set of credentials; for the arguments see `VertexClient`."""

    def __init__(
        self,
        *,
        endpoint: str = "",
        logging_endpoint: str = "",
        storage_endpoint: str = "",
        monitoring_endpoint: str = "",
        credentials: Any = None,
        token_file: str = "",
        acts_as: str = "",
        iam_endpoint: str = "",
        timeout: Timeout = Timeout(),
        on_exchange: OnExchange | None = None,
    ) -> None:
        self._on_exchange = on_exchange
        self._endpoint = auth.checked_endpoint(endpoint or wire.DEFAULT_ENDPOINT, credentials)
        emulator = self._endpoint if auth.is_plain(self._endpoint) else ""
        self._logging_endpoint = auth.checked_endpoint(
            logging_endpoint or emulator or logs.DEFAULT_ENDPOINT, credentials
        )
        self._storage_endpoint = auth.checked_endpoint(
            storage_endpoint or emulator or storage.DEFAULT_ENDPOINT, credentials
        )
        self._monitoring_endpoint = auth.checked_endpoint(
            monitoring_endpoint or emulator or monitoring.DEFAULT_ENDPOINT, credentials
        )
        self._credentials = auth.Wallet(credentials, token_file, acts_as, iam_endpoint)
        self._timeout = timeout
        self._per_thread = threading.local()

    def _paged(
        self,
        call: answers.Call,
        collection: str,
        query: Mapping[str, str],
        *,
        before_page: BeforePage,
        tries: int,
    ) -> Iterator[list[Any]]:
        """Yield the items of a list page by page. A page after the first is requested up to `tries` times."""

        def ask(token: str) -> dict[str, Any]:
            whole = dict(query) | ({"pageToken": token} if token else {})
            for _ in range(tries - 1 if token else 0):
                before_page()
                with suppress(errors.Unavailable):
                    return self._send(call, query=whole)
            before_page()
            return self._send(call, query=whole)

        return pages_of(call, collection, ask)

    def _send(
        self,
        call: answers.Call,
        *,
        query: Mapping[str, str | list[str]] | None = None,
        body: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Make the call once and return the JSON object of its answer."""
        status: int | None = None
        try:
            response = self._exchange(call, query, body)
            status = response.status_code
            if self._on_exchange is not None:
                self._on_exchange(Exchange(call, query or {}, body, status, response.headers, response.content))
            return answers.read(call, status, response.headers, response.content)
        finally:
            counts.count_call(call.service, status)

    def _exchange(
        self, call: answers.Call, query: Mapping[str, str | list[str]] | None, body: Mapping[str, Any] | None
    ) -> requests.Response:
        with at_most(self._timeout.total):
            try:
                response: requests.Response = self._session(call.url).request(
                    call.method,
                    call.url,
                    params=query,
                    data=None if body is None else _json(body, call),
                    headers={} if body is None else {"Content-Type": "application/json"},
                    timeout=(min(self._timeout.connect, seconds_left()), min(self._timeout.read, seconds_left())),
                    allow_redirects=False,
                )
            except GoogleAuthError as error:  # before anything is sent, or after an answer 401: nothing was created
                raise errors.AuthFailed(auth.words_for(error), method=call.method, url=call.url) from error
            except (requests.RequestException, urllib3.exceptions.HTTPError, OSError) as error:
                raise answers.no_answer(call, error) from error
        return response

    def _session(self, url: str) -> AuthorizedSession:
        """Return this thread's session.

        After a fork it is a new one, because two processes must not share a connection.
        """
        key = f"{os.getpid()} {auth.is_plain(url)}"
        sessions: dict[str, AuthorizedSession] = self._per_thread.__dict__
        if key not in sessions:
            sessions[key] = auth.session(self._credentials.for_url(url), direct=auth.is_loopback(url))
        return sessions[key]


def pages_of(call: answers.Call, items_key: str, ask: Callable[[str], dict[str, Any]]) -> Iterator[list[Any]]:
    """Yield the items of each page until one has no token for the next. A page without items is valid."""
    token = ""
    for _ in range(MAX_PAGES):
        try:
            items, following = wire.page(items_key, ask(token))
        except ValueError as error:
            raise answers.unusable(call, str(error)) from None
        yield items
        if not following:
            return
        if following == token:
            raise answers.unusable(call, "the next page is the same page again")
        token = following
    raise answers.unusable(call, f"the list has more than {MAX_PAGES} pages")


def _json(body: Mapping[str, Any], call: answers.Call) -> bytes:
    try:
        return json.dumps(body, allow_nan=False).encode()
    except (ValueError, TypeError, RecursionError) as error:
        words = f"The request cannot be written as JSON: {error}"
        raise errors.Refused(words, method=call.method, url=call.url) from None
