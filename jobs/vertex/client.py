"""The calls to Vertex AI and Cloud Logging: each has a time limit, is made once, ends in a value or a VertexError."""

import json
import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import requests
import urllib3.exceptions
from google.auth.exceptions import GoogleAuthError
from google.auth.transport.requests import AuthorizedSession

from jobs.vertex import answers, auth, errors, logs, wire
from jobs.vertex.deadline import at_most, seconds_left

MOST_PAGES = 1_000
"""Of one list; more means that the other end goes round in circles."""

RemoteJobs = list[wire.RemoteJob]
LogEntries = list[logs.LogEntry]
BeforePage = Callable[[], object]


def nothing() -> None:
    """Do nothing before a page."""


@dataclass(frozen=True, slots=True)
class Timeout:
    """Seconds to wait: for a connection, between two pieces of an answer, and for a verb with all of its pages."""

    connect: float = 5
    read: float = 30
    total: float = 120


class VertexClient:
    """Speaks for one deployment of Trainboard to one endpoint; safe to share between threads.

    `endpoint`: empty = Google's regional endpoints; may hold `{location}`. `logging_endpoint`: empty = Cloud Logging,
    or `endpoint` when that is plain HTTP. `credentials`: None = Application Default Credentials, looked up at the
    first call, and none at all over plain HTTP. Raises ValueError for an endpoint that is no address, and for
    credentials that would leave this machine unencrypted. Every verb raises `errors.VertexError`. Verbs that may take
    several calls, one for each page, call `before_page` before each of them; what it raises ends the verb.
    """

    def __init__(
        self,
        *,
        endpoint: str = "",
        logging_endpoint: str = "",
        credentials: Any = None,
        timeout: Timeout = Timeout(),
    ) -> None:
        self._endpoint = auth.checked_endpoint(endpoint or wire.DEFAULT_ENDPOINT, credentials)
        fallback = self._endpoint if auth.is_plain(self._endpoint) else logs.DEFAULT_ENDPOINT
        self._logging_endpoint = auth.checked_endpoint(logging_endpoint or fallback, credentials)
        self._credentials = auth.Wallet(credentials)
        self._timeout = timeout
        self._per_thread = threading.local()

    def create(self, kind: str, *, project: str, region: str, body: Mapping[str, Any]) -> wire.RemoteJob:
        """Create a job from its REST body; it starts at once."""
        call = self._to_collection("POST", kind, project, region)
        return _job(call, kind, self._send(call, body=body))

    def get(self, kind: str, name: str) -> wire.RemoteJob:
        """Return one job by its full name, with everything that Vertex AI tells about it."""
        call = self._to_job("GET", kind, name)
        return _job(call, kind, self._send(call))

    def cancel(self, kind: str, name: str) -> None:
        """Ask for the end of a job. It goes on for a while and may still succeed or fail by itself."""
        self._send(self._to_job("POST", kind, name, ":cancel"), body={})

    def delete(self, kind: str, name: str) -> None:
        """Delete a job that has ended; Vertex AI may finish that later."""
        call = self._to_job("DELETE", kind, name)
        if failed := wire.rpc_status(self._send(call).get("error")):
            words = failed["message"] or "The deletion failed without a reason."
            raise errors.Refused(words, method=call.method, url=call.url, status=200)

    def log(
        self,
        project: str,
        *,
        job_ids: Sequence[str],
        after: datetime | None,
        limit: int,
        newest: bool = False,
        before_page: BeforePage = nothing,
    ) -> LogEntries:
        """Return the oldest (or newest) `limit` lines of these jobs from `after` on (inclusive), in order of time.

        `job_ids` are the numbers at the end of the jobs' names. A line that was read before comes again when its time
        is `after`; (timestamp, insert_id) tells which.
        """
        found: LogEntries = []
        with at_most(self._timeout.total):
            for first in range(0, len(job_ids) if limit > 0 else 0, logs.JOBS_PER_FILTER):
                ids = job_ids[first : first + logs.JOBS_PER_FILTER]
                body = logs.list_body(project, ids, after=after, limit=limit, newest=newest)
                found += self._lines(body, limit, before_page)
        found.sort(key=lambda entry: (entry.timestamp, entry.insert_id))
        return found[-limit:] if newest else found[:limit]

    def service_log(
        self, project: str, *, after: datetime, limit: int, before_page: BeforePage = nothing
    ) -> LogEntries:
        """Return the oldest `limit` lines that Vertex AI itself wrote about any job of a project, from `after` on."""
        body = logs.list_body(project, [], after=after, limit=limit, replica=logs.SERVICE)
        with at_most(self._timeout.total):
            return self._lines(body, limit, before_page)[:limit]

    def list(
        self,
        kind: str,
        *,
        project: str,
        region: str,
        filter: str = "",  # noqa: A002 - Google's word
        fields: Sequence[str] = (),
    ) -> RemoteJobs:
        """Return all jobs of a kind in a region that `filter` lets through, from every page: see `pages`."""
        with at_most(self._timeout.total):
            pages = self.pages(kind, project=project, region=region, filter=filter, fields=fields)
            return [job for page in pages for job in page]

    def pages(
        self,
        kind: str,
        *,
        project: str,
        region: str,
        filter: str = "",  # noqa: A002 - Google's word
        fields: Sequence[str] = (),
        before_page: BeforePage = nothing,
        tries: int = 1,
    ) -> Iterator[RemoteJobs]:
        """Yield the jobs of a kind in a region that `filter` lets through, page by page; each page has its own time.

        `filter` is Google's (`labels.team="a" AND state!="JOB_STATE_FAILED"`); `fields` names what to tell of each job,
        in camelCase, none = everything. The order is Google's own and not documented. A page after the first that
        brings no usable answer is asked for up to `tries` times, or a list of a hundred would hardly ever be complete.
        """
        call = self._to_collection("GET", kind, project, region)

        def ask(token: str) -> dict[str, Any]:
            query = wire.list_query(filter, fields, token)
            for _ in range(tries - 1 if token else 0):
                before_page()
                with suppress(errors.Unavailable):
                    return self._send(call, query=query)
            before_page()
            return self._send(call, query=query)

        for items in _pages(call, wire.KINDS[kind], ask):
            yield [_job(call, kind, item) for item in items]

    def _lines(self, body: dict[str, Any], limit: int, before_page: BeforePage) -> LogEntries:
        call = answers.Call("POST", f"{self._logging_endpoint}/v2/entries:list", "Cloud Logging")
        found: LogEntries = []

        def ask(token: str) -> dict[str, Any]:
            before_page()
            return self._send(call, body=body | ({"pageToken": token} if token else {}))

        for items in _pages(call, "entries", ask):
            found += [entry for entry in map(logs.log_entry, items) if entry is not None]
            if len(found) >= limit:
                break
        return found

    def _to_collection(self, method: str, kind: str, project: str, region: str) -> answers.Call:
        try:
            url = wire.collection_url(self._endpoint, kind, project=project, region=region)
        except ValueError as error:
            raise errors.Refused(str(error), method=method) from None
        return answers.Call(method, url, "Vertex AI")

    def _to_job(self, method: str, kind: str, name: str, verb: str = "") -> answers.Call:
        try:
            return answers.Call(method, wire.job_url(self._endpoint, kind, name) + verb, "Vertex AI")
        except ValueError as error:
            raise errors.Refused(str(error), method=method) from None

    def _send(
        self, call: answers.Call, *, query: dict[str, str] | None = None, body: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """Make the call once and return the JSON object that it brought."""
        with at_most(self._timeout.total):
            try:
                response = self._session(call.url).request(
                    call.method,
                    call.url,
                    params=query,
                    data=None if body is None else _json(body, call),
                    headers={} if body is None else {"Content-Type": "application/json"},
                    timeout=(min(self._timeout.connect, seconds_left()), min(self._timeout.read, seconds_left())),
                    allow_redirects=False,
                )
            except GoogleAuthError as error:
                raise errors.AuthFailed(auth.words_for(error), method=call.method, url=call.url) from error
            except (requests.RequestException, urllib3.exceptions.HTTPError, OSError) as error:
                raise answers.no_answer(call, error) from error
        return answers.read(call, response.status_code, response.headers, response.content)

    def _session(self, url: str) -> AuthorizedSession:
        """Return this thread's session, a new one after a fork: two processes must not share a connection."""
        key = f"{os.getpid()} {auth.is_plain(url)}"
        sessions: dict[str, AuthorizedSession] = self._per_thread.__dict__
        if key not in sessions:
            sessions[key] = auth.session(self._credentials.for_url(url), direct=auth.is_loopback(url))
        return sessions[key]


def _pages(call: answers.Call, items_key: str, ask: Callable[[str], dict[str, Any]]) -> Iterator[list[Any]]:
    """Yield the items of each page until one has no token for the next; a page without items is legal."""
    token = ""
    for _ in range(MOST_PAGES):
        try:
            items, following = wire.page(items_key, ask(token))
        except ValueError as error:
            raise answers.unusable(call, str(error)) from None
        yield items
        if not following:
            return
        if following == token:
            raise answers.unusable(call, "its next page is the same page again")
        token = following
    raise answers.unusable(call, f"more than {MOST_PAGES} pages")


def _job(call: answers.Call, kind: str, value: object) -> wire.RemoteJob:
    try:
        return wire.remote_job(kind, value)
    except ValueError as error:
        raise answers.unusable(call, str(error)) from None


def _json(body: Mapping[str, Any], call: answers.Call) -> bytes:
    try:
        return json.dumps(body, allow_nan=False).encode()
    except (ValueError, TypeError, RecursionError) as error:
        words = f"The request cannot be written as JSON: {error}"
        raise errors.Refused(words, method=call.method, url=call.url) from None
