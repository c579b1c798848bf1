"""Tests of the history's figures: facets with counts, charts with tables, and exports of filtered jobs."""

import csv
import io
import json
import re
from datetime import date, datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from dashboard.queries import history as queries
from dashboard.queries import history_figures
from dashboard.queries.history_figures import get_history_figures
from dashboard.queries.history_filters import HistoryFilters
from jobs import cache, transitions
from jobs.cache import SECONDS
from jobs.models import Job, JobFigures, Team
from jobs.people.accounts import set_reader
from jobs.upkeep import count_ended
from tests.pages.conftest import MakeJob, SignIn, text_in, text_of
from tests.support.clock import Clock

pytestmark = pytest.mark.both_databases


@pytest.fixture
def ended(make_job: MakeJob, approver: User, clock: Clock) -> None:
    """Four ended jobs on four days and one that runs; all but one are the owner's."""
    make_job("succeeded", name="alpha", strategy="SPOT")
    clock.now += timedelta(days=1)
    make_job("failed", name="bravo", strategy="STANDARD")
    clock.now += timedelta(days=1)
    make_job("succeeded", name="charlie", strategy="SPOT", by=approver)
    clock.now += timedelta(days=1)
    make_job("cancelled", name="delta")
    make_job("running", name="echo")
    count_ended()


def bodies(answer: object) -> str:
    return b"".join(answer.streaming_content).decode()  # type: ignore[attr-defined]


@pytest.mark.usefixtures("ended")
class TestFacets:
    def test_count_the_jobs_that_have_ended(self, engineer: Client) -> None:
        text = text_of(engineer.get("/history/"))

        assert "4 jobs ended from 2 Mar 2026 to 5 Mar 2026" in text
        assert re.search(r"succeeded 2 jobs cancelled 1 job failed 1 job\b", text)
        assert re.search(r"owner 3 jobs approver 1 job\b", text)

    def test_of_one_day_name_it_once(self, engineer: Client) -> None:
        assert "1 job ended on 3 Mar 2026 (UTC)" in text_of(engineer.get("/history/?since=2026-03-03&until=2026-03-03"))

    def test_are_counted_without_their_own_filter_and_with_all_others(self, engineer: Client) -> None:
        text = text_of(engineer.get("/history/?strategy=spot&state==succeeded"))

        assert "2 jobs ended" in text
        assert re.search(r"Strategy Spot 2 jobs", text)  # no other strategy succeeded
        assert re.search(r"running succeeded 2 jobs cancelled 1 job\b", text)

    def test_narrow_the_list(self, engineer: Client) -> None:
        text = text_of(engineer.get("/history/?strategy=spot&owner=approver"))

        assert re.findall(r"\b(alpha|bravo|charlie|delta|echo)\b", text) == ["charlie"]

    def test_take_several_values_of_one_column(self, engineer: Client) -> None:
        text = text_of(engineer.get("/history/?state==failed&state==cancelled"))

        assert re.findall(r"\b(alpha|bravo|charlie|delta|echo)\b", text) == ["delta", "bravo"]

    def test_find_jobs_without_accelerator(self, engineer: Client) -> None:
        Job.objects.filter(display_name="bravo").update(machines="1 × n1-standard-4", is_counted=False)
        count_ended()

        text = text_of(engineer.get("/history/?accelerator=none"))

        assert re.findall(r"\b(alpha|bravo|charlie|delta|echo)\b", text) == ["bravo"]

    def test_of_a_value_that_no_job_has_stay_chosen(self, engineer: Client) -> None:
        page = engineer.get("/history/?region=mars-north1").content.decode()

        assert re.search(r'value="mars-north1" checked', page)
        assert "No job matches these filters" in page

    def test_with_too_many_values_are_refused_in_words(self, engineer: Client) -> None:
        page = text_of(engineer.get("/history/?" + "&".join(f"region=r{number}" for number in range(60))))

        assert "At most 50 values can be chosen." in page

    def test_empty_values_of_older_addresses_narrow_nothing(self, engineer: Client) -> None:
        text = text_of(engineer.get("/history/?q=&state=&strategy=&owner=&by=requested&since=&until="))

        assert "4 jobs ended" in text
        assert "Select a valid choice" not in text


