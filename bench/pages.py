"""Every page, sweep and poll at ten thousand jobs and at many more, on PostgreSQL, compared with Django's admin.

Run as a script. BENCH_ROWS is the number of jobs (default 200,000; a million takes about ten minutes). It prints the
duration of each page at both sizes (median and 95th percentile), their ratio, queries and bytes, and fails if a target
is missed. Times are those of a request inside Django, without a web server and the network. They are CPU times of this
process and its database session, so that other programs on the machine have little effect (wall time without /proc).
"""

import gc
import logging
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
from tests.support import postgres  # noqa: E402

STATE = tempfile.TemporaryDirectory(prefix="tb-bench-", dir="/tmp")
os.environ |= {
    "TRAINBOARD_TEST_STATE": STATE.name,
    "DATABASE_URL": postgres.url(Path(STATE.name)),
    "DJANGO_SETTINGS_MODULE": "tests.settings",
}
import django  # noqa: E402

django.setup()

from django.conf import settings  # noqa: E402
from django.contrib import admin  # noqa: E402
from django.contrib.auth.models import User  # noqa: E402
from django.core.management import call_command  # noqa: E402
from django.db import connection, connections  # noqa: E402
from django.test import Client, RequestFactory  # noqa: E402
from django.test.utils import CaptureQueriesContext  # noqa: E402

from jobs import cache, stages, steps  # noqa: E402
from jobs.clock import DatabaseClock, database_now  # noqa: E402
from jobs.models import Installation, Job, Scope, Upkeep  # noqa: E402
from jobs.observation import log_feeds, trial_jobs, watched  # noqa: E402
from jobs.upkeep import count_all  # noqa: E402
from tests.support import many_jobs, multiply_jobs  # noqa: E402
from tests.support.visits import ADMIN, MANAGER, MAX_QUERIES, MEMBER, visits  # noqa: E402

SMALL = 10_000
LARGE = int(os.environ.get("BENCH_ROWS", "200000"))
ROUNDS = 12
PAGE_MS, WORK_MS, MAX_GROWTH, MAX_BYTES = 100, 50, 1.3, 150_000
NOTICEABLE_MS = 20
"""Smaller growth is within the variation of a page, or comes from a search with more rows to search."""
MIN_ADMIN_RATIO = 10
"""Minimum ratio of the admin's duration for the same list to the history's, with a million jobs."""


@dataclass(frozen=True)
class Measured:
    """Measurements of one call: milliseconds (as `computed` counts them), queries, bytes."""

    median: float
    p95: float
    queries: int = 0
    size: int = 0


def computed() -> float:
    """Return the milliseconds of CPU time used so far by this process and its database session."""
    assert connection.connection is not None
    session = Path(f"/proc/{connection.connection.info.backend_pid}/schedstat")
    if not session.exists():
        return time.perf_counter() * 1000
    return time.process_time() * 1000 + int(session.read_text().split()[0]) / 1e6


def measure(call: Callable[[], int], rounds: int = ROUNDS) -> Measured:
    """Time a call that returns the size of its response. The first two calls are not counted.

    Every fourth round starts with empty caches, so that the 95th percentile is that of a first visit, and the median
    that of a later one.
    """
    call()
    with CaptureQueriesContext(connection) as queries:
        size = call()
    count, times = len(queries), list[float]()
    for number in range(rounds):
        if number % 4 == 0:
            cache.forget_all()
        began = computed()
        call()
        times.append(computed() - began)
    times.sort()
    return Measured(statistics.median(times), times[round(0.95 * len(times)) - 1], count, size)


def pages(world: many_jobs.World) -> dict[str, Callable[[], int]]:
    """Return {name: request} for every page with its filters."""
    browsers = {name: Client(SERVER_NAME="localhost") for name in (MEMBER, MANAGER, ADMIN)}
    for name, browser in browsers.items():
        browser.force_login(User.objects.get(username=name))

    def request(path: str, who: str, *, is_fragment: bool) -> Callable[[], int]:
        def get() -> int:
            answer = browsers[who].get(path, headers={"HX-Request": "true"} if is_fragment else {})
            assert answer.status_code == 200, (path, answer.status_code)
            return len(answer.content)

        return get

    found = visits(world, database_now())
    return {str(each): request(each.path, each.who, is_fragment=each.is_fragment) for each in found}


def work() -> dict[str, Callable[[], int]]:
    """Return the periodic tasks and the reads of one poll, without calls to Vertex AI or a broker."""
    scope = Scope.objects.filter(kind=Job.Kind.CUSTOM_JOB).order_by("pk")[0]

    def sweep() -> int:
        now = database_now()
        Installation.objects.update(swept_at=None)
        assert steps.begin_sweep(now, interval=settings.SWEEP_INTERVAL)
        Upkeep.objects.filter(name__startswith=stages.PREFIX).update(due_at=now)
        finders = (steps.due_jobs, steps.due_scopes, steps.due_discoveries, steps.due_feeds)
        stages.sweep(DatabaseClock(), {find.__name__: find for find in finders})
        assert not any(each.failures for each in stages.states(now)[1])
        return 0

    def poll() -> int:
        now = database_now()
        watched.list_watched(scope, now)
        watched.may_have_duplicates(scope, now)
        trial_jobs.trials_to_ask(scope, now).exists()
        list(log_feeds.unread_jobs(scope.project))
        return 0

    return {"sweep": sweep, "poll of a scope": poll}


