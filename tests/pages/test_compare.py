"""Tests of two jobs side by side, and of a job's changes against its baseline."""

import re
from collections.abc import Callable, Iterable
from datetime import timedelta
from html import unescape

import pytest
from django.contrib.auth.models import User

from dashboard.access import teams_of
from dashboard.pages.parts.differences import changes_of
from jobs import requests
from jobs.metrics import Record, Series
from jobs.models import AllowedResource, Job, JobMetrics, Membership, Policy, Team
from tests.conftest import person
from tests.pages.conftest import MakeJob, SignIn, text_of
from tests.support import samples
from tests.support.clock import Clock


@pytest.fixture
def pair(make_job: MakeJob) -> tuple[Job, Job]:
    return make_job("succeeded", name="first"), make_job("running", name="second", scheduling={"timeout": "60s"})


def address(*jobs: Job, more: str = "") -> str:
    return "/compare/?" + "&".join(f"{name}={job.pk}" for name, job in zip("ab", jobs, strict=False)) + more


def all_of(jobs: Iterable[Job], more: str = "") -> str:
    return "/compare/?" + "&".join(f"job={job.pk}" for job in jobs) + more


def loss(*points: tuple[int, float]) -> Series:
    return Series("loss", "workerpool0-0", [(float(at), step, value) for at, (step, value) in enumerate(points)])


def measured(job: Job, *series: Series) -> Job:
    for each in series:
        each.last = each.points[-1]
    JobMetrics.objects.create(job=job, record=Record([*series]).as_json())
    return job


