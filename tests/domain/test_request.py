"""Tests that a request becomes a job, or is refused without losing anything."""

from decimal import Decimal

import pytest
from django.contrib.auth.models import User

from jobs import requests, steps
from jobs.errors import NotAllowed, NotPermitted
from jobs.models import Approval, Job, JobEvent, Membership, Policy, Team
from jobs.spec.secrets import secrets_as_json
from tests.domain.conftest import RequestJob
from tests.support import samples
from tests.support.clock import Clock

pytestmark = pytest.mark.both_databases


class TestRequest:
    def test_a_cheap_job_is_approved_by_policy_and_due_at_once(self, request_job: RequestJob, clock: Clock) -> None:
        job = request_job(hours=0.1)

        assert job.state == "approved"
        assert job.due_at == clock.now
        assert list(job.events.order_by("id").values_list("kind", "to_state")) == [
            ("judged", ""),
            ("state", "approved"),
        ]

    def test_an_expensive_job_asks_an_approver_and_says_why(self, request_job: RequestJob) -> None:
        job = request_job(hours=10)

        assert job.state == "awaiting_approval"
        assert job.due_at is None
        assert job.approval.decision == ""
        assert job.approval.findings, "the approver must see what policy asked"
        assert all(finding["severity"] == "approval" for finding in job.approval.findings)

    def test_keeps_what_was_asked_for_and_what_it_would_cost(self, request_job: RequestJob) -> None:
        job = request_job(hours=2, name="seg-unet", labels={"phase": "two"})

        assert job.spec == samples.body(name="seg-unet", labels={"phase": "two"}, scheduling={"timeout": "14400s"})
        assert (job.strategy, job.machines, job.region) == ("spot", "1 × a2-highgpu-1g", "us-central1")
        assert job.hourly_usd is not None
        assert job.hourly_usd > 0
        assert Decimal(job.estimate["usd_per_hour"]) == pytest.approx(job.hourly_usd)

    def test_a_job_of_absurd_size_is_kept_without_a_figure_that_no_column_holds(self, request_job: RequestJob) -> None:
        job = request_job(extra_replicas=10**18)

        assert job.state == "awaiting_approval"
        assert (job.hourly_usd, job.estimate_usd) == (None, None)
        assert job.approval.findings

    def test_a_second_click_finds_the_first_job(self, request_job: RequestJob) -> None:
        first = request_job(key="one click")
        again = request_job(key="one click", name="something else")

        assert again == first
        assert Job.objects.count() == 1

    def test_a_team_without_a_policy_is_asked_about_every_job(self, request_job: RequestJob) -> None:
        Policy.objects.all().delete()

        assert request_job(hours=0.01).state == "awaiting_approval"

    def test_a_refused_spec_writes_nothing_and_tells_every_finding(self, request_job: RequestJob) -> None:
        with pytest.raises(NotAllowed) as refusal:
            request_job(machine={"machineType": ""}, replicas=2)

        fields = {finding.field for finding in refusal.value.findings if finding.severity == "error"}
        assert "jobSpec.workerPoolSpecs[0].machineSpec.machineType" in fields
        assert "jobSpec.workerPoolSpecs[0].replicaCount" in fields
        assert not Job.objects.exists()
        assert not JobEvent.objects.exists()

    def test_text_that_no_database_holds_is_refused(self, request_job: RequestJob) -> None:
        with pytest.raises(NotAllowed) as refusal:
            request_job(kind="training_pipeline", model={"explanationSpec": {"metadata": "half \ud800 a character"}})

        assert "text_cannot_be_kept" in {finding.code for finding in refusal.value.findings}
        assert not Job.objects.exists()

    def test_a_job_over_the_hard_limit_is_refused(self, request_job: RequestJob, team: Team) -> None:
        Policy.objects.filter(team=team).update(refuse_over_usd=5)

        with pytest.raises(NotAllowed):
            request_job(hours=100)


