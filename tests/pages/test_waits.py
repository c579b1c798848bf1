"""Tests of the reason for a wait on the board and the job's page, without names that the user may not see."""

import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.test.utils import CaptureQueriesContext

from jobs import transitions
from jobs.models import Job, Membership, PersistentResource, Team
from jobs.observation.wait_reports import record_report
from tests.conftest import person
from tests.pages.conftest import MakeJob, SignIn, text_of
from tests.support.api import caller
from tests.support.clock import Clock
from tests.support.resources import seen

KEY = "0123456789abcdef-secret"
NIGHT = {"resource": "night-shift"}


@pytest.fixture
def waiting(make_job: MakeJob) -> str:
    """A job that waits in QUEUED for one replica of `night-shift`."""
    job = make_job("queued", name="waiting-one", **NIGHT)
    return f"/jobs/{job.pk}/"


def why(client: Client, address: str) -> str:
    """Return the words after the state, which the board and the job's page share."""
    board, page = text_of(client.get("/?who=all")), text_of(client.get(address))
    row = board.split("waiting-one", 1)[1].split("QUEUED", 1)[1]
    words = re.split(r" \d × a2-highgpu-1g", row)[0]
    words = re.sub(r"^ \d+ (s|min|h)( \d+ (s|min))? ", "", words).strip()
    assert words in page
    return words


class TestPersistentResource:
    def test_a_full_one_says_how_full_it_is_and_who_holds_it(
        self, make_job: MakeJob, waiting: str, owner: User, signed_in: SignIn, clock: Clock
    ) -> None:
        seen(now=clock.now)
        make_job("running", name="resnet", replicas=1, extra_replicas=2, **NIGHT)
        seen(used=4, now=clock.now)

        words = why(signed_in(owner), waiting)

        assert words == "night-shift is full: 0 of 4 replicas free, it needs 1, held by resnet (3), other jobs (1)"

    def test_jobs_of_others_in_the_same_project_are_only_counted(
        self, make_job: MakeJob, waiting: str, owner: User, stranger: User, signed_in: SignIn, clock: Clock
    ) -> None:
        twin = Team.objects.create(name="twin", project="vision-research")
        Membership.objects.create(team=twin, user=stranger, role="engineer")
        seen(now=clock.now)
        make_job("running", name="secret", of=twin, by=stranger, extra_replicas=3, **NIGHT)
        seen(used=4, now=clock.now)

        words = why(signed_in(owner), waiting)

        assert words == "night-shift is full: 0 of 4 replicas free, it needs 1, held by other jobs (4)"
        Membership.objects.create(team=twin, user=owner, role="viewer")
        assert "held by secret (4)" in why(signed_in(owner), waiting)

    def test_too_few_are_full_as_well_and_enough_are_not(
        self, make_job: MakeJob, owner: User, signed_in: SignIn, clock: Clock
    ) -> None:
        seen(now=clock.now)
        job = make_job("queued", name="waiting-one", extra_replicas=2, **NIGHT)
        address = f"/jobs/{job.pk}/"
        seen(used=2, now=clock.now)
        assert "is full: 2 of 4 replicas free, it needs 3, held by other jobs (2)" in why(signed_in(owner), address)

        seen(used=1, now=clock.forward(seconds=10))

        words = why(signed_in(owner), address)
        assert words == "night-shift has 3 of 4 replicas free; waits for Vertex AI to give them"

    @pytest.mark.parametrize("state", ["STOPPING", "ERROR", "HIBERNATING"])
    def test_one_that_does_not_run_says_so(
        self, waiting: str, owner: User, signed_in: SignIn, clock: Clock, state: str
    ) -> None:
        seen(state=state, now=clock.now)

        assert why(signed_in(owner), waiting) == f"waits for the persistent resource night-shift: it is {state}"

    def test_one_that_is_gone_and_one_that_was_never_seen(
        self, waiting: str, owner: User, signed_in: SignIn, clock: Clock
    ) -> None:
        assert "night-shift, which is unknown here" in why(signed_in(owner), waiting)
        seen(gone_at=clock.forward(seconds=10), now=clock.now)
        assert "night-shift, which is gone" in why(signed_in(owner), waiting)

    def test_a_pending_job_with_free_replicas_prepares_as_any_other(
        self, make_job: MakeJob, owner: User, signed_in: SignIn, clock: Clock
    ) -> None:
        make_job("pending", **NIGHT)
        seen(now=clock.now)
        assert "machines are being prepared" in text_of(signed_in(owner).get("/"))

        seen(used=4, now=clock.forward(seconds=10))

        assert "night-shift is full" in text_of(signed_in(owner).get("/"))

    def test_a_resource_that_cannot_be_read_says_nothing_wrong(
        self, waiting: str, owner: User, signed_in: SignIn, clock: Clock
    ) -> None:
        seen(pools="none", now=clock.now)

        assert why(signed_in(owner), waiting) == "waits for free replicas of its persistent resource"


