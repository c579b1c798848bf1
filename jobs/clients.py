"""Clients of Google's APIs, configured from Django's settings."""

from collections.abc import Callable
from datetime import timedelta
from functools import lru_cache
from typing import Any

from django.conf import settings

from jobs.models import Team
from jobs.vertex import BillingClient, Exchange, PlatformClient, Timeout, VertexClient
from jobs.vertex.auth import is_plain
from jobs.vertex.billing import DEFAULT_ENDPOINT as BILLING_ENDPOINT

JOB_LABEL = "trainboard_job"
INSTANCE_LABEL = "trainboard_instance"
MAX_CALL = timedelta(seconds=30)
"""Time limit of one call with all its pages: connecting, sending and reading."""
MAX_CLIENTS = 128
"""Clients kept, one per service account. A client that was discarded has to get a new token."""


def client(acts_as: str = "") -> VertexClient:
    """Return the client that calls as a service account; "" means as Trainboard itself.

    There is one client per account, with its tokens. Its sessions are per thread.
    """
    return _client(
        acts_as=acts_as,
        iam_endpoint=settings.IAM_ENDPOINT,
        endpoint=settings.VERTEX_ENDPOINT,
        logging_endpoint=settings.LOGGING_ENDPOINT,
        storage_endpoint=settings.STORAGE_ENDPOINT,
        monitoring_endpoint=settings.MONITORING_ENDPOINT,
        token_file=settings.VERTEX_TOKEN_FILE,
    )


def account_of(project: str) -> str:
    """Return the service account for calls about a whole project: the first that its teams name, else "".

    Trainboard's own account is never used for a team that has one: it may reach the projects of others. The teams of a
    project are those that have it as default project, or if there are none, those that may use it.
    """
    named = Team.objects.owning(project, "acts_as")
    return min(filter(None, named), default="")


@lru_cache(maxsize=MAX_CLIENTS)
def _client(**addresses: Any) -> VertexClient:
    timeout = Timeout(connect=5, read=20, total=MAX_CALL.total_seconds())
    return VertexClient(timeout=timeout, **addresses)


def recorded_clients(on_exchange: Callable[[Exchange], object]) -> tuple[VertexClient, PlatformClient]:
    """Return clients that call as Trainboard itself and pass every answer to `on_exchange` as it arrived."""
    options: dict[str, Any] = {
        "on_exchange": on_exchange,
        "timeout": Timeout(connect=5, read=20, total=MAX_CALL.total_seconds()),
        "iam_endpoint": settings.IAM_ENDPOINT,
        "endpoint": settings.VERTEX_ENDPOINT,
        "logging_endpoint": settings.LOGGING_ENDPOINT,
        "storage_endpoint": settings.STORAGE_ENDPOINT,
        "monitoring_endpoint": settings.MONITORING_ENDPOINT,
        "token_file": settings.VERTEX_TOKEN_FILE,
    }
    return VertexClient(**options), PlatformClient(**options)


def platform_client(acts_as: str = "") -> PlatformClient:
    """Return a client of the APIs for permissions, services and quotas, with short timeouts.

    `acts_as` is the service account that calls; "" means Trainboard itself.
    """
    return PlatformClient(
        acts_as=acts_as,
        iam_endpoint=settings.IAM_ENDPOINT,
        endpoint=settings.VERTEX_ENDPOINT,
        storage_endpoint=settings.STORAGE_ENDPOINT,
        monitoring_endpoint=settings.MONITORING_ENDPOINT,
        token_file=settings.VERTEX_TOKEN_FILE,
        timeout=Timeout(connect=3, read=8, total=10),
    )


def billing_client() -> BillingClient | None:
    """Return a client of the Cloud Billing Catalog, or None if this site makes no calls to Google.

    That is the case if Vertex AI is called over plain HTTP, as only an emulator answers, and no billing endpoint is
    set.
    """
    endpoint = settings.BILLING_ENDPOINT or ("" if is_plain(settings.VERTEX_ENDPOINT) else BILLING_ENDPOINT)
    timeout = Timeout(connect=5, read=20, total=25)  # of each page: shorter than a claim lasts
    return BillingClient(endpoint=endpoint, timeout=timeout) if endpoint else None