class TestWhoMayRequest:
    @pytest.mark.parametrize("role", ["viewer", None])
    def test_is_a_member_whose_role_requests(
        self, request_job: RequestJob, teammate: User, team: Team, role: str | None
    ) -> None:
        membership = Membership.objects.filter(team=team, user=teammate)
        membership.update(role=role) if role else membership.delete()

        with pytest.raises(NotPermitted, match="Only engineers, approvers and leads"):
            request_job(by=teammate)

        assert not Job.objects.exists()

    def test_is_nobody_of_another_team(self, request_job: RequestJob, stranger: User) -> None:
        with pytest.raises(NotPermitted):
            request_job(by=stranger)

    def test_is_nobody_whose_account_was_deactivated(self, request_job: RequestJob, teammate: User) -> None:
        User.objects.filter(pk=teammate.pk).update(is_active=False)

        with pytest.raises(NotPermitted):
            request_job(by=teammate)

    def test_a_site_admin_may(self, request_job: RequestJob, admin: User) -> None:
        assert request_job(by=admin).owner == admin


class TestApproval:
    def test_an_approver_says_yes_and_the_job_becomes_due(
        self, request_job: RequestJob, approver: User, clock: Clock
    ) -> None:
        job = request_job(hours=10)
        clock.forward(minutes=7)

        assert requests.approve(job, by=approver, comment="Go ahead", now=clock.now)

        job.refresh_from_db()
        assert (job.state, job.due_at) == ("approved", clock.now)
        assert job.events.latest("id").message == "approver approved it: Go ahead"
        assert job.events.latest("id").actor == approver
        answer = Approval.objects.get(job=job)
        assert (answer.decision, answer.decided_by, answer.decided_at) == ("approved", approver, clock.now)

    def test_an_approver_says_no_and_the_job_ends(self, request_job: RequestJob, approver: User, clock: Clock) -> None:
        job = request_job(hours=10)

        assert requests.reject(job, by=approver, comment="Use Flex-start", now=clock.now)

        job.refresh_from_db()
        assert job.is_finished
        assert job.ended_at == clock.now
        assert "Use Flex-start" in job.events.latest("id").message

    def test_nobody_approves_their_own_job(self, request_job: RequestJob, approver: User, clock: Clock) -> None:
        job = request_job(hours=10, by=approver)

        with pytest.raises(NotPermitted, match="another approver"):
            requests.approve(job, by=approver, comment="", now=clock.now)

        assert Job.objects.get().state == "awaiting_approval"

    @pytest.mark.parametrize("who", ["teammate", "stranger"])
    def test_only_approvers_of_the_team_decide(
        self, request_job: RequestJob, who: str, request: pytest.FixtureRequest, clock: Clock
    ) -> None:
        job = request_job(hours=10)

        with pytest.raises(NotPermitted):
            requests.approve(job, by=request.getfixturevalue(who), comment="", now=clock.now)

        assert Job.objects.get().state == "awaiting_approval"

    def test_a_site_admin_may_decide(self, request_job: RequestJob, admin: User, clock: Clock) -> None:
        assert requests.approve(request_job(hours=10), by=admin, comment="", now=clock.now)

    def test_the_second_answer_comes_too_late(
        self, request_job: RequestJob, approver: User, admin: User, clock: Clock
    ) -> None:
        job = request_job(hours=10)
        seen_by_both = Job.objects.get()
        requests.reject(job, by=approver, comment="no", now=clock.now)

        assert not requests.approve(seen_by_both, by=admin, comment="", now=clock.now)

        assert Approval.objects.get().decided_by == approver
        assert Job.objects.get().state == "rejected"

    def test_a_withdrawn_job_cannot_be_approved(
        self, request_job: RequestJob, owner: User, approver: User, clock: Clock
    ) -> None:
        job = request_job(hours=10)
        steps.cancel(job, by=owner, clock=clock.clock)

        assert not requests.approve(job, by=approver, comment="", now=clock.now)
        assert Job.objects.get().state == "withdrawn"


class TestEvents:
    def test_an_event_cannot_be_changed_or_deleted(self, request_job: RequestJob) -> None:
        event = request_job().events.latest("id")

        for attempt in (
            event.save,
            event.delete,
            JobEvent.objects.all().delete,
            lambda: JobEvent.objects.update(message="never happened"),
        ):
            with pytest.raises(TypeError):
                attempt()

    def test_the_cached_state_is_the_last_event_s(self, request_job: RequestJob) -> None:
        job = request_job(hours=10)

        assert job.events.filter(kind="state").latest("id").to_state == job.state


def test_where_the_secrets_are_is_stored_with_the_spec(request_job: RequestJob) -> None:
    job = Job.objects.get(pk=request_job().pk)

    assert job.secrets == secrets_as_json(job.spec)
