"""Tests of the strategies table on the compose page: cheapest, fastest and safest, waits, and old prices."""

import html
import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from dashboard.drawing import cost_range
from dashboard.drawing.figures import duration_range, rough_money
from dashboard.pages.parts.strategy_rows import StrategyRow, axis_end
from jobs.models import Job
from jobs.upkeep import count_ended
from tests.pages.conftest import MakeJob, SignIn, fields_of, text_in
from tests.support import samples
from tests.support.clock import Clock

pytestmark = pytest.mark.django_db
MACHINE = "a2-highgpu-1g"


def as_example() -> dict[str, Any]:
    """Return a spec that runs the program of the compose page's example."""
    body = samples.body()
    body["jobSpec"]["workerPoolSpecs"][0]["containerSpec"]["args"] += ["--seconds-per-epoch", "1"]
    return body


def ended(make_job: MakeJob, clock: Clock, *, strategy: str, minutes: list[int]) -> None:
    """Make jobs of the example's machines that have ended under a strategy, with these waits, and count them."""
    for wait in minutes:
        job = make_job("succeeded")
        start = clock.now + timedelta(minutes=wait)
        Job.objects.filter(pk=job.pk).update(
            strategy=strategy, machines=f"1 × {MACHINE}", region="us-central1", spec=as_example(), is_counted=False,
            expected_seconds=7200,
            approved_at=clock.now, submitted_at=clock.now, started_at=start, ended_at=start + timedelta(hours=1),
        )  # fmt: skip
    count_ended()


class TestWaits:
    def test_stand_in_the_row_of_their_strategy(self, make_job: MakeJob, clock: Clock, engineer: Client) -> None:
        ended(make_job, clock, strategy="spot", minutes=[20] * 12)
        ended(make_job, clock, strategy="standard", minutes=[2] * 12)

        page = engineer.get("/jobs/new/?example=1").content.decode()

        spot = text_in(page, "strategy-spot-facts")
        usual = re.search(r"(\d+) min 12 jobs (\d+) (?:min.* )?– (\d+) min", spot)
        assert usual, spot
        assert 12 <= int(usual[1]) <= 20
        assert int(usual[2]) < int(usual[1]) < int(usual[3])
        assert "fastest" in text_in(page, "strategy-standard-name")
        assert "unknown no job yet" in text_in(page, "strategy-flex_start-facts")
        assert "Waits are those of vision's jobs on the same machine" in text_in(page, "chosen")

    def test_and_ranges_say_on_how_many_jobs_they_rest(self, make_job: MakeJob, clock: Clock, engineer: Client) -> None:
        ended(make_job, clock, strategy="spot", minutes=[20] * 3)

        page = engineer.get("/jobs/new/?example=1").content.decode()
        words = text_in(page, "estimate") + text_in(page, "chosen")

        assert f"3 jobs like this (same program, {MACHINE}, similar length) took" in words
        assert f"Your team's Spot jobs on {MACHINE} in us-central1 were preempted 0 times in " in words
        assert "9 of 10 such jobs" in words

    def test_stand_beside_the_break_even_against_standard(self, engineer: Client) -> None:
        words = text_in(engineer.get("/jobs/new/?example=1").content.decode(), "chosen")

        found = re.search(
            r"Cheaper than Standard unless preemptions make it run more than ([\d.]+) times as long", words
        )
        assert found, words
        assert 1.3 < float(found[1]) < 1.8

    def test_say_nothing_of_another_team(
        self, make_job: MakeJob, clock: Clock, stranger: User, signed_in: SignIn
    ) -> None:
        ended(make_job, clock, strategy="spot", minutes=[10, 20, 30])

        page = signed_in(stranger).get("/jobs/new/?example=1").content.decode()

        assert "unknown no job yet" in text_in(page, "strategy-spot-facts")
        assert "No job of your team that is like this one has succeeded yet" in text_in(page, "chosen")


class TestTags:
    def test_name_one_possible_strategy_each(self, engineer: Client) -> None:
        page = engineer.get("/jobs/new/?example=1").content.decode()

        facts = {
            key: text_in(page, f"strategy-{key}-name") for key in ("standard", "spot", "flex_start", "reservation")
        }
        assert [key for key, words in facts.items() if "safest" in words] == ["standard"]
        assert len([key for key, words in facts.items() if "cheapest" in words]) == 1
        assert "cheapest" not in facts["reservation"]

    def test_call_machines_that_are_held_the_safest_where_they_are_chosen(
        self, engineer: Client, example: dict[str, str]
    ) -> None:
        page = engineer.post("/jobs/new/check/", example | {"strategy": "reservation"}).content.decode()

        assert "safest" in text_in(page, "strategy-reservation-name")


class TestPrices:
    def test_are_old_after_ninety_days(self, owner: User, signed_in: SignIn, clock: Clock) -> None:
        page = signed_in(owner).get("/jobs/new/?example=1").content.decode()
        found = re.search(r"prices of (\d+ \w+ \d+)", text_in(page, "price"))
        assert found
        day = datetime.strptime(found[1], "%d %b %Y").replace(tzinfo=UTC)

        for days, words in ((90, ""), (91, f"Spot is priced as of {found[1]}, 91 days ago.")):
            clock.now = day + timedelta(days=days)
            page = signed_in(owner).get("/jobs/new/?example=1").content.decode()
            assert re.findall(r"\w+ is priced as of [\w ,]+\.", text_in(page, "chosen")) == [words] * bool(words)

    def test_of_an_empty_form_are_not_called_old(self, owner: User, signed_in: SignIn, clock: Clock) -> None:
        clock.now += timedelta(days=2_000)

        page = signed_in(owner).get("/jobs/new/").content.decode()

        assert "is priced as of" not in text_in(page, "chosen")
        assert "is priced as of" in text_in(signed_in(owner).get("/jobs/new/?example=1").content.decode(), "chosen")


