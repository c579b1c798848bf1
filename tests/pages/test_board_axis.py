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


def asked(minutes: Sequence[float]) -> list[Job]:
    """Return jobs that were requested so long ago and ended at once."""
    times = [NOW - timedelta(minutes=each) for each in minutes]
    return [Job(requested_at=time, ended_at=time) for time in times]


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
        ([], "12"),
        ([3, 5, 8], "0.25"),
        ([3, 12], "1"),
        ([3, 46], "4"),
        ([300], "12"),
        ([60 * 17], "24"),
        ([60 * 30], "48"),
        ([60 * 24 * 30], "168"),
    ],
)
def test_jobs_fit_from_their_request_until_now(minutes: list[float], hours: str) -> None:
    assert hours_for(asked(minutes), NOW) == hours


def test_one_job_in_five_may_be_older() -> None:
    assert hours_for(asked([5] * 8 + [5_000] * 2), NOW) == "0.25"
    assert hours_for(asked([5] * 7 + [5_000] * 3), NOW) == "168"


def test_an_unfinished_job_is_measured_to_now() -> None:
    assert hours_for([Job(requested_at=NOW - timedelta(minutes=50))], NOW) == "4"


def test_an_axis_that_is_shown_grows_at_once_and_shrinks_with_a_margin() -> None:
    assert hours_for(asked([46]), NOW, "1") == "4"
    assert hours_for(asked([44]), NOW, "4") == "4"
    assert hours_for(asked([31]), NOW, "4") == "4"
    assert hours_for(asked([29]), NOW, "4") == "1"
    assert hours_for([], NOW, "4") == "4"
    assert hours_for(asked([5]), NOW, "4") == "0.25"
    assert hours_for(asked([8]), NOW, "4") == "1"
    assert hours_for(asked([5]), NOW, "999") == "0.25"


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

    assert hours_in(signed_in(stranger).get("/")) == ("12 h", "12")


def lefts(page: str) -> dict[str, list[float]]:
    """Return where the bars of each row begin on the axis, in percent, by the row's job."""
    found = {}
    for row in re.findall(r'<tr id="row-.*?</tr>', page, re.DOTALL):
        shift, cut = re.search(r'<svg x="(-?[\d.]+)%" overflow', row), re.search(r'<svg x="(-?[\d.]+)%" width', row)
        assert shift is not None
        before, _, lasting = row.partition('<svg width="75%"')
        at = [float(shift[1]) + float(each) for each in BAR.findall(before)]
        at += [float(cut[1]) * 0.75 + float(each) for each in BAR.findall(lasting)] if cut else []
        found[re.findall(r"<bdi>(.*?)</bdi>", row)[0]] = at
    return found


BAR = re.compile(r'<rect class="bar-(?!expected)\w+" x="(-?[\d.]+)%"')


@pytest.mark.parametrize(("hours", "steps"), [("0.25", 35), ("1", 6), ("168", 6)])
def test_rows_drawn_at_different_times_have_one_axis(
    make_job: MakeJob, owner: User, signed_in: SignIn, clock: Clock, hours: str, steps: int
) -> None:
    """Rows are cached for a minute, each from another second on, while the axis moves on.

    35 steps are longer than the shortest axis.
    """
    for number in range(4):
        make_job("running", name=f"job-{number}")
    begun = dict(Job.objects.values_list("display_name", "started_at"))
    client = signed_in(owner)

    for _ in range(steps):
        clock.forward(seconds=31)
        page = client.get(f"/?hours={hours}").content.decode()
        start = clock.now - timedelta(hours=float(hours)) * 0.75
        for name, at in lefts(page).items():
            truth = 100 * (begun[name] - start) / timedelta(hours=float(hours))
            if truth >= 0:
                assert at[-1] == pytest.approx(truth, abs=0.15), (name, clock.now)
            else:  # cut off at the edge by whichever drawing is kept
                assert at[-1] <= 0.15, (name, clock.now)
        assert page.count('id="hours"') == 1
        assert page.count('href="#hours"') == 4


def test_a_job_from_before_the_axis_has_a_stub(make_job: MakeJob, owner: User, signed_in: SignIn, clock: Clock) -> None:
    make_job("succeeded", name="of-the-morning")
    clock.forward(hours=5)
    make_job("running", name="of-now")

    page = signed_in(owner).get("/?hours=1").content.decode()

    rows = {
        re.findall(r"<bdi>(.*?)</bdi>", row)[0]: row for row in re.findall(r"<tr id=.row-.*?</tr>", page, re.DOTALL)
    }
    assert "bar-before" in rows["of-the-morning"]
    assert "bar-before" not in rows["of-now"]
