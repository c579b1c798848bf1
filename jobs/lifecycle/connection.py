"""The client that this process uses: endpoint and instance come from Django's settings."""

from datetime import timedelta
from functools import lru_cache

from django.conf import settings

from jobs.vertex import Timeout, VertexClient

JOB_LABEL = "trainboard_job"
INSTANCE_LABEL = "trainboard_instance"
MAX_CALL = timedelta(seconds=30)
"""The time limit of one call with all of its pages: connecting, sending and reading."""


def client() -> VertexClient:
    """Return the client for the configured endpoint; its sessions are kept per thread."""
    return _client(settings.VERTEX_ENDPOINT, settings.LOGGING_ENDPOINT, settings.VERTEX_TOKEN_FILE)


@lru_cache(maxsize=4)
def _client(endpoint: str, logging_endpoint: str, token_file: str) -> VertexClient:
    timeout = Timeout(connect=5, read=20, total=MAX_CALL.total_seconds())
    return VertexClient(endpoint=endpoint, logging_endpoint=logging_endpoint, token_file=token_file, timeout=timeout)
