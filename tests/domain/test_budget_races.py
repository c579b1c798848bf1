"""Tests that concurrent requests and approvals never exceed a budget that stops jobs."""

from collections import Counter
from datetime import datetime
from decimal import Decimal

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.db.models import Sum

from jobs import budgets, requests, transitions
from jobs.budget import Passing
from jobs.budgets import BudgetValues
from jobs.budgets.resources import record_resource
from jobs.cost import from_micros
from jobs.errors import NotAllowed
from jobs.models import Budget, Job, PersistentResource, Team
from tests.conftest import person
from tests.domain.conftest import RequestJob
from tests.domain.test_concurrency import WORKERS, together
from tests.support.clock import Clock
from tests.support.ledger import check_ledger, committed, spent
from tests.support.resources import sized

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.both_databases]
ROUNDS = 40 if connection.vendor == "postgresql" else 10
"""Of WORKERS requests each. Without the lock on budgets, one of the first three overspends."""


def test_requests_at_once_overspend_nothing(request_job: RequestJob, team: Team, clock: Clock) -> None:
    lead = person("lead", team, "lead")
    cost = request_job(labels={"run": "first"}).max_usd
    assert cost
    row = set_budget(team, lead, cost * 2, clock)
    outcomes: Counter[bool] = Counter()

    for number in range(ROUNDS):
        fits = number % WORKERS
        limit = committed(team) + cost * fits
        Budget.objects.filter(pk=row.pk).update(amount_usd=limit)
        done = together(lambda which, at=number: attempt(request_job, f"{at}-{which}"))
        outcomes.update(done)
        assert done.count(True) == fits
        assert committed(team) == limit

    assert sum(outcomes.values()) == ROUNDS * WORKERS
    assert Job.objects.count() == outcomes[True] + 1
    assert sum(Job.objects.values_list("max_usd", flat=True)) == committed(team)


def test_approvals_of_several_jobs_at_once_overspend_nothing(
    request_job: RequestJob, team: Team, approver: User, clock: Clock
) -> None:
    lead = person("lead", team, "lead")
    jobs = [request_job(hours=10, name=f"job-{number}") for number in range(WORKERS)]
    assert jobs[0].max_usd
    set_budget(team, lead, jobs[0].max_usd * 2, clock)

    def approve(which: int) -> bool:
        try:
            return requests.approve(Job.objects.get(pk=jobs[which].pk), by=approver, comment="", now=clock.now)
        except NotAllowed:
            return False

    assert together(approve).count(True) == 2
    assert Job.objects.filter(state="approved").count() == 2
    assert committed(team) == jobs[0].max_usd * 2


def attempt(request_job: RequestJob, key: str) -> bool:
    try:
        request_job(key=key)
    except NotAllowed:
        return False
    return True


def set_budget(team: Team, lead: User, usd: Decimal, clock: Clock) -> Budget:
    values = BudgetValues("vision", usd, Passing.STOP)
    return budgets.create_budget(team, values, by=lead, reason="agreed", now=clock.now)


def test_workers_that_bill_a_resource_at_once_add_its_cost_once(
    request_job: RequestJob, team: Team, owner: User, clock: Clock
) -> None:
    """While jobs are requested against the budget of the person whose job holds the resource."""
    sized(replicas=2, now=clock.now)
    job = request_job(resource="night-shift")
    for state, columns in (("submitting", {}), ("running", {"remote_name": "on-it"})):
        transitions.transition(job, state, now=clock.now, message="It goes on.", **columns)
    for number in range(5):
        row, now = PersistentResource.objects.get(), clock.forward(minutes=31)

        def bill(which: int, row: PersistentResource = row, now: datetime = now, number: int = number) -> bool:
            return record_resource(row, now) if which % 2 else attempt(request_job, f"race-{number}-{which}")

        together(bill)

    held = job.costs.filter(kind="share").aggregate(sum=Sum("micros"))["sum"]
    assert spent(team, clock.now, "person", owner.pk) == from_micros(held) > 0
    check_ledger(clock.now)
