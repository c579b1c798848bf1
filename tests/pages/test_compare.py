"""Tests of two jobs side by side, and of a job's changes against its baseline."""

import re
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.contrib.auth.models import User

from dashboard.access import teams_of
from dashboard.pages.parts.differences import changes_of
from jobs import requests
from jobs.models import AllowedResource, Job, Membership, Policy, Team
from tests.pages.conftest import MakeJob, SignIn, text_of
from tests.support import samples
from tests.support.clock import Clock


@pytest.fixture
def pair(make_job: MakeJob) -> tuple[Job, Job]:
    return make_job("succeeded", name="first"), make_job("running", name="second", scheduling={"timeout": "60s"})


def address(*jobs: Job, more: str = "") -> str:
    return "/compare/?" + "&".join(f"{name}={job.pk}" for name, job in zip("ab", jobs, strict=False)) + more


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

    def test_says_so_when_nothing_differs(self, pair: tuple[Job, Job], owner: User, signed_in: SignIn) -> None:
        assert "No differences." in text_of(signed_in(owner).get(address(pair[0], pair[0])))

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

        assert "compare with the last job of this name that succeeded" in text_of(page)
        assert f"/compare/?a={earlier.pk}&amp;b={later.pk}" in page.content.decode()

    def test_offers_recent_jobs_when_none_is_named(self, pair: tuple[Job, Job], owner: User, signed_in: SignIn) -> None:
        page = signed_in(owner).get("/compare/")

        assert "Choose two jobs" in text_of(page)
        assert page.content.decode().count(f'<option value="{pair[0].pk}"') == 2

    @pytest.mark.parametrize("side", [0, 1])
    def test_is_not_there_for_a_stranger(
        self, pair: tuple[Job, Job], make_job: MakeJob, other_team: Team, stranger: User, signed_in: SignIn, side: int
    ) -> None:
        Policy.objects.create(team=other_team, ask_over_usd=2)
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
