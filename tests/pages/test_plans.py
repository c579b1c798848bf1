"""Tests of the query plans of every page, sweep and poll: none may read a large table sequentially.

Three thousand jobs represent a million. PostgreSQL is configured to avoid sequential scans, so it uses an index
wherever one serves a query, and a remaining sequential scan means that none does. No step of a plan may read many more
rows than a page shows, because its cost would grow with the number of jobs.
"""

import json
import re
from collections.abc import Callable, Iterator
from datetime import datetime
from functools import partial
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from dashboard.queries import history
from jobs import large_tables, messages, observation, steps
from jobs.messages import queue, reports, route, waits
from jobs.models import Channel, Job, Scope
from jobs.observation import log_feeds, trial_jobs, watched
from jobs.requests import imported_drafts
from jobs.upkeep import repair, watch_spending
from tests.support import many_jobs, many_messages
from tests.support.clock import Clock
from tests.support.visits import ADMIN, MANAGER, MEMBER, visits

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]
IS_POSTGRES = connection.vendor == "postgresql"
on_postgres = pytest.mark.skipif(not IS_POSTGRES, reason="the plans are those of PostgreSQL")
JOBS, UNFINISHED, LONG = 3_000, 100, 300
MAX_SEARCHED = 200
"""Of the history and of the admin in these tests; the site's own are larger than the database here."""
MAX_ROWS = 1_000
"""Rows that one step of a plan may read: some pages, what has not ended, or what ended of late."""
SMALL = "job_unfinished|job_claimed|job_unread_log|job_to_delete|job_due"
"""Indexes that hold some jobs only, so that all of one may be read."""
LONE_EXTREME = re.compile(r'SELECT (?:MIN|MAX)\("(\w+)"\."id"\) AS "\w+" FROM "\1" WHERE')
"""The first or last of some rows and nothing else; for that, a large database may walk the primary key of all rows."""
LARGE = {"jobs_job", "jobs_jobevent", "jobs_logline", "jobs_trial", "jobs_sighting", "jobs_approval"}
LARGE |= {"jobs_message", "jobs_delivery"}


