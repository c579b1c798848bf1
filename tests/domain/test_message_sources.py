"""Tests of what creates messages besides states: caps, budgets, and reminders and expiry of approvals."""

from datetime import timedelta
from decimal import Decimal

import pytest
from django.contrib.auth.models import User

from jobs.budgets import period_of
from jobs.budgets.notices import record_notices
from jobs.messages.content import content_of
from jobs.messages.kinds import OFFERED
from jobs.models import Approval, Budget, Job, Message, Policy, SpendSum, Team
from jobs.upkeep import watch_approvals
from tests.conftest import person
from tests.domain.conftest import RequestJob
from tests.domain.test_caps import capped, pass_hours, start
from tests.support.clock import Clock

pytestmark = pytest.mark.django_db
Kind = Message.Kind


def subjects(kind: str, now: object) -> list[str]:
    return [content_of(each, now).subject for each in Message.objects.filter(kind=kind).order_by("pk")]


def test_every_kind_can_be_chosen() -> None:
    assert {Kind.CAP, Kind.BUDGET, Kind.APPROVAL_REMINDER, Kind.APPROVAL_EXPIRED} <= set(OFFERED)


def test_a_cap_is_told_at_four_fifths_and_when_it_is_reached(team: Team, owner: User, clock: Clock) -> None:
    Policy.objects.update_or_create(team=team, defaults={"ask_over_usd": 1_000_000})
    job = capped(team, owner, clock, "20")
    start(job, clock)
    assert job.hourly_usd is not None
    hours = float(job.cap_usd / job.hourly_usd)

    pass_hours(job, clock, hours * 0.85)
    assert subjects(Kind.CAP, clock.now) == [f"Near its cap: {job.display_name}"]

    pass_hours(job, clock, hours * 0.2)
    assert subjects(Kind.CAP, clock.now)[1:] == [f"Cap reached: {job.display_name}"]


def test_each_share_of_a_budget_is_told_once(team: Team, owner: User, clock: Clock) -> None:
    person("lead", team, "lead")
    budget = Budget.objects.create(
        team=team, name="Training", dimension="team", value="", amount_usd=Decimal(100),
        passing="warn", thresholds=[50, 80], created_at=clock.now,
    )  # fmt: skip
    month = clock.now.date().replace(day=1)
    SpendSum.objects.create(team=team, dimension="team", value="", period=period_of(month), micros=60_000_000)

    for _ in range(2):
        record_notices(clock.now)

    message = Message.objects.get(kind=Kind.BUDGET)
    assert "60 % of the budget “Training”" in message.detail["text"]
    assert message.team == budget.team


def test_an_open_request_is_reminded_of_and_expires(request_job: RequestJob, team: Team, clock: Clock) -> None:
    Policy.objects.update_or_create(team=team, defaults={"ask_over_usd": 0})
    job: Job = request_job()
    Approval.objects.filter(job=job).update(
        remind_at=clock.now + timedelta(hours=1), expires_at=clock.now + timedelta(hours=2)
    )

    watch_approvals(clock.forward(hours=1))
    assert Message.objects.filter(kind=Kind.APPROVAL_REMINDER, job=job).count() == 1

    watch_approvals(clock.forward(hours=1))
    assert Message.objects.filter(kind=Kind.APPROVAL_EXPIRED, job=job).count() == 1
