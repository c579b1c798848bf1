"""Metrics for Prometheus, read from the database, so that every web process returns the same values.

Gauges show the current state. Counters and the histogram are counted by workers and added to the database every few
seconds (`jobs.counts`). This needs no folder shared by processes (as prometheus-client's multiprocess mode does) and no
port for each worker, and no counter resets when a process restarts.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime
from hmac import compare_digest
from ipaddress import ip_address
from statistics import quantiles

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse, HttpResponseForbidden
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    InfoMetricFamily,
    Metric,
)

from dashboard import __version__
from dashboard.access.addresses import client_address
from dashboard.queries.operations import Operations, get_operations
from dashboard.queries.readiness import REDIS_PATIENCE_SECONDS
from jobs.clock import database_now
from jobs.counts import SUBMIT_BUCKETS
from jobs.queue.redis_state import RedisState, check_redis
from jobs.states import JobState

REFUSAL = (
    "Send the header Authorization: Bearer TOKEN with the token in TRAINBOARD_METRICS_TOKEN, "
    "or request it on loopback.\n"
)


@login_not_required
@never_cache
@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    """Return the metrics in the Prometheus text format to clients with the token. Without a token, only to loopback."""
    if not _may_read(request):
        return HttpResponseForbidden(REFUSAL, content_type="text/plain")
    registry = CollectorRegistry()
    registry.register(_Figures(database_now()))
    return HttpResponse(generate_latest(registry), content_type=CONTENT_TYPE_LATEST)


def _may_read(request: HttpRequest) -> bool:
    if token := settings.METRICS_TOKEN:
        given = request.headers.get("Authorization", "")
        return compare_digest(given.encode(), f"Bearer {token}".encode())
    if request.headers.get("X-Forwarded-For") or request.headers.get("Forwarded"):
        return False  # the request came through a local proxy, so the client may be remote
    address = client_address(request)
    return address is not None and ip_address(address).is_loopback


class _Figures:
    """Collector of the metrics of one moment."""

    def __init__(self, now: datetime) -> None:
        self.now = now

    def collect(self) -> Iterator[Metric]:
        """Yield every metric. Labels are known states, "other" and quantiles, never names of people or jobs."""
        figures = get_operations(self.now)
        yield InfoMetricFamily("trainboard_build", "Version of Trainboard.", value={"version": __version__})
        yield _by_state("trainboard_jobs", "Jobs that have not ended.", figures.active)
        yield _by_state("trainboard_jobs_ended_in_hour", "Jobs that ended in the last hour.", figures.ended)
        for name, text, value in _plain(figures):
            yield GaugeMetricFamily(name, text, value=value)
        yield from _of_stages(figures, self.now)
        yield _submissions(figures.submit_seconds)
        yield from _labelled(figures)
        yield _api_calls(figures.counts.get("api_calls", {}))
        yield _submit_histogram(figures.counts)


def _plain(figures: Operations) -> list[tuple[str, str, float]]:
    return [
        ("trainboard_steps_due", "Jobs whose next step is due.", figures.due),
        ("trainboard_step_due_seconds", "Time since the oldest due step became due.", figures.due_seconds),
        (
            "trainboard_observation_age_seconds",
            "Time since the least recently observed job was observed.",
            figures.unseen_seconds,
        ),
        ("trainboard_observe_lag_seconds", "Time since the oldest due poll became due.", figures.observe_lag_seconds),
        ("trainboard_scopes_failing", "Scopes (project, region, kind) whose polls fail.", figures.failing_scopes),
        ("trainboard_approvals_open", "Jobs that await approval.", figures.approvals),
        (
            "trainboard_approval_age_seconds",
            "Time since the oldest open approval was requested.",
            figures.approval_seconds,
        ),
        ("trainboard_messages_waiting", "Deliveries of messages that are due and not sent.", figures.messages_waiting),
        (
            "trainboard_messages_failed",
            "Deliveries of messages that failed for good and were not sent again.",
            figures.messages_failed,
        ),
        (
            "trainboard_unmatched_jobs",
            "Jobs at Vertex AI with our label that have not ended and belong to no request.",
            figures.unmatched,
        ),
        (
            "trainboard_duplicate_jobs",
            "Further jobs at Vertex AI for one request that have not ended.",
            figures.duplicates,
        ),
        (
            "trainboard_clock_step_seconds",
            "Last step of the database's clock within the last hour, 0 if there was none.",
            figures.clock_step_seconds,
        ),
        ("trainboard_redis_writable", "1 if Redis accepts writes, else 0.", _redis_writable()),
        ("trainboard_usd_per_hour", "Cost of running jobs in US dollars per hour.", float(figures.usd_per_hour)),
    ]


def _redis_writable() -> float:
    state, _error = check_redis(REDIS_PATIENCE_SECONDS)
    return float(state is RedisState.OK)


def _of_stages(figures: Operations, now: datetime) -> Iterator[Metric]:
    """Yield what is known of sweeps and of a restored database. A time that never was has no sample."""
    plain = [
        ("trainboard_sweep_age_seconds", "Time since the last completed sweep.", figures.sweep_seconds),
        (
            "trainboard_database_restored_seconds",
            "Time since the database was found or marked to be restored, replaced or restarted.",
            figures.restored_seconds,
        ),
    ]
    for name, text, value in plain:
        family = GaugeMetricFamily(name, text)
        if value is not None:
            family.add_metric([], value)
        yield family
    text = "Time since a stage of the sweep last finished."
    ages = GaugeMetricFamily("trainboard_stage_age_seconds", text, labels=["stage"])
    text = "Failures in a row of a stage of the sweep."
    failures = GaugeMetricFamily("trainboard_stage_failures", text, labels=["stage"])
    for each in figures.stages:
        failures.add_metric([each.name], each.failures)
        if each.finished_at is not None:
            ages.add_metric([each.name], max((now - each.finished_at).total_seconds(), 0.0))
    yield from (ages, failures)


def _labelled(figures: Operations) -> Iterator[Metric]:
    depth = GaugeMetricFamily("trainboard_queue_depth", "Rows whose next step is due.", labels=["kind"])
    for kind, number in figures.queue_depth.items():
        depth.add_metric([kind], number)
    text = "Time since the last heartbeat of beat, or of a worker for each queue."
    heartbeats = GaugeMetricFamily("trainboard_heartbeat_age_seconds", text, labels=["part"])
    for part, age in figures.heartbeat_seconds.items():
        heartbeats.add_metric([part], age)
    yield from (depth, heartbeats)


def _api_calls(numbers: Mapping[str, float]) -> Metric:
    text = "Calls to Google's APIs by service and status class; none means no response."
    family = CounterMetricFamily("trainboard_api_calls", text, labels=["service", "code"])
    for labels, number in sorted(numbers.items()):
        service, _, code = labels.partition("|")
        family.add_metric([service, code], number)
    return family


def _submit_histogram(counts: Mapping[str, Mapping[str, float]]) -> Metric:
    text = "Time from the approval of a job until Vertex AI created it."
    family = HistogramMetricFamily("trainboard_submission_seconds", text)
    counted, total, buckets = counts.get("submit_bucket", {}), 0.0, []
    for bound in [*(f"{each:g}" for each in SUBMIT_BUCKETS), "+Inf"]:
        total += counted.get(bound, 0.0)
        buckets.append((bound, total))
    family.add_metric([], buckets, sum_value=counts.get("submit_seconds", {}).get("", 0.0))
    return family


def _by_state(name: str, text: str, numbers: dict[str, int]) -> Metric:
    family = GaugeMetricFamily(name, text, labels=["state"])
    for state in [*JobState, *(set(numbers) - set(JobState))]:
        if state in numbers:
            family.add_metric([state], numbers[state])
    return family


def _submissions(seconds: tuple[float, ...]) -> Metric:
    text = "Time from the approval of a job until Vertex AI created it, for jobs requested in the last hour."
    family = GaugeMetricFamily("trainboard_submit_seconds", text, labels=["quantile"])
    if seconds:
        cuts = quantiles(seconds, n=100, method="inclusive") if len(seconds) > 1 else [seconds[0]] * 99
        for share in (50, 95, 99):
            family.add_metric([str(share / 100)], cuts[share - 1])
    return family
