"""Twelve more ways to let something dear run that nobody else has approved: each is refused, or waits for somebody."""

import itertools
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.contrib.auth.models import User

from jobs import budgets, prices, proposals, requests, steps
from jobs.budget import Passing
from jobs.budgets import BudgetValues
from jobs.cost import price_keys
from jobs.errors import NotAllowed, NotPermitted
from jobs.fallback import Plan, Step
from jobs.models import Approval, Job, Membership, Policy, ResourceChange, Role, Schedule, Team
from jobs.people import invitations
from jobs.people.members import NotChanged
from jobs.requests import RequestOptions, resource_requests, schedule_runs, schedules
from jobs.requests.deputies import name_deputy
from jobs.requests.other_strategy import approve_as
from jobs.requests.schedules import NotUsable, Times
from jobs.upkeep import watch_schedules
from tests.conftest import PASSWORD, person
from tests.domain.conftest import Cloud
from tests.domain.test_resource_requests import body
from tests.support import samples

pytestmark = pytest.mark.django_db
REFUSALS = (NotAllowed, NotPermitted, NotChanged, NotUsable, requests.Changed, ValueError)
LIMIT = Decimal(25)
DEAR = {"scheduling": {"timeout": "360000s"}}
CHEAP = {"scheduling": {"timeout": "600s"}}


@dataclass
class Way:
    """Who tries, where: `me` is an engineer, later a lead; `friend` is an account that `me` may have made."""

    team: Team
    cloud: Cloud
    me: User
    other: User
    keys: Any

    def request(self, *submissions: Any, **options: Any) -> list[Job]:
        """Request jobs, as `me` if not otherwise said."""
        options = {"by": self.me, "expected": timedelta(minutes=6), "now": self.cloud.now} | options
        team = Team.objects.get(pk=options.pop("team", self.team).pk)
        key = options.pop("request_key", f"key-{next(self.keys)}")
        return requests.request_jobs(list(submissions), RequestOptions(team, **options), request_key=key)

    def dear(self, **options: Any) -> Job:
        """Request a dear job."""
        return self.request(samples.submission(**DEAR), **options)[0]

    def schedule(self, times: Times, spec: dict[str, Any], *, by: User) -> Schedule:
        """Let somebody save a schedule."""
        return schedules.create_schedule(
            times, submission=samples.submission(**spec), team=Team.objects.get(pk=self.team.pk), by=by,
            expected=timedelta(minutes=6), now=self.cloud.now,
        )  # fmt: skip

    def approve(self, job: Job, by: User) -> None:
        """Vote for a job."""
        with suppress(*REFUSALS):
            requests.approve(job, by=by, comment="", now=self.cloud.now)

    def lead(self) -> None:
        """Let `me` be a lead from now on."""
        Membership.objects.filter(user=self.me).update(role=Role.LEAD)

    def invited(self, role: str) -> User:
        """Return an account that `me` has invited."""
        self.lead()
        _, secret = invitations.invite(self.team, "x@example.com", role, by=self.me, now=self.cloud.now)
        return proposals.accept_invitation_as(secret, "puppet", PASSWORD, now=self.cloud.now)


@pytest.fixture
def way(team: Team, owner: User, approver: User, cloud: Cloud) -> Way:
    Policy.objects.filter(team=team).update(ask_over_usd=LIMIT)
    return Way(team, cloud, owner, approver, itertools.count())


def a_request_key_of_a_cheap_job(way: Way) -> None:
    way.request(samples.submission(**CHEAP), request_key="mine")
    way.request(samples.submission(**DEAR), request_key="mine")


def a_schedule_in_a_time_zone_that_repeats_an_hour(way: Way) -> None:
    moment = datetime(2026, 10, 24, 12, tzinfo=UTC)
    way.cloud.forward(seconds=(moment - way.cloud.now).total_seconds())
    way.schedule(Times("twice", "30 1 * * *", "Europe/London", allows_overlap=True), CHEAP, by=way.me)
    for _ in range(16):
        way.cloud.forward(hours=1)
        watch_schedules(way.cloud.now)
    assert Job.objects.count() <= 1


def a_schedule_of_a_dear_job_that_runs_now(way: Way) -> None:
    way.lead()
    row = way.schedule(Times("nightly", "0 6 * * *", "UTC"), DEAR, by=way.me)
    job = schedule_runs.run_now(row, by=way.me, now=way.cloud.now, request_key="now")
    way.approve(job, way.me)
    Schedule.objects.filter(pk=row.pk).update(owner=way.me)
    way.cloud.forward(hours=21)
    watch_schedules(way.cloud.now)


def a_schedule_of_somebody_else_at_other_times(way: Way) -> None:
    engineer = person("engineer", way.team, Role.ENGINEER)
    row = way.schedule(Times("yearly", "0 6 1 1 *", "UTC"), DEAR, by=engineer)
    way.lead()
    schedules.change_schedule(row, {"cron": "0 6 * * *"}, by=way.me, now=way.cloud.now)
    way.cloud.forward(hours=21)
    watch_schedules(way.cloud.now)
    way.approve(Job.objects.get(), way.me)
    assert Job.objects.get().state == "awaiting_approval"


def a_paused_schedule_of_somebody_else(way: Way) -> None:
    engineer = person("engineer", way.team, Role.ENGINEER)
    row = way.schedule(Times("nightly", "0 6 * * *", "UTC"), DEAR, by=engineer)
    schedules.pause_schedule(row, by=engineer, now=way.cloud.now)
    way.lead()
    schedules.resume_schedule(row, by=way.me, now=way.cloud.now)
    way.cloud.forward(hours=21)
    watch_schedules(way.cloud.now)
    way.approve(Job.objects.get(), way.me)
    assert Job.objects.get().state == "awaiting_approval"