class TestFlexStart:
    @pytest.mark.parametrize(
        ("state", "limit", "words", "listed"),
        [
            ("queued", "3600s", "lets it wait at most 1 h.", "waits until all its machines are free at once"),
            ("pending", "0s", "lets it wait without a limit.", "waits for its machines, or they are being prepared"),
        ],
    )
    def test_waits_in_both_states(
        self, make_job: MakeJob, owner: User, signed_in: SignIn, state: str, limit: str, words: str, listed: str
    ) -> None:
        job = make_job(state, strategy="FLEX_START", scheduling={"maxWaitDuration": limit})

        page = text_of(signed_in(owner).get(f"/jobs/{job.pk}/"))

        assert "Waiting until all machines are available at once" in page
        assert words in page
        assert ("is also PENDING while" in page) is (state == "pending")
        assert listed in text_of(signed_in(owner).get("/"))


class TestQueries:
    def test_the_board_asks_as_often_for_forty_jobs_as_for_one(
        self, make_job: MakeJob, owner: User, signed_in: SignIn, clock: Clock, django_assert_num_queries: Any
    ) -> None:
        seen(used=4, now=clock.now)
        make_job("queued", **NIGHT)
        make_job("running", **NIGHT)
        client = signed_in(owner)
        client.get("/")
        from django.db import connection

        with CaptureQueriesContext(connection) as few:
            client.get("/")
        asked = len(few)
        for _ in range(20):
            make_job("queued", **NIGHT)
            make_job("running", **NIGHT)
        client.get("/")  # and that the browser was seen is kept

        with django_assert_num_queries(asked):
            client.get("/")
        assert PersistentResource.objects.count() == 1

    def test_a_board_without_such_jobs_asks_nothing_more(
        self, make_job: MakeJob, owner: User, signed_in: SignIn, clock: Clock
    ) -> None:
        seen(now=clock.now)
        make_job("queued")
        make_job("running", **NIGHT)
        from django.db import connection

        with CaptureQueriesContext(connection) as asked:
            signed_in(owner).get("/")

        assert not [each for each in asked.captured_queries if "jobs_pool" in each["sql"]]


def test_people_of_another_team_learn_nothing(
    make_job: MakeJob, waiting: str, signed_in: SignIn, stranger: User, clock: Clock
) -> None:
    seen(used=4, now=clock.now)
    other = person("other", Team.objects.get(name="speech"), "engineer")

    assert signed_in(other).get(waiting).status_code == 404
    assert "night-shift" not in signed_in(stranger).get("/").content.decode()


class TestReportedByVertexAI:
    STOCKOUT = "Resources are insufficient in region: us-central1. Please try a different region."

    def test_it_is_the_reason_on_every_page_until_the_job_runs(
        self, make_job: MakeJob, owner: User, stranger: User, signed_in: SignIn, clock: Clock
    ) -> None:
        job = make_job("pending", name="waiting-one", strategy="SPOT")
        address, words = f"/jobs/{job.pk}/", f"Vertex AI reports while it waits: {self.STOCKOUT}"
        assert "machines are being prepared" in text_of(signed_in(owner).get(address))

        record_report(job, {"code": 8, "message": self.STOCKOUT}, now=clock.forward(minutes=1))

        assert words in text_of(signed_in(owner).get("/?who=all"))
        page = text_of(signed_in(owner).get(address))
        assert words in page
        assert f"Vertex AI reports: {self.STOCKOUT} It keeps waiting and starts by itself." in page
        assert f"Vertex AI reported while the job waited: {self.STOCKOUT}" in page
        shown = caller(owner).get(f"/jobs/{job.pk}").json()
        assert (shown["state"], shown["reason"], shown["error"]) == ("pending", words, None)
        assert signed_in(stranger).get(address).status_code == 404
        assert caller(stranger).get(f"/jobs/{job.pk}").status_code == 404
        transitions.transition(job, "running", now=clock.forward(minutes=1), message="It runs.")
        assert "reports while it waits" not in text_of(signed_in(owner).get(address))
        assert caller(owner).get(f"/jobs/{job.pk}").json()["reason"] == ""

    def test_a_secret_in_it_is_hidden_from_others(
        self, make_job: MakeJob, owner: User, teammate: User, signed_in: SignIn, clock: Clock
    ) -> None:
        job = make_job("pending", name="waiting-one")
        job.spec["jobSpec"]["workerPoolSpecs"][0]["containerSpec"]["env"] = [{"name": "WANDB_API_KEY", "value": KEY}]
        Job.objects.filter(pk=job.pk).update(spec=job.spec)
        report = {"code": 8, "message": "Resources are insufficient for --key " + KEY}
        record_report(job, report, now=clock.forward(minutes=1))

        assert KEY not in text_of(signed_in(teammate).get(f"/jobs/{job.pk}/"))
        assert KEY not in text_of(signed_in(teammate).get("/?who=all"))
        assert "Resources are insufficient" in text_of(signed_in(teammate).get("/?who=all"))