@pytest.fixture
def world(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> many_jobs.World:
    monkeypatch.setattr(history, "MAX_SEARCHED", MAX_SEARCHED)
    monkeypatch.setattr(large_tables, "MAX_LISTED", MAX_SEARCHED)
    world = many_jobs.fill(clock.now, jobs=JOBS, unfinished=UNFINISHED, long_events=LONG)
    Job.objects.exclude(ended_at=None).update(is_counted=True)  # the sweep counts a job soon after its end
    User.objects.create_superuser(ADMIN)
    many_messages.fill(world, clock.now)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
        if IS_POSTGRES:
            cursor.execute("SET LOCAL enable_seqscan = off")
    return world


def faults(statements: list[str]) -> Iterator[str]:
    """Yield what the plans of these statements read that they may not read."""
    for statement in dict.fromkeys(statements):
        verb = statement.split(maxsplit=1)[0]
        if verb not in {"SELECT", "UPDATE", "DELETE"} or not any(f'"{table}"' in statement for table in LARGE):
            continue
        if LONE_EXTREME.match(statement):
            yield f"the rows of all jobs may be walked from one end in {statement[:400]}"
        options = "ANALYZE, TIMING OFF, " if verb == "SELECT" and "FOR UPDATE" not in statement else ""
        with connection.cursor() as cursor:
            cursor.execute(f"EXPLAIN ({options}FORMAT JSON) {statement.replace('%', '%%')}", [])
            found = cursor.fetchone()[0]
        plan = found if isinstance(found, list) else json.loads(found)
        for step in _steps(plan[0]["Plan"]):
            if words := _fault(step):
                yield f"{words} in {re.sub(r'SELECT .*? FROM', 'SELECT … FROM', statement)[:400]}"


def _steps(step: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield step
    for below in step.get("Plans", ()):
        yield from _steps(below)


def _fault(step: dict[str, Any]) -> str:
    table, kind = step.get("Relation Name"), step["Node Type"]
    if kind == "Seq Scan" and table in LARGE:
        return f"{table} is read in order"
    removed = step.get("Rows Removed by Filter", 0) + step.get("Rows Removed by Index Recheck", 0)
    rows = (step.get("Actual Rows", 0) + removed) * step.get("Actual Loops", 1)
    # The scan of an index for a bitmap counts what earlier tests left behind there as well; its heap scan does not.
    if "Scan" in kind and kind != "Bitmap Index Scan" and rows > MAX_ROWS:
        return f"{rows} rows are read through {step.get('Index Name', table)}"
    return ""


def check(what: dict[str, Callable[[], object]]) -> dict[str, list[str]]:
    """Return the faults of each of these by its name."""
    found = {}
    for name, call in what.items():
        with CaptureQueriesContext(connection) as queries:
            call()
        if wrong := list(faults([query["sql"] for query in queries.captured_queries])):
            found[name] = wrong
    return found


@on_postgres
def test_no_page_reads_a_large_table_as_a_whole(world: many_jobs.World, clock: Clock) -> None:
    browsers = {name: Client() for name in (MEMBER, MANAGER, ADMIN)}
    for name, browser in browsers.items():
        browser.force_login(User.objects.get(username=name))

    def visit(path: str, who: str, headers: dict[str, str]) -> Callable[[], object]:
        def call() -> None:
            assert browsers[who].get(path, headers=headers).status_code == 200

        return call

    pages = {
        f"{each} ({each.path})": visit(each.path, each.who, {"HX-Request": "true"} if each.is_fragment else {})
        for each in visits(world, clock.now)
    }

    assert len(pages) > 100
    assert "\n".join(f"{name}: {wrong}" for name, wrong in check(pages).items()) == ""


@on_postgres
def test_no_sweep_and_no_poll_reads_a_large_table_as_a_whole(world: many_jobs.World, clock: Clock) -> None:
    assert check(_work(clock.now)) == {}


@pytest.mark.skipif(IS_POSTGRES, reason="the plans are those of SQLite")
def test_no_sweep_and_no_poll_scans_jobs_on_sqlite(world: many_jobs.World, clock: Clock) -> None:
    scan = re.compile(rf"SCAN jobs_(?:job|jobevent|logline|trial|sighting)\b(?! USING (?:COVERING )?INDEX (?:{SMALL}))")
    found = []
    for call in _work(clock.now).values():
        with CaptureQueriesContext(connection) as queries:
            call()
        for statement in [query["sql"] for query in queries.captured_queries if query["sql"].startswith("SELECT")]:
            with connection.cursor() as cursor:
                cursor.execute(f"EXPLAIN QUERY PLAN {statement.replace('%', '%%')}", [])
                found += [(row[3], statement) for row in cursor.fetchall() if scan.match(row[3])]

    assert found == []


def _work(now: datetime) -> dict[str, Callable[[], object]]:
    """Return what a sweep does, and the reads of some polls; what the made rows lack was repaired."""
    repair(now)
    scopes = list(Scope.objects.order_by("pk")[:5])
    assert scopes
    return {
        "repair": lambda: repair(now),
        "resources": lambda: observation.watch_resources(now),
        "spending": lambda: watch_spending(now),
        "drafts": lambda: imported_drafts.expire(now),
        "long waits": lambda: waits.watch_waits(now),
        "routing": lambda: route.route(now),
        "reports": lambda: reports.report_when_due(now),
        "due messages": lambda: messages.due_destinations(now),
        "next mail": lambda: queue.claim_next(now, None),
        "next message": lambda: queue.claim_next(now, Channel.objects.first()),
        "due jobs": lambda: steps.due_jobs(now),
        "due scopes": lambda: (steps.due_scopes(now), steps.due_feeds(now), steps.due_discoveries(now)),
        **{f"poll of {scope}": partial(_poll, scope, now) for scope in scopes},
    }


def _poll(scope: Scope, now: datetime) -> None:
    """Read what a poll of a scope and of its project's logs read."""
    watched.list_watched(scope, now)
    watched.may_have_duplicates(scope, now)
    list(trial_jobs.trials_to_ask(scope, now)[:50])
    unread = log_feeds.unread_jobs(scope.project)
    list(unread.order_by("submitted_at")[:50])
    assert unread.count() <= UNFINISHED


@on_postgres
def test_a_query_that_no_index_serves_is_found(world: many_jobs.World) -> None:
    statements = [
        'SELECT "jobs_job"."id" FROM "jobs_job" WHERE "jobs_job"."machines" LIKE \'%a2%\'',
        'SELECT "jobs_job"."id" FROM "jobs_job" ORDER BY "jobs_job"."requested_at" DESC',
        'SELECT MAX("jobs_jobevent"."id") AS "last" FROM "jobs_jobevent" WHERE "jobs_jobevent"."job_id" = NULL',
    ]

    found = list(faults(statements))

    assert "jobs_job is read in order" in found[0]
    assert f"{JOBS} rows are read through job" in found[1]
    assert "walked from one end" in found[2]