def peer() -> Callable[[], int]:
    """Return a request for the list of jobs in Django's default admin, with count and filters, newest first."""

    class Plain(admin.ModelAdmin):  # type: ignore[type-arg]
        list_display = ["display_name", "team", "owner", "strategy", "state", "requested_at", "ended_at"]
        list_filter = ["team", "strategy", "state"]
        list_select_related = ["team", "owner"]
        search_fields = ["display_name"]
        ordering = ["-requested_at"]

    plain = Plain(Job, admin.site)

    def changelist() -> int:
        request = RequestFactory().get("/admin/jobs/job/")
        request.user = User.objects.get(username=ADMIN)
        page: Any = plain.changelist_view(request)
        return len(page.render().content)

    return changelist


def race(*calls: Callable[[], int]) -> list[float]:
    """Return the median wall time of each call in milliseconds, because counts in the admin use several cores."""
    times: list[list[float]] = [[] for _ in calls]
    for _ in range(5):
        for call, own in zip(calls, times, strict=True):
            began = time.perf_counter()
            call()
            own.append((time.perf_counter() - began) * 1000)
    return [statistics.median(own) for own in times]


def worse(one: Measured, other: Measured) -> Measured:
    """Return the worse of two measurements of a call in each value."""
    return Measured(*(max(values) for values in zip(astuple(one), astuple(other), strict=True)))


def faults(large: Measured, small: Measured, limit: float) -> list[str]:
    """Return descriptions of the missed targets."""
    shows_alike = large.size <= MAX_GROWTH * small.size
    has_grown = large.median > MAX_GROWTH * small.median and large.median - small.median > NOTICEABLE_MS and shows_alike
    return [
        words
        for words, is_missed in (
            (f"over {limit} ms", large.p95 > limit),
            (f"over {MAX_QUERIES} queries", limit == PAGE_MS and large.queries > MAX_QUERIES),
            (f"grew over {MAX_GROWTH} times", has_grown),
            ("over 150 kB", large.size > MAX_BYTES),
        )
        if is_missed
    ]


def show(small: dict[str, Measured], large: dict[str, Measured]) -> bool:
    """Print a line for each. Return whether a target was missed."""
    sizes = f"{SMALL:>14,}{LARGE:>18,}"
    print(f"{'milliseconds, median and p95':<56}{sizes}{'ratio':>8}{'queries':>9}{'bytes':>9}")
    is_missed = False
    for name, now in large.items():
        before, limit = small[name], WORK_MS if name in {"sweep", "poll of a scope"} else PAGE_MS
        missed = faults(now, before, limit)
        times = f"{before.median:>7.1f}{before.p95:>7.1f}{now.median:>11.1f}{now.p95:>7.1f}"
        rest = f"{now.median / before.median:>8.2f}{now.queries:>9}{now.size:>9}"
        print(f"{name:<56}{times}{rest}{'  MISSED: ' * bool(missed)}{', '.join(missed)}")
        is_missed = is_missed or bool(missed)
    return is_missed


def main() -> int:
    """Fill the database, measure, multiply the jobs, and measure again. Return 1 if a target is missed."""
    logging.disable(logging.INFO)
    call_command("migrate", verbosity=0)
    connection.settings_dict["CONN_MAX_AGE"] = 300  # as on the site
    world = many_jobs.fill(database_now(), jobs=SMALL)
    sum(count_all())  # the history needs it for its charts
    User.objects.create_superuser(ADMIN)
    multiply_jobs.multiply(1)  # updates the statistics
    calls = pages(world) | work()
    gc.collect()
    gc.freeze()
    small = {name: measure(call) for name, call in calls.items()}
    began = time.perf_counter()
    multiply_jobs.multiply(LARGE // SMALL)
    print(f"{Job.objects.count():,} jobs were written in {time.perf_counter() - began:.0f} s")
    large = {name: measure(call) for name, call in calls.items()}
    with connection.cursor() as cursor:  # statistics are a sample: plans must not depend on which one
        cursor.execute("SET default_statistics_target = 10")
        cursor.execute("ANALYZE")
    large = {name: worse(large[name], measure(call)) for name, call in calls.items()}
    is_missed = show(small, large)
    theirs, ours = race(peer(), calls[f"history, {ADMIN}"])
    ratio = theirs / ours
    print(f"the same list in Django's admin: {theirs:,.0f} ms by the clock, {ratio:.1f} times as long as the history")
    connections.close_all()
    return 1 if is_missed or (LARGE >= 1_000_000 and ratio < MIN_ADMIN_RATIO) else 0


if __name__ == "__main__":
    with STATE, postgres.running(Path(STATE.name)):
        sys.exit(main())
