"""Tests of a study's page: figures, table, chart and CSV; the summary on the job's page; and strangers."""

import csv
import io
import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from hypothesis import given
from hypothesis import strategies as st

from dashboard.drawing.study_chart import FOOT, TOP, Scale, draw
from dashboard.pages.parts.csv_file import cell
from jobs import timeline
from jobs.models import Job, Trial
from tests.pages.conftest import MakeJob, SignIn, text_of
from tests.support.clock import Clock

MakeStudy = Callable[..., Job]
TUNING = "hyperparameter_tuning_job"


@pytest.fixture
def make_study(make_job: MakeJob, clock: Clock) -> MakeStudy:
    """`make_study(0.5, None, 0.9)` is a running study whose trials reached that; None failed. Four trials in all."""

    def make(*values: float | None, state: str = "running", **changes: Any) -> Job:
        job = make_job(state, kind=TUNING, hours=0.01, **changes)
        for number, value in enumerate(values, 1):
            add(job, clock, number, value)
        return job

    return make


def add(job: Job, clock: Clock, number: int, value: float | None, **more: Any) -> Trial:
    known: dict[str, Any] = {
        "state": "INFEASIBLE" if value is None else "SUCCEEDED",
        "infeasible_reason": "The replica exited with 1." if value is None else "",
        "metrics": {} if value is None else {"accuracy": value},
        "parameters": {"learning-rate": number / 1000},
        "started_at": clock.now,
        "ended_at": clock.now + timedelta(minutes=number),
    }
    return Trial.objects.create(job=job, trial_id=str(number), **(known | more))


def at(job: Job, below: str = "") -> str:
    return f"/studies/{job.pk}/{below}"


def test_a_trial_ran_as_long_as_it_did_and_the_strip_has_the_best(
    make_study: MakeStudy, clock: Clock, owner: User, signed_in: SignIn
) -> None:
    job = make_study()
    for number, value in enumerate((0.5, 0.9), 1):
        add(job, clock, number, value, ended_at=clock.now + timedelta(seconds=10))
    clock.forward(minutes=1)
    client = signed_in(owner)

    assert 'data-label="ran">10 s</td>' in client.get(at(job)).content.decode()
    assert "0.9 best accuracy trial 2" in text_of(client.get(f"/jobs/{job.pk}/"))


def numbers(page: str) -> list[int]:
    """Return the trials in the order of the table."""
    return [int(number) for number in re.findall(r"<td><b>(\d+)</b>", page)]


class TestWhoSees:
    @pytest.mark.parametrize("below", ["", "trials.csv"])
    def test_a_stranger_learns_nothing(
        self, make_study: MakeStudy, stranger: User, signed_in: SignIn, below: str
    ) -> None:
        assert signed_in(stranger).get(at(make_study(0.5), below)).status_code == 404

    @pytest.mark.parametrize("below", ["", "trials.csv"])
    def test_a_job_that_tunes_nothing_has_no_study(
        self, make_job: MakeJob, owner: User, signed_in: SignIn, below: str
    ) -> None:
        assert signed_in(owner).get(at(make_job("running"), below)).status_code == 404

    def test_who_is_not_signed_in_is_asked_to(self, make_study: MakeStudy) -> None:
        assert Client().get(at(make_study(0.5))).status_code == 302


