"""Tests of the number of queries of each page, with thousands of jobs of every kind and state."""

from collections.abc import Iterable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.db.models import Model
from django.test import Client
from django.test.utils import CaptureQueriesContext

from jobs import cache
from tests.support import many_jobs
from tests.support.clock import Clock
from tests.support.visits import ADMIN, MANAGER, MAX_QUERIES, MEMBER, visits

pytestmark = pytest.mark.django_db  # on PostgreSQL, test_plans visits the same pages


def test_every_page_asks_few_queries(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    deferred: dict[str, list[str]] = {}
    refresh = Model.refresh_from_db

    def record(row: Model, using: str | None = None, fields: Iterable[str] | None = None, **rest: Any) -> None:
        if fields is not None:
            deferred.setdefault(path, []).extend(fields)
        refresh(row, using, fields, **rest)

    monkeypatch.setattr(Model, "refresh_from_db", record)
    world = many_jobs.fill(clock.now, jobs=900, unfinished=100, long_events=600)
    User.objects.create_superuser(ADMIN)
    browsers = {name: Client() for name in (MEMBER, MANAGER, ADMIN)}
    for name, browser in browsers.items():
        browser.force_login(User.objects.get(username=name))
    over = {}
    for each in visits(world, clock.now):
        headers, path = {"HX-Request": "true"} if each.is_fragment else {}, str(each)
        cache.forget_all()
        assert browsers[each.who].get(each.path, headers=headers).status_code == 200  # and what it keeps is kept
        with CaptureQueriesContext(connection) as queries:
            browsers[each.who].get(each.path, headers=headers)
        if len(queries) > MAX_QUERIES:
            over[str(each)] = len(queries)

    assert over == {}
    assert deferred == {}, "a column that was not loaded takes a query for each row"
