"""Tests of limits lowered before a job is sent, of approved amounts, and of jobs that cost more than approved."""

from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.contrib.auth.models import User

from jobs import budgets, requests, steps, transitions
from jobs.models import Job, Membership, Policy, Role, Team
from jobs.observation.record import mark_seen
from jobs.policy_rules import Rule
from jobs.requests.policy_versions import Terms, save_policy
from jobs.upkeep import watch_spending
from jobs.upkeep.audit import audit
from tests.domain.conftest import Cloud, RequestJob
from tests.support.clock import Clock

pytestmark = pytest.mark.django_db


def limit(team: Team, usd: str, **columns: Any) -> None:
    Policy.objects.filter(team=team).update(ask_over_usd=Decimal(usd), **columns)


@pytest.fixture
def request_job(request_job: RequestJob, team: Team) -> RequestJob:
    """As in other tests, but approval is required above four dollars, and the timeout is the expected time."""
    limit(team, "4")

    def ask(*, hours: float = 0.1, **changes: Any) -> Job:
        return request_job(hours=hours, scheduling={"timeout": f"{round(hours * 3600)}s"}, **changes)

    return ask


def send(job: Job, cloud: Cloud) -> Job:
    steps.advance(job.pk, clock=cloud.clock)
    return Job.objects.get(pk=job.pk)


def wait_and_send(job: Job, cloud: Cloud) -> Job:
    cloud.forward(minutes=6)
    return send(job, cloud)


def messages(job: Job) -> list[str]:
    return list(job.events.order_by("id").values_list("message", flat=True))


class TestLimitThatWasLowered:
    def test_asks_before_anything_is_sent(self, request_job: RequestJob, team: Team, cloud: Cloud) -> None:
        job = request_job()
        assert job.state == "approved"
        limit(team, "0.01")

        job = send(job, cloud)

        assert (job.state, job.due_at, job.claim) == ("awaiting_approval", None, None)
        assert cloud.jobs() == []
        assert "Trainboard checked the job again before sending it, and it needs an approval now" in messages(job)[-1]
        assert [each["code"] for each in job.approval.findings] == ["over_ask_limit"]
        assert list(audit(cloud.now)) == []

    def test_sends_the_job_once_a_person_approves(
        self, request_job: RequestJob, team: Team, approver: User, cloud: Cloud
    ) -> None:
        job = request_job()
        limit(team, "0.01")
        job = send(job, cloud)

        assert requests.approve(job, by=approver, comment="", now=cloud.forward(seconds=5))
        job = send(job, cloud)

        assert job.is_remote
        assert len(cloud.jobs()) == 1
        assert list(audit(cloud.now)) == []

    def test_leaves_what_a_person_approved(
        self, request_job: RequestJob, team: Team, approver: User, cloud: Cloud
    ) -> None:
        job = request_job(hours=20)
        assert requests.approve(job, by=approver, comment="", now=cloud.now)
        limit(team, "0")

        assert send(job, cloud).is_remote

    def test_asks_again_when_more_may_be_spent_than_a_person_approved(
        self, request_job: RequestJob, team: Team, approver: User, cloud: Cloud
    ) -> None:
        job = request_job(hours=20)
        assert requests.approve(job, by=approver, comment="", now=cloud.now)
        Job.objects.filter(pk=job.pk).update(approved_usd=job.max_usd - 1)  # as if a price had risen since

        job = send(job, cloud)

        assert job.state == "awaiting_approval"
        assert job.approval.decision == ""
        assert cloud.jobs() == []
        assert list(audit(cloud.now)) == []

    def test_may_be_rejected_the_second_time(
        self, request_job: RequestJob, team: Team, approver: User, cloud: Cloud
    ) -> None:
        job = request_job()
        limit(team, "0.01")
        job = send(job, cloud)

        assert requests.reject(job, by=approver, comment="too much", now=cloud.forward(seconds=5))

        assert (job.state, cloud.jobs(), list(audit(cloud.now))) == ("rejected", [], [])

    def test_never_asks_without_end_about_an_unknown_price(
        self, request_job: RequestJob, approver: User, cloud: Cloud
    ) -> None:
        unpriced = {"machineType": "a4-highgpu-8g", "acceleratorType": "NVIDIA_B200", "acceleratorCount": 8}
        job = request_job(machine=unpriced, strategy="STANDARD")
        assert (job.state, job.max_usd) == ("awaiting_approval", None)
        assert requests.approve(job, by=approver, comment="", now=cloud.now)

        assert send(job, cloud).state != "awaiting_approval"

    def test_never_asks_without_end_about_a_job_of_a_million_machines(
        self, request_job: RequestJob, approver: User, cloud: Cloud
    ) -> None:
        job = request_job(hours=160, strategy="STANDARD", extra_replicas=2_000_000_000)
        assert job.state == "awaiting_approval"
        assert requests.approve(job, by=approver, comment="", now=cloud.now)

        assert send(job, cloud).state != "awaiting_approval"


