"""The errors of a call to Vertex AI, by what the caller can do about them.

VertexError            any of the following; `str()` of it is a sentence for people
├── Refused            Vertex AI understood the request and refused it (400, other 4xx); repeating is useless
├── NotFound           Vertex AI does not know the resource (404)
├── PermissionDenied   the account lacks a permission, or the API is off (403)
├── AuthFailed         no valid credentials, or Google did not accept them (401 and google-auth's own failures)
├── QuotaExceeded      training quota is exceeded (429 that names quota metrics); waiting may help
├── RateLimited        too many calls (429); wait `retry_after`
└── Unavailable        no usable answer: 5xx, 409 ABORTED, a web page, cut JSON, a timeout, no connection
"""

from datetime import timedelta


class VertexError(Exception):
    """A failed call.

    `method` and `url` (without its query) are those of the call. `status` is the HTTP status, or None if no answer
    came. `reason` is Google's code (`FAILED_PRECONDITION`) or "". `retry_after` is how long the server asked to wait,
    or None.
    """

    def __init__(
        self,
        words: str,
        *,
        method: str = "",
        url: str = "",
        status: int | None = None,
        reason: str = "",
        retry_after: timedelta | None = None,
    ) -> None:
        super().__init__(words)
        self.words = words
        self.method = method
        self.url = url
        self.status = status
        self.reason = reason
        self.retry_after = retry_after

    @property
    def request(self) -> str:
        """The call in one line, for logs: `POST https://.../customJobs`."""
        return f"{self.method} {self.url}".strip()


class Refused(VertexError):
    """Vertex AI refused the request.

    `violations` is ((field, message), ...). A field is a JSON path in the REST body, such as
    `jobSpec.workerPoolSpecs[0].machineSpec.acceleratorType`. It is empty if the refusal names no field.
    """

    violations: tuple[tuple[str, str], ...] = ()


class NotFound(VertexError):
    """The resource does not exist, or not in this region."""


class PermissionDenied(VertexError):
    """The calling account lacks a permission, or the API is off."""


class AuthFailed(VertexError):
    """There are no credentials, or Google did not accept them. Nothing was done."""


class QuotaExceeded(VertexError):
    """The project's training quota is exceeded. `metrics` are the quota metrics as in the Google Cloud console."""

    metrics: tuple[str, ...] = ()


class RateLimited(VertexError):
    """More calls than the project may make in a minute."""


class Unavailable(VertexError):
    """No usable answer came. `may_have_happened` is False only if the request certainly never reached Vertex AI."""

    may_have_happened: bool = True
