"""Tests of a sweep: one form, several jobs, assessed, priced and approved together, each requested exactly once."""

from decimal import Decimal

import pytest
from django.contrib.auth.models import User
from django.test import Client

from dashboard.forms.compose.sweep_form import SweepForm
from dashboard.queries.approvals import list_approvals
from jobs import requests
from jobs.errors import NotPermitted
from jobs.models import Approval, Job, Policy, Team
from jobs.spec.sweep import MAX_SWEEP, vary
from jobs.submission.reassessment import reassess
from tests.pages.conftest import SignIn, text_in, text_of
from tests.support import samples
from tests.support.clock import Clock

pytestmark = pytest.mark.django_db
SWEEP = {"seeds": "1-3", "seed_argument": "--seed"}


def arguments(**typed: str) -> list[list[str]]:
    """Return what a sweep form reads."""
    form = SweepForm({"seed_argument": "--seed"} | typed)
    form.is_valid()
    return form.arguments


class TestForm:
    @pytest.mark.parametrize(
        ("typed", "read"),
        [
            ({}, []),
            ({"seeds": "7"}, [["--seed", "7"]]),
            ({"seeds": "1-2, 8"}, [["--seed", "1"], ["--seed", "2"], ["--seed", "8"]]),
            ({"argument_lists": "--lr 1e-3\n--lr '1 2'"}, [["--lr", "1e-3"], ["--lr", "1 2"]]),
            ({"seeds": "1,2", "argument_lists": "-x"}, [["--seed", "1", "-x"], ["--seed", "2", "-x"]]),
        ],
    )
    def test_reads_seeds_and_lists(self, typed: dict[str, str], read: list[list[str]]) -> None:
        assert arguments(**typed) == read

    @pytest.mark.parametrize(
        "typed",
        [
            {"seeds": "3-1"}, {"seeds": "a"}, {"seeds": f"1-{MAX_SWEEP + 1}"}, {"seeds": "1-999999999"},
            {"argument_lists": "--name 'open"}, {"seeds": "1-26", "argument_lists": "a\nb"},
        ],
    )  # fmt: skip
    def test_refuses_what_is_no_sweep(self, typed: dict[str, str]) -> None:
        assert not SweepForm(typed).is_valid()

    def test_gives_each_job_arguments_a_name_and_a_folder(self) -> None:
        first, second = vary(samples.submission(), [["--seed", "1"], ["--seed", "2"]])

        assert (first.display_name[-2:], second.display_name[-2:]) == ("-1", "-2")
        assert [each.containers[0][1].args[-1] for each in (first, second)] == ["1", "2"]
        assert first.digest != second.digest


class TestRequest:
    def test_makes_a_job_of_each_once(self, engineer: Client, example: dict[str, str]) -> None:
        for _ in range(2):
            answer = engineer.post("/jobs/new/", example | SWEEP | {"run_time": "1 min", "timeout": "2 min"})

        jobs = list(Job.objects.order_by("display_name"))
        assert answer["Location"] == "/"
        assert [job.display_name for job in jobs] == [f"{example['name']}-{n}" for n in (1, 2, 3)]
        assert len({job.sweep for job in jobs}) == 1
        spec = jobs[2].spec["jobSpec"]
        assert spec["workerPoolSpecs"][0]["containerSpec"]["args"][-2:] == ["--seed", "3"]
        assert spec["baseOutputDirectory"]["outputUriPrefix"] == f"{example['output']}/3"

    def test_is_priced_together(self, engineer: Client, example: dict[str, str]) -> None:
        one = engineer.post("/jobs/new/check/", example).content.decode()
        three = engineer.post("/jobs/new/check/", example | SWEEP).content.decode()

        def price(page: str) -> Decimal:
            return Decimal(text_in(page, "price").split()[0].removeprefix("$"))

        assert abs(price(three) - 3 * price(one)) < Decimal("0.03")
        assert text_in(three, "submit-words") == "Submit 3 jobs for approval"
        assert "They are validated, priced and approved together." in text_in(three, "sweep-words")

    def test_that_costs_too_much_together_asks_though_each_job_does_not(
        self, engineer: Client, example: dict[str, str], team: Team
    ) -> None:
        Policy.objects.filter(team=team).update(ask_over_usd=100)
        engineer.post("/jobs/new/", example)
        assert Job.objects.get().state == "approved"

        engineer.post("/jobs/new/", example | SWEEP | {"request_key": "another"})

        assert set(Job.objects.exclude(sweep=None).values_list("state", flat=True)) == {"awaiting_approval"}
        assert "for the 3 jobs of the sweep together" in Approval.objects.earliest("pk").findings[0]["message"]

    def test_that_is_refused_together_makes_no_job(self, engineer: Client, example: dict[str, str], team: Team) -> None:
        Policy.objects.filter(team=team).update(refuse_over_usd=100)

        answer = engineer.post("/jobs/new/", example | SWEEP)

        assert answer.status_code == 422
        assert not Job.objects.exists()

    def test_is_asked_about_again_when_the_limit_falls_below_what_all_cost(
        self, engineer: Client, example: dict[str, str], team: Team, clock: Clock
    ) -> None:
        Policy.objects.filter(team=team).update(ask_over_usd=300)
        engineer.post("/jobs/new/", example | SWEEP)
        job = Job.objects.select_related("team__policy").first()
        assert job is not None
        assert job.state == "approved"
        assert reassess(job, clock.now) is None

        Policy.objects.filter(team=team).update(ask_over_usd=100)

        change = reassess(Job.objects.get(pk=job.pk), clock.now)
        assert change is not None
        assert change.events[0].to_state == "awaiting_approval"