class TestTryAfterARefusedOne:
    """Vertex AI has answered that it created nothing, or a look-up has shown that nothing arrived."""

    @pytest.fixture
    def tried(self, request_job: RequestJob, cloud: Cloud, fault: str) -> Job:
        job = request_job()
        cloud.fail("customJobs.create", fault)
        job = send(job, cloud)
        assert (job.state, job.attempted_at is None) == ("submitting", fault != "reset")
        return job

    @pytest.mark.parametrize("fault", ["429", "403", "reset"])
    def test_asks_if_the_policy_asks_by_now(self, tried: Job, team: Team, cloud: Cloud) -> None:
        limit(team, "0.01")

        job = wait_and_send(tried, cloud)

        assert (job.state, job.due_at, job.claim) == ("awaiting_approval", None, None)
        assert cloud.jobs() == []
        assert list(audit(cloud.now)) == []

    @pytest.mark.parametrize("fault", ["429", "reset"])
    @pytest.mark.parametrize("what", ["ceiling", "project", "member"])
    def test_is_refused_if_something_forbids_it_by_now(
        self, tried: Job, team: Team, admin: User, cloud: Cloud, what: str
    ) -> None:
        if what == "ceiling":
            budgets.set_ceiling(None, "hour", Decimal("0.01"), by=admin, reason="stop", now=cloud.now)
        elif what == "project":
            Team.objects.filter(pk=team.pk).update(project="elsewhere-1")
        else:
            Membership.objects.filter(team=team, user=tried.owner).delete()

        job = wait_and_send(tried, cloud)

        assert (job.state, cloud.jobs(), list(audit(cloud.now))) == ("submit_failed", [], [])
        for _ in range(2):
            job = wait_and_send(job, cloud)  # what may have arrived all the same has been looked up
        assert (job.state, job.due_at, job.may_have_duplicates) == ("submit_failed", None, False)

    @pytest.mark.parametrize("fault", ["429", "reset"])
    def test_is_sent_once_it_is_approved(self, tried: Job, team: Team, approver: User, cloud: Cloud) -> None:
        limit(team, "0.01")
        job = wait_and_send(tried, cloud)
        assert requests.approve(job, by=approver, comment="", now=cloud.now)

        for _ in range(3):
            job = wait_and_send(job, cloud)

        assert (job.is_remote, len(cloud.jobs()), job.submit_attempts) == (True, 1, 2)

    @pytest.mark.parametrize("fault", ["429", "reset"])
    def test_is_looked_up_once_more_after_a_rejection(
        self, tried: Job, team: Team, approver: User, cloud: Cloud
    ) -> None:
        limit(team, "0.01")
        job = wait_and_send(tried, cloud)

        assert requests.reject(job, by=approver, comment="too much", now=cloud.now)

        assert (job.due_at, job.may_have_duplicates) == (cloud.now, True)
        job = wait_and_send(job, cloud)
        assert (job.state, job.due_at, job.may_have_duplicates) == ("rejected", None, False)
        assert list(audit(cloud.now)) == []

    @pytest.mark.parametrize("fault", ["429"])
    def test_is_withdrawn_if_its_owner_cancels_it(self, tried: Job, team: Team, cloud: Cloud) -> None:
        limit(team, "0.01")
        assert steps.cancel(tried, by=tried.owner, clock=cloud.clock)

        assert wait_and_send(tried, cloud).state == "withdrawn"

    @pytest.mark.parametrize("fault", ["429"])
    def test_costs_what_machines_cost_by_then(self, tried: Job, cloud: Cloud) -> None:
        Job.objects.filter(pk=tried.pk).update(hourly_usd=Decimal("0.01"))

        job = wait_and_send(tried, cloud)

        assert (job.is_remote, job.hourly_usd) == (True, tried.hourly_usd)


