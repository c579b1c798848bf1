"""Tests of runs as families: the page, its table, its export, and moving runs."""

import csv
import io
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext

from jobs import cache
from jobs.metrics import Record, Series
from jobs.models import Job, JobEvent, JobMetrics, RunSummary, Team
from jobs.upkeep import file_jobs
from tests.conftest import person
from tests.pages.conftest import MakeJob, SignIn, text_of
from tests.support.clock import Clock
from tests.support.visits import MAX_QUERIES

pytestmark = pytest.mark.both_databases
Family = Callable[..., list[Job]]
LRS = (0.1, 0.01, 0.001)


@pytest.fixture
def runs(make_job: MakeJob) -> list[Job]:
    """Three runs of one family that have succeeded, each with another learning rate, accuracy and cost."""
    made = [make_job("succeeded", name=f"vit-{number}") for number in range(1, 4)]
    file_jobs()
    for number, (job, lr) in enumerate(zip(made, LRS, strict=True)):
        Job.objects.filter(pk=job.pk).update(family=made[0].pk, cost_micros=10_000_000 * (number + 1))
        results = {"accuracy": [0.5, 0.1, (0.7, 0.9, 0.8)[number]], "loss": [1.0, 0.3, 2.0]}
        settings = {"--lr": lr, "--epochs": 3, "labels.goal": "a" if number else "b"}
        RunSummary.objects.filter(pk=job.pk).update(settings=settings, results=results)
    return made


def page(job: Job, more: str = "") -> str:
    return f"/families/{job.pk}/{more}"


def order(text: str) -> list[str]:
    """The names of the runs in the table, in their order."""
    table = text[text.index("Runs of the family. Columns") :]
    return [word for word in table.split() if word.startswith("vit-")]