@pytest.mark.usefixtures("ended")
class TestCharts:
    def test_have_labels_and_tables(self, engineer: Client) -> None:
        page = engineer.get("/history/").content.decode()

        for label in (
            "Jobs by outcome, per day",
            "Cost of ended jobs by strategy, per day",
            "First wait, until RUNNING",
        ):
            assert f'aria-label="{label}' in page
        assert "Ended jobs by strategy" in page
        assert "Ended jobs per day" in page

    @pytest.mark.parametrize(
        ("of", "head"), [("accelerator", "accelerator"), ("region", "region"), ("owner", "person")]
    )
    def test_are_grouped_as_asked(self, engineer: Client, of: str, head: str) -> None:
        assert f"Ended jobs by {head}" in text_of(engineer.get(f"/history/?of={of}"))

    def test_of_an_unknown_grouping_are_by_strategy(self, engineer: Client) -> None:
        assert "Ended jobs by strategy" in text_of(engineer.get("/history/?of=<b>"))

    def test_show_a_stranger_and_an_outsider_nothing(self, stranger: User, signed_in: SignIn) -> None:
        text = text_of(signed_in(stranger).get("/history/?owner=owner"))

        assert "jobs ended" not in text
        assert "Outcome" not in text
        assert "approver" not in text

    @pytest.mark.parametrize(
        ("usd", "words"),
        [(-5, "$20.00 more than under Standard"), (5, "$20.00 less than under Standard")],
    )
    def test_say_what_was_saved_or_paid_more_against_standard(self, engineer: Client, usd: int, words: str) -> None:
        JobFigures.objects.update(saved_micros=usd * 1_000_000)

        assert words in text_of(engineer.get("/history/"))

    def test_need_few_queries(self, engineer: Client) -> None:
        engineer.get("/history/")
        with CaptureQueriesContext(
            connection,
        ) as captured:
            engineer.get("/history/?strategy=spot&owner=owner")

        assert len(captured) <= 12