class TestRequesterWhoLeft:
    """A job that its requester may no longer request is not sent, whoever approved it."""

    @pytest.mark.parametrize("how", ["removed", "viewer", "deactivated"])
    @pytest.mark.parametrize("hours", [0.1, 20])
    def test_sends_nothing_more(
        self, request_job: RequestJob, team: Team, owner: User, approver: User, cloud: Cloud, how: str, hours: float
    ) -> None:
        job = request_job(hours=hours)
        if how == "removed":
            Membership.objects.filter(team=team, user=owner).delete()
        elif how == "viewer":
            Membership.objects.filter(team=team, user=owner).update(role=Role.VIEWER)
        else:
            User.objects.filter(pk=owner.pk).update(is_active=False)
        if hours > 1:
            assert requests.approve(job, by=approver, comment="", now=cloud.now)

        job = send(job, cloud)

        assert (job.state, cloud.jobs()) == ("submit_failed", [])
        assert messages(job)[-1].endswith(f"{owner.get_username()} may no longer request jobs for {team}.")

    def test_leaves_those_of_other_people_and_of_site_admins(
        self, request_job: RequestJob, team: Team, owner: User, approver: User, admin: User, cloud: Cloud
    ) -> None:
        jobs = [request_job(by=approver), request_job(by=admin)]
        Membership.objects.filter(team=team, user=owner).delete()

        assert all(send(job, cloud).is_remote for job in jobs)


class TestApprovedAmount:
    def test_is_the_limit_where_policy_allows_the_job(self, request_job: RequestJob) -> None:
        job = request_job()

        assert (job.approved_usd, job.limit_usd) == (4, 4)
        assert 0 < job.max_usd < 4

    def test_is_what_may_be_spent_where_a_person_approves_it(self, request_job: RequestJob, approver: User) -> None:
        job = request_job(hours=20)
        assert job.approved_usd is None

        requests.approve(job, by=approver, comment="", now=job.requested_at)

        job.refresh_from_db()
        assert job.approved_usd == job.max_usd > 2


@pytest.fixture
def running(request_job: RequestJob, clock: Clock) -> Job:
    """A job that runs for 1.21 dollars an hour or so, allowed up to 2 dollars."""
    return run(request_job(), clock)


def save(team: Team, by: User, *, base: int, now: datetime, cancels: bool) -> None:
    """Save a version of the policy that asks over a dollar and cancels what costs more than approved, or does not."""
    Membership.objects.filter(team=team, user=by).update(role=Role.LEAD)
    terms = Terms(cancel_over_approved=cancels, drift_percent=100)
    save_policy(team, [Rule(outcome="ask", cost_over="4")], terms, base=base, by=by, note="", now=now)


def run(job: Job, clock: Clock) -> Job:
    name = f"projects/1/locations/{job.region}/customJobs/1"
    transitions.transition(job, "submitting", now=clock.now, message="Sent.")
    transitions.transition(job, "running", now=clock.now, message="It runs.", remote_name=name, submitted_at=clock.now)
    mark_seen([job.pk], now=clock.now)
    return job


def see(job: Job, clock: Clock, **span: float) -> int:
    mark_seen([job.pk], now=clock.forward(**span))
    return watch_spending(clock.now)