class TestPage:
    def test_shows_the_runs_with_the_settings_that_differ(
        self, runs: list[Job], teammate: User, signed_in: SignIn
    ) -> None:
        text = text_of(signed_in(teammate).get(page(runs[0])))

        assert "vit 3 runs since" in text
        assert order(text) == ["vit-3", "vit-2", "vit-1"]
        head = text[text.index("Columns are the settings") : text.index("Waited")]
        assert "--lr" in head
        assert "labels.goal" in head
        assert "--epochs" not in head
        assert "0.9 best accuracy vit-2" in text
        assert "$60.00 cost so far 3 runs" in text

    @pytest.mark.parametrize("who", ["owner", "watcher", "admin"])
    def test_is_for_everybody_of_the_team(
        self, runs: list[Job], team: Team, owner: User, admin: User, signed_in: SignIn, who: str
    ) -> None:
        user = {"owner": owner, "admin": admin}.get(who) or person("watcher", team, "viewer")
        text = text_of(signed_in(user).get(page(runs[0])))

        assert order(text) == ["vit-3", "vit-2", "vit-1"]
        assert ("Move to another family" in text) is (who != "watcher")

    def test_a_stranger_sees_no_family(self, runs: list[Job], stranger: User, signed_in: SignIn) -> None:
        browser = signed_in(stranger)

        for more in ("", "runs.csv", f"move/?job={runs[0].pk}"):
            assert browser.get(page(runs[0], more)).status_code == 404
        assert browser.post(page(runs[0], "move/"), {"job": str(runs[0].pk)}).status_code == 404
        assert not JobEvent.objects.filter(kind="family").exists()

    def test_without_runs_there_is_no_page(self, owner: User, signed_in: SignIn) -> None:
        assert signed_in(owner).get(f"/families/{uuid4()}/").status_code == 404

    @pytest.mark.parametrize(
        ("sort", "wanted"),
        [
            ("requested", "123"), ("-requested", "321"), ("cost", "123"), ("-cost", "321"), ("name", "123"),
            ("set:--lr", "321"), ("-set:--lr", "123"), ("metric:accuracy", "132"), ("-metric:accuracy", "231"),
            ("-set:--unknown", "321"), ("x", "321"),
        ],
    )  # fmt: skip
    def test_is_sorted_by_any_column(
        self, runs: list[Job], owner: User, signed_in: SignIn, sort: str, wanted: str
    ) -> None:
        text = text_of(signed_in(owner).get(page(runs[0], f"?sort={sort}")))

        assert order(text) == [f"vit-{number}" for number in wanted]

    @pytest.mark.parametrize(
        ("where", "wanted"),
        [
            ("set:--lr&sign=is&value=0.01", "2"), ("set:--lr&sign=from&value=0.01", "21"),
            ("set:--lr&sign=to&value=1e-2", "32"), ("set:labels.goal&sign=is&value=a", "32"),
            ("metric:accuracy&sign=from&value=0.8", "32"), ("cost&sign=to&value=20", "21"), ("state&value=failed", ""),
            ("name&value=T-2", "2"), ("state&value=SUCCEEDED", "321"), ("strategy&value=Flex-start", ""),
            ("cost&value=x", ""), ("nothing&value=3", "321"), ("set:--lr&value=", "321"),
            ("set:--lr&sign=odd&value=0.1", "1"),
        ],
    )  # fmt: skip
    def test_is_filtered_by_any_column(
        self, runs: list[Job], owner: User, signed_in: SignIn, where: str, wanted: str
    ) -> None:
        text = text_of(signed_in(owner).get(page(runs[0], f"?where={where}")))

        if wanted:
            assert order(text) == [f"vit-{number}" for number in wanted]
        else:
            assert "No run matches this filter" in text

    def test_a_name_that_no_path_can_hold_is_no_column(self, runs: list[Job], owner: User, signed_in: SignIn) -> None:
        odd = 'env.A"\\B'
        RunSummary.objects.filter(pk=runs[0].pk).update(
            settings={odd: 1}, results={'a"b': [1, 1, 1], "loss": [1, 1, 1]}
        )

        answer = signed_in(owner).get(page(runs[0]), {"sort": f"set:{odd}", "where": 'metric:a"b', "value": "1"})

        assert order(text_of(answer)) == ["vit-3", "vit-2", "vit-1"]

    def test_a_loss_is_best_where_it_is_lowest(self, runs: list[Job], owner: User, signed_in: SignIn) -> None:
        RunSummary.objects.filter(pk=runs[0].pk).update(results={"loss": [1.0, 0.05, 9.0]})

        text = text_of(signed_in(owner).get(page(runs[0], "?metric=loss")))

        assert "0.05 best loss vit-1" in text

    def test_shows_what_changed_against_the_last_run(self, make_job: MakeJob, owner: User, signed_in: SignIn) -> None:
        first, second = make_job("succeeded"), make_job("running", scheduling={"timeout": "60s"})
        Job.objects.update(family=first.pk)
        text = text_of(signed_in(owner).get(page(first)))

        assert "jobSpec.scheduling.timeout 360s → 60s" in text
        assert f"?a={first.pk}&b={second.pk}" in signed_in(owner).get(page(first)).content.decode().replace(
            "&amp;", "&"
        )

    def test_draws_the_curves_of_the_chosen_runs(self, runs: list[Job], owner: User, signed_in: SignIn) -> None:
        for job in runs:
            series = Series("loss", "workerpool0-0", [(1.0, 1, 0.9), (2.0, 2, 0.4)], count=2, last=(2.0, 2, 0.4))
            JobMetrics.objects.create(job=job, record=Record([series]).as_json())
        browser = signed_in(owner)

        assert browser.get(page(runs[0])).content.decode().count('class="job-curve"') == 3
        chosen = browser.get(page(runs[0], f"?job={runs[1].pk}")).content.decode()
        assert chosen.count('class="job-curve"') == 1
        assert "vit-2: at last 0.4" in chosen

    def test_a_run_of_another_team_is_not_drawn(
        self, runs: list[Job], make_job: MakeJob, owner: User, other_team: Team, signed_in: SignIn
    ) -> None:
        foreign = make_job()
        Job.objects.filter(pk=foreign.pk).update(team=other_team)

        assert signed_in(owner).get(page(runs[0], f"?job={foreign.pk}")).status_code == 404

    def test_is_linked_from_the_job_and_the_history(self, runs: list[Job], owner: User, signed_in: SignIn) -> None:
        browser = signed_in(owner)

        for address in (f"/jobs/{runs[1].pk}/", "/history/"):
            assert f'href="/families/{runs[0].pk}/"' in browser.get(address).content.decode()


