"""OpenTelemetry traces: a request, the tasks that it causes, and their calls to Google are one trace.

Nothing is traced unless OTEL_EXPORTER_OTLP_ENDPOINT is set, and only then are the libraries of the extra `otel` needed.
They read other variables of OpenTelemetry themselves, such as OTEL_TRACES_SAMPLER and OTEL_EXPORTER_OTLP_HEADERS.
"""

import re
from typing import Any

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

UNTRACED = "healthz,readyz,/metrics,/static/,/accounts/,/invitations/"
"""Pages whose requests are not traced: probes, and pages whose URL contains a secret, such as an invitation."""
GOOGLE = r"https://[^/]*googleapis\.com/"


def start() -> None:
    """Trace this process if the settings name an endpoint. Raise ImproperlyConfigured without the libraries."""
    if not settings.TRACES_ENDPOINT:
        return
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # noqa: PLC0415
        from opentelemetry.sdk.resources import SERVICE_NAME, Resource  # noqa: PLC0415
        from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415
        from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415
    except ImportError as missing:
        words = f"OTEL_EXPORTER_OTLP_ENDPOINT is set, and {missing.name} is not installed: see requirements/otel.txt."
        raise ImproperlyConfigured(words) from None
    provider = TracerProvider(resource=Resource.create({SERVICE_NAME: settings.TRACES_SERVICE}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    for each, options in instrumentors():
        each.instrument(tracer_provider=provider, **options)


def instrumentors() -> list[tuple[Any, dict[str, Any]]]:
    """Return the instrumentors of requests, tasks and calls with their options. Call it before middleware is loaded.

    Only calls to Google are traced, because the addresses of messages, such as Slack's, are secrets.
    """
    from opentelemetry.instrumentation.celery import CeleryInstrumentor  # noqa: PLC0415
    from opentelemetry.instrumentation.django import DjangoInstrumentor  # noqa: PLC0415
    from opentelemetry.instrumentation.requests import RequestsInstrumentor  # noqa: PLC0415

    own = (settings.VERTEX_ENDPOINT, settings.LOGGING_ENDPOINT, settings.STORAGE_ENDPOINT, settings.MONITORING_ENDPOINT)
    traced = "|".join([GOOGLE, *(re.escape(address) for address in own if address)])
    return [
        (DjangoInstrumentor(), {"excluded_urls": UNTRACED}),
        (CeleryInstrumentor(), {}),
        (RequestsInstrumentor(), {"excluded_urls": f"^(?!{traced})"}),
    ]
