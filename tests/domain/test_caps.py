"""Tests of a cap on the cost of a job: what it changes before the job runs, and what happens when it is reached."""

from datetime import timedelta
from decimal import Decimal
from importlib import import_module

import pytest
from django.apps import apps
from django.contrib.auth.models import User

from jobs import requests, transitions
from jobs.errors import NotAllowed
from jobs.models import Job, Policy, Team
from jobs.observation.record import mark_seen
from jobs.submission.reassessment import reassess
from jobs.upkeep import watch_caps, watch_spending
from tests.domain.conftest import RequestJob
from tests.support import samples
from tests.support.clock import Clock
from tests.support.ledger import committed

pytestmark = pytest.mark.django_db
NAME = "projects/1/locations/us-central1/customJobs/1"


def capped(team: Team, owner: User, clock: Clock, cap: str, *, hours: float = 0.9, timeout: str = "360000s") -> Job:
    """Request a job that may run for a hundred hours and has a cap."""

    return requests.request_job(
        submission=samples.submission(scheduling={"timeout": timeout}),
        team=Team.objects.get(pk=team.pk),
        by=owner,
        expected=timedelta(hours=hours),
        request_key=f"capped-{cap}",
        now=clock.now,
        cap_usd=Decimal(cap),
    )


def start(job: Job, clock: Clock, *, name: str = NAME) -> None:
    for state in ("submitting", "queued", "pending", "running"):
        names = {"remote_name": name} if state == "queued" else {}
        transitions.transition(job, state, now=clock.now, message="It went on.", **names)
    mark_seen([job.pk], now=clock.now)


def pass_hours(job: Job, clock: Clock, hours: float) -> int:
    return watch_after(clock, hours, job)


def watch_after(clock: Clock, hours: float, *jobs: Job) -> int:
    mark_seen([job.pk for job in jobs], now=clock.forward(hours=hours))
    return watch_caps(clock.now)


class TestBefore:
    def test_becomes_a_timeout_with_which_google_enforces_it(
        self, request_job: RequestJob, team: Team, owner: User, clock: Clock
    ) -> None:
        job = capped(team, owner, clock, "20")

        assert (job.state, job.cap_usd) == ("approved", Decimal(20))
        timeout = requests.submission_of(job).job_spec.scheduling.timeout
        assert timeout is not None
        assert job.hourly_usd is not None
        runs = 7  # of a Spot job: six restarts
        at_most = job.hourly_usd * runs * Decimal(timeout.total_seconds() + 150) / 3600
        assert Decimal(19) < at_most <= 20
        assert job.max_usd is not None
        assert job.max_usd <= 20
        assert committed(job.team) == job.max_usd
        assert reassess(Job.objects.get(), clock.now) is None

    @pytest.mark.parametrize("hours", [3, 24, 100])
    def test_lowers_nothing_where_only_trainboard_could_enforce_it(
        self, request_job: RequestJob, team: Team, owner: User, clock: Clock, hours: int
    ) -> None:
        Policy.objects.update(ask_over_usd=50)

        job = capped(team, owner, clock, "20", hours=hours)

        assert job.state == "awaiting_approval"
        assert requests.submission_of(job).job_spec.scheduling.timeout == timedelta(hours=100)
        assert job.max_usd is not None
        assert job.max_usd > 50

    def test_below_what_the_job_costs_at_least_asks(
        self, request_job: RequestJob, team: Team, owner: User, clock: Clock
    ) -> None:
        Policy.objects.update(ask_over_usd=100_000)

        job = capped(team, owner, clock, "0.99")

        assert job.state == "awaiting_approval"
        assert [finding["code"] for finding in job.approval.findings] == ["cap_below_estimate"]

    def test_of_an_approver_lowers_nothing_that_google_can_spend(
        self, request_job: RequestJob, team: Team, owner: User, approver: User, clock: Clock
    ) -> None:
        Policy.objects.update(ask_over_usd=50)
        job = capped(team, owner, clock, "20", hours=24)

        requests.approve(job, by=approver, comment="", now=clock.now, cap_usd=Decimal(15))

        assert (Job.objects.get().max_usd, Job.objects.get().approved_usd) == (job.max_usd, Decimal(15))
        assert reassess(Job.objects.get(), clock.now) is None

    def test_counts_for_nothing_where_policy_only_tells(
        self, request_job: RequestJob, team: Team, owner: User, clock: Clock
    ) -> None:
        Policy.objects.update(cancel_at_cap=False)

        job = capped(team, owner, clock, "20")

        assert job.state == "awaiting_approval"
        assert job.max_usd is not None
        assert job.max_usd > 20

    def test_a_policy_that_stops_cancelling_changes_nothing_where_google_enforces_it(
        self, request_job: RequestJob, team: Team, owner: User, clock: Clock
    ) -> None:
        job = capped(team, owner, clock, "20")
        Policy.objects.update(cancel_at_cap=False)

        change = reassess(Job.objects.get(pk=job.pk), clock.now)

        assert change is None

    @pytest.mark.parametrize("cap", ["0", "-1", "NaN", "1e12"])
    def test_an_absurd_one_is_refused(
        self, request_job: RequestJob, team: Team, owner: User, clock: Clock, cap: str
    ) -> None:
        with pytest.raises(NotAllowed, match=r"above \$0"):
            capped(team, owner, clock, cap)
        assert not Job.objects.exists()


