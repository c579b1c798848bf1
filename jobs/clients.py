"""The client that this process uses: endpoint and instance come from Django's settings."""

from datetime import timedelta
from functools import lru_cache

from django.conf import settings

from jobs.models import Team
from jobs.vertex import BillingClient, PlatformClient, Timeout, VertexClient
from jobs.vertex.auth import is_plain
from jobs.vertex.billing import DEFAULT_ENDPOINT as BILLING_ENDPOINT

JOB_LABEL = "trainboard_job"
INSTANCE_LABEL = "trainboard_instance"
MAX_CALL = timedelta(seconds=30)
"""The time limit of one call with all of its pages: connecting, sending and reading."""
MAX_CLIENTS = 128
"""Clients that are kept, one for each service account; one that was let go asks for a new token."""


def client(acts_as: str = "") -> VertexClient:
    """Return the client for the configured endpoints that calls as a service account; empty: as Trainboard itself.

    There is one for each account, with its tokens; its sessions are kept per thread.
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
    """Return the service account for calls about a whole project: that of its teams if they name one, else "".

    Its teams are those whose default project it is, or where there are none, those that may use it.
    """
    named = Team.objects.owning(project, "acts_as")
    return named.pop() if len(named) == 1 else ""


@lru_cache(maxsize=MAX_CLIENTS)
def _client(**addresses: str) -> VertexClient:
    timeout = Timeout(connect=5, read=20, total=MAX_CALL.total_seconds())
    return VertexClient(timeout=timeout, **addresses)


def platform_client(acts_as: str = "") -> PlatformClient:
    """Return a client of the APIs for permissions, services and quotas; its calls are short.

    `acts_as` is the service account that they are made as; empty: Trainboard itself.
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
    """Return a client of the Cloud Billing Catalog, or None where this site calls nobody outside.

    That is where Vertex AI is called over plain HTTP, which only an emulator answers, and no endpoint is set.
    """
    endpoint = settings.BILLING_ENDPOINT or ("" if is_plain(settings.VERTEX_ENDPOINT) else BILLING_ENDPOINT)
    timeout = Timeout(connect=5, read=20, total=25)  # of each page: less than a claim lasts
    return BillingClient(endpoint=endpoint, timeout=timeout) if endpoint else None
