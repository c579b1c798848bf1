"""Convert an HTTP answer, or its absence, to a JSON object or to the matching error of `jobs.vertex.errors`. Pure.

Google's error envelope is {"error": {"code": HTTP number, "message", "status", "details": [...]}}, sometimes in a
one-element list. Sources: google.rpc error_details (googleapis-common-protos 1.76.0) and the messages collected in
python-aiplatform, prefect-gcp and vertex-ai-samples issues, read 2026-11-21.
"""

import re
import ssl
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from email.utils import parsedate_to_datetime
from typing import Any

import requests
import urllib3.exceptions

from jobs.spec.paths import json_path
from jobs.vertex import deadline, errors, wire

MAX_WAIT = timedelta(minutes=10)
"""A longer Retry-After is reduced to this. A row that is planned later was planned while the database's clock was ahead
(`jobs.upkeep.repair`), so no pause may be longer."""
MAX_MESSAGE = 8_000
"""Characters of a message that are read. The patterns below are fast on any text of that length."""

ABORTED = "ABORTED"
"""Google's code for a call that conflicted with another one. The call may be repeated (vertex-facts 11.3)."""

_QUOTA = re.compile(r"quota metrics? exceed(?:ed)? quota limits?:\s{0,9}(?P<metrics>.+)", re.IGNORECASE | re.DOTALL)
_METRIC = re.compile(r"[a-z0-9-]{1,63}\.googleapis\.com/\w+")
_FOUND_ERRORS = re.compile(r"List of found errors:", re.IGNORECASE)
_NEXT_FOUND = re.compile(r"(?<!\d)\d{1,4}\.Field:", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Call:
    """One call, for its error messages. `url` is without the query. `service` is the name of the called service."""

    method: str
    url: str
    service: str


@dataclass(frozen=True, slots=True)
class Envelope:
    """The error in an answer, as Google describes it."""

    message: str
    reason: str
    details: tuple[Mapping[str, Any], ...]


def read(call: Call, status: int, headers: Mapping[str, str], content: bytes) -> dict[str, Any]:
    """Return the JSON object of a successful answer, {} for 204. Raise a VertexError for any other."""
    if status == 204:
        return {}
    try:
        value = wire.decode(content)
    except ValueError:
        raise _nonsense(call, status, headers, content) from None
    if 200 <= status < 300 and isinstance(value, dict):
        return value
    envelope = _envelope(value)
    if envelope is None:
        raise _nonsense(call, status, headers, content)
    raise _refusal(call, status, headers, envelope)


def no_answer(call: Call, error: Exception) -> errors.Unavailable:
    """Return the error for a call that got no answer because of `error`."""
    reached = _was_reached(error)
    if not reached:
        words = f"{call.service} could not be reached: {_plain_cause(error)}."
    elif any(isinstance(cause, TimeoutError | requests.Timeout) for cause in _causes(error)):
        words = f"{call.service} did not answer in time."
    else:
        words = f"The connection to {call.service} broke before its answer was complete."
    found = errors.Unavailable(words, method=call.method, url=call.url)
    found.may_have_happened = reached
    return found


def unusable(call: Call, why: str) -> errors.Unavailable:
    """Return the error for an answer that reports success but cannot be used, for the reason `why`."""
    words = f"{call.service} returned an answer that Trainboard cannot use: {why}."
    return errors.Unavailable(words, method=call.method, url=call.url, status=200)


# ---------------------------------------------------------------- error answers
def _refusal(call: Call, status: int, headers: Mapping[str, str], envelope: Envelope) -> errors.VertexError:
    kind = _class_of(status, envelope)
    words = " ".join(envelope.message.split()) or f"{call.service} answered {status} without a reason."
    if kind is errors.Unavailable and envelope.reason == ABORTED:
        words = f"{call.service} aborted the call because it conflicted with another one ({status}): {words}"
    elif kind is errors.Unavailable:
        words = f"{call.service} is currently unavailable ({status}): {words}"
    elif kind is errors.AuthFailed:
        words = f"Google did not accept our credentials: {words}"
    wait = _retry_after(headers, envelope)
    found = kind(words, method=call.method, url=call.url, status=status, reason=envelope.reason, retry_after=wait)
    if isinstance(found, errors.QuotaExceeded):
        found.metrics = quota_metrics(envelope.message)
    elif isinstance(found, errors.Refused):
        found.violations = _violations(envelope)
    return found


def _class_of(status: int, envelope: Envelope) -> type[errors.VertexError]:
    limited = envelope.reason == "RESOURCE_EXHAUSTED" or any(
        detail.get("reason") == "RATE_LIMIT_EXCEEDED" for detail in envelope.details
    )
    # A create is answered 429 both for the API's rate and for the project's training quota (vertex-facts 11.3).
    if status == 429 or (limited and 400 <= status < 500):
        return errors.QuotaExceeded if _QUOTA.search(envelope.message) else errors.RateLimited
    known = {401: errors.AuthFailed, 403: errors.PermissionDenied, 404: errors.NotFound}
    if status in known:
        return known[status]
    if envelope.reason == ABORTED:
        return errors.Unavailable
    if 400 <= status < 500 and status not in {408, 499}:  # with these two a server gives up on a call
        return errors.Refused
    return errors.Unavailable


def quota_metrics(message: str) -> tuple[str, ...]:
    """Return the quota metrics that a message about exceeded training quota names, in its order."""
    found = _QUOTA.search(message[:MAX_MESSAGE])
    return tuple(dict.fromkeys(_METRIC.findall(found["metrics"]))) if found else ()


def _violations(envelope: Envelope) -> tuple[tuple[str, str], ...]:
    listed = _FOUND_ERRORS.split(envelope.message, maxsplit=1)
    items = _NEXT_FOUND.split(listed[1])[1:] if len(listed) > 1 else []
    found = [
        (field, text.strip().removeprefix("Message:")) for field, _, text in (item.partition(";") for item in items)
    ]
    for detail in envelope.details:
        violations = detail.get("fieldViolations")
        for each in violations if isinstance(violations, list) else ():
            violation = wire.mapping(each)
            found.append((str(violation.get("field", "")), str(violation.get("description", ""))))
    return tuple(dict.fromkeys((json_path(field), text.strip()) for field, text in found))


def _retry_after(headers: Mapping[str, str], envelope: Envelope | None) -> timedelta | None:
    """Return how long the server asks to wait: its header (seconds or a date) or RetryInfo, whichever is longer.

    A date is compared with the answer's own Date header, so that a wrong clock on either side does not matter.
    """
    waits = [_seconds(headers.get("Retry-After", ""))]
    try:
        until = parsedate_to_datetime(headers.get("Retry-After", ""))
        waits.append(until - parsedate_to_datetime(headers.get("Date", "")))
    except (ValueError, TypeError, OverflowError):
        pass  # not a date, or no Date header to compare it with
    details = envelope.details if envelope else ()
    waits += [_seconds(str(detail.get("retryDelay", "")).removesuffix("s")) for detail in details]
    asked = [wait for wait in waits if wait is not None]
    return min(max(*asked, timedelta(0)), MAX_WAIT) if asked else None


def _seconds(text: str) -> timedelta | None:
    number = text.strip()
    if not re.fullmatch(r"[0-9]{1,18}(\.[0-9]{1,9})?", number):
        return None
    return timedelta(seconds=min(float(number), MAX_WAIT.total_seconds()))


def _envelope(value: object) -> Envelope | None:
    """Return Google's error envelope, or None if the value is something else."""
    if isinstance(value, list) and value:
        value = value[0]
    error = wire.mapping(value).get("error")
    if isinstance(error, str):  # as in answers of OAuth endpoints
        return Envelope(f"{error} {wire.mapping(value).get('error_description', '')}".strip()[:MAX_MESSAGE], "", ())
    if not isinstance(error, dict):
        return None
    details = error.get("details")
    message, reason = error.get("message"), error.get("status")
    return Envelope(
        message=message[:MAX_MESSAGE].strip() if isinstance(message, str) else "",
        reason=reason if isinstance(reason, str) else "",
        details=tuple(item for item in details if isinstance(item, dict)) if isinstance(details, list) else (),
    )


# ---------------------------------------------------------------- answers that are not the API's
def _nonsense(call: Call, status: int, headers: Mapping[str, str], content: bytes) -> errors.VertexError:
    """Return the error for an answer that does not come from the API, for example from a proxy or a sign-in portal."""
    start = content[:200].lstrip().lower()
    what = "a web page" if start.startswith((b"<!doctype", b"<html")) else "something that is not JSON"
    if 300 <= status < 400:
        what = "a redirect"
    elif not content.strip():
        what = "nothing"
    where = "" if status < 300 else " If this continues, check the address and any proxy in between."
    kind = errors.AuthFailed if status == 401 else errors.Unavailable
    return kind(
        f"{call.service} answered {status} with {what} instead of an answer from the API.{where}",
        method=call.method,
        url=call.url,
        status=status,
        retry_after=_retry_after(headers, None),
    )


def _was_reached(error: Exception) -> bool:
    """Return whether the request may have left this machine. If in doubt, return True."""
    return not any(
        isinstance(
            cause,
            requests.ConnectTimeout
            | requests.exceptions.ProxyError
            | requests.exceptions.InvalidURL
            | urllib3.exceptions.NewConnectionError
            | urllib3.exceptions.ConnectTimeoutError
            | ssl.SSLCertVerificationError
            | deadline.TooLate,
        )
        for cause in _causes(error)
    )


def _plain_cause(error: Exception) -> str:
    for cause in _causes(error):
        if isinstance(cause, ssl.SSLCertVerificationError):
            return f"its certificate is not trusted ({cause.verify_message})"
        if isinstance(cause, urllib3.exceptions.NameResolutionError):
            return "its host name could not be resolved"
        if isinstance(cause, ConnectionRefusedError):
            return "it refused the connection"
        if isinstance(cause, TimeoutError | requests.ConnectTimeout):
            return "the connection timed out"
    return "no connection"


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yield `error` and the exceptions that it wraps, in the ways that requests and urllib3 wrap them."""
    seen: list[BaseException] = []
    waiting: list[object] = [error]
    while waiting:
        each = waiting.pop(0)
        if isinstance(each, BaseException) and each not in seen:
            seen.append(each)
            yield each
            waiting += [each.__cause__, each.__context__, getattr(each, "reason", None), *each.args]