class TestOverrun:
    def test_is_told_once(self, running: Job, clock: Clock) -> None:
        assert see(running, clock, minutes=10) == 0

        assert see(running, clock, hours=5) == 1
        assert see(running, clock, hours=5) == 0

        running.refresh_from_db()
        assert running.over_approved_at is not None
        assert running.cancel_requested_at is None
        (event,) = running.events.filter(kind="over_approved")
        assert event.message.endswith("more than the approved $4.00.")

    def test_is_not_made_up_while_nobody_sees_the_job(self, running: Job, clock: Clock) -> None:
        clock.forward(hours=50)

        assert watch_spending(clock.now) == 0

    def test_is_told_of_a_job_that_has_ended_meanwhile(self, running: Job, clock: Clock) -> None:
        transitions.transition(running, "succeeded", now=clock.forward(hours=5), message="It ended.")

        assert watch_spending(clock.forward(seconds=5)) == 1

    def test_cancels_where_the_team_wants_that(self, running: Job, team: Team, clock: Clock) -> None:
        limit(team, "4", cancel_over_approved=True)

        assert see(running, clock, hours=5) == 1

        running.refresh_from_db()
        assert (running.cancel_requested_at, running.due_at) == (clock.now, clock.now)
        (event,) = running.events.filter(kind="cancel_requested")
        assert (event.actor, event.reason) == (None, "policy")

    @pytest.mark.parametrize("cancels", [True, False])
    def test_is_judged_by_the_policy_that_allowed_the_job(
        self, request_job: RequestJob, clock: Clock, team: Team, owner: User, cancels: bool
    ) -> None:
        """A version that is saved while it runs counts for later jobs."""
        save(team, owner, base=0, now=clock.now, cancels=cancels)
        job = run(request_job(), clock)
        save(team, owner, base=1, now=clock.now, cancels=not cancels)

        assert see(job, clock, hours=5) == 1

        job.refresh_from_db()
        assert (job.cancel_requested_at is not None) == cancels

    @pytest.mark.parametrize("cancels", [True, False])
    def test_is_judged_by_the_policy_under_which_it_was_approved(
        self, request_job: RequestJob, approver: User, clock: Clock, team: Team, owner: User, cancels: bool
    ) -> None:
        save(team, owner, base=0, now=clock.now, cancels=cancels)
        job = request_job(hours=20)
        save(team, owner, base=1, now=clock.now, cancels=not cancels)
        assert requests.approve(job, by=approver, comment="", now=clock.now)
        run(job, clock)

        assert see(job, clock, hours=500) == 1

        job.refresh_from_db()
        assert (job.cancel_requested_at is not None) == cancels

    def test_is_none_of_a_job_that_costs_what_was_approved(self, running: Job, clock: Clock) -> None:
        Job.objects.filter(pk=running.pk).update(hourly_usd=Decimal(2))

        assert see(running, clock, hours=2) == 0
        assert see(running, clock, minutes=1) == 1

    @pytest.mark.parametrize("column", ["hourly_usd", "approved_usd"])
    def test_is_none_where_an_amount_is_not_known(self, running: Job, clock: Clock, column: str) -> None:
        Job.objects.filter(pk=running.pk).update(**{column: None})

        assert see(running, clock, hours=500) == 0


def test_a_row_of_before_these_columns_is_judged_by_its_estimate(
    request_job: RequestJob, approver: User, team: Team, cloud: Cloud
) -> None:
    """An old web process approves beside a new worker: what it approved is the high end of the estimate."""
    job = request_job(hours=20)
    assert requests.approve(job, by=approver, comment="", now=cloud.now)
    old = {key: value for key, value in job.estimate.items() if key != "most_usd"}
    old["high_usd"] = job.estimate["most_usd"]  # as versions wrote it in which the range ended at the timeout
    Job.objects.filter(pk=job.pk).update(approved_usd=None, max_usd=None, limit_usd=None, estimate=old)

    assert send(job, cloud).is_remote
    assert cloud.now - job.requested_at < timedelta(hours=1)