class TestSlower:
    def times(
        self, job: Job, clock: Clock, *, wait: int = 60, prepare: int = 10, run: int = 600, again: int = 0
    ) -> None:
        begin = clock.now - timedelta(hours=2)
        start = begin + timedelta(seconds=wait)
        end = start + timedelta(seconds=run + again)
        Job.objects.filter(pk=job.pk).update(
            submitted_at=begin, started_at=start, ended_at=end, waited_again_seconds=again, state="succeeded"
        )
        at = start - timedelta(seconds=prepare)
        JobEvent.objects.create(
            job=job,
            kind="state",
            to_state="pending",
            occurred_at=at,
            recorded_at=at,
            message="PENDING",
            once_key="first",
        )

    @pytest.mark.parametrize(
        ("changes", "words"),
        [
            ({"wait": 660}, "91 % slower than last time wait for machines · +10 min"),
            ({"wait": 660, "prepare": 610}, "91 % slower than last time preparation of machines and image · +10 min"),
            ({"again": 600}, "91 % slower than last time restarts · +10 min"),
            ({"run": 1200}, "91 % slower than last time cause not known · +10 min"),
        ],
    )
    def test_names_the_part_that_took_longer(
        self, runs: list[Job], owner: User, signed_in: SignIn, clock: Clock, changes: dict[str, int], words: str
    ) -> None:
        self.times(runs[1], clock)
        self.times(runs[2], clock, **changes)

        assert words in text_of(signed_in(owner).get(page(runs[0])))

    def test_is_not_shown_for_a_run_that_was_as_fast_or_failed(
        self, runs: list[Job], owner: User, signed_in: SignIn, clock: Clock
    ) -> None:
        self.times(runs[1], clock)
        self.times(runs[2], clock, run=610)
        assert "slower" not in text_of(signed_in(owner).get(page(runs[0])))

        Job.objects.filter(pk=runs[2].pk).update(ended_at=clock.now)
        Job.objects.filter(pk=runs[2].pk).update(state="failed")
        assert "slower" not in text_of(signed_in(owner).get(page(runs[0])))


def test_the_export_has_every_setting_and_metric(runs: list[Job], owner: User, signed_in: SignIn) -> None:
    answer: Any = signed_in(owner).get(page(runs[0], "runs.csv?sort=set:--lr"))
    rows = list(csv.DictReader(io.StringIO(b"".join(answer.streaming_content).decode())))

    assert [row["name"] for row in rows] == ["vit-3", "vit-2", "vit-1"]
    assert [row["setting --lr"] for row in rows] == ["0.001", "0.01", "0.1"]
    assert [row["metric accuracy"] for row in rows] == ["0.8", "0.9", "0.7"]
    assert {row["setting --epochs"] for row in rows} == {"3"}


