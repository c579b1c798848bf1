"""A client for the API of a Trainboard site. Each method returns the JSON that the API documentation describes.

    client = Client("https://trainboard.example.org", token)
    job = client.submit({"text": Path("job.yaml").read_text(), "expected_seconds": 7200}, key="nightly-2026-11-23")
    for page in client.follow_events(job["job"]["id"]):
        ...

`requests` reads proxies and certificates from the environment: HTTPS_PROXY, NO_PROXY, REQUESTS_CA_BUNDLE.
"""

import random
import time
from collections.abc import Callable, Iterator, Sequence
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

import requests
from requests.auth import AuthBase

from trainboard_cli.errors import NotReached, Refused, TrainboardError

Json = dict[str, Any]
MAX_TRIES = 6
FIRST_PAUSE_SECONDS, MAX_PAUSE_SECONDS = 0.5, 20.0
PASSING = frozenset({429, 502, 503, 504})
"""Statuses after which a repeated request may succeed."""
CONNECT_SECONDS, READ_SECONDS = 10, 60
WAIT_SECONDS = 20
"""Maximum time for which the site may hold a request that waits for events."""


class BearerAuth(AuthBase):
    """Adds the token to requests. It is passed as `auth` so that a netrc file does not replace it."""

    def __init__(self, token: str) -> None:
        self.token = token

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        """Add the header."""
        request.headers["Authorization"] = f"Bearer {self.token}"
        return request