class TestTable:
    def test_tells_each_trial_and_marks_the_best(self, make_study: MakeStudy, owner: User, signed_in: SignIn) -> None:
        job = make_study(0.5, None, 0.91234567)

        text = text_of(signed_in(owner).get(at(job)))

        assert "1 SUCCEEDED 0.5 0.001 0 s 1 min $0.05" in text
        assert "2 INFEASIBLE The replica exited with 1. – 0.002 0 s 2 min $0.09" in text
        assert "3 best SUCCEEDED 0.91235 0.003 0 s 3 min $0.14" in text
        assert "Best trial 3 accuracy 0.91235" in text
        assert "Trials 3 of 4 1 to come" in text
        assert "Failed 1 no limit set: Vertex AI decides" in text

    def test_tells_how_many_may_fail_and_what_runs(
        self, make_study: MakeStudy, owner: User, signed_in: SignIn, clock: Clock
    ) -> None:
        job = make_study(None, failed=2)
        add(job, clock, 2, None, state="ACTIVE", ended_at=None, infeasible_reason="")

        text = text_of(signed_in(owner).get(at(job)))

        assert "Running 1 at most 2 at once" in text
        assert "Failed 1 of 2 allowed" in text
        assert "States 1 INFEASIBLE 1 ACTIVE" in text

    @pytest.mark.parametrize(
        ("sort", "order"),
        [
            ("", [1, 2, 3, 4]),
            ("-trial", [4, 3, 2, 1]),
            ("metric:accuracy", [3, 1, 4, 2]),
            ("-metric:accuracy", [4, 1, 3, 2]),
            ("metric:nothing", [1, 2, 3, 4]),
            ("'; drop table", [1, 2, 3, 4]),
        ],
    )
    def test_is_sorted_as_the_address_says(
        self, make_study: MakeStudy, owner: User, signed_in: SignIn, sort: str, order: list[int]
    ) -> None:
        job = make_study(0.5, None, 0.9, 0.1)

        page = signed_in(owner).get(at(job), {"sort": sort}).content.decode()

        assert numbers(page) == order

    def test_heads_say_how_it_is_sorted_and_lead_to_the_other_way(
        self, make_study: MakeStudy, owner: User, signed_in: SignIn
    ) -> None:
        client, job = signed_in(owner), make_study(0.5)

        plain = client.get(at(job)).content.decode()
        by_metric = client.get(at(job), {"sort": "metric:accuracy"}).content.decode()

        assert re.search(r'aria-sort="ascending"><a href="\?sort=-trial">Trial<', plain)
        assert re.search(r'aria-sort="descending">\s*<a href="\?sort=-metric%3Aaccuracy"[^>]*>accuracy<', by_metric)
        assert plain.count("aria-sort") == by_metric.count("aria-sort") == 1

    def test_comes_in_pages(self, make_study: MakeStudy, owner: User, signed_in: SignIn) -> None:
        job = make_study(*(number / 100 for number in range(1, 61)))
        client = signed_in(owner)

        first = client.get(at(job)).content.decode()
        second = client.get(at(job), {"page": "2", "sort": "-trial"}).content.decode()

        assert (len(numbers(first)), numbers(first)[0]) == (50, 1)
        assert "1–50 of 60" in first
        assert numbers(second) == list(range(10, 0, -1))

    def test_leads_to_the_log_of_a_trial(self, make_study: MakeStudy, owner: User, signed_in: SignIn) -> None:
        job = make_study(0.5, 0.6)
        Job.objects.filter(pk=job.pk).update(log_sources={"77": "trial 2"})
        job.trials.filter(trial_id="2").update(custom_job="projects/1/locations/us-central1/customJobs/77")

        page = signed_in(owner).get(at(job)).content.decode()

        assert page.count(f'href="/jobs/{job.pk}/?replica=trial%202#log"') == 1

    def test_takes_as_many_queries_for_two_trials_as_for_sixty(
        self, make_study: MakeStudy, owner: User, signed_in: SignIn
    ) -> None:
        client = signed_in(owner)
        client.get(f"/jobs/{make_study().pk}/")  # has the project's log read
        counts = []
        for job in (make_study(0.1, 0.2), make_study(*(number / 100 for number in range(60)))):
            for address in (at(job), f"/jobs/{job.pk}/", f"/jobs/{job.pk}/live/", at(job, "trials.csv")):
                client.get(address)  # the clock has moved on: reads the prices again
                with CaptureQueriesContext(connection) as queries:
                    client.get(address)
                counts.append(len(queries))

        assert counts[:4] == counts[4:]
        assert counts[0] <= 8

    def test_a_study_that_has_ended_asks_no_more(self, make_study: MakeStudy, owner: User, signed_in: SignIn) -> None:
        client = signed_in(owner)

        def main_of(address: str) -> str:
            return client.get(address).text.partition("<main")[2].partition("</main>")[0]

        assert "hx-trigger" in main_of(at(make_study(0.5)) + "?sort=-trial")
        assert "hx-trigger" not in main_of(at(make_study(0.5, state="succeeded")))

    def test_keeps_its_sort_while_it_lives(self, make_study: MakeStudy, owner: User, signed_in: SignIn) -> None:
        job = make_study(0.5)

        page = signed_in(owner).get(at(job), {"sort": "-trial"}, headers={"HX-Request": "true"}).content.decode()

        assert page.lstrip().startswith("<title>RUNNING · Trials of resnet-sweep · Trainboard</title>")
        assert f'hx-get="{at(job)}?sort=-trial"' in page

    def test_words_of_vertex_ai_are_shown_and_never_run(
        self, make_study: MakeStudy, owner: User, signed_in: SignIn, clock: Clock
    ) -> None:
        job = make_study()
        add(
            job, clock, 1, None, infeasible_reason="<script>alert(1)</script>", state="<b>",
            parameters={"<i>": "<script>alert(2)</script>"},
        )  # fmt: skip

        for address in (at(job), f"/jobs/{job.pk}/"):
            page = signed_in(owner).get(address).content.decode()
            assert "<script>alert" not in page
            assert "&lt;script&gt;alert(2)" in page


