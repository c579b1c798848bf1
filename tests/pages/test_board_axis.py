"""Tests of the length of the board's axis: it fits the jobs, unless the address sets it."""

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User

from dashboard.pages.parts.board_axis import HOURS_HEADER, hours_for
from jobs.models import Job
from tests.pages.conftest import MakeJob, SignIn
from tests.support.clock import Clock

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 3, 2, 9, tzinfo=UTC)
HTMX = {"HX-Request": "true"}


def ended(minutes: Sequence[float]) -> list[Job]:
    """Return jobs that took so long and ended five hours ago."""
    end = NOW - timedelta(hours=5)
    return [Job(requested_at=end - timedelta(minutes=each), ended_at=end) for each in minutes]


def hours_in(page: Any) -> tuple[str, str]:
    """Return the length of the axis that the bar shows, and the hours that the live part sends back."""
    html = page.content.decode()
    shown, sent = re.search(r"<summary>(\d+ \w+)</summary>", html), re.search(r'"X-Shown-Hours": "([\d.]+)"', html)
    assert shown is not None
    assert sent is not None
    return shown[1], sent[1]


@pytest.mark.parametrize(
    ("minutes", "hours"),
    [
        ([], "16"),
        ([3, 5, 8], "0.25"),
        ([3, 12], "1"),
        ([3, 46], "4"),
        ([300], "16"),
        ([60 * 30], "48"),
        ([60 * 24 * 30], "168"),
    ],
)
def test_jobs_fit_before_now(minutes: list[float], hours: str) -> None:
    assert hours_for(ended(minutes), NOW) == hours


def test_one_job_in_ten_may_take_longer() -> None:
    assert hours_for(ended([5] * 9 + [5_000]), NOW) == "0.25"
    assert hours_for(ended([5] * 8 + [5_000] * 2), NOW) == "168"


def test_an_unfinished_job_is_measured_to_now() -> None:
    assert hours_for([Job(requested_at=NOW - timedelta(minutes=50))], NOW) == "4"


def test_an_axis_that_is_shown_grows_at_once_and_shrinks_with_a_margin() -> None:
    assert hours_for(ended([46]), NOW, "1") == "4"
    assert hours_for(ended([44]), NOW, "4") == "4"
    assert hours_for(ended([31]), NOW, "4") == "4"
    assert hours_for(ended([29]), NOW, "4") == "1"
    assert hours_for([], NOW, "4") == "4"
    assert hours_for(ended([5]), NOW, "4") == "0.25"
    assert hours_for(ended([8]), NOW, "4") == "1"
    assert hours_for(ended([5]), NOW, "999") == "0.25"


def test_the_board_follows_its_jobs_and_the_address_counts_more(
    make_job: MakeJob, owner: User, signed_in: SignIn, clock: Clock
) -> None:
    make_job("running")
    clock.forward(minutes=40)
    client = signed_in(owner)

    assert hours_in(client.get("/")) == ("1 h", "1")
    assert hours_in(client.get("/?hours=48")) == ("2 d", "48")
    assert hours_in(client.get("/?hours=0.25")) == ("15 min", "0.25")
    assert hours_in(client.get("/", headers=HTMX | {HOURS_HEADER: "4"})) == ("4 h", "4")
    clock.forward(minutes=10)
    assert hours_in(client.get("/", headers=HTMX | {HOURS_HEADER: "1"})) == ("4 h", "4")


def test_a_strangers_board_does_not_follow_jobs_of_others(
    make_job: MakeJob, stranger: User, signed_in: SignIn, clock: Clock
) -> None:
    make_job("running")
    clock.forward(minutes=40)

    assert hours_in(signed_in(stranger).get("/")) == ("16 h", "16")
