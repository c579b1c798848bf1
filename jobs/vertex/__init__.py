"""The client of Vertex AI's training jobs and their logs, over google-auth's AuthorizedSession. No hidden retries."""

from jobs.vertex.billing import BillingClient
from jobs.vertex.caller import Exchange
from jobs.vertex.client import Timeout, VertexClient
from jobs.vertex.deadline import at_most
from jobs.vertex.errors import (
    AuthFailed,
    NotFound,
    PermissionDenied,
    QuotaExceeded,
    RateLimited,
    Refused,
    Unavailable,
    VertexError,
)
from jobs.vertex.logs import LogEntry
from jobs.vertex.platform import PlatformClient
from jobs.vertex.resources import RemoteResource
from jobs.vertex.wire import RemoteJob, quoted, remote_job, timestamp

__all__ = [
    "AuthFailed",
    "BillingClient",
    "Exchange",
    "LogEntry",
    "NotFound",
    "PermissionDenied",
    "PlatformClient",
    "QuotaExceeded",
    "RateLimited",
    "Refused",
    "RemoteJob",
    "RemoteResource",
    "Timeout",
    "Unavailable",
    "VertexClient",
    "VertexError",
    "at_most",
    "quoted",
    "remote_job",
    "timestamp",
]
