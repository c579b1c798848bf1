"""Measure the CPU time of the page and the API with each hostile text. For `make search`: no test may depend on time.

pytest -s -n 0 tests/growth/requests_of_hostile_texts.py
"""

from collections.abc import Callable
from time import process_time
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from pytest_django import Settings

from jobs.models import Team
from jobs.queue import rate_limit
from tests.growth import hostile_containers, hostile_texts
from tests.support.api import caller

MAX_SECONDS = 2.0
STATUSES = frozenset({200, 400, 413, 422})


def test_each_takes_two_seconds_at_most(client: Client, team: Team, owner: User, settings: Settings) -> None:
    settings.IMPORTS_PER_MINUTE = settings.ASSESSMENTS_PER_MINUTE = 10**6
    client.force_login(owner)
    program = caller(owner)
    ways: dict[str, Callable[[str], Any]] = {
        "page": lambda text: client.post("/jobs/import/", {"text": text, "team": team.pk, "run_time": "1 h"}),
        "API": lambda text: program.post("/assessments", {"text": text, "expected_seconds": 3600}),
    }
    ways["page"]("displayName: x"), ways["API"]("displayName: x")  # what only the first one costs
    slow, odd = [], []
    for name, text in (hostile_texts.TEXTS | hostile_containers.TEXTS).items():
        for way, send in ways.items():
            rate_limit.forget()
            before = process_time()
            answer = send(text)
            seconds = process_time() - before
            if answer.status_code not in STATUSES:
                odd.append((way, name, answer.status_code))
            if seconds > MAX_SECONDS:
                slow.append((way, name, round(seconds, 2)))
            if seconds > MAX_SECONDS / 4:
                print(f"{seconds:6.2f} s  {way:4}  {answer.status_code}  {name}")

    assert (slow, odd) == ([], [])


if __name__ == "__main__":
    raise SystemExit(pytest.main(["-s", "-n", "0", __file__]))
