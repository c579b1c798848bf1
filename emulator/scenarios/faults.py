"""Faults on demand: which requests fail, and how.

A fault has a kind. Optional are a method (`customJobs.create`, `customJobs.*`, default all), a number of times, a
number of calls to let pass first, and a probability with a seed. Kinds: an HTTP status (those in STATUSES), `html` (503
with a proxy's page), `truncated` (200 with half the JSON), `slow`, `reset` (the connection breaks before anything is
done), `lost` (the request is carried out, then the connection breaks, so the response is lost), `stale` (a list omits
resources created in the last `seconds`, as an inconsistent list does; other methods are not affected).
"""

import fnmatch
import random
from dataclasses import asdict, dataclass, field
from typing import Any

from emulator.protocol.errors import ApiError, invalid

STATUSES = {"400", "403", "404", "409", "429", "500", "503", "504"}
KINDS = STATUSES | {"html", "truncated", "slow", "reset", "lost", "stale"}
KINDS_WITH_WHOLE_ANSWERS = {"", "stale"}
MESSAGES = {
    400: "Request contains an invalid argument.",
    403: "Permission denied on resource '//aiplatform.googleapis.com' (or it may not exist).",
    404: "Requested entity was not found.",
    409: "The operation was aborted.",
    429: "Quota exceeded for aiplatform.googleapis.com: requests per minute.",
    500: "Internal error encountered.",
    503: "The service is currently unavailable.",
    504: "Deadline exceeded.",
}
PAGE = b"<!DOCTYPE html><html><head><title>Error 503</title></head><body><h1>Service Unavailable</h1></body></html>"


@dataclass(kw_only=True)
class Fault:
    """One fault.

    `times` is how often it occurs, None for always; `struck` how often it has; `retry_after` is for 429 and 503.
    """

    kind: str
    method: str = "*"
    times: int | None = None
    after: int = 0
    probability: float = 1.0
    seed: int = 0
    seconds: float = 2.0
    retry_after: int | None = None
    message: str = ""
    struck: int = 0
    generator: random.Random = field(default_factory=random.Random, repr=False)

    def happens(self, method: str) -> bool:
        """Return whether a call fails, and count it."""
        if not fnmatch.fnmatchcase(method, self.method) or (self.times is not None and self.struck >= self.times):
            return False
        if self.after > 0:
            self.after -= 1
            return False
        if self.probability < 1 and self.generator.random() >= self.probability:
            return False
        self.struck += 1
        return True

    def error(self) -> ApiError:
        """Return the error for a kind that is an HTTP status."""
        status = int(self.kind)
        details = []
        if self.retry_after is not None:
            delay = f"{self.retry_after}s"
            details.append({"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": delay})
        name = "ABORTED" if status == 409 else ""
        return ApiError(status, self.message or MESSAGES[status], status=name, details=details)

    def as_dict(self) -> dict[str, Any]:
        """Return the fault as JSON."""
        return {name: value for name, value in asdict(self).items() if name != "generator"}


NO_FAULT = Fault(kind="")


class Faults:
    """All faults, in order. The first that occurs is used."""

    def __init__(self) -> None:
        self.planned: list[Fault] = []

    def add(self, body: dict[str, Any]) -> Fault:
        """Add a fault from JSON. Raise ApiError 400 if it is invalid."""
        known = {"kind", "method", "times", "after", "probability", "seed", "seconds", "retry_after", "message"}
        unknown = set(body) - known
        kind = str(body.get("kind", ""))
        if unknown or kind not in KINDS:
            raise invalid(f"A fault needs a kind of {sorted(KINDS)} and may have {sorted(known)}; got {body}.")
        fault = Fault(**{**body, "kind": kind}, generator=random.Random(body.get("seed", 0)))  # noqa: S311
        self.planned.append(fault)
        return fault

    def find(self, method: str) -> Fault | None:
        """Return the fault of a call, None if there is none."""
        return next((fault for fault in self.planned if fault.happens(method)), None)