def a_chain_of_deputies(way: Way) -> None:
    first, second = (person(name, way.team, Role.ENGINEER) for name in ("first", "second"))
    day = way.cloud.now.date()
    name_deputy(way.other, "first", first_day=day, last_day=day, now=way.cloud.now)
    with suppress(ValueError):
        name_deputy(first, "second", first_day=day, last_day=day, now=way.cloud.now)
    way.approve(way.dear(), second)


def a_role_that_changes_between_vote_and_decision(way: Way) -> None:
    job = way.dear()
    Approval.objects.filter(job=job).update(votes_needed=2)
    way.approve(job, way.other)
    way.lead()
    way.approve(job, way.me)
    Membership.objects.filter(user=way.other).update(role=Role.ENGINEER)
    way.approve(job, person("third", way.team, Role.APPROVER))


def an_account_of_ones_own_that_requests(way: Way) -> None:
    puppet = way.invited(Role.ENGINEER)
    job = way.dear(by=puppet)
    way.approve(job, way.me)
    with suppress(*REFUSALS):
        approve_as(job, "standard", by=way.me, comment="", now=way.cloud.now)


def an_account_of_ones_own_that_asks_for_machines(way: Way) -> None:
    puppet = way.invited(Role.APPROVER)
    Membership.objects.filter(user=puppet).update(role=Role.APPROVER)  # from before two people were needed
    change = resource_requests.ask_for_change(
        "create", team=way.team, project=way.team.project, region="us-central1", resource_id="mine", by=puppet,
        now=way.cloud.now, body=body(), lifetime=timedelta(days=1),
    )  # fmt: skip
    assert change is not None
    resource_requests.approve_change(change, by=way.me, now=way.cloud.now)


def prices_of_a_lead(way: Way) -> None:
    way.lead()
    for key in price_keys.keys_in("us-central1")[:3]:
        with pytest.raises(NotPermitted):
            prices.record_price(
                key, Decimal("0.01"), source="x", source_url="", as_of=date(2026, 1, 1), is_official=True, reason="x",
                by=way.me, now=way.cloud.now,
            )  # fmt: skip
    way.dear()


def caps_that_are_no_amounts(way: Way) -> None:
    for cap in ("-1", "0", "NaN", "Infinity", "-Infinity", "0.000001", "1e-30"):
        with suppress(*REFUSALS):
            way.dear(cap_usd=Decimal(cap))


def a_budget_at_the_end_of_a_month(way: Way) -> None:
    values = BudgetValues("team", Decimal(30), Passing.STOP)
    budgets.create_budget(way.team, values, by=User.objects.get(username="root"), reason="x", now=way.cloud.now)
    way.cloud.forward(days=29, hours=14, minutes=55)  # the last five minutes of March
    allowed = 0
    for _ in range(4):
        with suppress(*REFUSALS):
            allowed += len(way.request(samples.submission(scheduling={"timeout": "3600s"})))
        way.cloud.forward(minutes=4)
    spent = sum(job.max_usd or 0 for job in Job.objects.all())
    assert spent <= 30, "what is committed in one month counts in the next one"
    assert allowed


def a_project_that_moves_to_another_team(way: Way) -> None:
    way.request(samples.submission(**CHEAP))
    Team.objects.filter(pk=way.team.pk).update(project="elsewhere")
    loose = Team.objects.create(name="loose", project="vision-research")
    Policy.objects.create(team=loose, ask_over_usd=10**6)
    steps.advance(Job.objects.get().pk, clock=way.cloud.clock)
    assert way.cloud.jobs() == []
    way.dear(team=loose)  # not a member


def a_further_attempt_that_is_dear(way: Way) -> None:
    (job,) = way.request(samples.submission(**CHEAP), plan=Plan((Step("standard", region="us-east1"),)))
    Job.objects.filter(pk=job.pk).update(spec=samples.body(**DEAR))
    steps.advance(job.pk, clock=way.cloud.clock)
    assert way.cloud.jobs() == [], "what was changed after the assessment is assessed again"


WAYS: tuple[Callable[[Way], None], ...] = (
    a_request_key_of_a_cheap_job, a_schedule_in_a_time_zone_that_repeats_an_hour,
    a_schedule_of_a_dear_job_that_runs_now, a_schedule_of_somebody_else_at_other_times,
    a_paused_schedule_of_somebody_else, a_chain_of_deputies, a_role_that_changes_between_vote_and_decision,
    an_account_of_ones_own_that_requests, an_account_of_ones_own_that_asks_for_machines, prices_of_a_lead,
    caps_that_are_no_amounts, a_budget_at_the_end_of_a_month, a_project_that_moves_to_another_team,
    a_further_attempt_that_is_dear,
)  # fmt: skip


@pytest.mark.parametrize("take", WAYS, ids=lambda take: take.__name__)
def test_lets_nothing_dear_run_alone(way: Way, second_admin: User, take: Callable[[Way], None]) -> None:
    with suppress(*REFUSALS):
        take(way)

    for job in Job.objects.filter(approved_at__isnull=False).exclude(state="awaiting_approval"):
        assert job.max_usd is not None
        assert job.max_usd <= LIMIT, f"{job.state}: {job.max_usd}"
    assert not ResourceChange.objects.filter(allowed_at__isnull=False).exists()