class TestPage:
    def test_shows_what_differs_before_what_does_not(
        self, pair: tuple[Job, Job], teammate: User, signed_in: SignIn
    ) -> None:
        text = text_of(signed_in(teammate).get(address(*pair)))

        assert "jobSpec.scheduling.timeout changed 360 s" not in text
        assert "jobSpec.scheduling.timeout changed 360s 60s" in text
        assert text.index("jobSpec.scheduling.timeout") < text.index("equal fields") < text.index("containerSpec.args")

    def test_shows_what_became_of_both_first(
        self, pair: tuple[Job, Job], teammate: User, signed_in: SignIn, clock: Clock
    ) -> None:
        Job.objects.filter(pk=pair[1].pk).update(restarts=2, trials_summary="best accuracy 0.97 of 4 trials")

        text = text_of(signed_in(teammate).get(address(*pair)))

        assert "State SUCCEEDED RUNNING" in text
        assert re.search(
            r"Cost \$[\d.]+ \$[\d.]+ Estimate \$[\d.]+ \$[\d.]+ Waited [\w ]+ Ran [\w ]+ Restarts 0 2", text
        )
        assert "Trials – best accuracy 0.97 of 4 trials" in text
        assert text.index("Restarts 0 2") < text.index("jobSpec.scheduling.timeout")

    def test_says_so_when_nothing_differs(self, make_job: MakeJob, owner: User, signed_in: SignIn) -> None:
        jobs = [make_job("succeeded") for _ in range(3)]
        client = signed_in(owner)

        assert "No differences." in text_of(client.get(address(*jobs[:2])))
        assert "No differences." in text_of(client.get(all_of(jobs)))

    def test_takes_a_job_once(self, pair: tuple[Job, Job], owner: User, signed_in: SignIn) -> None:
        assert "Add another job" in text_of(signed_in(owner).get(address(pair[0], pair[0])))

    def test_tells_absent_fields_from_explicit_zeros(self, make_job: MakeJob, owner: User, signed_in: SignIn) -> None:
        absent = make_job("running", strategy="FLEX_START")
        zero = make_job("running", strategy="FLEX_START", scheduling={"maxWaitDuration": "0s"})

        assert "jobSpec.scheduling.maxWaitDuration added absent 0s" in text_of(
            signed_in(owner).get(address(absent, zero))
        )

    def test_leaves_labels_out_when_asked_to(self, make_job: MakeJob, owner: User, signed_in: SignIn) -> None:
        jobs = make_job("running", labels={"phase": "one"}), make_job("running", labels={"phase": "two"})
        client = signed_in(owner)

        assert "labels[phase]" in text_of(client.get(address(*jobs)))
        text = text_of(client.get(address(*jobs, more="&labels=no")))
        assert "labels[phase]" not in text
        assert "No differences; labels were not compared." in text

    def test_offers_a_baseline_for_one_job(self, make_job: MakeJob, owner: User, signed_in: SignIn) -> None:
        earlier, later = make_job("succeeded"), make_job("running")

        page = signed_in(owner).get(address(later))

        assert f"compare {later.display_name} with the last job of this name that succeeded" in text_of(page)
        assert f"/compare/?a={earlier.pk}&amp;b={later.pk}" in page.content.decode()

    def test_offers_recent_jobs_when_none_is_named(self, pair: tuple[Job, Job], owner: User, signed_in: SignIn) -> None:
        page = signed_in(owner).get("/compare/")

        assert "Choose jobs" in text_of(page)
        assert page.content.decode().count(f'<option value="{pair[0].pk}"') == 1

    @pytest.mark.parametrize("side", [0, 1])
    def test_is_not_there_for_a_stranger(
        self, pair: tuple[Job, Job], make_job: MakeJob, other_team: Team, stranger: User, signed_in: SignIn, side: int
    ) -> None:
        Policy.objects.create(team=other_team, ask_over_usd=4)
        AllowedResource.objects.create(team=other_team, kind="project", name="vision-research")
        theirs = make_job("running", of=other_team, by=stranger)
        jobs = [theirs, theirs]
        jobs[side] = pair[0]

        client = signed_in(stranger)

        assert client.get(address(*jobs)).status_code == 404
        assert str(pair[0].pk) not in client.get("/compare/").content.decode()

    @pytest.mark.parametrize("key", ["x", "1", "../..", "%00"])
    def test_is_not_there_for_what_is_no_job(self, owner: User, signed_in: SignIn, key: str) -> None:
        assert signed_in(owner).get(f"/compare/?a={key}").status_code == 404

    def test_shows_html_as_text(self, make_job: MakeJob, owner: User, signed_in: SignIn) -> None:
        jobs = make_job("running"), make_job("running")
        for job in jobs:
            body = samples.body(name=f"<b>{job.pk}</b>") | {"<b>field": {"<b>": [{"<b>": "<b>"}]}}
            Job.objects.filter(pk=job.pk).update(spec=body, display_name="<b>name</b>")

        page = signed_in(owner).get(address(*jobs)).content.decode()

        assert not re.search(r"<b>(?!First|Second)", page)
        assert "&lt;b&gt;" in page


