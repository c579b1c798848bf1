"""Tests of the API's query plans on PostgreSQL: bounded, through an index, and few per response."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext

from tests.pages.test_plans import faults, on_postgres, world
from tests.support import many_jobs
from tests.support.api import caller
from tests.support.visits import ADMIN, MANAGER, MEMBER

__all__ = ["world"]
pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]
MAX_QUERIES = 12
DEEP = "2025-01-01T00:00:00+00:00~00000000-0000-4000-8000-000000000000"


def addresses(world: many_jobs.World, who: str) -> list[tuple[str, dict[str, Any]]]:
    """Return what somebody asks for, also about the own jobs; the first job of the world has very many events."""
    assert world.long is not None
    jobs = [world.long, *(next(job for job in world.jobs if job.state == state) for state in ("failed", "succeeded"))]
    lists = ({}, {"cursor": DEEP}, {"q": "zebra"}, {"state": "failed", "limit": 200}, {"owner": who})
    return [
        *(("/jobs", each) for each in lists),
        *((f"/jobs/{job.pk}{part}", {}) for job in jobs for part in ("", "/events", "/logs")),
        (f"/jobs/{world.long.pk}/events", {"after": 10**6}),
        ("/teams", {}),
    ]


@on_postgres
def test_no_query_of_the_api_reads_a_large_table(world: many_jobs.World) -> None:
    statements: list[str] = []

    for who in (MEMBER, MANAGER, ADMIN):
        api = caller(User.objects.get(username=who))
        for path, parameters in addresses(world, who):
            with CaptureQueriesContext(connection) as captured:
                assert api.get(path, **parameters).status_code in {200, 404}
            assert len(captured) <= MAX_QUERIES, (who, path)
            statements += [query["sql"] for query in captured]

    assert list(faults(statements)) == []