class TestSummary:
    def test_after_submit_links_to_each_field_and_takes_focus_and_title(
        self, engineer: Client, example: dict[str, str]
    ) -> None:
        wrong = example | {"output": "here", "pool-0-replicas": "3", "strategy": "flex_start", "timeout": "2 h"}
        page = engineer.post("/jobs/new/", wrong).content.decode()

        assert re.search(r"<title>\s*2 errors · New job", page)
        assert re.search(r'<section class="errors" id="errors" role="alert" tabindex="-1" autofocus', page)
        assert 'href="#id_output"' in page
        assert 'href="#id_pool-0-replicas"' in page
        words = text_in(page, "errors")
        assert "2 errors: the job was not submitted" in words
        assert "Worker pool 0: Replicas:" in words

    def test_after_validate_does_not_speak_of_submitting(self, engineer: Client, example: dict[str, str]) -> None:
        answer = engineer.post("/jobs/new/", example | {"output": "here", "name": "", "do": "validate"})
        page = answer.content.decode()

        assert answer.status_code == 200
        assert text_in(page, "errors-title") == "2 errors"
        assert 'href="#id_name"' in page
        assert not Job.objects.exists()
        right = engineer.post("/jobs/new/", example | {"do": "validate"}).content.decode()
        assert 'id="errors"' not in right
        assert not Job.objects.exists()

    def test_says_of_a_field_that_cannot_be_read_nothing_else(self, engineer: Client, example: dict[str, str]) -> None:
        page = engineer.post("/jobs/new/check/", example | {"timeout": "soon"}).content.decode()

        assert "Write a number and its unit" in text_in(page, "id_timeout-finds")
        assert "No timeout is set" not in page

    def test_is_not_there_while_one_types(self, engineer: Client, example: dict[str, str]) -> None:
        page = engineer.post("/jobs/new/", example | {"output": "here", "do": "check"}).content.decode()

        assert 'id="errors"' not in page
        assert "1 error" in text_in(page, "findings")
        assert "1 error" in text_in(page, "verdict")

    def test_holds_no_markup_of_what_was_typed(self, engineer: Client, example: dict[str, str]) -> None:
        wrong = {"name": "<b>" + "🙂" * 128, "output": "\u202egs://x<script>", "labels": "A=<i>"}
        page = engineer.post("/jobs/new/", example | wrong).content.decode()

        for typed in ("<b>🙂", "x<script>", "A=<i>", "“<i>”"):
            assert typed not in page
            assert html.escape(typed) in page


def test_a_range_of_times_names_its_unit_once() -> None:
    low, high = timedelta(minutes=4), timedelta(hours=2)
    assert duration_range(low, timedelta(minutes=40)) == "4 – 40 min"
    assert duration_range(low, high) == "4 min – 2 h"
    assert duration_range(high, timedelta(hours=2, minutes=5)) == "2 h – 2 h 5 min"
    assert duration_range(timedelta(hours=2, minutes=5), timedelta(hours=3, minutes=5)) == "2 h 5 min – 3 h 5 min"


def test_the_axis_ends_at_a_round_amount() -> None:
    for usd, words in (("11.13", "$12"), ("1330", "$1,400"), ("8.5", "$8.50"), ("0.034", "$0.03"), ("99.7", "$100")):
        assert rough_money(axis_end(Decimal(usd))) == words
    assert axis_end(Decimal(0)) == 0
    assert rough_money(Decimal("1218.49")) == "$1,218"
    assert rough_money(None) == "no price known"


def test_a_range_is_drawn_within_its_axis() -> None:
    row = StrategyRow("spot", expected_usd=Decimal(9), low_usd=Decimal(9), high_usd=Decimal(9), axis_usd=Decimal(9))

    drawn = cost_range.draw(row)

    assert 'aria-label="$9.00 – $9.00"' in drawn
    assert all(0 <= float(each) <= 100 for each in re.findall(r'(?:x|width)="([\d.]+)%"', drawn))


def test_the_example_posts_what_it_shows(engineer: Client) -> None:
    assert fields_of(engineer.get("/jobs/new/?example=1").content.decode())["strategy"] == "spot"


def test_of_four_thousand_wrong_labels_a_few_are_listed(engineer: Client, example: dict[str, str]) -> None:
    labels = "\n".join(f"Key{number}=value" for number in range(4000))

    page = engineer.post("/jobs/new/", example | {"labels": labels}).content.decode()

    assert "51 errors: the job was not submitted" in text_in(page, "errors")
    assert "Of each kind the first 20 are listed." in text_in(page, "findings")
    found = text_in(page, "id_labels-finds")
    assert "41 more like these. " in found
    assert "3,950 more like these, which are not listed." in found
    assert page.count('class="find error"') < 100