class TestSeveral:
    """More than two jobs: a column for each, in the order of the address."""

    @pytest.fixture
    def jobs(self, make_job: MakeJob) -> list[Job]:
        timeouts = ("360s", "60s", "360s")
        return [make_job("succeeded", name=f"run-{i}", scheduling={"timeout": t}) for i, t in enumerate(timeouts)]

    def test_shows_a_column_for_each(self, jobs: list[Job], teammate: User, signed_in: SignIn) -> None:
        text = text_of(signed_in(teammate).get(all_of(jobs)))

        assert "State SUCCEEDED SUCCEEDED SUCCEEDED" in text
        assert "jobSpec.scheduling.timeout 360s 60s 360s" in text
        assert text.index("jobSpec.scheduling.timeout") < text.index("Equal fields") < text.index("containerSpec.args")

    def test_a_job_without_a_field_has_none(self, make_job: MakeJob, owner: User, signed_in: SignIn) -> None:
        jobs = [make_job("running", labels=labels) for labels in ({"phase": "one"}, {}, {"phase": "one"})]
        client = signed_in(owner)

        assert "labels[phase] one absent one" in text_of(client.get(all_of(jobs)))
        assert "No differences; labels were not compared." in text_of(client.get(all_of(jobs, "&labels=no")))

    def test_long_values_that_differ_at_their_end_differ(
        self, make_job: MakeJob, owner: User, signed_in: SignIn
    ) -> None:
        jobs = [make_job("running") for _ in range(3)]
        for job, end in zip(jobs, "abb", strict=True):
            Job.objects.filter(pk=job.pk).update(spec=samples.body() | {"description": "x" * 3_000 + end})

        text = text_of(signed_in(owner).get(all_of(jobs)))

        assert text.index("description") < text.index("Equal fields")

    def test_one_is_removed(self, jobs: list[Job], owner: User, signed_in: SignIn) -> None:
        client = signed_in(owner)
        page = client.get(all_of(jobs)).content.decode()
        address = re.search(r'href="([^"]+)"\s+aria-label="Remove run-1"', page)
        assert address

        text = text_of(client.get("/compare/" + unescape(address[1])))

        assert "run-0" in text
        assert "1 run-0" in text
        assert "2 run-2" in text

    def test_at_most_eight(self, make_job: MakeJob, owner: User, signed_in: SignIn) -> None:
        jobs = [make_job("running", name=f"run-{i}") for i in range(10)]

        page = signed_in(owner).get(all_of(jobs))

        assert "2 more jobs are left out; at most 8 are compared." in text_of(page)
        assert "Add a job" not in text_of(page)
        assert page.content.decode().count('name="job"') == 8

    @pytest.mark.parametrize("place", [0, 1, 2])
    def test_is_not_there_for_a_stranger(
        self, jobs: list[Job], make_job: MakeJob, other_team: Team, stranger: User, signed_in: SignIn, place: int
    ) -> None:
        Policy.objects.create(team=other_team, ask_over_usd=4)
        AllowedResource.objects.create(team=other_team, kind="project", name="vision-research")
        theirs = [make_job("running", of=other_team, by=stranger) for _ in range(3)]
        client = signed_in(stranger)
        assert client.get(all_of(theirs)).status_code == 200
        theirs[place] = jobs[place]

        assert client.get(all_of(theirs)).status_code == 404

    def test_from_the_board_and_the_history(
        self, jobs: list[Job], team: Team, owner: User, stranger: User, signed_in: SignIn
    ) -> None:
        viewer = person("onlooker", team, "viewer")
        for user, may_act in ((owner, True), (viewer, False)):
            client = signed_in(user)
            for address in ("/", "/history/"):
                page = client.get(address).content.decode()
                assert f'form="several" name="job" value="{jobs[0].pk}"' in page
                assert 'formaction="/compare/"' in page
                assert ("Run again…" in page) == may_act
        assert "run-0" not in signed_in(stranger).get("/history/").content.decode()


