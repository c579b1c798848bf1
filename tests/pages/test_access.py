"""Roles and what they allow, and what jobs have cost since a moment."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from django.contrib.auth.models import AnonymousUser, User

from dashboard.access import can, jobs_of, teams_of, teams_where
from dashboard.queries.spending import Spending, sum_spending
from jobs import transitions
from jobs.models import Job, Membership, Team
from tests.pages.conftest import MakeJob
from tests.support.clock import Clock

VERBS = ("see", "request", "cancel", "approve", "set_policy")
MIDNIGHT = datetime(2026, 3, 3, tzinfo=UTC)


class TestRoles:
    @pytest.mark.parametrize(
        ("role", "allowed"),
        [
            ("viewer", {"see"}),
            ("engineer", {"see", "request", "cancel"}),
            ("approver", {"see", "request", "cancel", "approve"}),
            ("lead", set(VERBS)),
        ],
    )
    def test_each_includes_the_ones_below(self, team: Team, owner: User, role: str, allowed: set[str]) -> None:
        Membership.objects.filter(user=owner).update(role=role)

        assert {verb for verb in VERBS if can(owner, verb, team)} == allowed
        assert {verb for verb in VERBS if teams_where(owner, verb)} == allowed

    @pytest.mark.parametrize("verb", VERBS)
    def test_a_stranger_may_nothing_and_an_admin_everything(
        self, team: Team, stranger: User, admin: User, verb: str
    ) -> None:
        assert not can(stranger, verb, team)
        assert not can(AnonymousUser(), verb, team)
        assert can(admin, verb, team)

    def test_somebody_who_left_may_nothing(self, team: Team, owner: User) -> None:
        owner.is_active = False

        assert not can(owner, "see", team)

    def test_an_unknown_verb_is_a_mistake_and_no_right(self, team: Team, owner: User) -> None:
        with pytest.raises(KeyError):
            can(owner, "fly", team)

    def test_jobs_are_seen_by_their_team_only(
        self, make_job: MakeJob, owner: User, teammate: User, stranger: User, admin: User, other_team: Team
    ) -> None:
        job = make_job("running")

        assert [list(jobs_of(person)) for person in (owner, teammate, admin)] == [[job]] * 3
        assert list(jobs_of(stranger)) == []
        assert list(teams_of(stranger)) == [other_team]


class TestSpending:
    @pytest.fixture
    def job(self, make_job: MakeJob, clock: Clock) -> Job:
        """Runs from 22:00 on the day before, at 2 dollars an hour."""
        clock.now = MIDNIGHT - timedelta(hours=2, seconds=40)
        job = make_job("running")
        Job.objects.filter(pk=job.pk).update(hourly_usd=2)
        return job

    def spending(self, hours: float) -> Spending:
        return sum_spending(Job.objects.all(), MIDNIGHT, MIDNIGHT + timedelta(hours=hours))

    def spent(self, hours: float) -> Decimal:
        return self.spending(hours).usd

    def test_counts_from_midnight_for_what_ran_on(self, job: Job) -> None:
        assert self.spent(3) == 6

    def test_leaves_out_the_wait_after_a_preemption(self, job: Job) -> None:
        transitions.transition(job, "pending", now=MIDNIGHT + timedelta(hours=1), message="Preempted.")
        transitions.transition(job, "running", now=MIDNIGHT + timedelta(hours=2), message="Again.")

        assert self.spent(3) == 4

    def test_counts_cancelling_after_running(self, job: Job) -> None:
        transitions.transition(job, "cancelling", now=MIDNIGHT + timedelta(hours=1), message="Stopping.")
        transitions.transition(job, "cancelled", now=MIDNIGHT + timedelta(hours=1.5), message="Stopped.")

        assert self.spent(3) == 3

    def test_ends_with_the_job(self, job: Job) -> None:
        transitions.transition(job, "succeeded", now=MIDNIGHT + timedelta(hours=1), message="Done.")

        assert self.spent(9) == 2

    def test_forgets_what_ended_before(self, job: Job) -> None:
        transitions.transition(job, "succeeded", now=MIDNIGHT - timedelta(minutes=1), message="Done.")

        assert self.spent(3) == 0

    def test_counts_a_job_that_waited_at_midnight_from_its_next_run(self, job: Job) -> None:
        transitions.transition(job, "pending", now=MIDNIGHT - timedelta(hours=1), message="Preempted.")
        transitions.transition(job, "running", now=MIDNIGHT + timedelta(hours=1), message="Again.")

        assert self.spent(3) == 4

    def test_says_how_many_jobs_have_no_price(self, job: Job) -> None:
        Job.objects.filter(pk=job.pk).update(hourly_usd=None)

        found = self.spending(1)

        assert (found.usd, found.unpriced) == (0, 1)