class TestSeveralMetrics:
    METRICS = ({"metricId": "accuracy", "goal": "MAXIMIZE"}, {"metricId": "loss", "goal": "MINIMIZE"})

    @pytest.fixture
    def job(self, make_study: MakeStudy, clock: Clock) -> Job:
        job = make_study()
        job.spec["studySpec"]["metrics"] = list(self.METRICS)
        job.save(update_fields=["spec"])
        for number, (accuracy, loss) in enumerate([(0.9, 5), (0.8, 3), (0.7, 4)], 1):
            add(job, clock, number, 0, metrics={"accuracy": accuracy, "loss": loss})
        return job

    def test_mark_the_front(self, job: Job, owner: User, signed_in: SignIn) -> None:
        text = text_of(signed_in(owner).get(at(job)))

        assert "Best by all metrics (Pareto front) trial 1 , trial 2" in text
        assert "1 on the front SUCCEEDED 0.9 5" in text
        assert "3 SUCCEEDED 0.7 4" in text

    def test_without_a_trial_that_has_all_say_so_and_still_draw_what_there_is(
        self, job: Job, owner: User, signed_in: SignIn
    ) -> None:
        job.spec["studySpec"]["metrics"].append({"metricId": "latency", "goal": "MINIMIZE"})
        job.save(update_fields=["spec"])
        client = signed_in(owner)

        assert "(Pareto front) – no trial has all metrics" in text_of(client.get(at(job)))
        assert "Line: best so far." in text_of(client.get(at(job)))
        assert "Line: best so far." not in text_of(client.get(at(job), {"metric": "latency"}))

    def test_can_each_be_drawn(self, job: Job, owner: User, signed_in: SignIn) -> None:
        client = signed_in(owner)

        assert 'aria-label="accuracy by trial' in client.get(at(job)).content.decode()
        assert 'aria-label="loss by trial' in client.get(at(job), {"metric": "loss"}).content.decode()


class TestJobPage:
    def test_shows_the_summary_and_the_five_best(self, make_study: MakeStudy, owner: User, signed_in: SignIn) -> None:
        job = make_study(0.1, 0.7, 0.3, None, 0.5, 0.6, 0.2)
        client = signed_in(owner)

        page, live = (client.get(f"/jobs/{job.pk}/{below}").content.decode() for below in ("", "live/"))

        assert numbers(page) == numbers(live) == [2, 6, 5, 3, 7]
        assert f'href="{at(job)}"' in live
        assert "The 5 best by accuracy." in live

    def test_a_job_that_tunes_nothing_shows_no_trials_and_asks_for_none(
        self, make_job: MakeJob, owner: User, signed_in: SignIn
    ) -> None:
        job = make_job("running")

        with CaptureQueriesContext(connection) as queries:
            page = signed_in(owner).get(f"/jobs/{job.pk}/").content.decode()

        assert 'aria-label="Trials"' not in page
        assert not any("jobs_trial" in each["sql"] for each in queries)

    def test_a_study_without_a_trial_says_so(self, make_study: MakeStudy, owner: User, signed_in: SignIn) -> None:
        client = signed_in(owner)

        assert "Trials 0 of 4 4 to come" in text_of(client.get(f"/jobs/{make_study().pk}/"))
        assert "No trials yet" in text_of(client.get(at(make_study())))
        assert "The job ended before it had a trial." in text_of(client.get(at(make_study(state="cancelled"))))


