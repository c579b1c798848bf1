"""Tests of bulk actions: the effect on each job, permissions, and that nothing happens twice."""

import re
from typing import Any

from django.contrib.auth.models import User
from django.test import Client

from jobs.models import Job, Membership
from jobs.spec.body import output_folder
from tests.pages.conftest import MakeJob, SignIn, text_of


def key_of(page: Any) -> str:
    """Return the request key on a confirmation page."""
    found = re.search(r'name="key" value="(\w+)"', page.content.decode())
    assert found is not None
    return found[1]


def confirm(client: Client, action: str, *jobs: Job) -> str:
    """Choose jobs, confirm the page that follows, and return the text of the board after it."""
    page = client.get("/jobs/several/", {"action": action, "job": [str(job.pk) for job in jobs]})
    form = {
        "action": action,
        "key": key_of(page),
        "job": [str(job.pk) for job in jobs],
    } | {f"amount-{job.pk}": str(job.max_usd or "") for job in jobs}
    return text_of(client.post("/jobs/several/", form, follow=True))


class TestCancelling:
    def test_says_what_can_be_cancelled_and_cancels_it(self, make_job: MakeJob, owner: User, signed_in: SignIn) -> None:
        running, ended = make_job("running", name="alive"), make_job("succeeded", name="over")
        client = signed_in(owner)

        page = text_of(client.get("/jobs/several/", {"action": "cancel", "job": [running.pk, ended.pk]}))
        assert "Cancel the jobs (1)" in page
        assert "Left out: it has ended." in page
        assert "Requested the cancellation of 1 job: alive." in confirm(client, "cancel", running, ended)
        assert Job.objects.get(pk=running.pk).cancel_requested_at is not None
        assert Job.objects.get(pk=ended.pk).cancel_requested_at is None

    def test_a_viewer_cancels_nothing(self, make_job: MakeJob, teammate: User, signed_in: SignIn) -> None:
        Membership.objects.filter(user=teammate).update(role="viewer")
        job = make_job("running")

        confirm(signed_in(teammate), "cancel", job)

        assert Job.objects.get().cancel_requested_at is None


class TestApproving:
    def test_shows_the_sum_and_approves(self, make_job: MakeJob, approver: User, signed_in: SignIn) -> None:
        jobs = [make_job("awaiting_approval", name=f"ask-{number}") for number in range(3)]
        client = signed_in(approver)

        page = text_of(client.get("/jobs/several/", {"action": "approve", "job": [job.pk for job in jobs]}))
        total = sum(job.max_usd or 0 for job in jobs)
        assert f"At most ${total:,.2f} in total" in page
        assert "Approved 3 jobs" in confirm(client, "approve", *jobs)
        assert set(Job.objects.values_list("state", flat=True)) == {"approved"}

    def test_not_ones_own_and_not_at_another_amount(
        self, make_job: MakeJob, owner: User, approver: User, signed_in: SignIn
    ) -> None:
        job = make_job("awaiting_approval", name="ask")

        confirm(signed_in(owner), "approve", job)
        assert Job.objects.get().state == "awaiting_approval"
        job.max_usd = (job.max_usd or 0) - 1
        assert "ask has changed in the meantime" in confirm(signed_in(approver), "approve", job)
        assert Job.objects.get().state == "awaiting_approval"


class TestRunningAgain:
    def test_makes_a_copy_of_each_and_only_one(self, make_job: MakeJob, owner: User, signed_in: SignIn) -> None:
        job = make_job("failed", name="again")
        client = signed_in(owner)
        page = client.get("/jobs/several/", {"action": "rerun", "job": str(job.pk)})
        form = {"action": "rerun", "key": key_of(page), "job": str(job.pk)}

        for _ in range(2):
            client.post("/jobs/several/", form)

        copy = Job.objects.exclude(pk=job.pk).get()
        assert (copy.display_name, copy.cloned_from, copy.spec) == ("again", job, job.spec)

    def test_writes_into_a_folder_of_its_own(self, make_job: MakeJob, owner: User, signed_in: SignIn) -> None:
        """In the folder of the first run it would find its checkpoints, and train nothing."""
        job = make_job("failed", name="again")
        job.spec["jobSpec"]["baseOutputDirectory"] = {"outputUriPrefix": "gs://vision-training/again"}
        Job.objects.filter(pk=job.pk).update(spec=job.spec)
        client = signed_in(owner)
        page = client.get("/jobs/several/", {"action": "rerun", "job": str(job.pk)})
        client.post("/jobs/several/", {"action": "rerun", "key": key_of(page), "job": str(job.pk)})

        copy = Job.objects.exclude(pk=job.pk).get()

        assert re.fullmatch(r"gs://vision-training/again/run-[\d-]{17}", output_folder(copy.spec))
        form = text_of(client.get("/jobs/new/", {"job": str(job.pk)}))
        assert "Continue from the last output instead" in form


class TestStrangers:
    def test_see_and_do_nothing(self, make_job: MakeJob, stranger: User, signed_in: SignIn) -> None:
        job = make_job("running", name="secret-name")
        client = signed_in(stranger)

        for action in ("cancel", "approve", "rerun"):
            page = text_of(client.get("/jobs/several/", {"action": action, "job": str(job.pk)}))
            assert "secret-name" not in page
            assert "No jobs are selected." in page
            confirm(client, action, job)

        assert Job.objects.get().cancel_requested_at is None

    def test_an_unknown_action_and_a_broken_id(self, owner: User, signed_in: SignIn) -> None:
        client = signed_in(owner)

        assert client.get("/jobs/several/", {"action": "delete"}).status_code == 400
        assert client.get("/jobs/several/", {"action": "cancel", "job": "x"}).status_code == 404