class TestMoving:
    def test_takes_runs_out_of_the_family(self, runs: list[Job], teammate: User, signed_in: SignIn) -> None:
        browser = signed_in(teammate)
        asked = text_of(browser.get(page(runs[0], f"move/?job={runs[1].pk}")))
        assert "vit-2" in asked
        assert "vit-3 ·" not in asked.partition("Join the family of")[0]

        answer = browser.post(page(runs[0], "move/"), {"job": str(runs[1].pk), "to": ""}, follow=True)

        assert "Moved 1 run." in text_of(answer)
        assert order(text_of(answer)) == ["vit-3", "vit-1"]
        event = JobEvent.objects.get(kind="family")
        assert (event.job_id, event.actor, event.reason) == (runs[1].pk, teammate, "left")
        assert f"{teammate.username} took the job out of its family." in text_of(browser.get(f"/jobs/{runs[1].pk}/"))

    def test_joins_the_family_of_another_job(
        self, runs: list[Job], make_job: MakeJob, owner: User, signed_in: SignIn
    ) -> None:
        other = make_job("succeeded", name="other")
        file_jobs()
        browser = signed_in(owner)
        assert f'value="{other.pk}"' in browser.get(page(runs[0], f"move/?job={runs[1].pk}")).content.decode()

        answer = browser.post(page(runs[0], "move/"), {"job": str(runs[1].pk), "to": str(other.pk)})

        assert answer.headers["Location"] == page(other)
        assert family_of(runs[1]) == other.pk
        assert family_of(runs[2]) == runs[0].pk

    def test_a_viewer_moves_nothing(self, runs: list[Job], team: Team, signed_in: SignIn) -> None:
        browser = signed_in(person("watcher", team, "viewer"))

        assert browser.get(page(runs[0], f"move/?job={runs[1].pk}")).status_code == 403
        assert browser.post(page(runs[0], "move/"), {"job": str(runs[1].pk)}).status_code == 403
        assert family_of(runs[1]) == runs[0].pk

    def test_a_run_joins_no_family_of_another_team(
        self, runs: list[Job], make_job: MakeJob, owner: User, stranger: User, other_team: Team, signed_in: SignIn
    ) -> None:
        foreign = make_job()
        file_jobs()
        Job.objects.filter(pk=foreign.pk).update(team=other_team)
        values = {"job": str(runs[1].pk), "to": str(foreign.pk)}

        assert signed_in(owner).post(page(runs[0], "move/"), values).status_code == 404
        other_team.memberships.create(user=owner, role="engineer")
        assert signed_in(owner).post(page(runs[0], "move/"), values).status_code == 403
        assert family_of(runs[1]) == runs[0].pk

    def test_only_runs_of_the_family_are_moved(
        self, runs: list[Job], make_job: MakeJob, owner: User, signed_in: SignIn
    ) -> None:
        other = make_job()
        file_jobs()

        answer = signed_in(owner).post(page(runs[0], "move/"), {"job": str(other.pk)}, follow=True)

        assert "Select the runs to move first." in text_of(answer)
        assert family_of(other) == other.pk


def family_of(job: Job) -> UUID | None:
    return Job.objects.get(pk=job.pk).family


def test_five_thousand_runs_are_paged_with_few_queries(
    runs: list[Job], owner: User, signed_in: SignIn, clock: Clock
) -> None:
    base = Job.objects.get(pk=runs[0].pk)
    jobs = []
    for number in range(5_000):
        job = Job(**{each.attname: getattr(base, each.attname) for each in Job._meta.concrete_fields})
        job.pk, job.display_name, job.request_key, job.remote_name = uuid4(), f"run-{number}", f"run-{number}", ""
        job.requested_at = clock.now - timedelta(minutes=number)
        jobs.append(job)
    Job.objects.bulk_create(jobs, batch_size=500)
    results = [(number % 97) / 100 for number in range(5_000)]
    RunSummary.objects.bulk_create(
        [
            RunSummary(job=job, settings={"--lr": number}, results={"accuracy": [value] * 3})
            for number, (job, value) in enumerate(zip(jobs, results, strict=True))
        ],
        batch_size=500,
    )
    browser = signed_in(owner)

    for more in ("", "?sort=-metric:accuracy&page=3", "?sort=set:--lr&where=set:--lr&sign=from&value=9", "?page=100"):
        cache.forget_all()
        assert browser.get(page(runs[0], more)).status_code == 200
        with CaptureQueriesContext(connection) as queries:
            text = text_of(browser.get(page(runs[0], more)))
        assert "5,003 runs since" in text
        assert len(queries) <= MAX_QUERIES