class Client:
    """A client for one site with one token.

    `sleep` waits between tries; `report` receives the reason for each retry.
    """

    def __init__(
        self,
        url: str,
        token: str,
        *,
        sleep: Callable[[float], None] = time.sleep,
        report: Callable[[str], None] = lambda _words: None,
    ) -> None:
        self.url, self.sleep, self.report = check_address(url), sleep, report
        self.session = requests.Session()
        self.session.auth = BearerAuth(token)
        self.session.headers.update({"Accept": "application/json", "User-Agent": "trainboard-cli/0.1.0"})

    def get(self, path: str, **parameters: Any) -> Any:
        """Return the JSON at a path below /api/v1. Raise NotReached or Refused."""
        return self._call("GET", path, {"params": parameters}, is_repeatable=True)

    def post(self, path: str, body: Json, *, key: str = "") -> Any:
        """Send JSON and return the answer.

        With an idempotency key the request is repeated if no answer came. Without one it is repeated only if nothing
        was sent.
        """
        headers = {"Idempotency-Key": key} if key else {}
        return self._call("POST", path, {"json": body, "headers": headers}, is_repeatable=bool(key))

    def me(self) -> Json:
        """Return the owner of the token."""
        return self._object(self.get("/me"))

    def submit(self, request: Json, *, key: str) -> Json:
        """Request a job once per key and return {job, is_repeated, findings}. Raise Refused with findings."""
        return self._object(self.post("/jobs", request, key=key))

    def assess(self, request: Json) -> Json:
        """Return the cost of a job under each strategy and its findings. Nothing is stored."""
        return self._object(self.post("/assessments", request))

    def job(self, job: str) -> Json:
        """Return the details of a job."""
        return self._object(self.get(f"/jobs/{job}"))

    def act(self, job: str, verb: str, body: Json | None = None) -> Json:
        """Cancel, approve or reject a job, or declare it fine, and return its new state."""
        return self._object(self.post(f"/jobs/{job}/{verb}", body or {}))

    def jobs(self, *, most: int, **filters: Any) -> Iterator[Json]:
        """Yield at most `most` jobs, newest first."""
        cursor = ""
        while most > 0 and cursor is not None:
            page = self.get("/jobs", limit=min(most, 200), cursor=cursor, **filters)
            yield from page["items"][:most]
            most, cursor = most - len(page["items"]), page["next_cursor"]

    def follow_events(self, job: str, *, after: int = 0) -> Iterator[Json]:
        """Yield pages of events until the job has ended and all its events were returned.

        Empty pages are yielded too, so that the caller can see that the connection works.
        """
        while True:
            page = self.get(f"/jobs/{job}/events", after=after, wait=WAIT_SECONDS, limit=500)
            yield page
            if page["is_finished"] and not page["items"]:
                return
            if not page["items"]:
                self.sleep(page["poll_after_seconds"])
            after = page["next_after"]

    def follow_log(self, job: str, *, follow: bool, **filters: Any) -> Iterator[Json]:
        """Yield lines of the log. With `follow`, continue until the log is complete."""
        after = 0
        while True:
            page = self.get(f"/jobs/{job}/logs", after=after, limit=500, **filters)
            yield from page["items"]
            after = page["next_after"]
            if page["is_complete"] or not (page["has_more"] or follow):
                return
            self.sleep(page["poll_after_seconds"])

    def schedules(self, teams: Sequence[str] = ()) -> list[Json]:
        """Return the schedules of the person's teams, or of some of them. Raise Refused for an unknown team."""
        return list(self.get("/schedules", team=list(teams)))

    def schedule(self, schedule: str) -> Json:
        """Return a schedule with its most recent runs."""
        return self._object(self.get(f"/schedules/{schedule}"))

    def create_schedule(self, request: Json, *, key: str) -> Json:
        """Create a schedule once per key and return it. Raise Refused if it cannot be stored."""
        return self._object(self.post("/schedules", request, key=key))

    def change_schedule(self, schedule: str, changes: Json) -> Json:
        """Change the name or the times of a schedule and return it. Raise Refused if the change is not possible."""
        return self._object(self._call("PATCH", f"/schedules/{schedule}", {"json": changes}, is_repeatable=True))

    def act_on_schedule(self, schedule: str, verb: str) -> Json:
        """Pause or resume a schedule and return it."""
        return self._object(self.post(f"/schedules/{schedule}/{verb}", {}))

    def run_schedule(self, schedule: str, *, key: str) -> Json:
        """Request the job of a schedule now, once per key. Return {job, is_repeated, findings}."""
        return self._object(self.post(f"/schedules/{schedule}/run", {}, key=key))

    def delete_schedule(self, schedule: str) -> None:
        """Delete a schedule. Its jobs are kept."""
        self._call("DELETE", f"/schedules/{schedule}", {}, is_repeatable=False)

    def _call(self, method: str, path: str, how: Json, *, is_repeatable: bool) -> Any:
        """Send a request. Retry after connection errors and the statuses in PASSING, with growing pauses."""
        address = f"{self.url}/api/v1{path}"
        for number in range(1, MAX_TRIES + 1):
            pause = min(FIRST_PAUSE_SECONDS * 2 ** (number - 1), MAX_PAUSE_SECONDS) * random.uniform(0.75, 1.25)  # noqa: S311
            try:
                response = self.session.request(
                    method, address, timeout=(CONNECT_SECONDS, READ_SECONDS), allow_redirects=False, **how
                )
            except requests.exceptions.SSLError as problem:
                raise NotReached(f"Cannot verify the certificate of {self.url}: {problem}.") from None
            except (requests.ConnectionError, requests.Timeout) as problem:
                may_repeat = is_repeatable or isinstance(problem, requests.ConnectTimeout)
                if number == MAX_TRIES or not may_repeat:
                    raise NotReached(f"{self.url} did not respond ({type(problem).__name__}).") from None
                self.report(f"{self.url} did not respond. Retrying.")
            except requests.RequestException as problem:
                raise NotReached(f"Cannot send a request to {self.url}: {problem}.") from None
            else:
                if response.status_code not in PASSING or number == MAX_TRIES:
                    return _content(response, self.url)
                if response.status_code != 429 and not is_repeatable:
                    return _content(response, self.url)
                pause = max(pause, _retry_after(response))
                self.report(f"{self.url} returned {response.status_code}. Retrying in {pause:.0f} s.")
            self.sleep(pause)
        raise AssertionError("the last try returns or raises")

    @staticmethod
    def _object(found: Any) -> Json:
        if not isinstance(found, dict):
            raise NotReached("This version of trainboard does not understand the response of the site.")
        return found


def check_address(url: str) -> str:
    """Return the address of a site without a trailing slash. Raise TrainboardError if it would expose the token."""
    parts = urlsplit(url.strip())
    if parts.scheme not in {"http", "https"} or not parts.netloc:
        raise TrainboardError(f"{url!r} is not the address of a site. Use one such as https://trainboard.example.org.")
    if parts.scheme == "http" and not _is_loopback(parts.hostname or ""):
        raise TrainboardError(f"{url} is not encrypted, so others on the network could read the token. Use https.")
    return f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}"


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def _content(response: requests.Response, url: str) -> Any:
    """Return the JSON of a successful response. Raise Refused or NotReached for any other."""
    status = response.status_code
    if 300 <= status < 400:
        raise NotReached(f"{url} redirects to {response.headers.get('Location')}. Use that address instead.")
    if status == 204:
        return None
    try:
        found = response.json()
    except ValueError:
        raise NotReached(f"{url} returned {status} and is not a Trainboard site. Check the address.") from None
    if status >= 500:
        raise NotReached(f"{url} failed ({status}): {found.get('detail', '') if isinstance(found, dict) else ''}")
    if status >= 400:
        raise Refused(status, found if isinstance(found, dict) else {})
    return found


def _retry_after(response: requests.Response) -> float:
    text = response.headers.get("Retry-After", "")
    return min(float(text), 120.0) if text.isascii() and text.isdecimal() else 0.0