def test_caps_of_approvers_from_before_are_carried_over(
    request_job: RequestJob, team: Team, owner: User, approver: User, clock: Clock
) -> None:
    Policy.objects.update(cancel_at_cap=False)
    job, other = capped(team, owner, clock, "20"), capped(team, owner, clock, "30")
    requests.approve(job, by=approver, comment="", now=clock.now, cap_usd=Decimal(5))
    Job.objects.update(cap_usd=20, cap_cancels=True)  # as the version before left them

    import_module("jobs.migrations.0043_one_cap").carry_caps(apps, None)

    assert Job.objects.values_list("cap_usd", "cap_cancels").get(pk=job.pk) == (Decimal(5), True)
    assert Job.objects.values_list("cap_usd", "cap_cancels").get(pk=other.pk) == (Decimal(20), False)


class TestRunning:
    def test_four_fifths_are_told_and_at_the_cap_it_is_cancelled(
        self, request_job: RequestJob, team: Team, owner: User, clock: Clock
    ) -> None:
        job = capped(team, owner, clock, "20")
        assert job.hourly_usd
        start(job, clock)
        hours = float(Decimal(20) / job.hourly_usd)

        assert pass_hours(job, clock, hours * 0.79) == 0
        assert pass_hours(job, clock, hours * 0.02) == 1
        assert pass_hours(job, clock, hours * 0.01) == 0
        job.refresh_from_db()
        assert (job.cap_reported, job.cancel_requested_at) == (80, None)

        assert pass_hours(job, clock, hours * 0.2) == 1
        job.refresh_from_db()
        assert (job.cap_reported, job.cancel_requested_at) == (100, clock.now)
        assert job.due_at == clock.now
        kinds = list(job.events.order_by("id").values_list("kind", flat=True))[-3:]
        assert kinds == ["cap_near", "cap_reached", "cancel_requested"]
        assert "has reached its cap of $20.00" in job.events.get(kind="cap_reached").message
        assert pass_hours(job, clock, 1) == 0

    def test_it_goes_on_where_policy_only_tells(
        self, request_job: RequestJob, team: Team, owner: User, clock: Clock
    ) -> None:
        Policy.objects.update(cancel_at_cap=False, ask_over_usd=100_000)
        job = capped(team, owner, clock, "1")
        start(job, clock)

        assert pass_hours(job, clock, 10) == 1

        job.refresh_from_db()
        assert (job.cap_reported, job.cancel_requested_at) == (100, None)

    def test_the_policy_that_judged_it_counts(
        self, request_job: RequestJob, team: Team, owner: User, clock: Clock
    ) -> None:
        Policy.objects.update(cancel_at_cap=False, ask_over_usd=100_000)
        told = capped(team, owner, clock, "1", hours=0.1)
        Policy.objects.update(cancel_at_cap=True)
        stopped = capped(team, owner, clock, "1.5", hours=0.1)
        Policy.objects.update(cancel_at_cap=False)
        for job in (told, stopped):
            start(job, clock, name=f"{NAME}{job.cap_usd}")

        assert watch_after(clock, 10, told, stopped) == 2

        told.refresh_from_db()
        stopped.refresh_from_db()
        assert (told.cap_reported, told.cancel_requested_at) == (100, None)
        assert (stopped.cap_reported, stopped.cancel_requested_at) == (100, clock.now)

    @pytest.mark.parametrize(("approvers", "least"), [("5", "5"), ("50", "20")])
    def test_of_two_caps_the_lower_counts_and_the_approver_s_cancels(
        self, request_job: RequestJob, team: Team, owner: User, approver: User, clock: Clock, approvers: str, least: str
    ) -> None:
        Policy.objects.update(cancel_at_cap=False)
        job = capped(team, owner, clock, "20")
        requests.approve(job, by=approver, comment="", now=clock.now, cap_usd=Decimal(approvers))

        job = Job.objects.get()
        assert (job.cap_usd, job.cap_cancels, job.approved_usd) == (Decimal(least), True, Decimal(approvers))
        assert job.max_usd is not None
        assert job.max_usd > int(least)
        assert reassess(job, clock.now) is None, "nobody is asked again about what was approved up to a cap"
        assert committed(team) == job.max_usd
        start(job, clock)
        assert job.hourly_usd
        assert pass_hours(job, clock, float(Decimal(least) / job.hourly_usd) * 1.01) == 1
        assert watch_spending(clock.now) == 0, "one limit is told once"

        job.refresh_from_db()
        assert job.cancel_requested_at == clock.now
        assert f"has reached its cap of ${least}.00" in job.events.get(kind="cap_reached").message

    def test_a_clock_that_is_set_back_tells_nothing(
        self, request_job: RequestJob, team: Team, owner: User, clock: Clock
    ) -> None:
        job = capped(team, owner, clock, "1")
        start(job, clock)

        assert pass_hours(job, clock, -10) == 0