class TestCsv:
    def read(self, client: Client, job: Job) -> list[dict[str, str]]:
        answer = client.get(at(job, "trials.csv"))
        assert answer["Content-Type"] == "text/csv; charset=utf-8"
        assert answer["Content-Disposition"] == f'attachment; filename="trials-{job.pk}.csv"'
        return list(csv.DictReader(io.StringIO(answer.content.decode())))

    def test_holds_every_trial(self, make_study: MakeStudy, owner: User, signed_in: SignIn) -> None:
        job = make_study(*(number / 100 for number in range(60)))

        rows = self.read(signed_in(owner), job)

        assert len(rows) == 60
        assert rows[59] == {
            "trial": "60", "state": "SUCCEEDED", "best": "best", "parameter learning-rate": "0.06",
            "metric accuracy": "0.59", "step": "", "started": "2026-03-02T09:00:40Z", "ended": "2026-03-02T10:00:40Z",
            "seconds waited": "0", "seconds run": "3600", "cost usd": "2.7818", "reason": "", "custom job": "",
        }  # fmt: skip

    def test_runs_nothing_in_a_spreadsheet(
        self, make_study: MakeStudy, owner: User, signed_in: SignIn, clock: Clock
    ) -> None:
        job = make_study()
        add(job, clock, 1, None, infeasible_reason='=HYPERLINK("http://x")', parameters={"=1+1": "@SUM(A1)", "b": -0.5})

        (row,) = self.read(signed_in(owner), job)

        assert row["reason"] == '\'=HYPERLINK("http://x")'
        assert row["parameter =1+1"] == "'@SUM(A1)"
        assert row["parameter b"] == "-0.5"

    @pytest.mark.parametrize(
        ("value", "text"),
        [
            (None, ""), (-1.5, "-1.5"), ("-1.5", "-1.5"), ("+3", "+3"), ("-1+1", "'-1+1"), ("=1", "'=1"), ("@a", "'@a"),
            ("\t=1", "'\t=1"), ("\n=1", "'\n=1"), ("-inf", "'-inf"), ("plain", "plain"), ("", ""), ("-", "'-"),
            ("\r-5", "'\r-5"),
        ],
    )  # fmt: skip
    def test_a_cell_is_a_formula_only_when_it_is_none(self, value: object, text: str) -> None:
        assert cell(value) == text


class TestChart:
    def chart(self, *values: float | None) -> str:
        job = Job(spec={"studySpec": {"metrics": [{"metricId": "accuracy"}], "parameters": []}})
        trials = [
            Trial(pk=number, trial_id=str(number), state="SUCCEEDED" if value is not None else "INFEASIBLE",
                  metrics={} if value is None else {"accuracy": value})
            for number, value in enumerate(values, 1)
        ]  # fmt: skip
        study = timeline.study(job, trials)
        assert study is not None
        return draw(study, study.objectives[0])

    def test_is_told_in_words(self) -> None:
        assert (
            'role="img" aria-label="accuracy by trial (more is better): 2 of 3 trials have a result, the best 0.9."'
            in self.chart(0.5, None, 0.9)
        )

    def test_draws_each_trial_and_the_best_so_far(self) -> None:
        drawing = self.chart(0.5, None, 0.9, 0.7)

        assert drawing.count("<circle") == 3
        assert drawing.count('class="point failed"') == 1
        assert drawing.count('class="point best"') == 1
        assert drawing.count('class="so-far"') == 3, "level, up, level"
        assert "<title>Trial 3: accuracy 0.9</title>" in drawing

    def test_is_a_sentence_before_the_first_result(self) -> None:
        assert "No trial has reported a result yet." in self.chart(None, None)

    @given(
        st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=12),
        st.integers(1, 5),
    )
    def test_everything_lies_inside_the_drawing(self, values: list[float], first: int) -> None:
        scale = Scale(values, range(first, first + len(values)))

        # A thousandth of a pixel: a value may lie outside the outer ticks by what counts as a floating-point error.
        assert all(TOP - 1e-3 <= scale.down(value) <= FOOT + 1e-3 for value in values)
        assert all(0 <= scale.along(first + place) <= 100 for place in range(len(values)))
        ticks = list(scale.value_ticks())
        assert 1 <= len(ticks) <= 12
        assert all(TOP - 1e-3 <= scale.down(tick) <= FOOT + 1e-3 for tick in ticks)
        assert len(list(scale.trial_ticks())) <= 10
        drawing = self.chart(*values)
        assert "nan" not in drawing
        assert "inf" not in drawing.replace("infeasible", "")
