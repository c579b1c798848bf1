"""The approvals inbox: what asks and why, who may answer, and what an answer does."""

import pytest
from django.contrib.auth.models import User

from jobs.models import Job, Membership
from tests.pages.conftest import MakeJob, SignIn, text_of


@pytest.fixture
def asked(make_job: MakeJob) -> Job:
    return make_job("awaiting_approval", name="costly")


class TestInbox:
    def test_says_what_it_is_what_it_costs_and_why_it_asks(self, asked: Job, approver: User, signed_in: SignIn) -> None:
        text = text_of(signed_in(approver).get("/approvals/"))

        for words in ("costly", "owner · vision", "Spot", "1 × a2-highgpu-1g", "4 d 4 h", "need an approval"):
            assert words in text
        assert '"machineType": "a2-highgpu-1g"' in text

    def test_counts_in_the_navigation_what_the_person_may_decide(
        self, asked: Job, approver: User, owner: User, teammate: User, signed_in: SignIn
    ) -> None:
        assert "Approvals 1 to decide" in text_of(signed_in(approver).get("/"))
        assert "to decide" not in text_of(signed_in(owner).get("/"))
        assert "to decide" not in text_of(signed_in(teammate).get("/"))

    def test_has_no_buttons_on_ones_own_job_and_says_why(
        self, make_job: MakeJob, approver: User, signed_in: SignIn
    ) -> None:
        make_job("awaiting_approval", by=approver)

        page = signed_in(approver).get("/approvals/")

        assert "You requested this job, so another approver of the team decides." in text_of(page)
        assert b'name="decision"' not in page.content

    def test_has_no_buttons_for_engineers(self, asked: Job, teammate: User, signed_in: SignIn) -> None:
        page = signed_in(teammate).get("/approvals/")

        assert "Approvers and leads of vision decide." in text_of(page)
        assert b'name="decision"' not in page.content

    def test_a_stranger_sees_nothing(self, asked: Job, stranger: User, signed_in: SignIn) -> None:
        text = text_of(signed_in(stranger).get("/approvals/"))

        assert "costly" not in text
        assert "Nothing to approve" in text

    def test_an_admin_may_decide(self, asked: Job, admin: User, signed_in: SignIn) -> None:
        assert b'value="approve"' in signed_in(admin).get("/approvals/").content


class TestDecision:
    def test_an_approval_sends_the_job_on(self, asked: Job, approver: User, signed_in: SignIn) -> None:
        page = signed_in(approver).post(
            f"/jobs/{asked.pk}/decide/", {"decision": "approve", "comment": "worth it"}, follow=True
        )

        asked.refresh_from_db()
        assert asked.state == "approved"
        assert asked.due_at is not None
        assert asked.approval.comment == "worth it"
        assert asked.approval.decided_by == approver
        assert "Approved costly." in text_of(page)

    def test_a_rejection_ends_the_job(self, asked: Job, approver: User, owner: User, signed_in: SignIn) -> None:
        signed_in(approver).post(f"/jobs/{asked.pk}/decide/", {"decision": "reject", "comment": "too dear"})

        asked.refresh_from_db()
        assert asked.state == "rejected"
        assert "by approver: too dear" in text_of(signed_in(owner).get("/"))

    def test_goes_back_to_the_job_when_it_was_made_there(self, asked: Job, approver: User, signed_in: SignIn) -> None:
        answer = signed_in(approver).post(f"/jobs/{asked.pk}/decide/", {"decision": "approve", "back": "job"})

        assert answer["Location"] == f"/jobs/{asked.pk}/"

    def test_is_made_once(self, asked: Job, approver: User, signed_in: SignIn) -> None:
        client = signed_in(approver)
        client.post(f"/jobs/{asked.pk}/decide/", {"decision": "reject"})

        page = client.post(f"/jobs/{asked.pk}/decide/", {"decision": "approve"}, follow=True)

        asked.refresh_from_db()
        assert asked.state == "rejected"
        assert "was answered or withdrawn before" in text_of(page)

    def test_is_refused_for_ones_own_job(self, make_job: MakeJob, approver: User, signed_in: SignIn) -> None:
        job = make_job("awaiting_approval", by=approver)

        page = signed_in(approver).post(f"/jobs/{job.pk}/decide/", {"decision": "approve"}, follow=True)

        job.refresh_from_db()
        assert job.state == "awaiting_approval"
        assert "another approver of the team has to decide" in text_of(page)

    def test_is_refused_for_engineers(self, asked: Job, teammate: User, signed_in: SignIn) -> None:
        answer = signed_in(teammate).post(f"/jobs/{asked.pk}/decide/", {"decision": "approve"})

        asked.refresh_from_db()
        assert answer.status_code == 403
        assert asked.state == "awaiting_approval"

    @pytest.mark.parametrize("decision", ["", "maybe"])
    def test_must_be_one_of_two(self, asked: Job, approver: User, signed_in: SignIn, decision: str) -> None:
        answer = signed_in(approver).post(f"/jobs/{asked.pk}/decide/", {"decision": decision})

        asked.refresh_from_db()
        assert answer.status_code == 400
        assert asked.state == "awaiting_approval"

    def test_takes_any_comment(self, asked: Job, approver: User, signed_in: SignIn) -> None:
        comment = "\x00<script>" + "ü" * 5_000

        signed_in(approver).post(f"/jobs/{asked.pk}/decide/", {"decision": "approve", "comment": comment})

        asked.approval.refresh_from_db()
        assert asked.approval.comment.startswith("<script>ü")
        assert len(asked.approval.comment) == 2_000

    def test_ends_with_the_role(self, asked: Job, approver: User, signed_in: SignIn) -> None:
        Membership.objects.filter(user=approver).delete()

        assert signed_in(approver).post(f"/jobs/{asked.pk}/decide/", {"decision": "approve"}).status_code == 404
