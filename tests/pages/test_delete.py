"""Tests of deletion at Vertex AI from the job's page: permission, confirmation, and refusal for adopted jobs."""

import pytest
from django.contrib.auth.models import User

from jobs.models import Job
from tests.pages.conftest import MakeJob, SignIn, text_of
from tests.pages.test_job import at
from tests.support.clock import Clock


class TestDelete:
    def test_is_offered_for_what_ended_there_to_those_who_may(
        self, make_job: MakeJob, owner: User, teammate: User, signed_in: SignIn
    ) -> None:
        job, live = make_job("succeeded"), make_job("running")

        assert at(job, "delete/") in signed_in(owner).get(at(job)).content.decode()
        assert at(job, "delete/") not in signed_in(teammate).get(at(job)).content.decode()
        assert at(live, "delete/") not in signed_in(owner).get(at(live)).content.decode()

    def test_says_what_goes_and_what_stays_and_changes_nothing(
        self, make_job: MakeJob, owner: User, signed_in: SignIn
    ) -> None:
        job = make_job("succeeded")

        text = text_of(signed_in(owner).get(at(job, "delete/")))

        job.refresh_from_db()
        assert "Deleted permanently The custom job" in text
        assert "Kept the job's page in Trainboard" in text
        assert "its output in Cloud Storage" in text
        assert "the model that it uploaded" not in text
        assert job.deletion_requested_at is None

    def test_records_the_wish_and_says_so(self, make_job: MakeJob, owner: User, signed_in: SignIn) -> None:
        job = make_job("succeeded", name="resnet")
        client = signed_in(owner)

        page = client.post(at(job, "delete/"), follow=True)

        job.refresh_from_db()
        assert job.deletion_requested_at is not None
        assert "Deletion of resnet at Vertex AI requested." in text_of(page)
        assert "owner asked Vertex AI to delete its record of the job." in text_of(page)
        assert at(job, "delete/") not in page.content.decode()
        assert "its deletion was already requested" in text_of(client.post(at(job, "delete/"), follow=True))

    def test_leads_those_who_may_not_back_with_a_word(
        self, make_job: MakeJob, teammate: User, signed_in: SignIn
    ) -> None:
        page = signed_in(teammate).get(at(make_job("succeeded"), "delete/"), follow=True)

        assert "or you may not delete it." in text_of(page)

    def test_tells_strangers_nothing(self, make_job: MakeJob, stranger: User, signed_in: SignIn) -> None:
        job, client = make_job("succeeded"), signed_in(stranger)

        assert client.get(at(job, "delete/")).status_code == 404
        assert client.post(at(job, "delete/")).status_code == 404
        job.refresh_from_db()
        assert job.deletion_requested_at is None

    def test_that_is_done_is_told_at_the_head(
        self, make_job: MakeJob, owner: User, signed_in: SignIn, clock: Clock
    ) -> None:
        job, client = make_job("succeeded"), signed_in(owner)
        Job.objects.update(deletion_requested_at=clock.now)
        assert "deleted at Vertex AI" not in text_of(client.get(at(job)))

        Job.objects.update(deleted_at=clock.now)

        assert "1 × a2-highgpu-1g deleted at Vertex AI" in text_of(client.get(at(job)))
        assert at(job, "delete/") not in client.get(at(job)).content.decode()

    def test_of_another_s_job_is_refused_with_words(self, make_job: MakeJob, teammate: User, signed_in: SignIn) -> None:
        answer = signed_in(teammate).post(at(make_job("succeeded"), "delete/"))

        assert answer.status_code == 403
        assert "Only its owner, approvers and leads of vision" in text_of(answer)

    @pytest.mark.parametrize("below", ["cancel/", "delete/"])
    def test_an_adopted_job_is_only_watched(
        self, make_job: MakeJob, owner: User, signed_in: SignIn, below: str
    ) -> None:
        job = make_job("succeeded" if below == "delete/" else "running")
        Job.objects.update(is_adopted=True)
        client = signed_in(owner)

        assert at(job, below) not in client.get(at(job)).content.decode()
        for answer in (client.get(at(job, below)), client.post(at(job, below))):
            assert answer.status_code == 403
            assert "read only here" in text_of(answer)