@pytest.mark.usefixtures("ended")
class TestFiles:
    def test_csv_holds_what_is_filtered(self, engineer: Client) -> None:
        answer = engineer.get("/history/jobs.csv?strategy=spot&state==succeeded&before=x")
        rows = list(csv.DictReader(io.StringIO(bodies(answer))))

        assert [row["name"] for row in rows] == ["charlie", "alpha"]
        assert rows[1]["ran_seconds"] == "10"
        assert float(rows[1]["cost_usd"]) > 0
        assert answer["Content-Disposition"] == 'attachment; filename="history.csv"'

    def test_json_holds_what_is_filtered(self, engineer: Client) -> None:
        found = json.loads(bodies(engineer.get("/history/jobs.json?state==failed")))

        assert [(row["name"], row["state"], row["person"]) for row in found] == [("bravo", "failed", "owner")]

    def test_of_nothing_are_empty(self, engineer: Client) -> None:
        assert json.loads(bodies(engineer.get("/history/jobs.json?q=nothing"))) == []
        assert bodies(engineer.get("/history/jobs.csv?q=nothing")).count("\n") == 1

    def test_are_read_in_portions_without_losing_a_job(self, engineer: Client, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(queries, "PORTION", 2)

        found = json.loads(bodies(engineer.get("/history/jobs.json")))

        assert [row["name"] for row in found] == ["echo", "delta", "charlie", "bravo", "alpha"]

    def test_give_a_stranger_nothing(self, stranger: User, signed_in: SignIn) -> None:
        client = signed_in(stranger)

        assert json.loads(bodies(client.get("/history/jobs.json"))) == []
        assert "alpha" not in bodies(client.get("/history/jobs.csv"))

    def test_run_nothing_in_a_spreadsheet(self, make_job: MakeJob, engineer: Client) -> None:
        job = make_job("succeeded", name="harmless")
        Job.objects.filter(pk=job.pk).update(display_name="=1+1")

        assert "'=1+1" in bodies(engineer.get("/history/jobs.csv?q=1%2B1"))

    @pytest.mark.parametrize("name", ["jobs.csv", "jobs.json"])
    def test_need_a_sign_in(self, client: Client, name: str) -> None:
        assert client.get(f"/history/{name}").status_code == 302


@pytest.mark.usefixtures("ended")
class TestDrawnOnce:
    def test_charts_and_tables_are_drawn_anew_when_a_job_has_ended(
        self, engineer: Client, make_job: MakeJob, owner: User, clock: Clock
    ) -> None:
        def drawn() -> list[str]:
            """Return the charts, and the table by strategy."""
            page = engineer.get("/history/").content.decode()
            return [*re.findall(r'<svg class="chart[^>]*>.*?</svg>', page, re.DOTALL), text_in(page, "as-tables")]

        before = drawn()
        assert drawn() == before
        make_job("failed", name="foxtrot", strategy="SPOT")
        count_ended()
        clock.now += timedelta(seconds=SECONDS + 1)

        after = drawn()
        assert len(after) == len(before)
        assert after[0] != before[0], "the outcomes"
        assert "Spot 4" in after[-1]
        set_reader(owner, time_zone="", language="es")
        assert "Trabajos" in drawn()[-1], "another language is drawn by itself"

    def test_a_name_hides_them_because_they_do_not_count_by_name(self, engineer: Client) -> None:
        page = engineer.get("/history/?q=alpha").content.decode()

        assert "as-tables" not in page
        assert 'class="chart' not in page
        assert "alpha" in text_in(page, "results")
        assert 'class="many"' not in page, "the facets without their counts"
        assert 'class="many"' in engineer.get("/history/").content.decode()

    def test_a_stranger_sees_none_of_them(self, engineer: Client, stranger: User, signed_in: SignIn) -> None:
        engineer.get("/history/")

        assert "as-tables" not in signed_in(stranger).get("/history/").content.decode()


class TestRanges:
    """Whole months come from sums; days of their jobs are added or subtracted: together they are exact."""

    def test_longer_than_a_hundred_days_are_exact(
        self, make_job: MakeJob, owner: User, team: Team, clock: Clock
    ) -> None:
        ends = []
        for _ in range(12):
            ends.append(make_job("succeeded").ended_at.date())
            clock.now += timedelta(days=17)
        call_command("count_jobs", verbosity=0)
        today = clock.now.date()

        for since in (*ends, None):
            for until in (*ends[::3], None):
                wanted = [day for day in ends if (since or ends[0]) <= day <= (until or today)]
                found = get_history_figures(owner, HistoryFilters(since=since, until=until), "region", clock.now)
                assert found.total.jobs == len(wanted), (since, until)
                assert sum(period.sums.jobs for period in found.periods) == len(wanted)

    def test_have_the_same_figures_by_month_and_by_week(
        self,
        make_job: MakeJob,
        owner: User,
        approver: User,
        clock: Clock,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        days = [clock.now.date()]
        for number in range(16):
            state = ("succeeded", "failed", "cancelled", "succeeded")[number % 4]
            job = make_job(state, strategy=("SPOT", "STANDARD")[number % 2], by=(owner, approver)[number % 3 // 2])
            days.append(job.ended_at.date())
            clock.now += timedelta(days=(3, 8, 11)[number % 3])
        call_command("count_jobs", verbosity=0)
        ranges = [(since, until) for since in days for until in days if (until - since).days > 31]
        steps = set()

        def figures(since: date, until: date, of: str) -> tuple[Any, ...]:
            cache.forget_all()
            found = get_history_figures(owner, HistoryFilters(since=since, until=until), of, clock.now)
            steps.add(found.step)
            for each in found.groups.values():
                each.waits = +each.waits  # without zeros
            return found.total, found.facets, found.groups, found.strategies

        assert len(ranges) > 30
        monkeypatch.setattr(history_figures, "MAX_DAYS", 1_000)
        by_week = [figures(since, until, of) for since, until in ranges for of in ("owner", "state")]
        monkeypatch.setattr(history_figures, "MAX_WEEKLY_JOBS", 0)
        by_month = [figures(since, until, of) for since, until in ranges for of in ("owner", "state")]

        assert steps == {"week", "month"}
        assert by_month == by_week

    def test_steps_fit_their_length(self, make_job: MakeJob, owner: User, clock: Clock) -> None:
        make_job("succeeded")
        count_ended()
        steps = {}
        for days in (5, 60, 300):
            found = get_history_figures(owner, HistoryFilters(), "region", clock.now + timedelta(days=days))
            steps[days] = (found.step, len(found.periods))

        assert steps == {5: ("day", 6), 60: ("week", 9), 300: ("month", 10)}

    def test_of_very_many_jobs_are_drawn_by_month(
        self, make_job: MakeJob, owner: User, clock: Clock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for _ in range(2):
            make_job("succeeded")
        count_ended()
        monkeypatch.setattr(history_figures, "MAX_WEEKLY_JOBS", 1)
        found = get_history_figures(owner, HistoryFilters(), "region", clock.now + timedelta(days=60))

        assert (found.step, len(found.periods), found.total.jobs) == ("month", 3, 2)


class TestSumsOfMonths:
    """After a hundred days, sums of months give the figures of single jobs, whichever version wrote the rows."""

    FACETS = ("strategy", "region", "owner", "state")

    def figures(self, user: User, now: datetime) -> list[tuple[Any, ...]]:
        cache.forget_all()
        found = [get_history_figures(user, HistoryFilters(), of, now) for of in self.FACETS]
        return [(each.total, each.facets, each.groups, each.strategies) for each in found]

    @pytest.fixture
    def jobs(self, make_job: MakeJob, owner: User, approver: User, clock: Clock) -> list[Job]:
        """Jobs that waited from seconds to days, and some that never ran, in groups of both."""
        made = []
        for minutes, ways in ((1, ("running", "cancelled")), (200, ("running", "lost")), (9_000, ("cancelled",))) * 2:
            job = make_job("queued", strategy="SPOT", by=(owner, approver)[len(made) % 2])
            for state in ways:
                transitions.transition(job, state, now=clock.forward(minutes=minutes), message="It went on.")
            made.append(job)
        return made

    def test_are_those_of_jobs_and_of_their_months(
        self, jobs: list[Job], owner: User, stranger: User, clock: Clock
    ) -> None:
        later = clock.now + timedelta(days=200)
        assert count_ended() == 6
        transitions.transition(jobs[1], "running", now=clock.forward(minutes=5), message="It was found again.")
        assert count_ended() == 1
        wanted = self.figures(owner, clock.now)

        assert wanted[0][0].jobs == 5
        assert wanted[0][0].priced == 3
        assert sum(wanted[0][2]["spot"].waits.values()) == 3
        assert self.figures(owner, later) == wanted
        assert self.figures(stranger, later)[0][0].jobs == 0