class TestCurves:
    def test_are_of_the_metric_that_most_jobs_have(
        self, make_job: MakeJob, owner: User, stranger: User, signed_in: SignIn
    ) -> None:
        first = measured(
            make_job("succeeded", name="one"), loss((0, 2.0), (10, 1.0)), Series("auc", "0", [(0, 1, 0.5), (1, 2, 0.7)])
        )
        second = measured(make_job("succeeded", name="two"), loss((0, 3.0), (20, 2.5)))
        third = make_job("succeeded", name="three")
        client = signed_in(owner)

        text = text_of(client.get(all_of([first, second, third])))
        page = client.get(all_of([first, second, third], "&metric=auc")).content.decode()

        assert "loss of 2 jobs, step 0 to step 20." in client.get(all_of([first, second])).content.decode()
        assert "1 one at last 1 2 two at last 2.5 Without loss in the log: three" in text
        assert "auc of 1 jobs, step 1 to step 2." in page
        assert signed_in(stranger).get(all_of([first, second])).status_code == 404

    def test_over_time_begin_when_the_job_first_ran(self, make_job: MakeJob, owner: User, signed_in: SignIn) -> None:
        jobs = [make_job("succeeded") for _ in range(2)]
        for job, late in zip(jobs, (60, 3_600), strict=True):
            assert job.started_at
            began = job.started_at.timestamp()
            measured(job, Series("loss", "0", [(began + 60, 1, 2.0), (began + late, 2, 1.0)]))

        page = signed_in(owner).get(address(*jobs, more="&by=time")).content.decode()

        assert "loss of 2 jobs, 1 min to 1 h." in page

    def test_a_restart_begins_another_line(self, make_job: MakeJob, owner: User, signed_in: SignIn) -> None:
        jobs = [
            measured(make_job("succeeded"), loss((0, 2.0), (10, 1.0), (5, 1.5), (20, 0.5))),
            measured(make_job("succeeded"), loss((0, 2.0), (20, 1.0))),
        ]

        page = signed_in(owner).get(address(*jobs)).content.decode()

        assert page.count('class="job-curve" data-job="1"') == 2
        assert page.count('class="job-curve" data-job="2"') == 1

    def test_are_missing_without_metrics(self, pair: tuple[Job, Job], owner: User, signed_in: SignIn) -> None:
        assert 'aria-label="Curves"' not in signed_in(owner).get(address(*pair)).content.decode()

    def test_cost_no_query_a_job(
        self, make_job: MakeJob, owner: User, signed_in: SignIn, django_assert_max_num_queries: Callable[[int], object]
    ) -> None:
        jobs = [measured(make_job("succeeded"), loss((0, 2.0), (1, 1.0))) for _ in range(8)]
        client = signed_in(owner)
        client.get(all_of(jobs))

        with django_assert_max_num_queries(10):  # type: ignore[attr-defined]
            client.get(all_of(jobs))


class TestBaseline:
    def test_is_the_job_that_it_was_cloned_from(
        self, pair: tuple[Job, Job], team: Team, owner: User, approver: User, clock: Clock
    ) -> None:
        clone = self.clone_of(pair[0], team, owner, clock)

        change = changes_of(approver, clone)
        assert change

        assert change.why == "the job that it was cloned from"
        assert [row.field for row in change.changed] == [
            "expected run time",
            "expected cost",
            "jobSpec.scheduling.timeout",
        ]

    def test_is_else_the_last_success_of_its_name(self, make_job: MakeJob, owner: User, clock: Clock) -> None:
        make_job("succeeded")
        last = make_job("succeeded")
        make_job("failed")
        job = make_job("awaiting_approval")
        clock.forward(minutes=1)
        make_job("succeeded")  # requested after the job

        change = changes_of(owner, job)
        assert change

        assert change.before == last
        assert change.why == "the last job of this name that succeeded"

    def test_is_none_for_the_first_of_its_name(self, make_job: MakeJob, owner: User) -> None:
        make_job("succeeded", name="another")
        job = make_job("running")

        assert changes_of(owner, job) is None

    def test_never_shows_a_job_of_a_team_that_the_person_is_not_in(
        self, pair: tuple[Job, Job], other_team: Team, owner: User, stranger: User, clock: Clock
    ) -> None:
        Membership.objects.create(team=other_team, user=owner, role="engineer")
        AllowedResource.objects.create(team=other_team, kind="project", name="vision-research")

        clone = self.clone_of(pair[0], other_team, owner, clock)

        assert changes_of(stranger, clone) is None
        change = changes_of(owner, clone)
        assert change
        assert change.before == pair[0]

    def test_costs_one_query(
        self, make_job: MakeJob, owner: User, django_assert_num_queries: Callable[[int], object]
    ) -> None:
        make_job("succeeded")
        job = make_job("succeeded")
        assert teams_of(owner), "which are read once for a request"

        with django_assert_num_queries(1):  # type: ignore[attr-defined]
            assert changes_of(owner, job)

    @staticmethod
    def clone_of(job: Job, team: Team, by: User, clock: Clock) -> Job:
        return requests.request_job(
            submission=samples.submission(name="first", scheduling={"timeout": "7200s"}),
            team=team,
            by=by,
            expected=timedelta(hours=50),
            request_key="clone",
            now=clock.now,
            cloned_from=job,
        )