class TestApproval:
    @pytest.fixture
    def jobs(self, engineer: Client, example: dict[str, str]) -> list[Job]:
        """A sweep that waits."""
        engineer.post("/jobs/new/", example | SWEEP)
        return list(Job.objects.order_by("display_name"))

    def test_of_one_covers_all(self, jobs: list[Job], approver: User, signed_in: SignIn) -> None:
        client = signed_in(approver)
        assert [each.job.sweep for each in list_approvals(approver, 10)] == [jobs[0].sweep]
        assert "one decision for all its jobs" in text_of(client.get("/approvals/"))

        client.post(f"/jobs/{jobs[1].pk}/decide/", {"decision": "approve", "comment": "go"})

        assert {job.state for job in Job.objects.all()} == {"approved"}
        assert {each.approved_usd for each in Job.objects.all()} == {jobs[0].max_usd}
        assert set(Approval.objects.values_list("decision", "comment")) == {("approved", "go")}

    def test_rejects_all(self, jobs: list[Job], approver: User, clock: Clock) -> None:
        assert requests.reject(jobs[0], by=approver, comment="no", now=clock.now)

        assert {job.state for job in Job.objects.all()} == {"rejected"}

    def test_is_not_given_by_the_owner_or_a_stranger(
        self, jobs: list[Job], owner: User, stranger: User, signed_in: SignIn, clock: Clock
    ) -> None:
        with pytest.raises(NotPermitted):
            requests.approve(jobs[0], by=owner, comment="", now=clock.now)
        assert signed_in(stranger).post(f"/jobs/{jobs[0].pk}/decide/", {"decision": "approve"}).status_code == 404
        assert {job.state for job in Job.objects.all()} == {"awaiting_approval"}


class TestIdentical:
    def test_is_named_while_it_has_not_ended(self, engineer: Client, example: dict[str, str]) -> None:
        engineer.post("/jobs/new/", example)

        page = engineer.post("/jobs/new/check/", example | {"name": "other", "request_key": "k"}).content.decode()
        different = engineer.post("/jobs/new/check/", example | {"pool-0-args": "-x", "output": ""}).content.decode()

        words = f"The team has an identical job: {example['name']} (awaiting approval)."
        assert words in text_in(page, "findings")
        assert f'<a href="/jobs/{Job.objects.get().pk}/">Open the job</a>' in page
        assert "Open the job" not in different
        assert "identical" not in text_in(different, "findings")

    @pytest.mark.parametrize(("hours", "is_named"), [(23, True), (25, False)])
    def test_is_named_for_a_day_after_its_end(
        self, engineer: Client, example: dict[str, str], clock: Clock, hours: int, is_named: bool
    ) -> None:
        engineer.post("/jobs/new/", example)
        Job.objects.update(state="succeeded", ended_at=clock.now)
        clock.forward(hours=hours)

        page = engineer.post("/jobs/new/check/", example).content.decode()

        assert ("identical" in text_in(page, "findings")) is is_named

    def test_of_another_team_is_not_named(
        self, engineer: Client, example: dict[str, str], stranger: User, signed_in: SignIn
    ) -> None:
        engineer.post("/jobs/new/", example)

        page = signed_in(stranger).post("/jobs/new/check/", example | {"team": ""}).content.decode()

        assert "identical" not in text_in(page, "findings")
